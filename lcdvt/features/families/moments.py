"""Moments of the magnitudes, and slopes."""

import math
from typing import Final

import numpy as np

from lcdvt.compiled.kernel import fast_kernel, fast_part
from lcdvt.features.gate import Curves

FEATURES: Final = ("Mean", "Std", "Meanvariance", "Skew", "SmallKurtosis", "LinearTrend", "MaxSlope")


def compute(curves: Curves) -> np.ndarray:
    """Return one row per curve, columns as in FEATURES."""
    out = np.full((len(curves.offsets) - 1, len(FEATURES)), np.nan)
    _compute_all(curves.time, curves.mag, curves.offsets, out)
    return out


@fast_part
def mean_and_variance(mag: np.ndarray, start: int, stop: int) -> tuple[float, float]:
    """Return the mean and the variance (divided by N) of a part in two passes."""
    total = 0.0
    for i in range(start, stop):
        total += mag[i]
    mean = total / (stop - start)
    squares = 0.0
    for i in range(start, stop):
        squares += (mag[i] - mean) * (mag[i] - mean)
    return mean, squares / (stop - start)


@fast_kernel
def _compute_all(time: np.ndarray, mag: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    for curve in range(out.shape[0]):
        start, stop = offsets[curve], offsets[curve + 1]
        if stop == start:
            continue
        n = float(stop - start)
        mean, variance = mean_and_variance(mag, start, stop)
        std = math.sqrt(variance)
        mean_time = 0.0
        for i in range(start, stop):
            mean_time += time[i] - time[start]
        mean_time = mean_time / n + time[start]
        cubes = 0.0
        fourths = 0.0
        time_squares = 0.0
        cross = 0.0
        for i in range(start, stop):
            residual = mag[i] - mean
            square = residual * residual
            cubes += square * residual
            fourths += square * square
            since_mean = time[i] - mean_time
            time_squares += since_mean * since_mean
            cross += since_mean * residual
        steepest = 0.0
        for i in range(start + 1, stop):
            slope = abs(mag[i] - mag[i - 1]) / (time[i] - time[i - 1])
            if slope > steepest:
                steepest = slope
        correction = n * (n + 1.0) / ((n - 1.0) * (n - 2.0) * (n - 3.0))
        out[curve, 0] = mean
        out[curve, 1] = std
        out[curve, 2] = std / mean
        out[curve, 3] = cubes / n / (variance * std)
        out[curve, 4] = correction * fourths / (variance * variance)
        out[curve, 4] -= 3.0 * (n - 1.0) * (n - 1.0) / ((n - 2.0) * (n - 3.0))
        out[curve, 5] = cross / time_squares
        out[curve, 6] = steepest
