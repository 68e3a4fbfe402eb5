"""Features of the sorted magnitudes: percentiles, medians, distance from a Gaussian."""

import math
from typing import Final

import numpy as np

from lcdvt.compiled.kernel import fast_part, kernel, part
from lcdvt.features.families.moments import mean_and_variance
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

# FluxPercentileRatioMid20 … Mid80: between which shares of the epochs.
MID_LOWER: Final = np.array((0.40, 0.325, 0.25, 0.175, 0.10))
MID_UPPER: Final = np.array((0.60, 0.675, 0.75, 0.825, 0.90))
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


@part
def median_of_sorted(ordered: np.ndarray, start: int, stop: int) -> float:
    """Return the median of a part in ascending order."""
    half = start + (stop - start) // 2
    if (stop - start) % 2:
        return ordered[half]
    return 0.5 * (ordered[half - 1] + ordered[half])


@part
def _percentile_of_sorted(ordered: np.ndarray, start: int, stop: int, percent: float) -> float:
    """Return the linearly interpolated percentile, rounded as numpy rounds it.

    Gskew compares magnitudes with this value, so the last digit decides which epochs count.
    """
    position = (percent / 100.0) * (stop - start - 1)
    below = int(position)
    part_of_step = position - below
    if start + below + 1 >= stop:
        return ordered[stop - 1]
    step = ordered[start + below + 1] - ordered[start + below]
    if part_of_step >= 0.5:
        return ordered[start + below + 1] - step * (1.0 - part_of_step)
    return ordered[start + below] + step * part_of_step


@part
def _at_share(ordered: np.ndarray, start: int, stop: int, share: float) -> float:
    """Return FATS' percentile: the value at ⌈share·N⌉, or the last where that lies beyond the end (N < 20)."""
    place = start + math.ceil(share * (stop - start))
    return ordered[place] if place < stop else ordered[stop - 1]


@part
def _median_distance(ordered: np.ndarray, start: int, stop: int, median: float) -> float:
    """Return the median distance from the median by merging the two sides, without another sort."""
    count = stop - start
    above = start
    while above < stop and ordered[above] < median:
        above += 1
    below = above - 1
    previous = 0.0
    distance = 0.0
    for _ in range(count // 2 + 1):
        previous = distance
        if below < start or (above < stop and ordered[above] - median <= median - ordered[below]):
            distance = ordered[above] - median
            above += 1
        else:
            distance = median - ordered[below]
            below -= 1
    return distance if count % 2 else 0.5 * (previous + distance)


@part
def _log_gaussian_tail(score: float) -> float:
    """Return the log of the Gaussian's cumulative distribution."""
    if score < DEEP_TAIL:
        inverse_square = 1.0 / (score * score)
        series = 1.0 - inverse_square * (1.0 - 3.0 * inverse_square)
        return -0.5 * score * score - math.log(-score) - 0.5 * math.log(2.0 * math.pi) + math.log(series)
    return math.log(0.5 * math.erfc(-score * SQRT_HALF))


@fast_part
def _anderson_darling(ordered: np.ndarray, start: int, stop: int) -> float:
    count = stop - start
    mean, variance = mean_and_variance(ordered, start, stop)
    std = math.sqrt(variance * count / (count - 1.0))
    total = 0.0
    for i in range(count):
        score = (ordered[start + i] - mean) / std
        # The epoch's own lower tail, and its upper tail where it is the mirror image's partner.
        total += (2.0 * i + 1.0) * _log_gaussian_tail(score)
        total += (2.0 * (count - i) - 1.0) * _log_gaussian_tail(-score)
    statistic = -count - total / count
    return 1.0 / (1.0 + math.exp(-10.0 * (statistic - 0.3)))


@kernel
def _compute_all(ordered: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    for curve in range(out.shape[0]):
        start, stop = offsets[curve], offsets[curve + 1]
        if stop == start:
            continue
        count = stop - start
        median = median_of_sorted(ordered, start, stop)
        lowest, highest = ordered[start], ordered[stop - 1]
        tail = math.ceil(0.05 * count)
        faint, bright = median_of_sorted(ordered, stop - tail, stop), median_of_sorted(ordered, start, start + tail)
        out[curve, 0] = 0.5 * (faint - bright)
        full_range = _at_share(ordered, start, stop, 0.95) - _at_share(ordered, start, stop, 0.05)
        for k in range(MID_LOWER.size):
            inner = _at_share(ordered, start, stop, MID_UPPER[k]) - _at_share(ordered, start, stop, MID_LOWER[k])
            out[curve, 1 + k] = inner / full_range
        low_stop, high_start = start, stop
        limit = _percentile_of_sorted(ordered, start, stop, 3.0)
        while low_stop < stop and ordered[low_stop] <= limit:
            low_stop += 1
        limit = _percentile_of_sorted(ordered, start, stop, 97.0)
        while high_start > start and ordered[high_start - 1] >= limit:
            high_start -= 1
        tails = median_of_sorted(ordered, start, low_stop) + median_of_sorted(ordered, high_start, stop)
        out[curve, 6] = tails - 2.0 * median
        out[curve, 7] = _median_distance(ordered, start, stop, median)
        buffer = (highest - lowest) / 10.0
        near = 0
        for i in range(start, stop):
            near += median - buffer < ordered[i] < median + buffer
        out[curve, 8] = near / count
        furthest = highest - median
        if median - lowest > furthest:
            furthest = median - lowest
        out[curve, 9] = furthest / median
        out[curve, 10] = full_range / median
        upper = _percentile_of_sorted(ordered, start, stop, 75.0)
        out[curve, 11] = upper - _percentile_of_sorted(ordered, start, stop, 25.0)
        out[curve, 12] = _anderson_darling(ordered, start, stop)
