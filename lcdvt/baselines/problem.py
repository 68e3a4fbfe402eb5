"""What a rival of DVT may look at: both surveys' features and the drawn labels, never the target's truth."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lcdvt.dataset.dataset import UNLABELLED
from lcdvt.errors import DatasetError


@dataclass(frozen=True)
class TransferProblem:
    """One label draw of a transfer from source to target.

    Parameters
    ----------
    source_x
        (objects, features), scaled, NaN where missing; several sources one below the other.
    source_y
        Class numbers, −1 for unlabelled.
    target_x
        (objects, features) of every target object, scaled like the source.
    target_y
        Class numbers of the drawn labels, −1 for everything else.
    classes
        The names behind the class numbers.
    """

    source_x: NDArray[np.floating]
    source_y: NDArray[np.integer]
    target_x: NDArray[np.floating]
    target_y: NDArray[np.integer]
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        for survey, x, y in (("source", self.source_x, self.source_y), ("target", self.target_x, self.target_y)):
            if x.ndim != 2 or y.shape != (len(x),):
                raise DatasetError(f"{survey}: features {x.shape} and labels {y.shape}; give one label for each row.")
            if len(y) and not UNLABELLED <= y.min() <= y.max() < len(self.classes):
                raise DatasetError(
                    f"{survey}: class numbers must lie in −1 … {len(self.classes) - 1}; mend the labels."
                )
        if self.source_x.shape[1] != self.target_x.shape[1]:
            raise DatasetError(
                f"the source has {self.source_x.shape[1]} features and the target {self.target_x.shape[1]}; "
                "give both the same columns."
            )

    def labelled_source(self) -> tuple[NDArray[np.floating], NDArray[np.integer]]:
        """Return rows and classes of the source's labelled objects."""
        known = self.source_y != UNLABELLED
        return self.source_x[known], self.source_y[known]

    def labelled_target(self) -> tuple[NDArray[np.floating], NDArray[np.integer]]:
        """Return rows and classes of the target's drawn labels."""
        known = self.target_y != UNLABELLED
        return self.target_x[known], self.target_y[known]


class Baseline(Protocol):
    """Learns from one problem and classifies rows of the target survey."""

    def fit(self, problem: TransferProblem, seed: int) -> None:
        """Learn; the same problem and seed give the same probabilities."""

    def predict_proba(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return (rows, classes): one column for every class of the problem, zero where a class was never seen."""


class UpperBound(Protocol):
    """What could be reached if every target object were labelled."""

    def cross_validated_proba(
        self, problem: TransferProblem, target_truth: NDArray[np.integer], seed: int
    ) -> NDArray[np.float64]:
        """Return (target objects, classes), each row from a model that did not train on that object."""
