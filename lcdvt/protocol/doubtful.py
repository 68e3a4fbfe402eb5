"""Drawn labels that the sources contradict: catalogues err, and of a handful of labels each one counts.

Of EROS-1's labels one in ten is wrong, so that a draw of thirty has three wrong ones; where one of them is half of what
is known of a class, the teachers learn the wrong class. So two judges are asked, and where both contradict a label, its
star is one more unlabelled star for DVT and its teachers. A small weight in place of none helps less: trees that are
grown out learn a label by heart whatever its weight.

1. The sources: boosting that learned from their labels and, self-trained, from the target's stars without any label,
   contradicts a label by the rule of confident learning (`lcdvt.doubts.confident_learning`).
2. The other drawn labels: boosting that learned from them and the sources, but not from the star's own label,
   contradicts it if another class is more probable.

Where the sources err, doubt would do harm. So nothing is doubted between surveys that are very unlike, where the
sources disagree with more of the drawn labels than a catalogue is likely to have wrong, or where the drawn labels
change the class of many of the target's other stars; nor by sources whose own labels contradict each other, as
EROS-1's do, which were given by eye; nor a class of which doubt would leave no label. And what people have answered
when they were asked about a star (`lcdvt label`) is believed: they have looked at the light curve, and were asked
because the model was in doubt.
"""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.baselines.problem import TransferProblem
from lcdvt.baselines.self_training import SelfTrainedBoosting
from lcdvt.baselines.weighted import WeightedBothSurveys, WeightedConfig
from lcdvt.dataset.dataset import UNLABELLED
from lcdvt.dataset.folds import stratified_folds
from lcdvt.doubts.confident_learning import judge
from lcdvt.doubts.opinions import opinion_within
from lcdvt.dvt.config import TeachingConfig

# On the development draws the sources disagreed with 7 to 24 % of the labels between Catalina and EROS-1, and with 41
# to 44 % of Pan-STARRS1's, where doubt cost the teachers one point and more.
MOST_DISAGREEMENT: Final = 0.3
"""Share of the drawn labels from which on the sources are not believed: they do not know the target."""
# On development draws 4 to 9 % of EROS-1's stars by Catalina and ASAS, 19 to 47 % of Pan-STARRS1's (eight draws each).
# All stars are counted, so that it hardly depends on the draw, as the share of a handful of labels does.
MOST_CHANGED: Final = 0.125
"""Share of the target's stars that the drawn labels give another class, from which on the sources are not believed."""
# Of Catalina's labels the others contradict 0.4 to 0.6 %, of EROS-1's, which were given by eye, 3.1 to 3.6 %.
MOST_CONTRADICTED: Final = 0.015
"""Share of the sources' labels, contradicted by the others of them, from which on the sources are not believed."""
JUDGED_LABELS: Final = 2000
"""Of the sources, drawn at random: enough to tell one per cent from three, in a few seconds."""
FOLDS: Final = 5
BOTH_WEIGH_THE_SAME: Final = WeightedConfig(target_weights=(1.0,))


def believed_labels(
    problem: TransferProblem, config: TeachingConfig, seed: int, answered: NDArray[np.bool_] | None = None
) -> TransferProblem:
    """Return the problem with the drawn labels that DVT and its teachers learn from.

    Parameters
    ----------
    problem
        The label draw.
    config
        Whether doubtful labels are kept or left out.
    seed
        The random seed of the sources' opinion.
    answered
        (target objects,): whose label was given by a person who was asked, and is believed; None for nobody's.
    """
    if config.doubtful_labels == "keep":
        return problem
    doubtful = doubtful_labels(problem, seed, answered)
    return replace(problem, target_y=np.where(doubtful, UNLABELLED, problem.target_y)) if doubtful.any() else problem


