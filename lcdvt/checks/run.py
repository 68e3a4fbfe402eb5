"""Look at a run's folder from end to end: checksums, configuration, weights, versions, predictions."""

from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from lcdvt.checks.findings import Checked
from lcdvt.disk.atomic import UNFINISHED_SUFFIX
from lcdvt.disk.checksums import damaged_files
from lcdvt.errors import LcdvtError, first_line
from lcdvt.names import OBJECT_ID, PREDICTED, probability_column
from lcdvt.results.saved import SavedRun, load_run
from lcdvt.workspace.folder import read_part

TRAIN_AGAIN: Final = "make the run again with force=True"
PREDICTIONS_FILE: Final = "predictions.parquet"
SUM_TOLERANCE: Final = 1e-4
"""Probabilities are kept in single precision by some rows of the table."""


def check_run(folder: Path) -> Checked:
    """Check every file of a run."""
    checked = Checked(folder.name, "run")
    checked.files = sum(path.is_file() for path in folder.rglob("*"))
    for name, problem in damaged_files(folder).items():
        checked.add(folder / name, problem, TRAIN_AGAIN)
    for leftover in sorted(folder.rglob(f".*{UNFINISHED_SUFFIX}")):
        checked.add(leftover, "is a leftover of an interrupted run", "delete it, or run the same command again")
    try:
        run = load_run(folder)
    except LcdvtError as error:
        checked.add(folder, f"cannot be loaded ({error})", TRAIN_AGAIN)
        return checked
    _check_parts_fit(folder, run, checked)
    if (folder / PREDICTIONS_FILE).is_file():
        _check_predictions(folder / PREDICTIONS_FILE, run, checked)
    return checked


def _check_parts_fit(folder: Path, run: SavedRun, checked: Checked) -> None:
    description = run.description
    if len(description.surveys) != len(description.widths):
        said = f"names {len(description.surveys)} surveys and widths for {len(description.widths)}"
        checked.add(folder, said, TRAIN_AGAIN)
    if any(width != len(run.scaler.features) for width in description.widths):
        said = f"its scaler knows {len(run.scaler.features)} features, its model {description.widths}"
        checked.add(folder, said, TRAIN_AGAIN)
    broken = [name for name, tensor in run.model.state_dict().items() if not bool(tensor.isfinite().all())]
    if broken:
        checked.add(folder, f"the weights {broken[0]} are not finite", TRAIN_AGAIN)


def _check_predictions(path: Path, run: SavedRun, checked: Checked) -> None:
    try:
        table = read_part(path)
        checked.objects = table.num_rows
        wanted = [OBJECT_ID, PREDICTED, *map(probability_column, run.description.classes)]
        missing = [name for name in wanted if name not in table.column_names]
        if missing:
            checked.add(path, f"has no column {missing[0]!r}", TRAIN_AGAIN)
            return
        probability = np.stack([np.asarray(table[name].cast(pa.float64())) for name in wanted[2:]])
    except (LcdvtError, pa.ArrowException, ValueError, TypeError) as error:
        checked.add(path, first_line(error), TRAIN_AGAIN)
        return
    total = probability.sum(axis=0)
    if (np.abs(total[np.isfinite(total)] - 1) > SUM_TOLERANCE).any():
        checked.add(path, "the probabilities of some object do not sum to one", TRAIN_AGAIN)
    if len(set(table[OBJECT_ID].to_pylist())) != table.num_rows:
        checked.add(path, "some object is there twice", TRAIN_AGAIN)
