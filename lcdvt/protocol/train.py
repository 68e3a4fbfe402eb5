"""The verb `train`: one survey learned from its own labels, scored on labels that were kept from it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lcdvt.baselines.rows import DVT_TOP
from lcdvt.dataset.alignment import aligned_surveys
from lcdvt.dataset.dataset import build_dataset
from lcdvt.dataset.draws import EVERY_LABEL, LabelBudget
from lcdvt.dataset.folds import held_out_folds, labels_without_fold
from lcdvt.dataset.scaling import ScalingMethod
from lcdvt.dvt.config import DVTConfig, TrainingMode
from lcdvt.errors import DatasetError, SettingsError
from lcdvt.parallel.executors import EVERY_CORE, Workers
from lcdvt.parallel.progress import Progress, silent
from lcdvt.protocol.carry_out import RunPlace, carry_out
from lcdvt.protocol.plan import ONE_SURVEY_ROWS, Plan, RunOptions, draw_tasks, several
from lcdvt.run import Run
from lcdvt.workspace.survey import open_survey

DEFAULT_ROWS: Final = ("forest-target", DVT_TOP)


def train(
    survey: str,
    labels: str | float = "all",
    *,
    classes: Sequence[str] | None = None,
    mode: TrainingMode = "semi-supervised",
    preset: str | Path | DVTConfig = "tied",
    steps: int | None = None,
    members: int = 10,
    repeats: int = 5,
    seed: int = 0,
    rows: Sequence[str] | None = DEFAULT_ROWS,
    scaling: ScalingMethod = "rank",
    device: str = "auto",
    jobs: int | None = None,
    dask: str | None = None,
    name: str | None = None,
    data: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Run:
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
        The numbers of the model (a preset's name, a TOML file or a `DVTConfig`), and how long to train if not as long
        as they say.
    members
        Models in the ensemble.
    repeats
        Draws of labels, or folds where all labels are used.
    seed
        The random seed of draws, folds and models.
    rows
        Rivals in the table; None for all that need one survey only.
    scaling
        How features are brought to one scale.
    device
        auto, cpu, cuda or mps.
    jobs, dask
        Repeats are spread over worker processes (None: all cores), or over a Dask cluster that sees the same disk.
    name, data, force
        The run's name in the workspace (by default the survey's), the workspace, whether to overwrite that run.
    progress
        Called with the number of repeats done.
    """
    options = RunOptions(
        mode=mode,
        preset=preset,
        steps=steps,
        classes=several(classes),
        members=members,
        repeats=repeats,
        seed=seed,
        rows=several(rows),
        scaling=scaling,
        device=device,
    )
    return run_train(survey, str(labels), options, RunPlace(name or survey, data, force), Workers(jobs, dask), progress)


def run_train(
    survey: str,
    labels: str,
    options: RunOptions,
    place: RunPlace,
    workers: Workers = EVERY_CORE,
    progress: Progress = silent,
) -> Run:
    """Train on one survey as the options say: what `train` and the command line come down to."""
    options.chosen_rows(ONE_SURVEY_ROWS)  # a wrong row is told before the survey is read
    if options.mode not in ("supervised", "semi-supervised"):
        raise SettingsError(
            f"mode={options.mode}: one survey is trained supervised or semi-supervised; "
            "`lcdvt transfer` has the others."
        )
    budget = LabelBudget.parse(labels)
    uses_all = budget == EVERY_LABEL
    if uses_all and options.repeats < 2:
        raise SettingsError(f"repeats={options.repeats}: with all labels in use, at least two folds are needed.")
    stored = open_survey(survey, place.data)
    place.check_free()
    (tables,) = aligned_surveys([stored])
    if tables.labels.dropna().empty:
        raise DatasetError(f"{survey} has no labels: ingest it with catalog=FILE, or choose another survey.")
    dataset = build_dataset([tables], classes=options.classes)
    if uses_all:
        fold = held_out_folds(dataset.y, options.seed, options.repeats)
        drawn = [dataset.y, *labels_without_fold(dataset.y, fold, options.repeats)]
    else:
        drawn = [dataset.draw([budget], seed) for seed in options.draw_seeds]
    plan = Plan(
        surveys=(stored,),
        dataset=dataset,
        tasks=draw_tasks(dataset, drawn, options, ONE_SURVEY_ROWS),
        class_mix=dataset.class_mix(),
        settings={"verb": "train", "labels": str(budget), **options.describe([stored])},
        folds=uses_all,
        left_out=tuple(sorted(set(tables.labels.dropna()) - set(dataset.classes))),
    )
    return carry_out(plan, place, workers, progress)
