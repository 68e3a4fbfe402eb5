"""Variability indices: how magnitudes sit about their mean, and how neighbours in time agree."""

import math
from typing import Final

import numpy as np
from numba import njit

from lcdvt.features.families.moments import REORDERED_SUMS, mean_and_variance
from lcdvt.features.gate import Curves

FEATURES: Final = ("Beyond1Std", "Con", "Eta_e", "PairSlopeTrend", "Rcs", "StetsonK")

CONSECUTIVE: Final = 3
TREND_EPOCHS: Final = 30


def compute(curves: Curves) -> np.ndarray:
    """Return one row per curve, columns as in FEATURES."""
    out = np.full((len(curves.offsets) - 1, len(FEATURES)), np.nan)
    _compute_all(curves.time, curves.mag, curves.err, curves.offsets, out)
    return out


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def weighted_mean(mag: np.ndarray, err: np.ndarray) -> float:
    """Return the mean weighted by inverse variance."""
    smallest = err[0]
    for value in err:
        smallest = min(smallest, value)
    weight_sum = 0.0
    weighted = 0.0
    for i in range(len(mag)):
        # Relative to the smallest error, so that neither tiny nor huge errors leave the float range.
        relative = smallest / err[i]
        weight_sum += relative * relative
        weighted += relative * relative * mag[i]
    return weighted / weight_sum


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def von_neumann_uneven(time: np.ndarray, mag: np.ndarray, variance: float) -> float:
    """Return η^e: squared steps weighted by 1/Δt², against the variance."""
    count = len(mag)
    weight_sum = 0.0
    weighted = 0.0
    for i in range(count - 1):
        gap = time[i + 1] - time[i]
        weight = 1.0 / (gap * gap)
        step = mag[i + 1] - mag[i]
        weight_sum += weight
        weighted += weight * step * step
    baseline = time[count - 1] - time[0]
    mean_weight = weight_sum / (count - 1)
    return mean_weight * baseline * baseline * weighted / (variance * weight_sum * count * count)


@njit(cache=True, error_model="numpy")
def cumulative_range(mag: np.ndarray, mean: float, std: float) -> float:
    """Return the range of the cumulative sum of residuals, in units of N standard deviations."""
    running = 0.0
    lowest = np.inf
    highest = -np.inf
    for value in mag:
        running += value - mean
        lowest = min(lowest, running)
        highest = max(highest, running)
    return (highest - lowest) / (len(mag) * std)


@njit(cache=True, error_model="numpy")
def _consecutive_outliers(mag: np.ndarray, mean: float, std: float) -> float:
    """Return the share of triples that lie beyond two standard deviations, on whichever side."""
    run = 0
    triples = 0
    for value in mag:
        run = run + 1 if (value > mean + 2.0 * std or value < mean - 2.0 * std) else 0
        if run >= CONSECUTIVE:
            triples += 1
    return triples / (len(mag) - CONSECUTIVE + 1)


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def _indices(time: np.ndarray, mag: np.ndarray, err: np.ndarray, out: np.ndarray) -> None:
    count = len(mag)
    mean, variance = mean_and_variance(mag)
    std = math.sqrt(variance)
    centre = weighted_mean(mag, err)
    squares = 0.0
    absolute_scores = 0.0
    squared_scores = 0.0
    for i in range(count):
        residual = mag[i] - centre
        squares += residual * residual
        score = residual / err[i]
        absolute_scores += abs(score)
        squared_scores += score * score
    spread = math.sqrt(squares / (count - 1))
    beyond = 0
    for value in mag:
        beyond += value > centre + spread or value < centre - spread
    rising = 0
    first = max(count - TREND_EPOCHS, 0)
    for i in range(first, count - 1):
        rising += 1 if mag[i + 1] - mag[i] > 0.0 else -1
    out[0] = beyond / count
    out[1] = _consecutive_outliers(mag, mean, std) if count >= CONSECUTIVE else np.nan
    out[2] = von_neumann_uneven(time, mag, variance)
    out[3] = rising / TREND_EPOCHS
    out[4] = cumulative_range(mag, mean, std)
    out[5] = absolute_scores / math.sqrt(count * squared_scores)


@njit(cache=True)
def _compute_all(time: np.ndarray, mag: np.ndarray, err: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    for curve in range(len(offsets) - 1):
        start, stop = offsets[curve], offsets[curve + 1]
        if stop > start:
            _indices(time[start:stop], mag[start:stop], err[start:stop], out[curve])
