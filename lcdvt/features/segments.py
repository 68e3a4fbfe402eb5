"""Sorting and medians within the segments of a flat array, many at once.

numpy's sort of one long segment is several times faster than any sort of the whole array by two keys; many short ones
are sorted in one call.
"""

from itertools import pairwise
from typing import Final

import numpy as np

# Mean length from which on segments are sorted one by one: a call costs as much as sorting so many values by two keys.
LONG_SEGMENTS: Final = 30
# Shorter ones are sorted as the rows of a table, several times as fast, unless it had so many places for each value.
MOST_PADDING: Final = 8


def lengths(offsets: np.ndarray) -> np.ndarray:
    """Return how long each segment is; of few segments np.diff takes several times as long."""
    return offsets[1:] - offsets[:-1]


def _are_long(offsets: np.ndarray) -> bool:
    return bool(offsets[-1] - offsets[0] > LONG_SEGMENTS * (len(offsets) - 1))


def _segment_of(offsets: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(offsets) - 1), lengths(offsets))


def sorted_within(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the values in ascending order within each segment `offsets[i]:offsets[i + 1]`; each belongs to one."""
    if not _are_long(offsets):
        count = lengths(offsets)
        longest = int(count.max(initial=0))
        if longest * len(count) > MOST_PADDING * len(values):
            return values[np.lexsort((values, _segment_of(offsets)))]
        # rows of equal length, at whose ends nothing stands but NaN, which is sorted last
        is_value = np.arange(longest) < count[:, None]
        rows = np.full(is_value.shape, np.nan)
        rows[is_value] = values
        rows.sort(axis=1)
        return rows[is_value]
    ordered = values.copy()
    for start, stop in pairwise(offsets.tolist()):
        ordered[start:stop].sort()
    return ordered


def order_within(keys: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the places of all values, segment after segment, in the order of their keys, equal keys as they stand."""
    if not _are_long(offsets):
        return np.lexsort((keys, _segment_of(offsets)))
    order = np.empty(len(keys), dtype=np.int64)
    for start, stop in pairwise(offsets.tolist()):
        order[start:stop] = start + np.argsort(keys[start:stop], kind="stable")
    return order


def median_within(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the median of each segment, NaN where it is empty."""
    ordered = sorted_within(values, offsets)
    count = lengths(offsets)
    filled = np.flatnonzero(count)
    first = offsets[filled]
    medians = np.full(len(count), np.nan)
    low, high = ordered[first + (count[filled] - 1) // 2], ordered[first + count[filled] // 2]
    medians[filled] = 0.5 * (low + high)
    return medians


def sum_within(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the sum of each segment, 0 where it is empty."""
    sums = np.zeros(len(offsets) - 1)
    filled = np.flatnonzero(lengths(offsets))
    if len(filled):
        sums[filled] = np.add.reduceat(values, offsets[filled])
    return sums