def doubtful_labels(
    problem: TransferProblem, seed: int, answered: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Return which target objects have a drawn label that the sources contradict.

    Labels of a class that no source knows are believed, because no source can speak of them.

    Parameters
    ----------
    problem
        The label draw.
    seed
        The random seed of the sources' opinion.
    answered
        Whose label is not judged; None for nobody's.
    """
    doubtful = np.zeros(len(problem.target_y), dtype=bool)
    known_to_sources = np.setdiff1d(problem.source_y, [UNLABELLED])
    may_err = np.isin(problem.target_y, known_to_sources)
    judged = np.flatnonzero(may_err if answered is None else may_err & ~answered)
    if not len(judged):
        return doubtful
    given = problem.target_y[judged]
    of_all = _opinion_of_sources(problem, seed)
    opinion = of_all[judged]
    if np.mean(opinion.argmax(axis=1) != given) >= MOST_DISAGREEMENT:
        return doubtful
    contradicted = judge(opinion, given).contradicted
    if not contradicted.any() or changed_share(problem, of_all, seed) >= MOST_CHANGED:
        return doubtful
    if contradicted_share(problem, seed) >= MOST_CONTRADICTED:
        return doubtful
    contradicted &= _opinion_of_others(problem, seed)[judged].argmax(axis=1) != given
    for number in np.unique(given[contradicted]):
        wrong = judged[contradicted & (given == number)]
        if len(wrong) < np.sum(problem.target_y == number):
            doubtful[wrong] = True
    return doubtful


def changed_share(problem: TransferProblem, of_sources: NDArray[np.float64], seed: int) -> float:
    """Return of which share of the target's objects the drawn labels change the class, if they are learned from, too.

    Parameters
    ----------
    problem
        The label draw.
    of_sources
        (target objects, classes) by the sources alone.
    seed
        The random seed of the opinion that knows the drawn labels.
    """
    plain = problem.without_replicates()
    model = WeightedBothSurveys("boosting", BOTH_WEIGH_THE_SAME)
    model.fit(plain, seed)
    return float(np.mean(model.predict_proba(plain.target_x).argmax(axis=1) != of_sources.argmax(axis=1)))


def contradicted_share(problem: TransferProblem, seed: int) -> float:
    """Return which share of the sources' labels their other labels contradict, by the rule of confident learning.

    Parameters
    ----------
    problem
        The label draw; of the target nothing is looked at.
    seed
        The random seed of the labels that are judged, if there are many, and of the forests that judge.
    """
    labelled = np.flatnonzero(problem.source_y != UNLABELLED)
    if len(labelled) > JUDGED_LABELS:
        labelled = np.random.default_rng(seed).choice(labelled, JUDGED_LABELS, replace=False)
    x, y = problem.source_x[labelled], problem.source_y[labelled]
    opinion = opinion_within(x, y, len(problem.classes), seed, repeats=1)
    return float(judge(opinion, y).contradicted.mean())


def _opinion_of_sources(problem: TransferProblem, seed: int) -> NDArray[np.float64]:
    """Return (target objects, classes) by boosting that has seen no label of the target."""
    plain = problem.without_replicates()
    model = SelfTrainedBoosting()
    model.fit(replace(plain, target_y=np.full_like(plain.target_y, UNLABELLED)), seed)
    return model.predict_proba(plain.target_x)


def _opinion_of_others(problem: TransferProblem, seed: int) -> NDArray[np.float64]:
    """Return (target objects, classes): of each drawn star by boosting that has not learned from its own label."""
    plain = problem.without_replicates()
    fold = stratified_folds(plain.target_y, FOLDS, seed)
    opinion = np.zeros((len(fold), len(plain.classes)))
    for number in np.unique(fold[fold != UNLABELLED]):
        held_out = fold == number
        model = WeightedBothSurveys("boosting", BOTH_WEIGH_THE_SAME)
        model.fit(replace(plain, target_y=np.where(held_out, UNLABELLED, plain.target_y)), seed)
        opinion[held_out] = model.predict_proba(plain.target_x[held_out])
    return opinion
