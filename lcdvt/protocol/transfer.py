"""The verbs `transfer` and `ensemble`: labels of one or more surveys carried to another, beside honest rivals.

Read from the top: options are checked, surveys opened and brought under common feature names, labels drawn, and the
plan is carried out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from lcdvt.dataset.alignment import aligned_surveys, with_replicates
from lcdvt.dataset.dataset import UNLABELLED, Dataset, build_dataset
from lcdvt.dataset.draws import NO_LABEL, LabelBudget
from lcdvt.dataset.scaling import ScalingMethod
from lcdvt.dvt.config import DoubtfulLabels, DVTConfig, TrainingMode
from lcdvt.errors import DatasetError, SettingsError
from lcdvt.ingestion.replicates import replicate_features
from lcdvt.names import LABEL, OBJECT_ID
from lcdvt.parallel.executors import EVERY_CORE, IN_THIS_PROCESS, Workers
from lcdvt.parallel.progress import Progress, silent
from lcdvt.protocol.carry_out import RunPlace, carry_out
from lcdvt.protocol.plan import ALL_ROWS, NEED_REPLICATES, UNSUPERVISED_ROWS, Plan, TransferOptions, draw_tasks
from lcdvt.run import Run
from lcdvt.workspace.answers import read_answers
from lcdvt.workspace.survey import StoredSurvey, open_survey


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
    doubtful_labels
        What DVT and its teachers make of drawn labels that the sources contradict: "keep" learns from them like all
        others, to "leave-out" these stars are unlabelled; None as the preset says (leave-out), but keep where people's
        answers are among the labels, because they know better.
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
        classes=None if classes is None else tuple(classes),
        members=members,
        repeats=repeats,
        seed=seed,
        rows=None if rows is None else tuple(rows),
        scaling=scaling,
        device=device,
        source_labels=source_labels,
        labels_from=None if labels_from is None else Path(labels_from),
        replicates=replicates,
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
    if target in sources:
        raise SettingsError(f"{target} is both source and target: name two different surveys.")
    target_budget, source_budget = LabelBudget.parse_or_none(labels), LabelBudget.parse(options.source_labels)
    is_unsupervised = target_budget == NO_LABEL and options.labels_from is None
    replicates = options.config.teaching.replicates if options.config.teaching else 0
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
    dataset, left_out = put_together(surveys, options.classes, given, target_needs_labels=target_budget != NO_LABEL)
    catalogued, answered = without_answers(dataset, surveys[-1], given)
    if given and not (catalogued.y[catalogued.rows_of(len(sources))] != UNLABELLED).any():
        target_budget = NO_LABEL  # all labels of the target are answers
    budgets = [*[source_budget] * len(sources), target_budget]
    drawn = [catalogued.draw(budgets, seed) for seed in range(options.seed, options.seed + options.repeats)]
    for draw in drawn:
        draw[answered] = dataset.y[answered]
    used = np.bincount(dataset.y[answered & (dataset.y != UNLABELLED)], minlength=len(dataset.classes))
    counted = dict(zip(dataset.classes, used.tolist(), strict=True)) if given else {}
    about_answers = (
        {"labels_from": {"file": str(options.labels_from), "stars": len(given), "used": counted}} if given else {}
    )
    # last, because it may take minutes: what is wrong is told before

    def tell(done: int, total: int | None, note: str = "") -> None:
        progress(0, options.repeats, f"thinned light curves: {done} of {total} parts")

    dataset = thin_light_curves(dataset, surveys, replicates, workers, tell)
    return Plan(
        surveys=surveys,
        dataset=dataset,
        tasks=draw_tasks(dataset, drawn, options, known_rows),
        settings={
            "verb": "transfer",
            "labels": str(target_budget),
            "source_labels": str(source_budget),
            **about_answers,
            **options.describe(surveys),
        },
        left_out=left_out,
        answers=counted,
    )


def put_together(
    stored: Sequence[StoredSurvey],
    classes: Sequence[str] | None,
    answers: Mapping[str, str] | None = None,
    *,
    target_needs_labels: bool = True,
) -> tuple[Dataset, tuple[str, ...]]:
    """Put the surveys together, with the classes wanted or those that both sides have; and what is left out.

    Parameters
    ----------
    stored
        Sources first, the target last.
    classes
        The classes wanted; None for those that both sides have.
    answers
        What people said of stars of the target; their word counts, not the catalogue's.
    target_needs_labels
        Whether a target without any label is refused; otherwise it may have all classes of the sources.
    """
    surveys = aligned_surveys(stored)
    if answers:
        labels = surveys[-1].labels.astype(object)
        known_stars = [star for star in answers if star in labels.index]
        labels.loc[known_stars] = [answers[star] for star in known_stars]
        surveys[-1] = replace(surveys[-1], labels=labels)
    known = [set(survey.labels.dropna()) for survey in surveys]
    for survey, found in zip(surveys, known, strict=True):
        if not found and (target_needs_labels or survey is not surveys[-1]):
            raise DatasetError(f"{survey.name} has no labels: ingest it with catalog=FILE, or choose another survey.")
    at_source, target = set.union(*known[:-1]), surveys[-1].name
    at_target = known[-1] or at_source
    if answers and classes is not None and not target_needs_labels:
        at_target = at_target | at_source  # people may not have come to every class yet
    shared = sorted(at_source & at_target)
    for name in classes or ():
        if name not in shared:
            lacking = target if name not in at_target else " + ".join(survey.name for survey in surveys[:-1])
            raise SettingsError(
                f"classes={name}: {lacking} has not a single labelled object of it; choose from {', '.join(shared)}."
            )
    if len(shared) < 2:
        raise DatasetError(
            f"the sources have {', '.join(sorted(at_source))} and {target} has {', '.join(sorted(at_target))}: "
            "at least two classes in common are needed."
        )
    chosen = shared if classes is None else sorted(set(classes))
    return build_dataset(surveys, classes=chosen), tuple(sorted((at_source | at_target) - set(chosen)))


def thin_light_curves(
    dataset: Dataset,
    surveys: Sequence[StoredSurvey],
    replicates: int,
    workers: Workers = IN_THIS_PROCESS,
    progress: Progress = silent,
) -> Dataset:
    """Return the dataset with as many replicates of its stars; those made before are read.

    Parameters
    ----------
    dataset, surveys
        As `put_together` made it, of these surveys.
    replicates
        How many of each star.
    workers, progress
        Who computes features that were not computed before, and who is told.
    """
    if replicates == 0:
        return dataset
    made = [
        [replicate_features(stored, number, workers, progress) for stored in surveys]
        for number in range(1, replicates + 1)
    ]
    return with_replicates(dataset, surveys, made)


def without_answers(
    dataset: Dataset, target: StoredSurvey, answers: Mapping[str, str]
) -> tuple[Dataset, NDArray[np.bool_]]:
    """Return the dataset with the catalogue's labels alone, from which labels are drawn, and which rows are answers.

    So the same seed draws the same stars of the catalogue however many answers there are.
    """
    is_target = dataset.rows_of(len(dataset.surveys) - 1)
    answered = is_target & np.isin(dataset.object_ids, np.array(list(answers), dtype=object))
    if not answered.any():
        return dataset, answered
    catalogue = target.objects().set_index(OBJECT_ID)[LABEL]
    numbers = {name: number for number, name in enumerate(dataset.classes)}
    y = dataset.y.copy()
    y[answered] = [numbers.get(label, UNLABELLED) for label in catalogue.reindex(dataset.object_ids[answered])]
    return replace(dataset, y=y), answered
