"""Hyper-parameters by random search, scored as in the paper: 5-fold, semi-supervised, on the source alone.

The folds of one trial are members of one run. In each fold a fifth of the labelled objects lose their label
and are scored; the trial's score is the macro F1 of all of them together, so that a class with fewer labels
than folds still counts once. A trial follows from (seed, number) alone: a search that was stopped goes on
where it was, and a longer search begins with the shorter one.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from lcdvt.config import from_table, to_table
from lcdvt.dataset import UNLABELLED, SurveyRows
from lcdvt.dvt.config import DVTConfig
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.train import TrainingError, train
from lcdvt.errors import LcdvtError
from lcdvt.progress import Progress, silent

FOLDS = 5


class TuningError(LcdvtError):
    """A search that cannot start or does not fit what was found before."""


@dataclass(frozen=True)
class SearchRanges:
    """Where trials are drawn from: log-uniform between two ends, or one of several."""

    component_distance: tuple[float, float] = (2.0, 20.0)
    component_sigma: tuple[float, float] = (0.05, 2.0)
    classification_weight: tuple[float, float] = (1e1, 1e5)
    unlabelled_weight: tuple[float, float] = (0.02, 0.8)
    learning_rate: tuple[float, float] = (5e-4, 2e-2)
    width: tuple[int, ...] = (16, 32, 64)


def draw_trial(base: DVTConfig, ranges: SearchRanges, seed: int, number: int) -> DVTConfig:
    """Return the configuration of one trial."""
    generator = np.random.default_rng([seed, number])

    def between(ends: tuple[float, float]) -> float:
        return float(np.exp(generator.uniform(*np.log(ends))))

    width = int(generator.choice(ranges.width))
    model = replace(
        base.model,
        shared=(width,) * len(base.model.shared),
        component_distance=between(ranges.component_distance),
        component_sigma=between(ranges.component_sigma),
    )
    objective = replace(
        base.objective,
        classification_weight=between(ranges.classification_weight),
        unlabelled_weight=between(ranges.unlabelled_weight),
    )
    training = replace(base.training, mode="semi-supervised", learning_rate=between(ranges.learning_rate))
    return DVTConfig(model, objective, training)


def assign_folds(y: NDArray[np.integer], seed: int, folds: int = FOLDS) -> NDArray[np.int64]:
    """Return each labelled object's fold (−1 for unlabelled): each class dealt out one by one."""
    fold = np.full(len(y), UNLABELLED, dtype=np.int64)
    generator = np.random.default_rng(seed)
    for number in np.unique(y[y != UNLABELLED]):
        places = generator.permutation(np.flatnonzero(y == number))
        if len(places) < 2:
            raise TuningError(
                f"class number {number} has one labelled object, which cannot be learned and scored at once: "
                "draw more labels for tuning."
            )
        fold[places] = np.arange(len(places)) % folds
    return fold


def score_trial(config: DVTConfig, rows: SurveyRows, classes: tuple[str, ...], seed: int) -> float:
    """Return the cross-validated macro F1 (percent) of one configuration; NaN when a fold's member broke."""
    fold = assign_folds(rows.y, seed)
    y = np.stack([np.where(fold == number, UNLABELLED, rows.y) for number in range(FOLDS)])
    data = TrainingData.from_surveys([SurveyRows(rows.name, rows.x, y)], classes, FOLDS)
    try:
        result = train(config, data, tuple(range(FOLDS)))
    except TrainingError:
        return float("nan")
    if result.failures:
        return float("nan")
    predicted = result.model.probabilities(data.rows, 0).argmax(-1).numpy()
    known = fold != UNLABELLED
    held_out = predicted[fold[known], np.flatnonzero(known)]
    return 100 * float(f1_score(rows.y[known], held_out, average="macro"))


def tune(
    rows: SurveyRows,
    classes: tuple[str, ...],
    base: DVTConfig,
    *,
    trials: int,
    results: Path,
    seed: int = 0,
    ranges: SearchRanges | None = None,
    progress: Progress = silent,
) -> pd.DataFrame:
    """Search, writing each trial to `results` as it is finished, and return the table, best first.

    Parameters
    ----------
    rows
        The source's scaled objects, some of them labelled.
    classes
        Names of the class numbers.
    base
        What the search does not draw.
    trials
        How many in all; those that `results` already has are not repeated.
    results
        A file with one JSON object per line.
    seed
        Of the draws and the folds.
    ranges
        Where to draw from.
    progress
        Told the trials done.
    """
    ranges = ranges or SearchRanges()
    finished = {entry["trial"]: entry for entry in _read_results(results)}
    results.parent.mkdir(parents=True, exist_ok=True)
    if results.is_file() and not results.read_text(encoding="utf-8").endswith("\n"):
        # a search killed while it wrote: what comes next must not join its half line
        with results.open("a", encoding="utf-8") as file:
            file.write("\n")
    for number in range(trials):
        config = to_table(draw_trial(base, ranges, seed, number))
        if number in finished:
            if finished[number]["config"] != config:
                raise TuningError(f"{results}: trial {number} was made with other settings; choose another file.")
        else:
            score = score_trial(from_table(DVTConfig, config), rows, classes, seed)
            finished[number] = {"trial": number, "macro_f1": score, "config": config}
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(finished[number]) + "\n")
        progress(number + 1, trials)
    table = pd.DataFrame([_table_row(finished[number]) for number in range(trials)])
    return table.sort_values("macro_f1", ascending=False, na_position="last", ignore_index=True)


def best_config(results: Path) -> DVTConfig:
    """Return the configuration of the best trial of a results file."""
    scored = [entry for entry in _read_results(results) if entry["macro_f1"] == entry["macro_f1"]]
    if not scored:
        raise TuningError(f"{results}: no finished trial; run lcdvt tune first.")
    return from_table(DVTConfig, max(scored, key=lambda entry: entry["macro_f1"])["config"])


def _read_results(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            # the last line of a search that was killed while writing; its trial is made again
            continue


def _table_row(entry: dict[str, Any]) -> dict[str, Any]:
    config = from_table(DVTConfig, entry["config"])
    return {
        "trial": entry["trial"],
        "macro_f1": entry["macro_f1"],
        "width": config.model.shared[0],
        "component_distance": config.model.component_distance,
        "component_sigma": config.model.component_sigma,
        "classification_weight": config.objective.classification_weight,
        "unlabelled_weight": config.objective.unlabelled_weight,
        "learning_rate": config.training.learning_rate,
    }
