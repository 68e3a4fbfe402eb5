"""The stars of a transfer and the labels of each draw: all stars, or a sample where there are too many for memory."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lcdvt.dataset.alignment import aligned_surveys, own_features, with_replicates
from lcdvt.dataset.dataset import UNLABELLED, Dataset, SurveyData, build_dataset
from lcdvt.dataset.draws import NO_LABEL, LabelBudget, draw_labels
from lcdvt.dataset.sampling import (
    SampledSurvey,
    StarRoll,
    first_by_key,
    read_roll,
    sampled,
    stratified_by_key,
)
from lcdvt.errors import DatasetError, SettingsError
from lcdvt.ingestion.replicates import MOST_STARS, replicate_features
from lcdvt.names import LABEL, OBJECT_ID
from lcdvt.parallel.executors import IN_THIS_PROCESS, Workers
from lcdvt.parallel.progress import Progress, silent
from lcdvt.protocol.elsewhere import StarsElsewhere
from lcdvt.protocol.plan import TransferOptions
from lcdvt.workspace.journal import Journal
from lcdvt.workspace.survey import StoredSurvey


@dataclass(frozen=True)
class DrawnStars:
    """The stars that draws are made of, and the labels of each.

    Parameters
    ----------
    dataset
        With all known labels.
    drawn
        For each draw the labels that may be learned from, −1 everywhere else.
    answered
        Which rows people were asked about.
    target_budget
        How many labels of the target each draw has beside them.
    left_out
        Classes that the surveys have, and that are not told apart.
    class_mix
        Labelled stars of each class in the target.
    learned
        For each draw the rows that it learns from; None for all.
    elsewhere
        The target's other stars; None where the dataset has all.
    sample_sizes
        How many stars of how many the first draw learns from, for each survey of which not all are learned from.
    replicated
        For each survey the stars, by part, of which thinned light curves are worth their time; None for those of the
        whole survey.
    """

    dataset: Dataset
    drawn: list[NDArray[np.int64]]
    answered: NDArray[np.bool_]
    target_budget: LabelBudget
    left_out: tuple[str, ...]
    class_mix: Mapping[str, int]
    learned: list[NDArray[np.bool_]] | None = None
    elsewhere: StarsElsewhere | None = None
    sample_sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    replicated: list[dict[str, list[str]] | None] | None = None


def draw_stars(
    surveys: tuple[StoredSurvey, ...],
    options: TransferOptions,
    target_budget: LabelBudget,
    answers: Mapping[str, str],
) -> DrawnStars:
    """Put the surveys together and draw the labels; of a survey with too many stars a sample is taken.

    Parameters
    ----------
    surveys
        Sources first, the target last.
    options
        Classes, draws and seeds, and how many stars of a survey are learned from.
    target_budget
        How many labels of the target each draw has.
    answers
        What people said of stars of the target: in every draw.
    """
    if any(stored.count_objects() > options.training_stars for stored in surveys):
        return _from_sample(surveys, options, target_budget, answers)
    target_needs_labels = target_budget != NO_LABEL
    dataset, left_out = put_together(surveys, options.classes, answers, target_needs_labels=target_needs_labels)
    catalogued, answered = without_answers(dataset, surveys[-1], answers)
    if answers and not (catalogued.y[catalogued.rows_of(len(surveys) - 1)] != UNLABELLED).any():
        target_budget = NO_LABEL  # all labels of the target are answers
    budgets = _budgets(surveys, options, target_budget)
    drawn = [catalogued.draw(budgets, seed) for seed in options.draw_seeds]
    for draw in drawn:
        draw[answered] = dataset.y[answered]
    return DrawnStars(dataset, drawn, answered, target_budget, left_out, dataset.class_mix())


def _from_sample(
    surveys: tuple[StoredSurvey, ...],
    options: TransferOptions,
    target_budget: LabelBudget,
    answers: Mapping[str, str],
) -> DrawnStars:
    """Draw labels from all stars, and take those, and a sample of the others, into memory.

    Each draw has the sample that it would have alone: the dataset holds what any of them needs.
    """
    target = len(surveys) - 1
    rolls = [
        read_roll(stored, options.seed, answers if number == target else None) for number, stored in enumerate(surveys)
    ]
    names = [stored.name for stored in surveys]
    classes, left_out = choose_classes(
        names,
        [roll.known_classes() for roll in rolls],
        options.classes,
        has_answers=bool(answers),
        target_needs_labels=target_budget != NO_LABEL,
    )
    catalogued = [roll.catalogued(classes) for roll in rolls]
    if answers and not (catalogued[-1] != UNLABELLED).any():
        target_budget = NO_LABEL  # all labels of the target are answers
    budgets = _budgets(surveys, options, target_budget)
    samples = []
    for seed in options.draw_seeds:
        places = [draw_labels(y, budget, seed, classes) for y, budget in zip(catalogued, budgets, strict=True)]
        samples.append(
            [
                *(
                    _sample_source(roll, p, classes, options.training_stars)
                    for roll, p in zip(rolls[:-1], places[:-1], strict=True)
                ),
                _sample_target(rolls[-1], places[-1], classes, options.training_stars),
            ]
        )
    rows = [np.unique(np.concatenate([one.rows for one in of_survey])) for of_survey in zip(*samples, strict=True)]
    some = [sampled(stored, chosen) for stored, chosen in zip(surveys, rows, strict=True)]
    dataset = _with_own(build_dataset(with_answers(aligned_surveys(some), answers), classes=classes), some[-1])
    answered = np.concatenate([roll.answered[chosen] for roll, chosen in zip(rolls, rows, strict=True)])
    labelled = rolls[-1].labelled(classes)
    mix = np.bincount(labelled[labelled != UNLABELLED], minlength=len(classes)).tolist()
    return DrawnStars(
        dataset=dataset,
        drawn=[
            np.concatenate([one.drawn_among(chosen) for one, chosen in zip(draw, rows, strict=True)])
            for draw in samples
        ],
        answered=answered,
        target_budget=target_budget,
        left_out=left_out,
        class_mix=dict(zip(classes, mix, strict=True)),
        learned=[
            np.concatenate([np.isin(chosen, one.rows) for one, chosen in zip(draw, rows, strict=True)])
            for draw in samples
        ],
        elsewhere=StarsElsewhere(
            surveys=surveys,
            features=dataset.features,
            classes=classes,
            stars=len(labelled),
            labelled=sum(mix),
            fingerprint=_fingerprint(surveys[-1], rolls[-1]),
        ),
        sample_sizes={
            stored.name: (len(one.rows), len(roll))
            for stored, one, roll in zip(surveys, samples[0], rolls, strict=True)
            if len(one.rows) < len(roll)
        },
        replicated=[
            _worth_thinning(one, roll, [draw[number] for draw in samples])
            for number, (one, roll) in enumerate(zip(some, rolls, strict=True))
        ],
    )


@dataclass(frozen=True)
class _Sample:
    """The stars of one survey that one draw learns from.

    Parameters
    ----------
    rows
        Their places in the survey, in ascending order.
    drawn
        Their labels to learn from, −1 for the others.
    """

    rows: NDArray[np.int64]
    drawn: NDArray[np.int64]

    def drawn_among(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the same of stars at more places."""
        drawn = np.full(len(rows), UNLABELLED, dtype=np.int64)
        drawn[np.searchsorted(rows, self.rows)] = self.drawn
        return drawn


