"""Random forests: on the target's labels, on the source, and on all target labels as the upper bound."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lcdvt.baselines.fitting import ClassProbabilities, fit_classes
from lcdvt.baselines.problem import TransferProblem
from lcdvt.baselines.quick_forest import QuickForest
from lcdvt.dataset.folds import stratified_folds


@dataclass(frozen=True)
class ForestConfig:
    """Size of a forest; a missing value goes down the side that the training rows' missing values chose."""

    trees: int = 200
    smallest_leaf: int = 1
    balanced: bool = True

    def forest(self, seed: int) -> QuickForest:
        """Return an unfitted forest."""
        return QuickForest(
            self.trees,
            min_samples_leaf=self.smallest_leaf,
            class_weight="balanced" if self.balanced else None,
            random_state=seed,
        )


class ForestOnOneSurvey:
    """A forest on the labels of one survey alone.

    Parameters
    ----------
    survey
        `target` learns from the drawn labels only, `source` from the source only.
    config
        The forest.
    """

    def __init__(self, survey: Literal["source", "target"], config: ForestConfig | None = None) -> None:
        self.survey = survey
        self.config = config or ForestConfig()
        self._proba: ClassProbabilities

    def fit(self, problem: TransferProblem, seed: int) -> None:
        """Grow the forest."""
        x, y = problem.labelled_source() if self.survey == "source" else problem.labelled_target()
        self._proba = fit_classes(self.config.forest(seed), x, y, len(problem.classes))

    def predict_proba(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the mean of the trees' leaf shares."""
        return self._proba(x)


class ForestUpperBound:
    """A forest on all target labels, scored by stratified cross-validation."""

    def __init__(self, config: ForestConfig | None = None, folds: int = 5) -> None:
        self.config = config or ForestConfig()
        self.folds = folds
        self._models: list[ClassProbabilities]

    def cross_validated_proba(
        self, problem: TransferProblem, target_truth: NDArray[np.integer], seed: int
    ) -> NDArray[np.float64]:
        """Return each target object's probabilities by a forest that did not see it.

        Objects without a true class are in no training set; they get the mean over the folds' forests.
        """
        fold = stratified_folds(target_truth, self.folds, seed)
        unknown = fold < 0
        proba = np.zeros((len(problem.target_x), len(problem.classes)))
        used = np.unique(fold[~unknown])
        self._models = []
        for number in used:
            # with a single object in all there is no other to learn from, and fit_classes says so
            learn = ~unknown & (fold != number)
            model = fit_classes(
                self.config.forest(seed), problem.target_x[learn], target_truth[learn], len(problem.classes)
            )
            held_out = fold == number
            proba[held_out] = model(problem.target_x[held_out])
            proba[unknown] += model(problem.target_x[unknown]) / len(used)
            self._models.append(model)
        return proba

    def predict_proba(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return what the folds' forests say of other objects on average: none of them has learned from these."""
        return np.mean([model(x) for model in self._models], axis=0)
