"""Histogram boosting for the few hundred rows of a label draw: scikit-learn's trees, grown by compiled loops.

scikit-learn sorts a feature again for every threshold between two bins when rows have weights, sorts the bins into bins
once more, and calls Python some hundred times for each tree. Here all thresholds of a feature come from one sort, by
the same rule, and a round of trees is one call (`lcdvt.baselines.boosting_rounds`). The trees are the same.
"""

import math
from typing import Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from lcdvt.baselines.boosting_rounds import (
    BIN,
    FEATURE,
    KEPT,
    LEAF,
    NUMBERS,
    PLACES,
    SUMS,
    Rows,
    Settings,
    Work,
    add_trees,
    boost,
)

MOST_BINS: Final = 127
_SEEDS: Final = np.iinfo(np.uint32).max
# Random numbers for each choice, of which some draw again: 1.4 on average, whatever the number of features.
_DRAWS_OF_A_CHOICE: Final = 2


class HistogramBoosting:
    """Boosted trees on bins of the features; a missing value goes where it gains most.

    Parameters
    ----------
    max_iter
        Rounds, with a tree for each class in each.
    learning_rate
        What of a tree's answer counts.
    max_leaf_nodes, min_samples_leaf
        Most leaves of a tree, and least rows of a leaf.
    max_bins
        Most bins of a feature's values, `MOST_BINS` at most.
    max_features
        Share of the features that are looked at for each split, drawn anew each time.
    random_state
        The seed.
    """

    def __init__(
        self,
        *,
        max_iter: int,
        learning_rate: float,
        max_leaf_nodes: int,
        min_samples_leaf: int,
        max_bins: int,
        max_features: float,
        random_state: int,
    ) -> None:
        if not 2 <= max_bins <= MOST_BINS:
            raise ValueError(f"max_bins must be 2 to {MOST_BINS}, not {max_bins}.")
        self.max_iter, self.learning_rate, self.max_leaf_nodes = max_iter, learning_rate, max_leaf_nodes
        self.min_samples_leaf, self.max_bins, self.max_features = min_samples_leaf, max_bins, max_features
        self.random_state = random_state
        self.classes_: NDArray[np.int64]

    def fit(self, x: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on rows with weights; a weight of zero leaves a row out of the bins."""
        values = np.asarray(x, dtype=np.float64)
        weights = np.ones(len(values)) if sample_weight is None else np.array(sample_weight, dtype=np.float64)
        self.classes_, classes = np.unique(np.asarray(y), return_inverse=True)
        trees = 1 if len(self.classes_) <= 2 else len(self.classes_)
        rows, limits = _binned(values, weights, classes, self.max_bins)
        drawn = max(1, math.ceil(self.max_features * values.shape[1]))
        settings = Settings(self.max_leaf_nodes, self.min_samples_leaf, drawn, float(self.learning_rate))
        nodes = 2 * self.max_leaf_nodes - 1
        self._start = self._first_answer(classes, weights)
        work = self._work(rows, settings, trees)
        self._trees = np.full((self.max_iter * trees, nodes, KEPT), LEAF)
        self._values = np.zeros((self.max_iter * trees, nodes))
        for begin in range(0, len(self._trees), trees):
            of_round = slice(begin, begin + trees)
            boost(rows, settings, work, self._trees[of_round], self._values[of_round])
        self._limits = limits[self._trees[..., FEATURE], self._trees[..., BIN]]
        return self

    def predict_proba(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class, (rows, classes)."""
        values = np.ascontiguousarray(x, dtype=np.float64)
        raw = np.tile(self._start[:, None], len(values))
        add_trees(values, self._trees, self._limits, self._values, raw)
        if len(raw) == 1:
            second = expit(raw[0])
            return np.column_stack([1 - second, second])
        exponential = np.exp(raw - raw.max(axis=0))
        proba: NDArray[np.float64] = (exponential / exponential.sum(axis=0)).T
        return proba

    def _first_answer(self, classes: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what is said before the first tree: how frequent the classes are."""
        least = 10 * np.finfo(np.float64).eps
        if len(self.classes_) <= 2:
            return np.atleast_1d(logit(np.clip(np.average(classes, weights=weights), least, 1 - least)))
        share = np.array([np.average(classes == k, weights=weights) for k in range(len(self.classes_))])
        share = np.clip(share, np.finfo(np.float64).eps, 1 - np.finfo(np.float64).eps)
        return np.log(share / np.exp(np.log(share).mean()))

    def _work(self, rows: Rows, settings: Settings, trees: int) -> Work:
        count, features = rows.bins.shape
        nodes = 2 * settings.leaves - 1
        choices = 0
        if settings.drawn < features:
            choices = self.max_iter * trees * nodes * (features - 1)
        raw = np.tile(self._start[:, None], count)
        return Work(
            raw=raw,
            gradient=np.empty(raw.shape, dtype=np.float32),
            curvature=np.empty(raw.shape, dtype=np.float32),
            share=np.empty(trees),
            chance=self._random_numbers(_DRAWS_OF_A_CHOICE * choices),
            place=np.zeros(1, dtype=np.int64),
            looked_at=np.ones(features, dtype=np.bool_),
            order=np.empty(count, dtype=np.int64),
            buffer=np.empty(count, dtype=np.int64),
            histograms=np.empty((settings.leaves, features, self.max_bins + 1, SUMS)),
            heap=np.zeros(settings.leaves + 1, dtype=np.int64),
            numbers=np.zeros((nodes, NUMBERS)),
            places=np.zeros((nodes, PLACES), dtype=np.int64),
        )

    def _random_numbers(self, count: int) -> NDArray[np.uint32]:
        """Return the numbers of 32 bits that NumPy's generator would use, with the seed that scikit-learn would."""
        seeds = np.random.RandomState(self.random_state)  # its older generator makes the seeds there
        seeds.randint(_SEEDS, dtype="u8")
        drawn = np.random.default_rng(seeds.randint(_SEEDS, dtype="u8")).bit_generator.random_raw(-(-count // 2))
        return drawn.astype("<u8").view("<u4").astype(np.uint32)


def compile_boosting() -> None:
    """Compile the loops, which else happens when something is learned first."""
    x = np.arange(4.0)[:, None]
    one_tree = HistogramBoosting(
        max_iter=1,
        learning_rate=0.1,
        max_leaf_nodes=2,
        min_samples_leaf=1,
        max_bins=4,
        max_features=1.0,
        random_state=0,
    )
    one_tree.fit(x, [0, 0, 1, 1]).predict_proba(x)


def _binned(
    values: NDArray[np.float64], weights: NDArray[np.float64], classes: NDArray[np.int64], most: int
) -> tuple[Rows, NDArray[np.float64]]:
    """Sort rows into bins; return them, and (features, bins) of the greatest value of a bin, the last one's infinite.

    A bin without rows, which a limit that is itself a value leaves, is shared among its neighbours.
    """
    features = values.shape[1]
    bins = np.full(values.shape, most, dtype=np.uint8)
    used, gaps = np.ones(features, dtype=np.int64), np.zeros(features, dtype=np.bool_)
    limits = np.full((features, most + 1), np.inf)
    for feature in range(features):
        column = values[:, feature]
        thresholds = weighted_thresholds(column, weights, most)
        known = ~np.isnan(column)
        gaps[feature] = not known.all()
        found = np.searchsorted(thresholds, column)
        rows = np.flatnonzero(np.bincount(found[known & (weights != 0)], minlength=1))
        between = (rows[1:] + rows[:-1]) / 2
        bins[known, feature] = np.searchsorted(between, found[known])
        used[feature] = len(between) + 1
        limits[feature, : len(between)] = thresholds[between.astype(np.int64)]
    return Rows(bins, used, gaps, classes, weights), limits


def weighted_thresholds(values: NDArray[np.float64], weights: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Return the limits between bins of about equal weight; a value equal to a limit belongs below it.

    Where there are no more different values than bins, each value has a bin of its own.
    """
    known = ~np.isnan(values) & (weights != 0)
    order = np.argsort(values[known])
    ordered, cumulative = values[known][order], np.cumsum(weights[known][order])
    different = np.unique(ordered)
    if len(different) <= bins:
        return (different[1:] + different[:-1]) / 2
    wanted = np.linspace(0, 1, bins + 1)[1:-1] * cumulative[-1]
    place = np.minimum(np.searchsorted(cumulative, wanted), len(ordered) - 1)
    # a share that ends exactly with a value lies halfway to the next one
    ends_there = cumulative[place] - wanted <= np.finfo(np.float64).eps
    following = np.minimum(place + ends_there, len(ordered) - 1)
    return np.unique((ordered[place] + ordered[following]) / 2)
