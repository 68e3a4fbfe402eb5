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

        main()
    except KeyboardInterrupt:  # before the command has begun, which tells of its own
        sys.stderr.write(f"{INTERRUPTED}\n")
        sys.exit(EXIT_INTERRUPTED)


def _interrupt_again(lost: "sys.UnraisableHookArgs") -> None:
    """Send Ctrl-C once more if it came while Python was tidying up, after an import say, and was dropped there."""
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)
        return
    import signal
    from threading import Timer, main_thread

    # to the main thread by name, which may be waiting: a signal that another thread gets does not wake it
    if hasattr(signal, "pthread_kill"):
        Timer(SECONDS_TO_TIDY_UP, signal.pthread_kill, (main_thread().ident, signal.SIGINT)).start()
    else:  # Windows
        Timer(SECONDS_TO_TIDY_UP, signal.raise_signal, (signal.SIGINT,)).start()
