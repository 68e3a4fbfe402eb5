"""The verbs `transfer` and `ensemble`: labels of one or more surveys carried to another, beside honest rivals."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lcdvt.alignment import aligned_surveys
from lcdvt.dataset import Dataset, build_dataset
from lcdvt.draw_scores import DVT_ENSEMBLE, DrawTask
from lcdvt.draws import LabelBudget
from lcdvt.dvt.config import DVTConfig, TrainingMode
from lcdvt.dvt.config import preset as named_preset
from lcdvt.errors import LcdvtError
from lcdvt.progress import Progress, silent
from lcdvt.protocol import ALL_ROWS, Plan, RunResult, carry_out
from lcdvt.run_folder import check_free, run_folder
from lcdvt.scaling import ScalingMethod
from lcdvt.workspace import StoredSurvey, open_survey


class TransferError(LcdvtError):
    """Surveys, labels or options between which nothing can be carried over."""


def transfer(
    source: str | Sequence[str],
    target: str,
    labels: str | float = "1%",
    *,
    source_labels: str = "all",
    classes: Sequence[str] | None = None,
    mode: TrainingMode = "multi-task",
    preset: str = "taught",
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
    reuse: bool = False,
    progress: Progress = silent,
) -> RunResult:
    """Carry labels over to the target survey and score it against the labels that were held back.

    Each finished draw is kept: the same call goes on where an interrupted one was.

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
    classes
        The classes to tell apart; None for those of which the target and a source have labels.
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
        Draws are spread over worker processes, or over a Dask cluster that sees the same disk.
    name, data, force
        The run's name in the workspace, the workspace, and whether to overwrite a run of that name.
    reuse
        Take a finished run of that name as it is, if it was made by this very call.
    progress
        Called with the number of draws done.
    """
    sources = [source] if isinstance(source, str) else list(source)
    chosen = check_rows(rows, ALL_ROWS)
    if mode not in ("multi-task", "transfer"):
        raise TransferError(f"--mode {mode}: a transfer is multi-task or transfer; `lcdvt train` has the others.")
    if members < 1 or repeats < 1:
        raise TransferError(f"--members {members} --repeats {repeats}: at least one of each is needed.")
    check_seed(seed)
    if target in sources:
        raise TransferError(f"{target} is both source and target: name two different surveys.")
    config = choose_config(preset, mode, steps)
    target_budget, source_budget = LabelBudget.parse(str(labels)), LabelBudget.parse(source_labels)
    surveys = tuple(open_survey(each, data) for each in (*sources, target))
    folder = run_folder(name or f"{'+'.join(sources)}-{target}", data)
    check_free(folder, force or reuse)
    dataset, left_out = put_together(surveys, classes)
    budgets = [*[source_budget] * len(sources), target_budget]
    plan = Plan(
        surveys=surveys,
        dataset=dataset,
        tasks=tuple(
            DrawTask(dataset, dataset.draw(budgets, each), config, members, chosen, each, scaling, device)
            for each in range(seed, seed + repeats)
        ),
        settings={
            "verb": "transfer",
            "labels": str(target_budget),
            "source_labels": str(source_budget),
            **describe_making(surveys, preset=preset, scaling=scaling, seed=seed, repeats=repeats),
        },
        left_out=left_out,
    )
    return carry_out(plan, folder, force=force, reuse=reuse, jobs=jobs, dask=dask, progress=progress)


def ensemble(
    source: str | Sequence[str],
    target: str,
    labels: str | float = "1%",
    *,
    members: int = 10,
    repeats: int = 10,
    name: str | None = None,
    **options: Any,
) -> RunResult:
    """Carry labels over by the paper's full protocol: ten draws of labels, ten models each.

    Parameters
    ----------
    source, target, labels
        As in `transfer`.
    members, repeats
        Models in each draw's ensemble, and draws.
    name
        The run's name; SOURCE-TARGET-ensemble by default.
    options
        Everything else that `transfer` takes.
    """
    sources = [source] if isinstance(source, str) else list(source)
    name = name or f"{'+'.join(sources)}-{target}-ensemble"
    return transfer(sources, target, labels, members=members, repeats=repeats, name=name, **options)


def check_rows(rows: Sequence[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    """Return the chosen rows in the table's order; the ensemble, which is the run, is always among them."""
    unknown = [row for row in rows or () if row not in known]
    if unknown:
        raise TransferError(f"--rows {unknown[0]!r} is not a row: choose from {', '.join(known)}.")
    return tuple(row for row in known if rows is None or row in rows or row == DVT_ENSEMBLE)


def choose_config(preset: str, mode: TrainingMode, steps: int | None) -> DVTConfig:
    """Return a preset's numbers for a way of training, and a length of its own if one is given."""
    config = named_preset(preset)
    training = replace(config.training, mode=mode, steps=steps or config.training.steps)
    return replace(config, training=training)


def check_seed(seed: int) -> None:
    """Refuse a seed that no generator of random numbers takes."""
    if seed < 0:
        raise TransferError(f"--seed {seed}: give 0 or more.")


def describe_making(surveys: Sequence[StoredSurvey], **settings: Any) -> dict[str, Any]:
    """Return what a run's `metrics.json` says of how it was made: settings, citations, whether simulated."""
    simulated = any(each.is_simulated for each in surveys)
    return {**settings, "simulated": simulated, "citations": {each.name: each.survey.citation for each in surveys}}


def put_together(stored: Sequence[StoredSurvey], classes: Sequence[str] | None) -> tuple[Dataset, tuple[str, ...]]:
    """Put the surveys together, with the classes wanted or those that both sides have; and what is left out."""
    surveys = aligned_surveys(stored)
    known = [set(survey.labels.dropna()) for survey in surveys]
    for survey, found in zip(surveys, known, strict=True):
        if not found:
            raise TransferError(f"{survey.name} has no labels: ingest it with --catalog, or choose another survey.")
    at_source, at_target, target = set.union(*known[:-1]), known[-1], surveys[-1].name
    shared = sorted(at_source & at_target)
    for name in classes or ():
        if name not in shared:
            lacking = target if name not in at_target else " + ".join(survey.name for survey in surveys[:-1])
            raise TransferError(
                f"--classes {name}: {lacking} has not a single labelled object of it; choose from {', '.join(shared)}."
            )
    if len(shared) < 2:
        raise TransferError(
            f"the sources have {', '.join(sorted(at_source))} and {target} has {', '.join(sorted(at_target))}: "
            "at least two classes in common are needed."
        )
    chosen = shared if classes is None else sorted(set(classes))
    return build_dataset(surveys, classes=chosen), tuple(sorted((at_source | at_target) - set(chosen)))
