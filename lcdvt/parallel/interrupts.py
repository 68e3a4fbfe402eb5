"""Ctrl-C is for the command, not for the processes that work for it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back until the end of the block; processes started inside it never hear it.

    A keyboard sends the signal to the workers, too. They inherit what is held back here from their first
    instruction on, so that none of them prints a traceback of its own, be it waiting or just starting: this
    process hears the signal as soon as the block ends, and ends them.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows starts no process with a mask
        yield
        return
    # Python's own tracker, if it is started inside the block, lets the signal through again.
    resource_tracker.ensure_running()
    heard = []
    # Only the main thread is interrupted, and it is so whichever thread the system hands the signal to.
    handler = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    if handler is not None:
        signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    held_before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held_before)
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
        if heard:
            signal.raise_signal(signal.SIGINT)
