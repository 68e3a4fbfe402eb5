"""What the baselines share: missing values, class weights, folds, and one column for every class."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer

from lcdvt.baselines.problem import TransferProblem
from lcdvt.errors import DatasetError


@dataclass(frozen=True)
class ClassProbabilities:
    """A fitted scikit-learn classifier that answers with a column for every class of the problem.

    Parameters
    ----------
    estimator
        Knows the classes it saw.
    n_classes
        How many classes the problem has.
    features
        Which columns it learned from.
    """

    estimator: Any
    n_classes: int
    features: NDArray[np.bool_]

    def __call__(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return (rows, classes), zero for classes the classifier never saw."""
        everything = np.zeros((len(x), self.n_classes))
        if len(x):
            everything[:, self.estimator.classes_] = self.estimator.predict_proba(x[:, self.features])
        return everything


def fit_classes(
    estimator: Any,
    x: NDArray[np.floating],
    y: NDArray[np.integer],
    n_classes: int,
    weights: NDArray[np.float64] | None = None,
) -> ClassProbabilities:
    """Fit a scikit-learn classifier; where only one class is labelled, the answer is always that class.

    Features that no labelled object has are left out: nothing can be learned of them, and boosting cannot bin them.
    """
    if not len(y):
        raise DatasetError("a baseline has no labelled object to learn from: draw some labels, or leave its row out.")
    if len(np.unique(y)) == 1:
        estimator = DummyClassifier(strategy="most_frequent")
    features = ~np.isnan(x).all(axis=0)
    if not features.any():
        raise DatasetError("no labelled object has any feature: extract features first, or leave the row out.")
    estimator.fit(x[:, features], y, sample_weight=weights)
    return ClassProbabilities(estimator, n_classes, features)


def pooled_imputer(problem: TransferProblem) -> SimpleImputer:
    """Fit medians on all objects of both surveys; a feature that nobody has becomes zero."""
    pooled = np.concatenate([problem.source_x, problem.target_x])
    return SimpleImputer(strategy="median", keep_empty_features=True).fit(pooled)


def balanced_weights(y: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return weights of mean one with which every class weighs the same."""
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    return len(y) / (len(counts) * counts[place])
