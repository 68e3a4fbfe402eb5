"""The verbs `transfer` and `ensemble`: labels of one or more surveys carried to another, beside honest rivals.

Read from the top: options are checked, surveys opened and brought under common feature names, labels drawn, and the
plan is carried out.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np

from lcdvt.dataset.dataset import UNLABELLED
from lcdvt.dataset.draws import NO_LABEL, LabelBudget
from lcdvt.dataset.sampling import TRAINING_STARS
from lcdvt.dataset.scaling import ScalingMethod
from lcdvt.dvt.config import DoubtfulLabels, DVTConfig, TrainingMode
from lcdvt.errors import SettingsError
from lcdvt.parallel.executors import EVERY_CORE, IN_THIS_PROCESS, Workers
from lcdvt.parallel.progress import Progress, silent
from lcdvt.protocol.carry_out import RunPlace, carry_out
from lcdvt.protocol.plan import (
    ALL_ROWS,
    NEED_REPLICATES,
    UNSUPERVISED_ROWS,
    Plan,
    TransferOptions,
    draw_tasks,
    several,
)
from lcdvt.protocol.stars import draw_stars, thin_light_curves
from lcdvt.run import Run
from lcdvt.workspace.answers import read_answers
from lcdvt.workspace.survey import open_survey


def transfer(
    source: str | Sequence[str],
    target: str,
    labels: str | float = "1%",
    *,
    labels_from: str | Path | None = None,
    source_labels: str = "all",
    classes: Sequence[str] | None = None,
    mode: TrainingMode = "multi-task",
    preset: str | Path | DVTConfig = "taught",
    steps: int | None = None,
    members: int = 10,
    repeats: int = 3,
    seed: int = 0,
    rows: Sequence[str] | None = None,
    replicates: int | None = None,
    training_stars: int = TRAINING_STARS,
    doubtful_labels: DoubtfulLabels | None = None,
    scaling: ScalingMethod = "rank",
    device: str = "auto",
    jobs: int | None = None,
    dask: str | None = None,
    name: str | None = None,
    data: str | Path | None = None,
    force: bool = False,
    reuse: bool = False,
    progress: Progress = silent,
) -> Run:
    """Carry labels over to the target survey and score it against the labels that were held back.

    Each finished draw is kept: the same call goes on where an interrupted one was.

    Parameters
    ----------
    source
        One or more ingested surveys with labels.
    target
        The ingested survey to classify.
    labels
        How many of the target's labels may be used: "1%", "25", "3/class", a share, or 0: then the sources' labels
        are carried over to a target that needs none, or what `labels_from` names is all that is learned of it.
    labels_from
        A file of answers that people gave (`lcdvt label` writes it): labels of the target in every draw, beside those
        drawn. No star that was answered is scored.
    source_labels
        The same for each source.
    classes
        The classes to tell apart; None for those of which the target and a source have labels.
    mode
        "multi-task" (all surveys at once) or "transfer" (sources first, shared layers then fixed).
    preset, steps
        The numbers of the model (a preset's name, a TOML file or a `DVTConfig`), and how long to train if not as long
        as they say.
    members
        Models in the ensemble.
    repeats
        Draws of labels; scores are mean and standard deviation over them. The run that is kept is the first draw's.
    seed
        The random seed of the first draw; the others count on from it.
    rows
        Rows of the table; None for all.
    replicates
        How often each star's light curve is thinned, and its features computed again, for DVT's teachers to learn
        from; None as the preset says (once), 0 for never. Made once for a survey and kept in the workspace.
    training_stars
        Of a survey with more stars a sample of so many is learned from: of a source stratified by class, of the target
        beside all drawn labels. The target's other stars are classified and scored part by part, so that memory does
        not grow with the survey.
    doubtful_labels
        What DVT and its teachers make of drawn labels that the sources contradict: "keep" learns from them like all
        others, to "leave-out" these stars are unlabelled; None as the preset says (leave-out). Keep them where you know
        that they are right. What people answered (labels_from) is always believed.
    scaling
        How features are brought to one scale.
    device
        auto, cpu, cuda or mps.
    jobs, dask
        Draws are spread over worker processes (None: all cores), or over a Dask cluster that sees the same disk.
    name, data, force
        The run's name in the workspace, the workspace, and whether to overwrite a run of that name.
    reuse
        Take a finished run of that name as it is, if it was made by this very call.
    progress
        Called with the number of draws done.
    """
    options = TransferOptions(
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
        source_labels=source_labels,
        labels_from=None if labels_from is None else Path(labels_from),
        replicates=replicates,
        training_stars=training_stars,
        doubtful_labels=doubtful_labels,
    )
    sources = [source] if isinstance(source, str) else list(source)
    place = RunPlace(name or transfer_name(sources, target), data, force, reuse)
    return run_transfer(sources, target, str(labels), options, place, Workers(jobs, dask), progress)


class TransferKeywords(TypedDict, total=False):
    """What `ensemble` hands on to `transfer`, for editors and type checkers."""

    labels_from: str | Path | None
    source_labels: str
    classes: Sequence[str] | None
    mode: TrainingMode
    preset: str | Path | DVTConfig
    steps: int | None
    seed: int
    rows: Sequence[str] | None
    replicates: int | None
    training_stars: int
    doubtful_labels: DoubtfulLabels | None
    scaling: ScalingMethod
    device: str
    jobs: int | None
    dask: str | None
    data: str | Path | None
    force: bool
    reuse: bool
    progress: Progress


def ensemble(
    source: str | Sequence[str],
    target: str,
    labels: str | float = "1%",
    *,
    members: int = 10,
    repeats: int = 10,
    name: str | None = None,
    **keywords: Unpack[TransferKeywords],
) -> Run:
    """Carry labels over by the paper's full protocol: ten draws of labels, ten models each.

    Parameters
    ----------
    source, target, labels
        As in `transfer`.
    members, repeats
        Models in each draw's ensemble, and draws.
    name
        The run's name; SOURCE-TARGET-ensemble by default.
    keywords
        Everything else that `transfer` takes.
    """
    sources = [source] if isinstance(source, str) else list(source)
    name = name or ensemble_name(sources, target)
    return transfer(sources, target, labels, members=members, repeats=repeats, name=name, **keywords)


def transfer_name(sources: Sequence[str], target: str) -> str:
    """Return what a transfer is called where the user gives no name."""
    return f"{'+'.join(sources)}-{target}"


def ensemble_name(sources: Sequence[str], target: str) -> str:
    """Return what a run of the full protocol is called where the user gives no name."""
    return f"{transfer_name(sources, target)}-ensemble"


def run_transfer(
    sources: Sequence[str],
    target: str,
    labels: str,
    options: TransferOptions,
    place: RunPlace,
    workers: Workers = EVERY_CORE,
    progress: Progress = silent,
) -> Run:
    """Carry labels over as the options say: what `transfer`, `ensemble` and the command line come down to."""
    plan = plan_transfer(sources, target, labels, options, place, workers, progress)
    return carry_out(plan, place, workers, progress)


def plan_transfer(
    sources: Sequence[str],
    target: str,
    labels: str,
    options: TransferOptions,
    place: RunPlace,
    workers: Workers = IN_THIS_PROCESS,
    progress: Progress = silent,
) -> Plan:
    """Open the surveys, put them together, draw the labels, and see to the replicates of the light curves."""
    if not sources:
        raise SettingsError("source is empty: name at least one ingested survey with labels.")
    if target in sources:
        raise SettingsError(f"{target} is both source and target: name two different surveys.")
    if len(set(sources)) < len(sources):
        raise SettingsError(f"source={', '.join(sources)}: a survey is named twice; name each once.")
    target_budget = LabelBudget.parse_or_none(labels)
    source_budget = LabelBudget.parse(options.source_labels, "source_labels")
    is_unsupervised = target_budget == NO_LABEL and options.labels_from is None
    replicates = options.config.replicates
    known_rows = UNSUPERVISED_ROWS if is_unsupervised else ALL_ROWS
    if replicates == 0:
        known_rows = tuple(row for row in known_rows if row not in NEED_REPLICATES)
    options.chosen_rows(known_rows)  # a wrong row is told before the surveys are read
    if is_unsupervised and options.config.teaching is None:
        raise SettingsError(
            f"labels=0: preset {options.preset_name} learns from labels of the target; choose one that teaches "
            "(taught), or give some labels."
        )
    surveys = tuple(open_survey(each, place.data) for each in (*sources, target))
    given = read_answers(options.labels_from, target).labels() if options.labels_from is not None else {}
    if options.labels_from is not None and not given:
        raise SettingsError(f"labels_from={options.labels_from}: nobody has named the class of a star there yet.")
    place.check_free()
    stars = draw_stars(surveys, options, target_budget, given)
    dataset, answered = stars.dataset, stars.answered
    used = np.bincount(dataset.y[answered & (dataset.y != UNLABELLED)], minlength=len(dataset.classes))
    counted = dict(zip(dataset.classes, used.tolist(), strict=True)) if given else {}
    about_answers = (
        {"labels_from": {"file": str(options.labels_from), "stars": len(given), "used": counted}} if given else {}
    )
    # last, because it may take minutes: what is wrong is told before

    def tell(done: int, total: int | None, note: str = "") -> None:
        progress(0, options.repeats, f"thinned light curves: {done} of {total} parts")

    dataset = thin_light_curves(dataset, surveys, replicates, workers, tell, stars.replicated)
    tasks = draw_tasks(dataset, stars.drawn, options, known_rows)
    if answered.any():
        tasks = tuple(replace(task, answered=answered) for task in tasks)
    if stars.learned is not None:
        tasks = tuple(
            replace(task, learned=learned, elsewhere=stars.elsewhere)
            for task, learned in zip(tasks, stars.learned, strict=True)
        )
    return Plan(
        surveys=surveys,
        dataset=dataset,
        tasks=tasks,
        settings={
            "verb": "transfer",
            "labels": str(stars.target_budget),
            "source_labels": str(source_budget),
            **about_answers,
            **options.describe(surveys),
            **({"sample_sizes": dict(stars.sample_sizes)} if stars.sample_sizes else {}),
        },
        class_mix=stars.class_mix,
        left_out=stars.left_out,
        answers=counted,
        sample_sizes=stars.sample_sizes,
    )
