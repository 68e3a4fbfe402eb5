"""The verb `train`: one survey learned from its own labels, scored on labels that were kept from it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lcdvt.alignment import aligned_surveys
from lcdvt.dataset import UNLABELLED, Dataset, build_dataset
from lcdvt.draw_scores import DVT_TOP, DrawTask, folds_of
from lcdvt.draws import LabelBudget
from lcdvt.dvt.config import TrainingMode
from lcdvt.errors import LcdvtError
from lcdvt.progress import Progress, silent
from lcdvt.protocol import ONE_SURVEY_ROWS, Plan, RunResult, carry_out
from lcdvt.run_folder import check_free, run_folder
from lcdvt.scaling import ScalingMethod
from lcdvt.transfer_run import check_rows, check_seed, choose_config, describe_making
from lcdvt.workspace import open_survey

DEFAULT_ROWS = ("forest-target", DVT_TOP)
EVERY_LABEL = LabelBudget.parse("all")


class TrainError(LcdvtError):
    """A survey or options with which nothing can be trained."""


def train(
    survey: str,
    labels: str | float = "all",
    *,
    classes: Sequence[str] | None = None,
    mode: TrainingMode = "semi-supervised",
    preset: str = "tied",
    steps: int | None = None,
    members: int = 10,
    repeats: int = 5,
    seed: int = 0,
    rows: Sequence[str] | None = DEFAULT_ROWS,
    scaling: ScalingMethod = "rank",
    device: str = "auto",
    jobs: int | None = 1,
    dask: str | None = None,
    name: str | None = None,
    data: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> RunResult:
    """Train on one survey and leave a run that classifies new light curves of it.

    With a share of the labels, each repeat is a draw of its own, scored on the labels outside it, and the first
    draw's ensemble is kept. With all labels, each repeat holds out one fold to score on, and the ensemble that is
    kept has learned from all of them. Each finished repeat is kept: the same call goes on where it was.

    Parameters
    ----------
    survey
        An ingested survey with labels.
    labels
        How many of its labels may be used: "all", "10%", "25", "3/class" or a share.
    classes
        The classes to tell apart; None for all that have labels.
    mode
        "semi-supervised" (unlabelled objects help), or "supervised".
    preset, steps
        The numbers of the model, and how long to train if not as long as the preset says.
    members
        Models in the ensemble.
    repeats
        Draws of labels, or folds where all labels are used.
    seed
        Of draws, folds and models.
    rows
        Rivals in the table; None for all that need one survey only.
    scaling
        How features are brought to one scale.
    device
        auto, cpu, cuda or mps.
    jobs, dask
        Repeats are spread over worker processes, or over a Dask cluster that sees the same disk.
    name, data, force
        The run's name in the workspace (by default the survey's), the workspace, whether to overwrite that run.
    progress
        Called with the number of repeats done.
    """
    chosen = check_rows(rows, ONE_SURVEY_ROWS)
    if mode not in ("supervised", "semi-supervised"):
        raise TrainError(
            f"--mode {mode}: one survey is trained supervised or semi-supervised; `lcdvt transfer` has the others."
        )
    budget = LabelBudget.parse(str(labels))
    uses_all = budget == EVERY_LABEL
    if members < 1 or repeats < (2 if uses_all else 1):
        least = "two folds" if uses_all else "one draw"
        raise TrainError(f"--members {members} --repeats {repeats}: at least one member and {least} are needed.")
    check_seed(seed)
    config = choose_config(preset, mode, steps)
    stored = open_survey(survey, data)
    folder = run_folder(name or survey, data)
    check_free(folder, force)
    (tables,) = aligned_surveys([stored])
    if tables.labels.dropna().empty:
        raise TrainError(f"{survey} has no labels: ingest it with --catalog, or choose another survey.")
    dataset = build_dataset([tables], classes=classes)
    drawn = (
        [dataset.y, *_without_each_fold(dataset, repeats, seed)]
        if uses_all
        else [dataset.draw([budget], each) for each in range(seed, seed + repeats)]
    )
    plan = Plan(
        surveys=(stored,),
        dataset=dataset,
        tasks=tuple(
            DrawTask(dataset, y, config, members, chosen, seed + number, scaling, device)
            for number, y in enumerate(drawn)
        ),
        settings={
            "verb": "train",
            "labels": str(budget),
            **describe_making([stored], preset=preset, scaling=scaling, seed=seed, repeats=repeats),
        },
        folds=uses_all,
        left_out=tuple(sorted(set(tables.labels.dropna()) - set(dataset.classes))),
    )
    return carry_out(plan, folder, force=force, jobs=jobs, dask=dask, progress=progress)


def _without_each_fold(dataset: Dataset, folds: int, seed: int) -> list[NDArray[np.int64]]:
    fold = folds_of(dataset.y, seed, folds)
    return [np.where(fold == number, UNLABELLED, dataset.y) for number in range(folds)]
