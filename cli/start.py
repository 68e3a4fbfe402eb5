"""Where the command begins: an interruption while Python is still importing is one like any other."""

import sys
from typing import Final

from lcdvt.cli.wording import EXIT_INTERRUPTED, INTERRUPTED

SECONDS_TO_TIDY_UP: Final = 0.01
"""What Python's tidying up takes at most, so that an interrupt sent again does not come into it once more."""


def start() -> None:
    """Import the command line and run it."""
    sys.unraisablehook = _interrupt_again
    try:
        from lcdvt.cli.main import main
    except KeyboardInterrupt:
        sys.stderr.write(f"{INTERRUPTED}\n")
        sys.exit(EXIT_INTERRUPTED)
    main()


def _interrupt_again(lost: "sys.UnraisableHookArgs") -> None:
    """Send Ctrl-C once more if it came while Python was tidying up, after an import say, and was dropped there."""
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)
        return
    import _thread
    from threading import Timer

    Timer(SECONDS_TO_TIDY_UP, _thread.interrupt_main).start()
