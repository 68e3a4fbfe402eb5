"""The two consoles (answers on stdout, everything else on stderr) and the progress display."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from lcdvt.progress import Progress

SECONDS_BETWEEN_LOG_LINES = 10.0

# In a file or a pipe there is no width to keep to, and a table cut at 80 columns is of no use.
PIPE_WIDTH = 160

out = Console(soft_wrap=True, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH)
err = Console(stderr=True, soft_wrap=True, highlight=False)


def _log_lines(description: str, unit: str) -> Progress:
    """Plain lines for a log file: one at once, then one every few seconds, and the last."""
    started = last = time.monotonic()

    def report(done: int, total: int | None, note: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < SECONDS_BETWEEN_LOG_LINES and done != total:
            return
        last = now
        rate = done / max(now - started, 1e-9)
        share = f"{done}/{total}" if total is not None else f"{done}"
        print(f"{description}: {share} {unit}, {rate:.1f}/s {note}".rstrip(), file=sys.stderr, flush=True)

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
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(f"{unit} [cyan]{{task.fields[rate]}}[/]"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    started = time.monotonic()
    with RichProgress(*columns, console=err) as bar:
        task = bar.add_task(description, total=None, rate="", note="")

        def report(done: int, total: int | None, note: str = "") -> None:
            rate = f"{done / max(time.monotonic() - started, 1e-9):.1f}/s"
            bar.update(task, completed=done, total=total, rate=rate, note=note)

        yield report