def _sample_target(roll: StarRoll, places: NDArray[np.int64], classes: tuple[str, ...], most: int) -> _Sample:
    """Return every star with a label to learn from, and so many stars that are chosen without a look at labels."""
    drawn = np.full(len(roll), UNLABELLED, dtype=np.int64)
    drawn[places] = roll.catalogued(classes)[places]
    drawn[roll.answered] = roll.labelled(classes)[roll.answered]
    rows = np.unique(np.concatenate([first_by_key(roll.key, most), places, np.flatnonzero(roll.answered)]))
    return _Sample(rows, drawn[rows])


def _sample_source(roll: StarRoll, places: NDArray[np.int64], classes: tuple[str, ...], most: int) -> _Sample:
    """Return at most so many stars, stratified by the drawn labels."""
    drawn = np.full(len(roll), UNLABELLED, dtype=np.int64)
    drawn[places] = roll.catalogued(classes)[places]
    rows = stratified_by_key(drawn, roll.key, most)
    return _Sample(rows, drawn[rows])


def _worth_thinning(survey: SampledSurvey, roll: StarRoll, draws: Sequence[_Sample]) -> dict[str, list[str]] | None:
    """Return the stars whose light curves are thinned: those with labels first; None where the survey has all."""
    if len(survey.rows) == len(roll):
        return None
    has_label = np.any([draw.drawn_among(survey.rows) != UNLABELLED for draw in draws], axis=0)
    order = np.lexsort((roll.key[survey.rows], ~has_label))
    return sampled(survey, np.sort(survey.rows[order[:MOST_STARS]])).ids_by_part()


