"""Structure functions: how the moments of magnitude changes scale with the lag."""

import math
from typing import Final

import numpy as np
from numba import njit

from lcdvt.features.families.moments import REORDERED_SUMS
from lcdvt.features.gate import Curves

FEATURES: Final = ("StructureFunction_index_21", "StructureFunction_index_31", "StructureFunction_index_32")

POINTS: Final = 100


def compute(curves: Curves) -> np.ndarray:
    """Return one row per curve, columns as in FEATURES."""
    out = np.full((len(curves.offsets) - 1, len(FEATURES)), np.nan)
    _compute_all(curves.time, curves.mag, curves.offsets, out)
    return out


@njit(cache=True, error_model="numpy")
def _on_even_times(time: np.ndarray, mag: np.ndarray) -> np.ndarray:
    """Interpolate the curve linearly at POINTS evenly spaced times."""
    even = np.empty(POINTS)
    count = len(time)
    step = (time[count - 1] - time[0]) / (POINTS - 1)
    left = 0
    for i in range(POINTS):
        when = time[0] + i * step
        while left < count - 2 and time[left + 1] < when:
            left += 1
        slope = (mag[left + 1] - mag[left]) / (time[left + 1] - time[left])
        even[i] = mag[left] + slope * (when - time[left])
    even[POINTS - 1] = mag[count - 1]
    return even


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def _moments_of_changes(even: np.ndarray, lag: int) -> tuple[float, float, float]:
    first = 0.0
    second = 0.0
    third = 0.0
    for i in range(POINTS - lag):
        change = abs(even[i + lag] - even[i])
        first += change
        second += change * change
        third += change * change * change
    pairs = POINTS - lag
    return first / pairs, second / pairs, third / pairs


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def _slope(x: np.ndarray, y: np.ndarray) -> float:
    mean_x = x.sum() / len(x)
    mean_y = y.sum() / len(y)
    squares = 0.0
    cross = 0.0
    for i in range(len(x)):
        squares += (x[i] - mean_x) * (x[i] - mean_x)
        cross += (x[i] - mean_x) * (y[i] - mean_y)
    return cross / squares


@njit(cache=True, error_model="numpy")
def _structure_functions(time: np.ndarray, mag: np.ndarray, out: np.ndarray) -> None:
    even = _on_even_times(time, mag)
    logs = np.empty((3, POINTS - 1))
    used = 0
    for lag in range(1, POINTS):
        first, second, third = _moments_of_changes(even, lag)
        # FATS leaves zeros out at both ends; in between they would make every index infinite.
        if third > 0.0:
            logs[0, used], logs[1, used], logs[2, used] = math.log10(first), math.log10(second), math.log10(third)
            used += 1
    if used > 1:
        out[0] = _slope(logs[0, :used], logs[1, :used])
        out[1] = _slope(logs[0, :used], logs[2, :used])
        out[2] = _slope(logs[1, :used], logs[2, :used])


@njit(cache=True)
def _compute_all(time: np.ndarray, mag: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    for curve in range(len(offsets) - 1):
        start, stop = offsets[curve], offsets[curve + 1]
        if stop - start > 1:
            _structure_functions(time[start:stop], mag[start:stop], out[curve])
