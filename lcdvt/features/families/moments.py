"""Moments of the magnitudes, and slopes."""

from typing import Final

import numpy as np
from numba import njit

from lcdvt.features.gate import Curves

FEATURES: Final = ("Mean", "Std", "Meanvariance", "Skew", "SmallKurtosis", "LinearTrend", "MaxSlope")

# Sums may be reordered (SIMD); NaN and infinity keep their meaning. A kernel that may do so is also inlined by force:
# compiled on its own and again within its caller it would sum in two orders, and the process that compiles would differ
# in the last digit from all those that find the kernels on disk.
REORDERED_SUMS: Final = {"reassoc", "contract", "arcp", "nsz"}


def compute(curves: Curves) -> np.ndarray:
    """Return one row per curve, columns as in FEATURES."""
    out = np.full((len(curves.offsets) - 1, len(FEATURES)), np.nan)
    _compute_all(curves.time, curves.mag, curves.offsets, out)
    return out


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def mean_and_variance(mag: np.ndarray) -> tuple[float, float]:
    """Return the mean and the variance (divided by N) in two passes."""
    total = 0.0
    for value in mag:
        total += value
    mean = total / len(mag)
    squares = 0.0
    for value in mag:
        squares += (value - mean) * (value - mean)
    return mean, squares / len(mag)


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def _moments(time: np.ndarray, mag: np.ndarray, out: np.ndarray) -> None:
    count = len(mag)
    mean, variance = mean_and_variance(mag)
    std = np.sqrt(variance)
    mean_time = 0.0
    for value in time:
        mean_time += value - time[0]
    mean_time = mean_time / count + time[0]
    cubes = 0.0
    fourths = 0.0
    time_squares = 0.0
    cross = 0.0
    for i in range(count):
        residual = mag[i] - mean
        square = residual * residual
        cubes += square * residual
        fourths += square * square
        since_mean = time[i] - mean_time
        time_squares += since_mean * since_mean
        cross += since_mean * residual
    steepest = 0.0
    for i in range(count - 1):
        steepest = max(steepest, abs(mag[i + 1] - mag[i]) / (time[i + 1] - time[i]))
    n = float(count)
    correction = n * (n + 1.0) / ((n - 1.0) * (n - 2.0) * (n - 3.0))
    out[0] = mean
    out[1] = std
    out[2] = std / mean
    out[3] = cubes / n / (variance * std)
    out[4] = correction * fourths / (variance * variance) - 3.0 * (n - 1.0) ** 2 / ((n - 2.0) * (n - 3.0))
    out[5] = cross / time_squares
    out[6] = steepest


@njit(cache=True)
def _compute_all(time: np.ndarray, mag: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    for curve in range(len(offsets) - 1):
        start, stop = offsets[curve], offsets[curve + 1]
        if stop > start:
            _moments(time[start:stop], mag[start:stop], out[curve])
