"""Source and target labels together, the few target labels weighted up: the strongest rival on real surveys."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from lcdvt.baselines.boosting import HistogramBoosting
from lcdvt.baselines.fitting import ClassProbabilities, balanced_weights, fit_classes
from lcdvt.baselines.forests import ForestConfig
from lcdvt.baselines.one_thread import one_thread
from lcdvt.baselines.problem import TransferProblem
from lcdvt.dataset.folds import stratified_folds

LEAST_PROBABILITY: Final = 1e-3
"""A sure mistake counts heavily in the log-likelihood, but not infinitely."""


@dataclass(frozen=True)
class WeightedConfig:
    """How boosting or a forest learns from both surveys.

    Parameters
    ----------
    target_weights
        Total weight of the target's labels, as a multiple of the source's total; cross-validation chooses.
    folds
        Folds of that cross-validation, over the target's labels: each fold's labels are judged by a model that has
        the whole source and the other folds' labels.
    rounds, search_rounds
        Boosting rounds, or trees, of the final model and of the ones in the search.
    learning_rate, search_learning_rate
        Learning rates of boosting; the search has few rounds, so it learns faster in each.
    leaves, bins, feature_share
        Settings of boosting: few bins and a random share of the features at each split cost a fraction of the time and
        score no worse.
    smallest_leaf
        Least number of objects in a leaf of boosting; a forest's trees are grown out.
    search_rows
        Most source objects used in the search.
    """

    target_weights: tuple[float, ...] = (0.3, 1.0, 3.0)
    folds: int = 3
    rounds: int = 60
    search_rounds: int = 12
    learning_rate: float = 0.1
    search_learning_rate: float = 0.3
    leaves: int = 15
    bins: int = 31
    feature_share: float = 0.3
    smallest_leaf: int = 10
    search_rows: int = 1500


FOREST: Final = WeightedConfig(rounds=200, search_rounds=50)


class WeightedBothSurveys:
    """Boosting or a forest on source and target labels, balanced by class within each survey.

    Parameters
    ----------
    model
        Which of the two.
    config
        How it learns.
    """

    def __init__(self, model: Literal["boosting", "forest"], config: WeightedConfig | None = None) -> None:
        self.model = model
        self.config = config or (WeightedConfig() if model == "boosting" else FOREST)
        self.chosen_weight: float
        self._proba: ClassProbabilities

    def fit(self, problem: TransferProblem, seed: int) -> None:
        """Choose the target's weight by cross-validation on what is labelled, then fit on all of it."""
        self.chosen_weight = self.choose_weight(problem, seed)
        self._proba = self._fit(problem, self.chosen_weight, self._estimator(seed))

    def predict_proba(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the model's probabilities."""
        with one_thread():
            return self._proba(x)

    def choose_weight(self, problem: TransferProblem, seed: int) -> float:
        """Return the target's weight with the least cross-validated loss on its drawn labels."""
        candidates = self.config.target_weights
        labelled = np.flatnonzero(problem.target_y >= 0)
        if len(candidates) == 1 or len(labelled) < 2 or not (problem.source_y >= 0).any():
            return candidates[0]
        smaller = _with_fewer_source_rows(problem, self.config.search_rows, seed)
        fold = stratified_folds(problem.target_y, self.config.folds, seed)
        weights = balanced_weights(problem.target_y[labelled])
        losses = []
        for candidate in candidates:
            truth_proba = np.empty(len(labelled))
            for number in np.unique(fold[labelled]):
                held_out = fold == number
                part = replace(smaller, target_y=np.where(held_out, -1, problem.target_y))
                model = self._fit(part, candidate, self._estimator(seed, search=True))
                with one_thread():
                    proba = model(problem.target_x[held_out])
                truth_proba[held_out[labelled]] = proba[np.arange(len(proba)), problem.target_y[held_out]]
            losses.append(-np.average(np.log(np.maximum(truth_proba, LEAST_PROBABILITY)), weights=weights))
        return candidates[int(np.argmin(losses))]

    @staticmethod
    def _fit(problem: TransferProblem, weight: float, estimator: Any) -> ClassProbabilities:
        groups = [(*problem.labelled_source(), 1.0), (*problem.labelled_target(), weight)]
        # histogram boosting would take every core; the callers spread draws over processes instead
        with one_thread():
            return fit_groups(estimator, groups, len(problem.classes))

    def _estimator(self, seed: int, search: bool = False) -> Any:
        if self.model == "forest":
            trees = self.config.search_rounds if search else self.config.rounds
            return ForestConfig(trees=trees, balanced=False).forest(seed)
        return boosting(self.config, seed, search)


def boosting(config: WeightedConfig, seed: int, search: bool = False) -> HistogramBoosting:
    """Return unfitted boosting; `search` takes the quick version."""
    return HistogramBoosting(
        max_iter=config.search_rounds if search else config.rounds,
        learning_rate=config.search_learning_rate if search else config.learning_rate,
        max_leaf_nodes=config.leaves,
        max_bins=config.bins,
        max_features=config.feature_share,
        min_samples_leaf=config.smallest_leaf,
        random_state=seed,
    )


def fit_groups(
    estimator: Any, groups: Sequence[tuple[NDArray[np.floating], NDArray[np.integer], float]], n_classes: int
) -> ClassProbabilities:
    """Fit on several groups of labelled objects, classes balanced within each.

    Parameters
    ----------
    estimator
        A scikit-learn classifier.
    groups
        Rows, classes and the group's total weight, as a multiple of the first group's.
    n_classes
        How many classes the problem has.
    """
    first_total = max(len(groups[0][1]), 1)
    weights = [balanced_weights(y) * weight * first_total / max(len(y), 1) for _, y, weight in groups]
    return fit_classes(
        estimator,
        np.concatenate([x for x, _, _ in groups]),
        np.concatenate([y for _, y, _ in groups]),
        n_classes,
        np.concatenate(weights),
    )


def _with_fewer_source_rows(problem: TransferProblem, most: int, seed: int) -> TransferProblem:
    """Keep a stratified part of the labelled source, at least one object of each class."""
    fold = stratified_folds(problem.source_y, max(1, -(-int((problem.source_y >= 0).sum()) // most)), seed)
    kept = fold == 0
    for number in np.setdiff1d(problem.source_y, [-1, *problem.source_y[kept]]):
        kept[np.flatnonzero(problem.source_y == number)[0]] = True
    again = problem.source_replicates
    return replace(
        problem,
        source_x=problem.source_x[kept],
        source_y=problem.source_y[kept],
        source_replicates=None if again is None else again[:, kept],
    )
