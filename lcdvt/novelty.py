"""How likely a star is of a class nobody drew: none of these.

Two signs are added, each as a rank among the target's stars. A star of an unknown class is often *between* the
known ones, so a forest on the labels of both surveys is unsure of it. (DVT's own entropy is a worse sign: it learned
from unlabelled stars too, those of unknown classes among them.) And there are regions of the target's feature space
where unlabelled stars crowd while labelled ones (the source's, and the few drawn) are absent: a forest that tells
labelled from unlabelled finds them, always asked about stars it did not learn from.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from lcdvt.baselines.fitting import fit_classes
from lcdvt.baselines.problem import TransferProblem
from lcdvt.baselines.weighted import WeightedBothSurveys
from lcdvt.dataset import UNLABELLED

DOUBT_WEIGHT: Final = 2.0
TINY: Final = 1e-12
FOLDS: Final = 2
TREES: Final = 100
SMALLEST_LEAF: Final = 5
# A forest needs no more to see where unlabelled objects crowd, and a survey may have millions.
MOST_UNLABELLED: Final = 10_000


def other_score(problem: TransferProblem, seed: int) -> NDArray[np.float64]:
    """Return a number between 0 (surely one of the classes) and 1 for every target object.

    Parameters
    ----------
    problem
        The label draw.
    seed
        Of the forests.
    """
    forest = WeightedBothSurveys("forest")
    forest.fit(problem, seed)
    probability = np.maximum(forest.predict_proba(problem.target_x), TINY)
    doubt = -np.sum(probability * np.log(probability), axis=1)
    return (DOUBT_WEIGHT * _rank(doubt) + _rank(_unlabelled_look(problem, seed))) / (DOUBT_WEIGHT + 1)


def _unlabelled_look(problem: TransferProblem, seed: int) -> NDArray[np.float64]:
    """Return how much each target object looks like unlabelled rather than labelled ones, by forests that never saw it.

    Drawn labels of the target and labels of the source weigh the same together as the unlabelled objects: the
    first tell what the known classes look like there, the second are many.
    """
    source_x, source_y = problem.labelled_source()
    known = problem.target_y != UNLABELLED
    order = np.random.default_rng(seed).permutation(len(known))
    look = np.empty(len(known))
    for number in range(FOLDS):
        held_out = order[number::FOLDS]
        others = np.delete(order, np.s_[number::FOLDS])
        drawn, unlabelled = others[known[others]], others[~known[others]][:MOST_UNLABELLED]
        x = np.concatenate([source_x, problem.target_x[drawn], problem.target_x[unlabelled]])
        groups = (len(source_y), len(drawn), len(unlabelled))
        y = np.repeat([0, 0, 1], groups)
        weights = np.repeat([1.0, 1.0, 2.0] / np.maximum(groups, 1), groups)
        forest = RandomForestClassifier(TREES, min_samples_leaf=SMALLEST_LEAF, random_state=seed + number, n_jobs=1)
        look[held_out] = fit_classes(forest, x, y, 2, weights)(problem.target_x[held_out])[:, 1]
    return look


def _rank(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks scaled to 0 … 1."""
    return np.argsort(np.argsort(value, kind="stable")) / max(len(value) - 1, 1)
