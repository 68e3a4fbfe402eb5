"""A support-vector machine on the target's labels alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.impute import SimpleImputer
from sklearn.svm import SVC

from lcdvt.baselines.fitting import ClassProbabilities, fit_classes, pooled_imputer
from lcdvt.baselines.problem import TransferProblem


@dataclass(frozen=True)
class SVMConfig:
    """Penalty of a Gaussian kernel machine; its width comes from the spread of the features."""

    penalty: float = 10.0


class MarginClassifier(SVC):
    """SVC whose probabilities are a softmax of its margins.

    Platt's calibration cross-validates, which a class with one label does not allow. So these probabilities
    rank the classes as the machine does, but are not calibrated.
    """

    def predict_proba(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return (rows, seen classes)."""
        margins = self.decision_function(x)
        if margins.ndim == 1:
            margins = np.stack([-margins, margins], axis=1)
        return softmax(margins, axis=1)


class SVMOnTarget:
    """A class-balanced support-vector machine on the drawn labels."""

    def __init__(self, config: SVMConfig | None = None) -> None:
        self.config = config or SVMConfig()
        self._imputer: SimpleImputer
        self._proba: ClassProbabilities

    def fit(self, problem: TransferProblem, seed: int) -> None:
        """Fit the machine; medians of both surveys stand in for missing values."""
        self._imputer = pooled_imputer(problem)
        x, y = problem.labelled_target()
        filled = self._imputer.transform(x) if len(x) else x
        machine = MarginClassifier(
            C=self.config.penalty, gamma="scale", class_weight="balanced", break_ties=True, random_state=seed
        )
        self._proba = fit_classes(machine, filled, y, len(problem.classes))

    def predict_proba(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the softmax of the margins."""
        return self._proba(self._imputer.transform(x))
