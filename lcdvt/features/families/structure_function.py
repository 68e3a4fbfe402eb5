"""Structure functions: how the moments of magnitude changes scale with the lag."""

import math
from typing import Final

import numpy as np

from lcdvt.compiled.kernel import fast_part, kernel
from lcdvt.features.gate import Curves

FEATURES: Final = ("StructureFunction_index_21", "StructureFunction_index_31", "StructureFunction_index_32")

POINTS: Final = 100
# Which moment's logarithm is plotted against which.
ORDINATE: Final = np.array((1, 2, 2))
ABSCISSA: Final = np.array((0, 0, 1))


def compute(curves: Curves) -> np.ndarray:
    """Return one row per curve, columns as in FEATURES."""
    out = np.full((len(curves.offsets) - 1, len(FEATURES)), np.nan)
    _compute_all(curves.time, curves.mag, curves.offsets, np.empty(POINTS), np.empty((3, POINTS)), out)
    return out


@fast_part
def _slope(logs: np.ndarray, x: int, y: int, used: int) -> float:
    mean_x = 0.0
    mean_y = 0.0
    for i in range(used):
        mean_x += logs[x, i]
        mean_y += logs[y, i]
    mean_x /= used
    mean_y /= used
    squares = 0.0
    cross = 0.0
    for i in range(used):
        squares += (logs[x, i] - mean_x) * (logs[x, i] - mean_x)
        cross += (logs[x, i] - mean_x) * (logs[y, i] - mean_y)
    return cross / squares


@fast_part
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


@kernel
def _compute_all(
    time: np.ndarray, mag: np.ndarray, offsets: np.ndarray, even: np.ndarray, logs: np.ndarray, out: np.ndarray
) -> None:
    for curve in range(out.shape[0]):
        start, last = offsets[curve], offsets[curve + 1] - 1
        if last <= start:
            continue
        # The curve, interpolated linearly at evenly spaced times.
        step = (time[last] - time[start]) / (POINTS - 1)
        left = start
        for i in range(POINTS):
            when = time[start] + i * step
            while left < last - 1 and time[left + 1] < when:
                left += 1
            slope = (mag[left + 1] - mag[left]) / (time[left + 1] - time[left])
            even[i] = mag[left] + slope * (when - time[left])
        even[POINTS - 1] = mag[last]
        used = np.int64(0)
        for lag in range(1, POINTS):
            first, second, third = _moments_of_changes(even, lag)
            # FATS leaves zeros out at both ends; in between they would make every index infinite.
            if third > 0.0:
                logs[0, used], logs[1, used], logs[2, used] = math.log10(first), math.log10(second), math.log10(third)
                used += 1
        if used > 1:
            for k in range(ABSCISSA.size):
                out[curve, k] = _slope(logs, ABSCISSA[k], ORDINATE[k], used)
