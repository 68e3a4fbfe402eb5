"""CORAL: give the source the target's mean and covariance, then grow a forest on it (Sun et al. 2016)."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer

from lcdvt.baselines.fitting import ClassProbabilities, fit_classes, pooled_imputer
from lcdvt.baselines.forests import ForestConfig
from lcdvt.baselines.problem import TransferProblem


@dataclass(frozen=True)
class CoralConfig:
    """What is added to both covariances' diagonals, and the forest."""

    ridge: float = 1.0
    forest: ForestConfig = field(default_factory=ForestConfig)


class CoralForest:
    """A forest on the recoloured source; target labels are not used."""

    def __init__(self, config: CoralConfig | None = None) -> None:
        self.config = config or CoralConfig()
        self._imputer: SimpleImputer
        self._proba: ClassProbabilities

    def fit(self, problem: TransferProblem, seed: int) -> None:
        """Recolour the labelled source with moments of all objects of both surveys, and grow the forest."""
        self._imputer = pooled_imputer(problem)
        source = self._imputer.transform(problem.source_x).astype(np.float64)
        target = self._imputer.transform(problem.target_x).astype(np.float64)
        recolour = _power(source, self.config.ridge, -0.5) @ _power(target, self.config.ridge, 0.5)
        aligned = (source - source.mean(axis=0)) @ recolour + target.mean(axis=0)
        known = problem.source_y >= 0
        self._proba = fit_classes(
            self.config.forest.forest(seed), aligned[known], problem.source_y[known], len(problem.classes)
        )

    def predict_proba(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the forest's probabilities; target rows stay as they are."""
        return self._proba(self._imputer.transform(x))


def _power(x: NDArray[np.float64], ridge: float, exponent: float) -> NDArray[np.float64]:
    """Return a power of the rows' covariance matrix."""
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(x, rowvar=False)) + ridge * np.eye(x.shape[1]))
    return (vectors * values**exponent) @ vectors.T
