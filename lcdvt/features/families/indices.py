"""Variability indices: how magnitudes sit about their mean, and how neighbours in time agree."""

import math
from typing import Final

import numpy as np

from lcdvt.compiled.kernel import fast_part, kernel, part
from lcdvt.features.families.moments import mean_and_variance
from lcdvt.features.gate import Curves

FEATURES: Final = ("Beyond1Std", "Con", "Eta_e", "PairSlopeTrend", "Rcs", "StetsonK")

CONSECUTIVE: Final = 3
TREND_EPOCHS: Final = 30


def compute(curves: Curves) -> np.ndarray:
    """Return one row per curve, columns as in FEATURES."""
    out = np.full((len(curves.offsets) - 1, len(FEATURES)), np.nan)
    _compute_all(curves.time, curves.mag, curves.err, curves.offsets, out)
    return out


@fast_part
def weighted_mean(mag: np.ndarray, err: np.ndarray, start: int, stop: int) -> float:
    """Return the mean weighted by inverse variance."""
    smallest = err[start]
    for i in range(start, stop):
        if err[i] < smallest:
            smallest = err[i]
    weight_sum = 0.0
    weighted = 0.0
    for i in range(start, stop):
        # Relative to the smallest error, so that neither tiny nor huge errors leave the float range.
        relative = smallest / err[i]
        weight_sum += relative * relative
        weighted += relative * relative * (mag[i] - mag[start])
    # From the first magnitude, so that of equal ones the mean is equal too.
    return mag[start] + weighted / weight_sum


@fast_part
def von_neumann_uneven(time: np.ndarray, mag: np.ndarray, start: int, stop: int, variance: float) -> float:
    """Return η^e: squared steps weighted by 1/Δt², against the variance."""
    count = stop - start
    weight_sum = 0.0
    weighted = 0.0
    for i in range(start, stop - 1):
        gap = time[i + 1] - time[i]
        weight = 1.0 / (gap * gap)
        step = mag[i + 1] - mag[i]
        weight_sum += weight
        weighted += weight * step * step
    baseline = time[stop - 1] - time[start]
    mean_weight = weight_sum / (count - 1)
    return mean_weight * baseline * baseline * weighted / (variance * weight_sum * count * count)


@part
def cumulative_range(mag: np.ndarray, start: int, stop: int, mean: float, std: float) -> float:
    """Return the range of the cumulative sum of residuals, in units of N standard deviations."""
    running = 0.0
    lowest = np.inf
    highest = -np.inf
    for i in range(start, stop):
        running += mag[i] - mean
        if running < lowest:
            lowest = running
        if running > highest:
            highest = running
    return (highest - lowest) / ((stop - start) * std)


@fast_part
def _scores(mag: np.ndarray, err: np.ndarray, start: int, stop: int, centre: float) -> tuple[float, float]:
    """Return the spread about a centre, and StetsonK."""
    squares = 0.0
    absolute_scores = 0.0
    squared_scores = 0.0
    for i in range(start, stop):
        residual = mag[i] - centre
        squares += residual * residual
        score = residual / err[i]
        absolute_scores += abs(score)
        squared_scores += score * score
    count = stop - start
    return math.sqrt(squares / (count - 1)), absolute_scores / math.sqrt(count * squared_scores)


@kernel
def _compute_all(time: np.ndarray, mag: np.ndarray, err: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    for curve in range(out.shape[0]):
        start, stop = offsets[curve], offsets[curve + 1]
        if stop == start:
            continue
        count = stop - start
        mean, variance = mean_and_variance(mag, start, stop)
        std = math.sqrt(variance)
        centre = weighted_mean(mag, err, start, stop)
        spread, stetson_k = _scores(mag, err, start, stop, centre)
        beyond = 0
        # Triples of neighbours beyond two standard deviations, on whichever side.
        run = 0
        triples = 0
        for i in range(start, stop):
            beyond += mag[i] > centre + spread or mag[i] < centre - spread
            run = run + 1 if (mag[i] > mean + 2.0 * std or mag[i] < mean - 2.0 * std) else 0
            triples += run >= CONSECUTIVE
        rising = 0
        for i in range(start if count < TREND_EPOCHS else stop - TREND_EPOCHS, stop - 1):
            rising += 1 if mag[i + 1] - mag[i] > 0.0 else -1
        out[curve, 0] = beyond / count
        out[curve, 1] = triples / (count - CONSECUTIVE + 1) if count >= CONSECUTIVE else np.nan
        out[curve, 2] = von_neumann_uneven(time, mag, start, stop, variance)
        out[curve, 3] = rising / TREND_EPOCHS
        out[curve, 4] = cumulative_range(mag, start, stop, mean, std)
        out[curve, 5] = stetson_k
