"""Where the command begins: an interruption while Python is still importing is one like any other."""

import sys

from lcdvt.cli.wording import EXIT_INTERRUPTED, INTERRUPTED


def start() -> None:
    """Import the command line and run it."""
    try:
        from lcdvt.cli.main import main
    except KeyboardInterrupt:
        sys.stderr.write(f"{INTERRUPTED}\n")
        sys.exit(EXIT_INTERRUPTED)
    main()
