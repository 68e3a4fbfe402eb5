"""How far the drawn labels of the target are trusted: catalogues err, and of a handful of labels each one counts.

Of EROS-1's labels one in ten is wrong, so that a draw of thirty has three wrong ones; where one of them is half of what
is known of a class, the teachers learn the wrong class. The sources are a second opinion: boosting that learned from
their labels and, self-trained, from the target's stars without any label says what each drawn star is, and confident
learning (`lcdvt.doubts.confident_learning`) says which of the drawn labels that contradicts.

Between surveys that are very unlike it is the sources that err, and doubt would do harm. So nothing is doubted where
they disagree with more of the drawn labels than a catalogue is likely to have wrong, nor a class of which they would
leave no label.
"""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.baselines.problem import TransferProblem
from lcdvt.baselines.self_training import SelfTrainedBoosting
from lcdvt.dataset.dataset import UNLABELLED
from lcdvt.doubts.confident_learning import judge

TRUST_IN_DOUBTFUL: Final = 0.1
"""Share of its weight that a contradicted label keeps."""
# On the development draws the sources disagreed with 7 to 24 % of the labels between Catalina and EROS-1, and with 41
# to 44 % of Pan-STARRS1's, where weighing labels down cost the teachers one point and more.
MOST_DISAGREEMENT: Final = 0.3
"""Share of the drawn labels from which on the sources are not believed: they do not know the target."""


def with_doubtful_labels_weighed_down(problem: TransferProblem, seed: int) -> TransferProblem:
    """Return the problem with less trust in drawn labels of the target that the sources contradict.

    Parameters
    ----------
    problem
        The label draw.
    seed
        The random seed of the sources' opinion.
    """
    return replace(problem, target_trust=trust_in_drawn_labels(problem, seed))


def trust_in_drawn_labels(problem: TransferProblem, seed: int) -> NDArray[np.float64]:
    """Return how far each target object's label is trusted: fully, or `TRUST_IN_DOUBTFUL`; 1 where there is none.

    Labels of a class that no source knows are trusted, because no source can speak of them.

    Parameters
    ----------
    problem
        The label draw.
    seed
        The random seed of the sources' opinion.
    """
    trust = np.ones(len(problem.target_y))
    known_to_sources = np.setdiff1d(problem.source_y, [UNLABELLED])
    judged = np.flatnonzero(np.isin(problem.target_y, known_to_sources))
    if not len(judged):
        return trust
    given = problem.target_y[judged]
    opinion = _opinion_of_sources(problem, seed)[judged]
    if np.mean(opinion.argmax(axis=1) != given) >= MOST_DISAGREEMENT:
        return trust
    contradicted = judge(opinion, given).contradicted
    for number in np.unique(given[contradicted]):
        own = given == number
        if not contradicted[own].all():
            trust[judged[own & contradicted]] = TRUST_IN_DOUBTFUL
    return trust


def _opinion_of_sources(problem: TransferProblem, seed: int) -> NDArray[np.float64]:
    """Return (target objects, classes) by boosting that has seen no label of the target."""
    plain = problem.without_replicates()
    model = SelfTrainedBoosting()
    model.fit(replace(plain, target_y=np.full_like(plain.target_y, UNLABELLED)), seed)
    return model.predict_proba(plain.target_x)
