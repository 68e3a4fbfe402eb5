"""How good predictions are: F1 by class, confusion, calibration, and their spread over label draws.

Pure functions on arrays. `truth` holds class numbers, `proba` is (objects, classes). Objects of unknown class
(−1) are left out, so that a caller may pass all objects, or `score` with a mask of those to be scored.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from lcdvt.errors import DatasetError


@dataclass(frozen=True)
class Score:
    """How one label draw went.

    Parameters
    ----------
    f1
        F1 (0 to 1) of each class that the scored objects really have.
    macro_f1
        Their unweighted mean.
    calibration_error
        Expected calibration error of the most likely class.
    """

    f1: Mapping[str, float]
    macro_f1: float
    calibration_error: float


@dataclass(frozen=True)
class RowScores:
    """One row of a table: its labels, and its score in every label draw."""

    name: str
    training: str
    model: str
    is_upper_bound: bool
    draws: tuple[Score, ...]

    def column(self, class_name: str | None = None) -> list[float]:
        """Return a class' F1, or the macro F1, in each draw that has it."""
        if class_name is None:
            return [draw.macro_f1 for draw in self.draws]
        return [draw.f1[class_name] for draw in self.draws if class_name in draw.f1]


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation over draws; no deviation for a single draw."""

    mean: float
    deviation: float | None


@dataclass(frozen=True)
class ReliabilityBins:
    """How often predictions of a given confidence are right.

    Parameters
    ----------
    edges
        (bins + 1,) of the confidence.
    count, confidence, accuracy
        (bins,): objects in each bin, their mean confidence and share of right predictions; NaN where empty.
    """

    edges: NDArray[np.float64]
    count: NDArray[np.int64]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]

    @property
    def expected_calibration_error(self) -> float:
        """Mean distance between confidence and accuracy, weighted by objects."""
        gap = np.where(self.count > 0, np.abs(self.confidence - self.accuracy), 0)
        return float((gap * self.count).sum() / self.count.sum())


def confusion_matrix(truth: NDArray[np.integer], predicted: NDArray[np.integer], n_classes: int) -> NDArray[np.int64]:
    """Return (true class, predicted class) counts of the objects whose class is known."""
    known = truth >= 0
    pairs = truth[known] * n_classes + predicted[known]
    return np.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes)


def f1_by_class(truth: NDArray[np.integer], predicted: NDArray[np.integer], n_classes: int) -> NDArray[np.float64]:
    """Return F1 (0 to 1) of each class, NaN for classes that no object really has.

    An object given to a class that the target lacks still counts against the class it belongs to.
    """
    return f1_of_counts(confusion_matrix(truth, predicted, n_classes))


def f1_of_counts(counts: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return F1 of each class from (true class, predicted class) counts, NaN for classes that no object really has."""
    really, given = counts.sum(axis=1), counts.sum(axis=0)
    return np.where(really > 0, 2 * np.diagonal(counts) / np.maximum(really + given, 1), np.nan)


def macro_f1(truth: NDArray[np.integer], predicted: NDArray[np.integer], n_classes: int) -> float:
    """Return the mean F1 of the classes that the objects really have."""
    return float(np.nanmean(f1_by_class(truth, predicted, n_classes)))


def reliability(truth: NDArray[np.integer], proba: NDArray[np.floating], bins: int = 10) -> ReliabilityBins:
    """Bin the objects of known class by the probability of their most likely class."""
    known = truth >= 0
    confidence = proba[known].max(axis=1)
    right = proba[known].argmax(axis=1) == truth[known]
    edges = np.linspace(0, 1, bins + 1)
    place = np.clip(np.digitize(confidence, edges, right=True) - 1, 0, bins - 1)
    count = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        mean_confidence = np.bincount(place, confidence, bins) / count
        accuracy = np.bincount(place, right, bins) / count
    return ReliabilityBins(edges, count, mean_confidence, accuracy)


def pooled_reliability(draws: Sequence[ReliabilityBins]) -> ReliabilityBins:
    """Return the bins of several draws as one."""
    count = np.sum([bins.count for bins in draws], axis=0)
    with np.errstate(invalid="ignore"):
        confidence, accuracy = (
            np.sum([np.nan_to_num(getattr(bins, name)) * bins.count for bins in draws], axis=0) / count
            for name in ("confidence", "accuracy")
        )
    return ReliabilityBins(draws[0].edges, count, confidence, accuracy)


def entropy(proba: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the entropy of each row of probabilities in nats."""
    return np.sum(entr(proba), axis=-1)


def expected_calibration_error(truth: NDArray[np.integer], proba: NDArray[np.floating], bins: int = 10) -> float:
    """Return the mean distance between confidence and accuracy (Naeini et al. 2015), equal-width bins."""
    return reliability(truth, proba, bins).expected_calibration_error


def score(
    truth: NDArray[np.integer],
    proba: NDArray[np.floating],
    classes: tuple[str, ...],
    scored: NDArray[np.bool_] | None = None,
) -> Score:
    """Score one draw's probabilities.

    Parameters
    ----------
    truth
        Class numbers, −1 for objects of unknown class, which are never scored.
    proba
        (objects, classes).
    classes
        Names of the columns.
    scored
        Which objects count; the paper scores those whose label was not drawn. All by default.
    """
    if proba.shape != (len(truth), len(classes)):
        raise DatasetError(
            f"probabilities of shape {proba.shape} for {len(truth)} objects and {len(classes)} classes do not fit; "
            "give one row for each object and one column for each class."
        )
    counted = (truth >= 0) if scored is None else (truth >= 0) & scored
    if not counted.any():
        raise DatasetError("no object is left to score: keep some labelled target objects out of the label draw.")
    if not np.isfinite(proba[counted]).all():
        raise DatasetError("a probability is not a number: look for missing features that the model cannot take.")
    truth, proba = truth[counted], proba[counted]
    counts = confusion_matrix(truth, proba.argmax(axis=1), len(classes))
    return score_of_counts(counts, reliability(truth, proba), classes)


def score_of_counts(counts: NDArray[np.integer], bins: ReliabilityBins, classes: tuple[str, ...]) -> Score:
    """Return the score of objects that were counted before, without their probabilities.

    Parameters
    ----------
    counts
        (true class, predicted class).
    bins
        How often their predictions of a given confidence were right.
    classes
        Names of the class numbers.
    """
    f1 = f1_of_counts(counts)
    return Score(
        {name: float(value) for name, value in zip(classes, f1, strict=True) if not np.isnan(value)},
        float(np.nanmean(f1)),
        bins.expected_calibration_error,
    )


def spread(values: Iterable[float]) -> Spread:
    """Return mean and sample standard deviation (n − 1) over draws."""
    listed = np.array(list(values), dtype=np.float64)
    if not len(listed):
        raise DatasetError("there is no value to average: no draw has this class.")
    return Spread(float(listed.mean()), float(listed.std(ddof=1)) if len(listed) > 1 else None)
