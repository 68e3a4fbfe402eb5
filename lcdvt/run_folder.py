"""Where a run grows: beside its place under a hidden name, moved there when it is whole.

A run that is overwritten with --force stays until the new one is finished, and a run that was interrupted is never
taken for a finished one. What a finished run's folder holds:

============================ =====================================================================================
config.toml                  every number of the model; surveys, classes, seeds and cycle consistency of the members
weights.safetensors          the first draw's ensemble; with `scaler.json` it classifies new stars
metrics.json                 how the run was made (verb, labels, seeds, citations, …) and, under `table`, its table
draws/draw-000.json, …       each draw: F1, confusion counts and reliability bins of every row (`draw_record`)
predictions.parquet          the first draw: every object of the target with its class probabilities
history.parquet              the first draw's training: losses and criteria by step, member and survey
checksums.json               of every other file, for `lcdvt verify`
============================ =====================================================================================
"""

import re
import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from lcdvt.checksums import write_checksums
from lcdvt.errors import WorkspaceError
from lcdvt.locks import alone
from lcdvt.run_list import UNFINISHED_SUFFIX, runs_folder
from lcdvt.workspace import writable

PREDICTIONS_FILE: Final = "predictions.parquet"


def run_folder(name: str, data: str | Path | None = None) -> Path:
    """Return the place of the run of that name."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", name):
        raise WorkspaceError(f"--name {name!r}: use letters, digits, '_', '-', '.', '+'; it names a folder.")
    return runs_folder(data) / name


def check_free(folder: Path, force: bool) -> None:
    """Refuse to overwrite a run without `force`."""
    if folder.exists() and not force:
        raise WorkspaceError(f"the run {folder} exists: use --force to overwrite it, or --name for another.")


def held(folder: Path) -> AbstractContextManager[None]:
    """Hold a run for this process while it grows; the same command given twice at once is told so."""
    said = f"another process is at work on the run {folder}: wait for it, or use --name for another."
    return alone(folder.with_name(f".{folder.name}.lock"), said, removed=True)


def growing_folder(folder: Path) -> Path:
    """Return where the run grows until it is whole."""
    return folder.with_name(f".{folder.name}{UNFINISHED_SUFFIX}")


def publish(folder: Path) -> None:
    """Move the run to its place; a run that was there before is gone only then."""
    growing, replaced = growing_folder(folder), folder.with_name(f".{folder.name}.replaced")
    with writable(folder.parent):
        for leftover in growing.rglob(f".*{UNFINISHED_SUFFIX}"):  # of a process that was killed while it wrote
            leftover.unlink()
        write_checksums(growing)
        shutil.rmtree(replaced, ignore_errors=True)
        if folder.exists():
            folder.rename(replaced)
        growing.rename(folder)
        shutil.rmtree(replaced, ignore_errors=True)
