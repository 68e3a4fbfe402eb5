"""Folds of labelled objects, each class dealt out evenly."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.dataset.dataset import UNLABELLED

FOLDS: Final = 5
"""As in the paper's search for hyper-parameters; upper bounds and `train` hold out as many."""


def stratified_folds(
    y: NDArray[np.integer], folds: int, seed: int, *, each_class_from_first: bool = False
) -> NDArray[np.int64]:
    """Deal the labelled objects of each class out to folds; unlabelled ones get −1.

    A class with fewer objects than folds is allowed: its objects then lie in different folds.

    Parameters
    ----------
    y
        Class numbers, −1 for unlabelled.
    folds
        How many.
    seed
        Decides which object of a class lies in which fold.
    each_class_from_first
        Deal each class from the first fold on. Otherwise a class goes on where the last one stopped, so that small
        classes do not all fill the first fold.
    """
    generator = np.random.default_rng(seed)
    fold = np.full(len(y), UNLABELLED, dtype=np.int64)
    dealt = 0
    for number in np.unique(y[y != UNLABELLED]):
        places = generator.permutation(np.flatnonzero(y == number))
        fold[places] = (dealt + np.arange(len(places))) % folds
        dealt += 0 if each_class_from_first else len(places)
    return fold


def held_out_folds(y: NDArray[np.integer], seed: int, folds: int = FOLDS) -> NDArray[np.int64]:
    """Return the fold in which each labelled object is held out and scored, −1 for objects that never are.

    Those are objects without a label, and the only one of a class: it cannot be learned from and scored at once, so
    that every fold may learn from it.
    """
    alone = np.isin(y, np.flatnonzero(np.bincount(y[y != UNLABELLED]) == 1))
    # Folds of upper bounds have always begun so; another beginning would change every figure that was published.
    return stratified_folds(np.where(alone, UNLABELLED, y), folds, seed, each_class_from_first=True)


def labels_without_fold(y: NDArray[np.integer], fold: NDArray[np.int64], folds: int = FOLDS) -> NDArray[np.int64]:
    """Return (folds, objects) labels: in each row the labels of one fold are taken away."""
    return np.stack([np.where(fold == number, UNLABELLED, y) for number in range(folds)])
