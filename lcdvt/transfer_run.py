"""The verb `transfer`: labels of one or more surveys carried to another, scored beside honest rivals."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from lcdvt.alignment import aligned_surveys
from lcdvt.baselines.registry import ROWS
from lcdvt.dataset import UNLABELLED, Dataset, build_dataset
from lcdvt.draw_scores import DVT_ENSEMBLE, DVT_TOP, DVT_UPPER_BOUND, DrawResult, DrawTask, run_draw
from lcdvt.draws import LabelBudget
from lcdvt.dvt.config import DVTConfig, TrainingMode
from lcdvt.dvt.config import preset as named_preset
from lcdvt.errors import LcdvtError, WorkspaceError
from lcdvt.evaluate import DrawScores
from lcdvt.executors import run_batches
from lcdvt.names import LABEL, OBJECT_ID
from lcdvt.progress import Progress, silent
from lcdvt.scaling import ScalingMethod
from lcdvt.store import CONFIG_FILE, SavedRun, save_run
from lcdvt.table_formats import to_html
from lcdvt.table_json import to_record
from lcdvt.tables import Circumstances, ResultTable, build_table
from lcdvt.workspace import RUNS_FOLDER, StoredSurvey, open_survey, workspace_folder, write_atomically

PREDICTIONS_FILE: Final = "predictions.parquet"
DVT_NAMES: Final = {
    DVT_UPPER_BOUND: ("Supervised upper bound", "DVT", True),
    DVT_TOP: ("Top cycle consistency", "DVT", False),
    DVT_ENSEMBLE: ("Ensemble", "DVT", False),
}
ALL_ROWS: Final = (DVT_UPPER_BOUND, *ROWS, DVT_TOP, DVT_ENSEMBLE)


class TransferError(LcdvtError):
    """Surveys, labels or options between which nothing can be carried over."""


@dataclass
class TransferResult:
    """What a transfer found; the run in `folder` classifies new stars."""

    name: str
    folder: Path
    dataset: Dataset
    scores: tuple[DrawScores, ...]
    circumstances: Circumstances
    predictions: pd.DataFrame
    problems: list[str] = field(default_factory=list)

    def table(self) -> ResultTable | None:
        """Return the table in the paper's style; none where every label was in use and nothing could be scored."""
        return build_table(self.scores, self.circumstances) if self.scores else None

    def _repr_html_(self) -> str:
        table = self.table()
        return to_html(table) if table else f"<p>{html.escape(self.name)}: no labels left to score on</p>"