def _fingerprint(target: StoredSurvey, roll: StarRoll) -> str:
    """Return a text that changes with the labels and the features of any star of the target."""
    files = Journal(target.folder.progress, only_read=True).files
    folder = target.folder.features.name
    digest = hashlib.sha256(repr(sorted((k, v) for k, v in files.items() if k.startswith(f"{folder}/"))).encode())
    for content in (repr(roll.names).encode(), roll.label.tobytes(), roll.answer.tobytes(), roll.key.tobytes()):
        digest.update(content)
    return digest.hexdigest()


def _budgets(
    surveys: Sequence[StoredSurvey], options: TransferOptions, target_budget: LabelBudget
) -> list[LabelBudget]:
    return [*[LabelBudget.parse(options.source_labels, "source_labels")] * (len(surveys) - 1), target_budget]


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
    surveys = with_answers(aligned_surveys(stored), answers or {})
    chosen, left_out = choose_classes(
        [survey.name for survey in surveys],
        [set(survey.labels.dropna()) for survey in surveys],
        classes,
        has_answers=bool(answers),
        target_needs_labels=target_needs_labels,
    )
    return _with_own(build_dataset(surveys, classes=chosen), stored[-1]), left_out


def _with_own(dataset: Dataset, target: StoredSurvey) -> Dataset:
    """Return the dataset with what only its target can be compared by."""
    own = own_features(target, dataset.object_ids[dataset.rows_of(dataset.last)])
    return replace(dataset, target_own=own)


def with_answers(surveys: list[SurveyData], answers: Mapping[str, str]) -> list[SurveyData]:
    """Return the surveys with what people said of stars of the last one in the place of its own labels."""
    if not answers:
        return surveys
    labels = surveys[-1].labels.astype(object)
    known_stars = [star for star in answers if star in labels.index]
    labels.loc[known_stars] = [answers[star] for star in known_stars]
    return [*surveys[:-1], replace(surveys[-1], labels=labels)]


def choose_classes(
    names: Sequence[str],
    known: Sequence[set[str]],
    wanted: Sequence[str] | None,
    *,
    has_answers: bool,
    target_needs_labels: bool,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the classes to tell apart, and those that are left out.

    Parameters
    ----------
    names, known
        The surveys, the target last, and the classes that each has labels of.
    wanted
        The classes wanted; None for those that both sides have.
    has_answers, target_needs_labels
        Whether people were asked about stars of the target, and whether a target without any label is refused.
    """
    *sources, target = names
    for number, (name, found) in enumerate(zip(names, known, strict=True)):
        if not found and (target_needs_labels or number < len(sources)):
            raise DatasetError(f"{name} has no labels: ingest it with catalog=FILE, or choose another survey.")
    at_source = set.union(*known[:-1])
    at_target = known[-1] or at_source
    if has_answers and wanted is not None and not target_needs_labels:
        at_target = at_target | at_source  # people may not have come to every class yet
    shared = sorted(at_source & at_target)
    for name in wanted or ():
        if name not in shared:
            lacking = target if name not in at_target else " + ".join(sources)
            raise SettingsError(
                f"classes={name}: {lacking} has not a single labelled object of it; choose from {', '.join(shared)}."
            )
    if len(shared) < 2:
        raise DatasetError(
            f"the sources have {', '.join(sorted(at_source))} and {target} has {', '.join(sorted(at_target))}: "
            "at least two classes in common are needed."
        )
    chosen = shared if wanted is None else sorted(set(wanted))
    return tuple(chosen), tuple(sorted((at_source | at_target) - set(chosen)))


def thin_light_curves(
    dataset: Dataset,
    surveys: Sequence[StoredSurvey],
    replicates: int,
    workers: Workers = IN_THIS_PROCESS,
    progress: Progress = silent,
    stars: Sequence[Mapping[str, Sequence[str]] | None] | None = None,
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
    stars
        For each survey of which stars, by part; None for those of the whole survey.
    """
    if replicates == 0:
        return dataset
    chosen = stars or [None] * len(surveys)
    made = [
        [
            replicate_features(stored, number, workers, progress, some)
            for stored, some in zip(surveys, chosen, strict=True)
        ]
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
