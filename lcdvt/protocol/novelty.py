"""How likely a star is of a class nobody drew: none of these.

Three kinds of signs are added, each as a rank among the target's stars. A star of an unknown class is often *between*
the known ones, so boosting and a forest on the labels of both surveys are unsure of it. (DVT's own entropy is a worse
sign: it learned from unlabelled stars too, those of unknown classes among them.) There are regions of the target's
feature space where unlabelled stars crowd while labelled ones (the source's, and the few drawn) are absent: a forest
that tells labelled from unlabelled finds them, always asked about stars it did not learn from. And a star of an unknown
class may lie apart from all stars whose class the trees are sure of: an isolation forest on these tells how far.

Each sign is noisy for a single star, but stars of an unknown class have neighbours of their kind. So the sum is
smoothed: what counts is what a forest, grown without the star, expects of it from the scores of stars like it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest, RandomForestRegressor

from lcdvt.baselines.fitting import fit_classes
from lcdvt.baselines.problem import TransferProblem
from lcdvt.baselines.quick_forest import QuickForest
from lcdvt.baselines.self_training import confident_classes, product_of_experts
from lcdvt.dataset.dataset import UNLABELLED
from lcdvt.results.other_forest import OtherForest

TINY: Final = 1e-12
"""Keeps the logarithm finite."""
FOLDS: Final = 2
"""Each star is judged by a forest that did not see it, at the lowest price."""
TREES: Final = 100
SMALLEST_LEAF: Final = 5
# A forest needs no more to see where unlabelled objects crowd or scores are high, and a survey may have millions.
MOST_UNLABELLED: Final = 10_000
FEATURE_SHARE: Final = 0.33
FEWEST_TO_SMOOTH: Final = 50
SURE_SHARE: Final = 0.5
ISOLATION_TREES: Final = 200


@dataclass(frozen=True)
class Novelty:
    """How little each target object looks like any class, 0 … 1, and the forest that says so of new ones."""

    score: NDArray[np.float64]
    forest: OtherForest


def other_score(problem: TransferProblem, opinions: Sequence[NDArray[np.float64]], seed: int) -> Novelty:
    """Return a number between 0 (surely one of the classes) and 1 for every target object, and how to get others'.

    Parameters
    ----------
    problem
        The label draw.
    opinions
        (target objects, classes) of each expert that learned from the labels of both surveys.
    seed
        The random seed of the forests.
    """
    signs = [_doubt(opinion) for opinion in opinions]
    signs += [_unlabelled_look(problem, seed), _far_from_sure(problem, opinions, seed)]
    score = np.mean([_rank(sign) for sign in signs], axis=0)
    forest, expected = _smoothed(problem, score, seed)
    # Trees cannot smooth the scores of a handful of stars, but what they expect of new stars is better than nothing.
    few = len(score) < FEWEST_TO_SMOOTH
    return Novelty(_rank(score if few else expected), OtherForest.from_sklearn(forest, expected))


def _doubt(opinion: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entropy of each object's probabilities."""
    probability = np.maximum(opinion, TINY)
    return -np.sum(probability * np.log(probability), axis=1)


def _far_from_sure(problem: TransferProblem, opinions: Sequence[NDArray[np.float64]], seed: int) -> NDArray[np.float64]:
    """Return how easily each target object is told from those whose class is drawn, or of which experts are sure."""
    guessed = confident_classes(product_of_experts(opinions), problem.target_y, SURE_SHARE)
    sure = (guessed != UNLABELLED) | (problem.target_y != UNLABELLED)
    forest = IsolationForest(n_estimators=ISOLATION_TREES, random_state=seed, n_jobs=1)
    return -forest.fit(problem.target_x[sure]).score_samples(problem.target_x)


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
        forest = QuickForest(TREES, min_samples_leaf=SMALLEST_LEAF, random_state=seed + number)
        look[held_out] = fit_classes(forest, x, y, 2, weights)(problem.target_x[held_out])[:, 1]
    return look


def _smoothed(
    problem: TransferProblem, score: NDArray[np.float64], seed: int
) -> tuple[RandomForestRegressor, NDArray[np.float64]]:
    """Return a forest and what it expects of each target object's score, by trees that did not learn from it."""
    is_oob_known = len(score) >= FEWEST_TO_SMOOTH  # with fewer some star is in the sample of every tree
    forest = RandomForestRegressor(
        TREES,
        min_samples_leaf=SMALLEST_LEAF,
        max_features=FEATURE_SHARE,
        oob_score=is_oob_known,
        random_state=seed,
        n_jobs=1,
    )
    learned = np.random.default_rng(seed).permutation(len(score))[:MOST_UNLABELLED]
    expected = forest.fit(problem.target_x[learned], score[learned]).predict(problem.target_x)
    if is_oob_known:
        expected[learned] = forest.oob_prediction_
    return forest, expected


def _rank(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks scaled to 0 … 1."""
    return np.argsort(np.argsort(value, kind="stable")) / max(len(value) - 1, 1)
