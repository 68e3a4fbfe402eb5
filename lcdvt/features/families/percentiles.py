"""Features of the sorted magnitudes: percentiles, medians, distance from a Gaussian."""

import math
from typing import Final

import numpy as np
from numba import njit

from lcdvt.features.families.moments import REORDERED_SUMS, mean_and_variance
from lcdvt.features.gate import Curves

FEATURES: Final = (
    "Amplitude",
    "FluxPercentileRatioMid20",
    "FluxPercentileRatioMid35",
    "FluxPercentileRatioMid50",
    "FluxPercentileRatioMid65",
    "FluxPercentileRatioMid80",
    "Gskew",
    "MedianAbsDev",
    "MedianBRP",
    "PercentAmplitude",
    "PercentDifferenceFluxPercentile",
    "Q31",
    "AndersonDarling",
)

SQRT_HALF: Final = math.sqrt(0.5)
# Below this many standard deviations the Gaussian's lower tail leaves the float range.
DEEP_TAIL: Final = -36.0


def compute(curves: Curves) -> np.ndarray:
    """Return one row per curve, columns as in FEATURES."""
    out = np.full((len(curves.offsets) - 1, len(FEATURES)), np.nan)
    ordered = curves.mag.copy()
    for start, stop in zip(curves.offsets[:-1], curves.offsets[1:], strict=True):
        # numpy's vectorised sort is several times faster than a compiled loop's.
        ordered[start:stop].sort()
    _compute_all(ordered, curves.offsets, out)
    return out


@njit(cache=True, error_model="numpy")
def median_of_sorted(ordered: np.ndarray) -> float:
    """Return the median of values in ascending order."""
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return 0.5 * (ordered[half - 1] + ordered[half])


@njit(cache=True, error_model="numpy")
def percentile_of_sorted(ordered: np.ndarray, percent: float) -> float:
    """Return the linearly interpolated percentile, rounded as numpy rounds it.

    Gskew compares magnitudes with this value, so the last digit decides which epochs count.
    """
    position = (percent / 100.0) * (len(ordered) - 1)
    below = min(math.floor(position), len(ordered) - 1)
    above = min(below + 1, len(ordered) - 1)
    part = position - below
    step = ordered[above] - ordered[below]
    if part >= 0.5:
        return ordered[above] - step * (1.0 - part)
    return ordered[below] + step * part


@njit(cache=True, error_model="numpy")
def _at_share(ordered: np.ndarray, share: float) -> float:
    """Return FATS' percentile: the value at ⌈share·N⌉, or the last where that lies beyond the end (N < 20)."""
    return ordered[min(math.ceil(share * len(ordered)), len(ordered) - 1)]


@njit(cache=True, error_model="numpy")
def _median_distance(ordered: np.ndarray, median: float) -> float:
    """Return the median distance from the median by merging the two sides, without another sort."""
    count = len(ordered)
    above = 0
    while above < count and ordered[above] < median:
        above += 1
    below = above - 1
    previous = 0.0
    distance = 0.0
    for _ in range(count // 2 + 1):
        previous = distance
        if below < 0 or (above < count and ordered[above] - median <= median - ordered[below]):
            distance = ordered[above] - median
            above += 1
        else:
            distance = median - ordered[below]
            below -= 1
    return distance if count % 2 else 0.5 * (previous + distance)


@njit(cache=True, error_model="numpy")
def _log_gaussian_tail(score: float) -> float:
    """Return the log of the Gaussian's cumulative distribution."""
    if score < DEEP_TAIL:
        inverse_square = 1.0 / (score * score)
        series = 1.0 - inverse_square * (1.0 - 3.0 * inverse_square)
        return -0.5 * score * score - math.log(-score) - 0.5 * math.log(2.0 * math.pi) + math.log(series)
    return math.log(0.5 * math.erfc(-score * SQRT_HALF))


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def _anderson_darling(ordered: np.ndarray) -> float:
    count = len(ordered)
    mean, variance = mean_and_variance(ordered)
    std = math.sqrt(variance * count / (count - 1.0))
    total = 0.0
    for i in range(count):
        score = (ordered[i] - mean) / std
        # The epoch's own lower tail, and its upper tail where it is the mirror image's partner.
        total += (2.0 * i + 1.0) * _log_gaussian_tail(score)
        total += (2.0 * (count - i) - 1.0) * _log_gaussian_tail(-score)
    statistic = -count - total / count
    return 1.0 / (1.0 + math.exp(-10.0 * (statistic - 0.3)))


@njit(cache=True, error_model="numpy")
def _percentiles(ordered: np.ndarray, out: np.ndarray) -> None:
    count = len(ordered)
    median = median_of_sorted(ordered)
    lowest, highest = ordered[0], ordered[count - 1]
    tail = math.ceil(0.05 * count)
    out[0] = 0.5 * (median_of_sorted(ordered[count - tail :]) - median_of_sorted(ordered[:tail]))
    full_range = _at_share(ordered, 0.95) - _at_share(ordered, 0.05)
    out[1] = (_at_share(ordered, 0.60) - _at_share(ordered, 0.40)) / full_range
    out[2] = (_at_share(ordered, 0.675) - _at_share(ordered, 0.325)) / full_range
    out[3] = (_at_share(ordered, 0.75) - _at_share(ordered, 0.25)) / full_range
    out[4] = (_at_share(ordered, 0.825) - _at_share(ordered, 0.175)) / full_range
    out[5] = (_at_share(ordered, 0.90) - _at_share(ordered, 0.10)) / full_range
    low_stop = np.searchsorted(ordered, percentile_of_sorted(ordered, 3.0), side="right")
    high_start = np.searchsorted(ordered, percentile_of_sorted(ordered, 97.0), side="left")
    out[6] = median_of_sorted(ordered[:low_stop]) + median_of_sorted(ordered[high_start:]) - 2.0 * median
    out[7] = _median_distance(ordered, median)
    buffer = (highest - lowest) / 10.0
    near_start = np.searchsorted(ordered, median - buffer, side="right")
    near_stop = np.searchsorted(ordered, median + buffer, side="left")
    out[8] = max(near_stop - near_start, 0) / count
    out[9] = max(highest - median, median - lowest) / median
    out[10] = full_range / median
    out[11] = percentile_of_sorted(ordered, 75.0) - percentile_of_sorted(ordered, 25.0)
    out[12] = _anderson_darling(ordered)


@njit(cache=True)
def _compute_all(ordered: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    for curve in range(len(offsets) - 1):
        start, stop = offsets[curve], offsets[curve + 1]
        if stop > start:
            _percentiles(ordered[start:stop], out[curve])
