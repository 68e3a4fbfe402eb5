"""The paper's two tables of digits, with the published accuracies beside ours, and the confusion matrix."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lcdvt.dvt.config import TrainingMode
from lcdvt.evaluate import Spread, spread
from lcdvt.experiments.digits.files import CLASSES, NAMES
from lcdvt.experiments.digits.presets import ModelName
from lcdvt.experiments.digits.runs import Circumstances, DigitsResult, DigitsRun
from lcdvt.tables.table import OBSERVED, Cell, ResultTable, TableRow
from lcdvt.tables.table import Circumstances as TableCircumstances

if TYPE_CHECKING:
    from rich.table import Table

Row = tuple[TrainingMode, ModelName]

# Belhaj, Protopapas and Pan (2018), tables "MNIST" and "USPS average accuracy ± standard deviation", in percent.
PUBLISHED: Final[Mapping[str, Mapping[Row, tuple[float, float]]]] = {
    "mnist": {
        ("supervised", "DVT"): (98.71, 0.04),
        ("supervised", "CNN"): (98.58, 0.03),
        ("semi-supervised", "DVT"): (97.64, 0.33),
        ("transfer", "DVT"): (96.10, 0.21),
        ("multi-task", "DVT"): (96.13, 0.26),
        ("transfer", "CNN"): (93.67, 0.64),
        ("multi-task", "CNN"): (67.79, 2.06),
    },
    "usps": {
        ("supervised", "DVT"): (96.05, 0.06),
        ("supervised", "CNN"): (95.89, 0.05),
        ("semi-supervised", "DVT"): (92.03, 0.38),
        ("transfer", "DVT"): (94.37, 0.19),
        ("multi-task", "DVT"): (92.13, 0.30),
        ("transfer", "CNN"): (88.26, 0.71),
        ("multi-task", "CNN"): (75.05, 1.82),
    },
}

# Rows whose means look the same in the table are equally good.
BEST_DECIMALS: Final = 2
# The confusion matrix is of the first of these that was run.
CONFUSED: Final[tuple[TrainingMode, ...]] = ("semi-supervised", "transfer", "multi-task", "supervised")


def digits_table(results: Sequence[DigitsResult], target: str, circumstances: Circumstances) -> ResultTable:
    """Make the table of one target from its runs, the rows in the paper's order."""
    by_row = _accuracies(results, target)
    rivals = {row: round(spread(values).mean, BEST_DECIMALS) for row, values in by_row.items() if not _is_bound(row)}
    rows = tuple(
        TableRow(
            name=f"{model} {mode}",
            training=mode.capitalize(),
            model=model,
            is_upper_bound=mode == "supervised",
            data=OBSERVED,
            cells=(
                Cell(
                    _share(spread(values)),
                    (mode, model) in rivals and rivals[mode, model] == max(rivals.values()),
                    ".2f",
                ),
                Cell(_published(target, (mode, model)), places=".2f"),
            ),
        )
        for (mode, model), values in by_row.items()
    )
    seeds = sorted({result.run.seed for result in results})
    images = next(result.confusion for result in results if result.run.target == target).sum(axis=1).tolist()
    sources = tuple(name for name in NAMES if name != target)
    return ResultTable(
        title=f"{' + '.join(sources)} → {target}, augmentation: {circumstances.augment}",
        columns=(f"{circumstances.scored} accuracy", "published"),
        rows=rows,
        notes=_notes(len(seeds), circumstances),
        scores=(),
        circumstances=TableCircumstances(
            sources=sources,
            target=target,
            classes=CLASSES,
            labels_per_class=(),
            class_mix=dict(zip(CLASSES, images, strict=True)),
            seeds=tuple(seeds),
            members=1,
            simulated=False,
        ),
    )


def _accuracies(results: Sequence[DigitsResult], target: str) -> dict[Row, list[float]]:
    """Return each row's accuracies in percent, seed by seed, rows in the paper's order."""
    order = list(PUBLISHED[target])
    found: dict[Row, list[float]] = {}
    for row in order:
        values = [
            result.accuracy
            for result in results
            if result.run.target == target and (result.run.mode, result.run.model) == row
        ]
        if values:
            found[row] = values
    return found


def _is_bound(row: Row) -> bool:
    return row[0] == "supervised"


def _share(percent: Spread) -> Spread:
    return Spread(percent.mean / 100, None if percent.deviation is None else percent.deviation / 100)


def _published(target: str, row: Row) -> Spread:
    mean, deviation = PUBLISHED[target][row]
    return _share(Spread(mean, deviation))


def _notes(seeds: int, circumstances: Circumstances) -> tuple[str, ...]:
    part = "test images" if circumstances.scored == "test" else "training images kept out of training"
    how = f"mean ± standard deviation over {seeds} seeds" if seeds > 1 else "one seed"
    training = circumstances.config(DigitsRun(NAMES[0], "transfer", "DVT", 0)).training
    semi_supervised = circumstances.config(DigitsRun(NAMES[0], "semi-supervised", "DVT", 0)).training
    moved = f"shifted at random by up to {training.shift_pixels} pixels" if training.shift_pixels else "not shifted"
    noisy = f"encoders see them with noise of {training.input_noise:g}" if training.input_noise else "without noise"
    return (
        f"Accuracy in percent on {part}; {how}, each with labels, weights and batches of its own.",
        f"{circumstances.labels} labels of each domain; supervised rows, and the source of the CNN's transfer, have "
        f"all. Training images are {moved}, {noisy}, for DVT and CNN alike; "
        f"{training.steps} batches in each phase, and {semi_supervised.steps} where semi-supervised is all there is.",
        "Bold: best without the upper bounds. Italic: upper bounds. Published: Belhaj et al. 2018, other draws.",
    )


def accuracies_json(results: Sequence[DigitsResult]) -> dict[str, Any]:
    """Return `{"mnist": {"semi-supervised": [per seed], …}, "usps": …, "cnn": {…}}` in percent."""
    record: dict[str, Any] = {}
    for target in dict.fromkeys(result.run.target for result in results):
        for (mode, model), values in _accuracies(results, target).items():
            place = record if model == "DVT" else record.setdefault("cnn", {})
            place.setdefault(target, {})[mode] = values
    return record


def confusion_table(results: Sequence[DigitsResult], target: str) -> "Table":
    """Show which digit is taken for which, summed over seeds, by DVT trained in the first way that was run."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    ours = [result for result in results if result.run.target == target and result.run.model == "DVT"]
    mode = next(mode for mode in CONFUSED if any(result.run.mode == mode for result in ours))
    counts = np.sum([result.confusion for result in ours if result.run.mode == mode], axis=0)
    shown = Table(title=f"{target}, {mode} DVT: true digit by predicted digit, all seeds", box=SIMPLE_HEAD)
    for name in ("true", *CLASSES):
        shown.add_column(name, justify="right")
    for digit, row in zip(CLASSES, counts.tolist(), strict=True):
        shown.add_row(digit, *(str(count) if count else "·" for count in row))
    return shown