def transfer(
    source: str | Sequence[str],
    target: str,
    labels: str | float = "1%",
    *,
    source_labels: str = "all",
    mode: TrainingMode = "multi-task",
    preset: str = "tied",
    steps: int | None = None,
    members: int = 10,
    repeats: int = 3,
    seed: int = 0,
    rows: Sequence[str] | None = None,
    scaling: ScalingMethod = "rank",
    device: str = "auto",
    jobs: int | None = 1,
    dask: str | None = None,
    name: str | None = None,
    data: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> TransferResult:
    """Carry labels over to the target survey and score it against the labels that were held back.

    Parameters
    ----------
    source
        One or more ingested surveys with labels.
    target
        The ingested survey to classify.
    labels
        How many of the target's labels may be used: "1%", "25", "3/class" or a share.
    source_labels
        The same for each source.
    mode
        "multi-task" (all surveys at once) or "transfer" (sources first, shared layers then fixed).
    preset, steps
        The numbers of the model, and how long to train if not as long as the preset says.
    members
        Models in the ensemble.
    repeats
        Draws of labels; scores are mean and standard deviation over them. The run that is kept is the first draw's.
    seed
        Of the first draw; the others count on from it.
    rows
        Rows of the table; None for all.
    scaling
        How features are brought to one scale.
    device
        auto, cpu, cuda or mps.
    jobs, dask
        Draws are spread over worker processes, or over a Dask cluster.
    name, data, force
        The run's name in the workspace, the workspace, and whether to overwrite a run of that name.
    progress
        Called with the number of draws done.
    """
    sources = [source] if isinstance(source, str) else list(source)
    chosen = _check_rows(rows)
    if mode not in ("multi-task", "transfer"):
        raise TransferError(f"--mode {mode}: a transfer is multi-task or transfer; `lcdvt train` has the others.")
    if members < 1 or repeats < 1:
        raise TransferError(f"--members {members} --repeats {repeats}: at least one of each is needed.")
    if target in sources:
        raise TransferError(f"{target} is both source and target: name two different surveys.")
    config = _config(preset, mode, steps)
    target_budget, source_budget = LabelBudget.parse(str(labels)), LabelBudget.parse(source_labels)
    stored = [open_survey(each, data) for each in (*sources, target)]
    folder = _run_folder(name or f"{'+'.join(sources)}-{target}", data, force)
    dataset = _dataset(stored)
    tasks = [
        DrawTask(dataset, config, source_budget, target_budget, members, chosen, seed + repeat, scaling, device)
        for repeat in range(repeats)
    ]
    draws: list[DrawResult] = []
    progress(0, repeats)
    for draw in _run_draws(tasks, jobs, dask):
        draws.append(draw)
        progress(len(draws), repeats)
    result = TransferResult(
        name=folder.name,
        folder=folder,
        dataset=dataset,
        scores=tuple(_row_scores(row, draws) for row in chosen) if draws[0].scores else (),
        circumstances=_circumstances(stored, dataset, draws, members),
        predictions=_predictions(dataset, draws[0]),
        problems=[problem for draw in draws for problem in draw.problems],
    )
    table = result.table()
    metrics: dict[str, Any] = {
        "labels": str(target_budget),
        "seed": seed,
        "table": to_record(table) if table else None,
    }
    saved = SavedRun.from_training(
        config, draws[0].training, draws[0].scaler, dataset.surveys, dataset.classes, metrics
    )
    write_atomically(folder / PREDICTIONS_FILE, result.predictions.to_parquet)
    save_run(folder, saved)
    return result


def _run_draws(tasks: list[DrawTask], jobs: int | None, dask: str | None) -> Iterator[DrawResult]:
    # Each task carries the whole dataset; with one job nothing is copied.
    yield from run_batches(run_draw, tasks, jobs=jobs, dask=dask)


def _check_rows(rows: Sequence[str] | None) -> tuple[str, ...]:
    unknown = [row for row in rows or () if row not in ALL_ROWS]
    if unknown:
        raise TransferError(f"--rows {unknown[0]!r} is not a row: choose from {', '.join(ALL_ROWS)}.")
    return tuple(row for row in ALL_ROWS if rows is None or row in rows or row == DVT_ENSEMBLE)


def _config(preset: str, mode: TrainingMode, steps: int | None) -> DVTConfig:
    config = named_preset(preset)
    training = replace(config.training, mode=mode, steps=steps or config.training.steps)
    return replace(config, training=training)


def _run_folder(name: str, data: str | Path | None, force: bool) -> Path:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", name):
        raise TransferError(f"--name {name!r}: use letters, digits, '_', '-', '.', '+'; it names a folder.")
    folder = workspace_folder(data) / RUNS_FOLDER / name
    if (folder / CONFIG_FILE).exists() and not force:
        raise WorkspaceError(f"the run {folder} exists: use --force to overwrite it, or --name for another.")
    return folder


def _dataset(stored: Sequence[StoredSurvey]) -> Dataset:
    """Put the surveys together with the classes that the target and at least one source have."""
    surveys = aligned_surveys(stored)
    known = [set(survey.labels.dropna()) for survey in surveys]
    for survey, classes in zip(surveys, known, strict=True):
        if not classes:
            raise TransferError(f"{survey.name} has no labels: ingest it with --catalog, or choose another survey.")
    shared = sorted(set.union(*known[:-1]) & known[-1])
    if len(shared) < 2:
        raise TransferError(
            f"the sources have {', '.join(sorted(set.union(*known[:-1])))} and {surveys[-1].name} has "
            f"{', '.join(sorted(known[-1]))}: at least two classes in common are needed."
        )
    return build_dataset(surveys, classes=shared)


def _predictions(dataset: Dataset, draw: DrawResult) -> pd.DataFrame:
    rows = dataset.rows_of(len(dataset.surveys) - 1)
    truth = dataset.y[rows]
    names = np.array([*dataset.classes, None], dtype=object)
    probability = draw.probability
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nansum(np.where(probability > 0, probability * np.log(probability), 0.0), axis=1)
    return pd.DataFrame(
        {
            OBJECT_ID: dataset.object_ids[rows],
            LABEL: names[truth],
            "in_draw": (truth != UNLABELLED) & ~draw.scored,
            "predicted": names[probability.argmax(axis=1)],
            **{f"p_{label}": probability[:, number] for number, label in enumerate(dataset.classes)},
            "entropy": entropy,
            "disagreement": draw.disagreement,
        }
    )


def _circumstances(
    stored: Sequence[StoredSurvey], dataset: Dataset, draws: list[DrawResult], members: int
) -> Circumstances:
    mix = dataset.class_counts().loc[stored[-1].name]
    return Circumstances(
        sources=tuple(each.name for each in stored[:-1]),
        target=stored[-1].name,
        classes=dataset.classes,
        labels_per_class=tuple(draw.labels_per_class for draw in draws),
        class_mix={str(label): int(count) for label, count in mix.items()},
        seeds=tuple(draw.seed for draw in draws),
        members=members,
        simulated=any(each.is_simulated for each in stored),
    )


def _row_scores(key: str, draws: list[DrawResult]) -> DrawScores:
    training, model, is_upper_bound = DVT_NAMES.get(key) or (
        ROWS[key].training,
        ROWS[key].model,
        ROWS[key].is_upper_bound,
    )
    return DrawScores(key, training, model, is_upper_bound, tuple(draw.scores[key] for draw in draws))
