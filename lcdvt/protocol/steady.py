"""Features that tell of the target's stars what they tell of the sources': the others mislead who learns from a source.

Some features are of the star, as its period is and the shape of its light curve. Others are of the survey as well: how
steeply a light curve rises between two nights depends on how often somebody looked. A rule that a source teaches about
the second kind may be wrong in the target, and a model that learns from all features cannot know which is which. The
guesses of models that have seen the target can tell: a small tree on each feature alone, grown on the sources'
labels, is asked about the target's stars. A feature is steady if what the tree tells of their guessed classes, in
nats, is nearly as much as it tells of the sources' own.

No label outside the draw is seen: the target's classes are those drawn, and guesses.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from lcdvt.baselines.fitting import balanced_weights
from lcdvt.baselines.problem import TransferProblem
from lcdvt.dataset.dataset import UNLABELLED

LEAVES: Final = 8
SMALLEST_LEAF: Final = 0.005
"""Share of the sources' stars in a leaf, at least: a few stars by themselves are no rule."""
FEWEST_IN_LEAF: Final = 5
SPREAD: Final = 0.1
"""Of a leaf's shares, spread over all classes: a leaf that has never seen a class does not exclude it for good."""
FEWEST_STARS: Final = 10
"""Of the target's stars with a class and a value: from fewer nothing can be told."""
JUDGED_STARS: Final = 20_000
"""Of the sources, drawn at random: enough for eight leaves, and a survey of millions shall not take minutes."""


def steady_features(
    problem: TransferProblem, guessed: NDArray[np.integer], least: float, seed: int
) -> NDArray[np.bool_]:
    """Return which features tell of the target's classes at least a share of what they tell of the sources'.

    Parameters
    ----------
    problem
        The label draw.
    guessed
        Classes of target objects that were guessed, −1 for the others; drawn labels count beside them.
    least
        The share.
    seed
        The random seed of the sources' objects that are looked at, if there are many.
    """
    labelled = np.flatnonzero(problem.source_y != UNLABELLED)
    if len(labelled) > JUDGED_STARS:
        labelled = np.random.default_rng(seed).choice(labelled, JUDGED_STARS, replace=False)
    source_x, source_y = problem.source_x[labelled], problem.source_y[labelled]
    classes = np.where(problem.target_y != UNLABELLED, problem.target_y, guessed)
    # of a class that no source knows a source's rule can say nothing
    told = np.isin(classes, source_y) & (classes != UNLABELLED)
    target_x, target_y = problem.target_x[told], classes[told]
    steady = np.zeros(source_x.shape[1], dtype=bool)
    for feature in range(len(steady)):
        here, there = ~np.isnan(source_x[:, feature]), ~np.isnan(target_x[:, feature])
        if here.sum() < LEAVES * FEWEST_IN_LEAF or there.sum() < FEWEST_STARS:
            continue
        rule = _OneFeatureRule(source_x[here, feature], source_y[here], len(problem.classes))
        at_home = rule.information(source_x[here, feature], source_y[here])
        abroad = rule.information(target_x[there, feature], target_y[there])
        steady[feature] = abroad > max(least * at_home, 0.0)
    return steady


class _OneFeatureRule:
    """A small tree on one feature, all classes weighing the same."""

    def __init__(self, values: NDArray[np.floating], classes: NDArray[np.integer], n_classes: int) -> None:
        smallest = max(FEWEST_IN_LEAF, int(SMALLEST_LEAF * len(values)))
        self.n_classes = n_classes
        self.tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES, min_samples_leaf=smallest, random_state=0)
        self.tree.fit(values[:, None], classes, sample_weight=balanced_weights(classes))

    def information(self, values: NDArray[np.floating], classes: NDArray[np.integer]) -> float:
        """Return by how much the rule makes the true class more probable than chance, in nats; below 0 if it misleads.

        Every class weighs the same.
        """
        probability = np.zeros((len(values), self.n_classes))
        probability[:, self.tree.classes_] = self.tree.predict_proba(values[:, None])
        of_class = (1 - SPREAD) * probability[np.arange(len(classes)), classes] + SPREAD / self.n_classes
        return float(np.average(np.log(of_class * self.n_classes), weights=balanced_weights(classes)))
