"""What a rival of DVT may look at: both surveys' features and the drawn labels, never the target's truth."""

from dataclasses import dataclass, replace
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
    source_replicates, target_replicates
        (replicates, objects, features) of the same objects with fewer epochs: further rows of those that are learned
        from. None where there are none; rows without any value are left out.
    target_own
        (target objects, features) that no source can be compared by; None where there are none.
    """

    source_x: NDArray[np.floating]
    source_y: NDArray[np.integer]
    target_x: NDArray[np.floating]
    target_y: NDArray[np.integer]
    classes: tuple[str, ...]
    source_replicates: NDArray[np.floating] | None = None
    target_replicates: NDArray[np.floating] | None = None
    target_own: NDArray[np.floating] | None = None

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
        return _with_replicates(self.source_x, self.source_replicates, self.source_y)

    def labelled_target(self) -> tuple[NDArray[np.floating], NDArray[np.integer]]:
        """Return rows and classes of the target's drawn labels."""
        return _with_replicates(self.target_x, self.target_replicates, self.target_y)

    def guessed_target(self, guessed: NDArray[np.integer]) -> tuple[NDArray[np.floating], NDArray[np.integer]]:
        """Return rows and classes of target objects whose class was guessed, −1 for the others."""
        return _with_replicates(self.target_x, self.target_replicates, guessed)

    def without_replicates(self) -> "TransferProblem":
        """Return the problem with one row for each object, as rivals learn from it."""
        return replace(self, source_replicates=None, target_replicates=None)

    def with_features(self, kept: NDArray[np.bool_]) -> "TransferProblem":
        """Return the problem with some of the features that sources and target can be compared by."""
        of_source, of_target = self.source_replicates, self.target_replicates
        return replace(
            self,
            source_x=self.source_x[:, kept],
            target_x=self.target_x[:, kept],
            source_replicates=None if of_source is None else of_source[..., kept],
            target_replicates=None if of_target is None else of_target[..., kept],
        )

    def target_alone(self) -> "TransferProblem":
        """Return the problem without the sources, and with the features that only the target can be compared by.

        A thinned light curve has its star's: a mean of hundreds of epochs hardly changes.
        """
        own = self.target_x[:, :0] if self.target_own is None else self.target_own
        again = self.target_replicates
        if again is not None:
            made = ~np.isnan(again).all(axis=-1, keepdims=True)
            again = np.concatenate([again, np.where(made, own, np.nan)], axis=-1)
        target_x = np.concatenate([self.target_x, own], axis=1)
        return replace(
            self,
            source_x=target_x[:0],
            source_y=self.source_y[:0],
            target_x=target_x,
            source_replicates=None if again is None else again[:, :0],
            target_replicates=again,
            target_own=None,
        )


def _with_replicates(
    x: NDArray[np.floating], replicates: NDArray[np.floating] | None, y: NDArray[np.integer]
) -> tuple[NDArray[np.floating], NDArray[np.integer]]:
    """Return rows and classes of the objects that have one, each followed by what there is of its replicates."""
    known = y != UNLABELLED
    rows, classes = [x[known]], [y[known]]
    for again in () if replicates is None else replicates:
        made = known & ~np.isnan(again).all(axis=1)
        rows.append(again[made])
        classes.append(y[made])
    return np.concatenate(rows), np.concatenate(classes)


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

    def predict_proba(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return (rows, classes) of target objects that were not among those; asked after them."""
