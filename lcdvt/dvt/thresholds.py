"""Where trees would cut each feature to tell the classes apart, and how much the cuts tell."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


def find_thresholds(
    x: NDArray[np.float32],
    y: NDArray[np.int64],
    weights: NDArray[np.float64],
    classes: int,
    *,
    most: int,
    smallest_leaf: int,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Grow a small classification tree on each feature alone.

    Parameters
    ----------
    x
        (objects, features), without gaps.
    y, weights
        The class and the weight of each object.
    classes
        K.
    most
        Thresholds of a feature, at most; the split that lowers the Gini impurity most is made first.
    smallest_leaf
        Least number of objects on each side of a threshold.

    Returns
    -------
    thresholds
        (most, features) in ascending order; NaN where a feature has fewer.
    information
        What a feature's leaves tell of the class, (features,), in nats, never below zero.
    """
    order = np.argsort(x, axis=0, kind="stable")
    thresholds = np.full((most, x.shape[1]), np.nan, dtype=np.float32)
    information = np.zeros(x.shape[1], dtype=np.float32)
    for feature in range(x.shape[1]):
        rows = order[:, feature]
        # sums[i] are the class weights of the i objects with the smallest values
        sums = np.zeros((len(rows) + 1, classes))
        sums[np.arange(1, len(rows) + 1), y[rows]] = weights[rows]
        np.cumsum(sums, axis=0, out=sums)
        values = np.ascontiguousarray(x[rows, feature])
        cuts = _best_first_cuts(values, sums, most, smallest_leaf)
        middle = (values[cuts - 1] + values[cuts]) / 2
        thresholds[: len(cuts), feature] = middle
        information[feature] = _information(sums[np.concatenate([[0], cuts, [len(rows)]])])
    return thresholds, information


def _information(sums: NDArray[np.float64]) -> float:
    """Return the mutual information of leaf and class, from the class sums at the leaves' limits."""
    joint = np.diff(sums, axis=0) / max(sums[-1].sum(), np.finfo(float).tiny)
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    known = joint > 0
    return max(float(np.sum(joint[known] * np.log(joint[known] / independent[known]))), 0.0)


@numba.njit(cache=True, error_model="numpy")
def _best_first_cuts(values: Any, sums: Any, most: int, smallest_leaf: int) -> Any:
    """Return the sorted places at which the objects, sorted by value, are cut."""
    limits = np.empty(most + 2, dtype=np.int64)
    limits[0], limits[1] = 0, len(values)
    leaves = 1
    # the best cut of each leaf, found once: a cut changes only the leaf it is made in
    gains, places = np.empty(most + 1), np.empty(most + 1, dtype=np.int64)
    gains[0], places[0] = _best_cut(values, sums, 0, len(values), smallest_leaf)
    while leaves <= most:
        best = int(np.argmax(gains[:leaves]))
        if gains[best] <= 0:
            break
        for leaf in range(leaves, best, -1):
            limits[leaf + 1] = limits[leaf]
            gains[leaf], places[leaf] = gains[leaf - 1], places[leaf - 1]
        limits[best + 1] = places[best]
        leaves += 1
        for leaf in (best, best + 1):
            start, end = limits[leaf], limits[leaf + 1]
            gains[leaf], places[leaf] = _best_cut(values, sums, start, end, smallest_leaf)
    return limits[1:leaves].copy()


@numba.njit(cache=True, error_model="numpy")
def _best_cut(values: Any, sums: Any, start: int, end: int, smallest_leaf: int) -> Any:
    """Return by how much the best cut between two places raises Σ (class sums)² / sum, and where it is."""
    classes = sums.shape[1]
    total = squares = 0.0
    for number in range(classes):
        here = sums[end, number] - sums[start, number]
        total += here
        squares += here * here
    whole = squares / total if total > 0 else 0.0
    # rounding alone must not look like a gain
    best, place = 1e-9 * max(total, 1.0), -1
    for cut in range(start + smallest_leaf, end - smallest_leaf + 1):
        if values[cut - 1] == values[cut]:
            continue
        left = left_squares = right = right_squares = 0.0
        for number in range(classes):
            below = sums[cut, number] - sums[start, number]
            above = sums[end, number] - sums[cut, number]
            left += below
            left_squares += below * below
            right += above
            right_squares += above * above
        if left > 0 and right > 0:
            gain = left_squares / left + right_squares / right - whole
            if gain > best:
                best, place = gain, cut
    return (best, place) if place >= 0 else (0.0, -1)
