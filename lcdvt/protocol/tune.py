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
from typing import Any, Final

import numpy as np
import pandas as pd

from lcdvt.dataset.alignment import aligned_surveys
from lcdvt.dataset.dataset import UNLABELLED, SurveyRows, build_dataset
from lcdvt.dataset.draws import EVERY_LABEL, LabelBudget
from lcdvt.dataset.folds import FOLDS, labels_without_fold, stratified_folds
from lcdvt.dataset.scaling import ScalingChoice, ScalingMethod
from lcdvt.disk.checksums import checksum
from lcdvt.disk.toml_config import from_table, to_table, write_toml
from lcdvt.dvt.config import DVTConfig, choose_preset
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.train import train
from lcdvt.errors import DatasetError, SettingsError, TrainingError
from lcdvt.evaluate import macro_f1
from lcdvt.parallel.progress import Progress, silent
from lcdvt.workspace.survey import open_survey

LINE_START: Final = '{"trial": '
"""How each line of a results file begins; a file that begins otherwise is somebody else's."""


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
    return replace(base, model=model, objective=objective, training=training)


def score_trial(config: DVTConfig, rows: SurveyRows, classes: tuple[str, ...], seed: int) -> float:
    """Return the cross-validated macro F1 (percent) of one configuration; NaN when a fold's member broke."""
    fold = stratified_folds(rows.y, FOLDS, seed, each_class_from_first=True)
    y = labels_without_fold(rows.y, fold)
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
    return 100 * macro_f1(rows.y[known], held_out, len(classes))


@dataclass(frozen=True)
class TuneResult:
    """What a search found.

    Parameters
    ----------
    survey, labels, seed
        The survey it was made on, with how many of its labels, and the random seed.
    trials
        One row for each trial, the best first.
    results
        The file of all trials (JSON lines).
    best
        The numbers of the best trial: a `preset` for `transfer` and `train`.
    best_path
        The same as a TOML file, for `lcdvt transfer --preset FILE`.
    """

    survey: str
    labels: str
    seed: int
    trials: pd.DataFrame
    results: Path
    best: DVTConfig
    best_path: Path


def tune(
    survey: str,
    labels: str | float = "10%",
    *,
    target: str | None = None,
    trials: int = 30,
    preset: str | Path | DVTConfig = "paper",
    steps: int | None = None,
    scaling: ScalingMethod = "rank",
    seed: int = 0,
    out: str | Path | None = None,
    data: str | Path | None = None,
    progress: Progress = silent,
) -> TuneResult:
    """Search hyper-parameters by 5-fold macro F1 of semi-supervised training; stop it and go on at will.

    Parameters
    ----------
    survey
        The ingested survey to tune on: the source of the transfer to come.
    labels
        How many of its labels to use: "10%", "25", "3/class" or "all".
    target
        The survey that labels will be carried to: then only features that both have count, scaled on both, as
        `transfer` does it. None takes all features of the survey.
    trials
        How many in all; those that `out` already has are not repeated.
    preset, steps
        What the search does not draw, and how long each trial is trained if not as long as the preset says.
    scaling
        How features are brought to one scale.
    seed
        The random seed of the label draw, the trials and the folds.
    out
        The file of results (JSON lines); tune-SURVEY.jsonl by default. The best numbers stand beside it as TOML.
    data
        The workspace.
    progress
        Called with the number of trials done.
    """
    if trials < 1:
        raise SettingsError(f"trials={trials}: give at least one.")
    method = from_table(ScalingChoice, {"method": scaling}, "scaling").method
    budget = LabelBudget.parse(str(labels))
    base = choose_preset(preset)
    if steps is not None:
        base = replace(base, training=replace(base.training, steps=steps))
    tables = aligned_surveys([open_survey(name, data) for name in (survey, target) if name is not None])
    known = sorted(set(tables[0].labels.dropna()))
    dataset = build_dataset(tables, classes=known)
    budgets = [budget, *[EVERY_LABEL] * (len(tables) - 1)]
    rows = dataset.survey_rows(dataset.fit_scaler(method), dataset.draw(budgets, seed))[0]
    results = Path(out) if out is not None else Path(f"tune-{survey}.jsonl")
    table = search(rows, dataset.classes, base, trials=trials, results=results, seed=seed, progress=progress)
    best, best_path = best_config(results), results.with_suffix(".toml")
    write_toml(best_path, best)
    return TuneResult(survey, str(budget), seed, table, results, best, best_path)


def search(
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
        The random seed of the draws and the folds.
    ranges
        Where to draw from.
    progress
        Called with the number of trials done.
    """
    _refuse_lonely_classes(rows, classes)
    _refuse_other_files(results)
    ranges = ranges or SearchRanges()
    learned_from = _checksum_of(rows, classes)
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
                raise SettingsError(f"{results}: trial {number} was made with other settings; choose another file.")
            if finished[number].get("learned_from") != learned_from:
                raise SettingsError(
                    f"{results}: trial {number} was made with other stars, labels or features; choose another file."
                )
        else:
            score = score_trial(from_table(DVTConfig, config), rows, classes, seed)
            finished[number] = {"trial": number, "macro_f1": score, "learned_from": learned_from, "config": config}
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(finished[number]) + "\n")
        progress(number + 1, trials)
    table = pd.DataFrame([_table_row(finished[number]) for number in range(trials)])
    return table.sort_values("macro_f1", ascending=False, na_position="last", ignore_index=True)


def _checksum_of(rows: SurveyRows, classes: tuple[str, ...]) -> str:
    """Return what tells the stars, labels and features of one search from those of another."""
    return checksum(rows.x.tobytes() + rows.y.tobytes() + json.dumps(classes).encode())


def _refuse_lonely_classes(rows: SurveyRows, classes: tuple[str, ...]) -> None:
    counts = np.bincount(rows.y[rows.y != UNLABELLED], minlength=len(classes))
    for name, count in zip(classes, counts, strict=True):
        if count == 1:
            raise DatasetError(
                f"class {name} has one labelled object, which cannot be learned and scored at once: "
                "draw more labels for tuning."
            )


def _refuse_other_files(results: Path) -> None:
    """Refuse to add trials to a file that holds something else, or to write the best numbers over them."""
    if results.suffix == ".toml":
        raise SettingsError(f"{results}: the best numbers are written there as TOML; name the trials' file *.jsonl.")
    if results.is_file():
        begin = results.read_text(encoding="utf-8", errors="replace").lstrip()[: len(LINE_START)]
        if not LINE_START.startswith(begin):
            raise SettingsError(f"{results} is not the results of a search; choose another file.")


def best_config(results: Path) -> DVTConfig:
    """Return the configuration of the best trial of a results file."""
    scored = [entry for entry in _read_results(results) if entry["macro_f1"] == entry["macro_f1"]]
    if not scored:
        raise SettingsError(f"{results}: no finished trial; run lcdvt tune first.")
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
