"""The two consoles (answers on stdout, everything else on stderr) and the progress display."""

import io
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from lcdvt.parallel.progress import Progress

SECONDS_BETWEEN_LOG_LINES = 10.0
"""A log of an hour stays readable."""

# In a file or a pipe there is no width to keep to, and a table cut at 80 columns is of no use.
PIPE_WIDTH = 160


class PlainConsole(Console):
    """A console that prints names as they are and outlives the reader of its pipe."""

    def __init__(self, **options: Any):
        # A file, star or class may be called [/b] or :star:
        super().__init__(markup=False, emoji=False, soft_wrap=True, **options)

    def on_broken_pipe(self) -> None:
        """Go on in silence: when `head` has seen enough, the work is still to be done."""
        self.quiet = True
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - devnull is a name, not a path of ours
            os.dup2(nowhere.fileno(), self.file.fileno())


def survive_odd_terminals() -> None:
    """Let a terminal that knows no Greek get an escape sequence instead of a traceback; only in our own process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


out = PlainConsole(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH)
err = PlainConsole(stderr=True, highlight=False)


def _log_lines(description: str, unit: str) -> Progress:
    """Plain lines for a log file: preparations at once, then a line every few seconds, and the last.

    Without a unit the description says already what is counted.
    """
    started = last = time.monotonic()
    is_first = True

    def report(done: int, total: int | None, note: str = "") -> None:
        nonlocal last, is_first
        now = time.monotonic()
        is_preparing = done == 0 and total is None and note != ""
        is_news = done == total or (is_first and (is_preparing or not unit))
        if now - last < SECONDS_BETWEEN_LOG_LINES and not is_news:
            return
        last, is_first = now, False
        if is_preparing:
            text = note
        elif not unit:
            text = f"{done} of {total} {note}"
        else:
            share = f"{done}/{total}" if total is not None else f"{done}"
            text = f"{share} {unit}, {done / max(now - started, 1e-9):.1f}/s {note}"
        err.print(f"{description}: {text}".rstrip())

    return report


@contextmanager
def progress_display(description: str, unit: str = "objects") -> Iterator[Progress]:
    """Show a rich bar with rate and time left on a terminal, plain lines in a log."""
    if not err.is_terminal:
        yield _log_lines(description, unit)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}", markup=False),
        TextColumn("{task.fields[rate]}", style="cyan", markup=False),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    started = time.monotonic()
    with RichProgress(*columns, console=err) as bar:
        task = bar.add_task(description, total=None, unit=unit, rate="", note="")

        def report(done: int, total: int | None, note: str = "") -> None:
            rate = f"{done / max(time.monotonic() - started, 1e-9):.1f}/s" if done and unit else ""
            bar.update(task, completed=done, total=total, rate=rate, note=note)

        yield report
