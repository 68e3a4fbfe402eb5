"""Autocorrelation: by epoch number, and in slots of one day for uneven sampling."""

import math
from typing import Final

import numpy as np
from numba import njit

from lcdvt.features.families.moments import REORDERED_SUMS, mean_and_variance
from lcdvt.features.gate import Curves

FEATURES: Final = ("Autocor_length", "SlottedA_length", "StetsonK_AC")

THRESHOLD: Final = math.exp(-1.0)
FIRST_SLOTS: Final = 100
# No survey lasts a million days: beyond, the search for the length stops instead of filling the memory.
MOST_SLOTS: Final = 1_000_000


def compute(curves: Curves) -> np.ndarray:
    """Return one row per curve, columns as in FEATURES."""
    out = np.full((len(curves.offsets) - 1, len(FEATURES)), np.nan)
    _compute_all(curves.time, curves.mag, curves.offsets, out)
    return out


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def _lagged_product(residual: np.ndarray, lag: int) -> float:
    total = 0.0
    for i in range(len(residual) - lag):
        total += residual[i] * residual[i + lag]
    return total


@njit(cache=True, error_model="numpy")
def _autocorrelation_length(residual: np.ndarray) -> float:
    power = _lagged_product(residual, 0)
    if not power > 0.0:
        return np.nan
    for lag in range(1, len(residual)):
        if _lagged_product(residual, lag) / power < THRESHOLD:
            return float(lag)
    return np.nan


@njit(cache=True, error_model="numpy")
def _add_pairs(
    time: np.ndarray, residual: np.ndarray, first: int, stop: int, products: np.ndarray, counts: np.ndarray
) -> None:
    """Add every pair of epochs to its slot, `first` ≤ slot < `stop`; slots are one day wide."""
    count = len(time)
    nearest = 1
    for i in range(count - 1):
        nearest = max(nearest, i + 1)
        while nearest < count and time[nearest] - time[i] + 0.5 < first:
            nearest += 1
        for j in range(nearest, count):
            lag = time[j] - time[i] + 0.5
            if lag >= stop:
                break
            slot = int(lag)
            products[slot - first] += residual[i] * residual[j]
            counts[slot - first] += 1


@njit(cache=True, error_model="numpy")
def _slotted(time: np.ndarray, residual: np.ndarray) -> tuple[float, float]:
    """Return the slotted autocorrelation length (days) and StetsonK of the slots of the first hundred days."""
    products = np.zeros(FIRST_SLOTS)
    counts = np.zeros(FIRST_SLOTS, dtype=np.int64)
    _add_pairs(time, residual, 0, FIRST_SLOTS, products, counts)
    count = len(time)
    # Every epoch pairs with itself at lag zero.
    at_zero = (_lagged_product(residual, 0) + products[0]) / (counts[0] + count)
    filled = np.empty(FIRST_SLOTS)
    filled[0] = 1.0
    number = 1
    length = np.nan
    for slot in range(1, FIRST_SLOTS):
        if counts[slot]:
            filled[number] = products[slot] / counts[slot] / at_zero
            if math.isnan(length) and filled[number] < THRESHOLD:
                length = float(slot)
            number += 1
    # With all pairs within half a day FATS has no slot at all, not even the zeroth.
    stetson = _stetson_k(filled[:number]) if number > 1 else np.nan
    slots = FIRST_SLOTS
    baseline = time[count - 1] - time[0]
    while math.isnan(length):
        slots *= 2
        if slots > baseline or slots > MOST_SLOTS:
            break
        first = slots // 2
        later_products = np.zeros(slots - first)
        later_counts = np.zeros(slots - first, dtype=np.int64)
        _add_pairs(time, residual, first, slots, later_products, later_counts)
        for slot in range(first, slots):
            pairs = later_counts[slot - first]
            if pairs and later_products[slot - first] / pairs / at_zero < THRESHOLD:
                length = float(slot)
                break
    return length, stetson


@njit(cache=True, error_model="numpy")
def _stetson_k(values: np.ndarray) -> float:
    mean, variance = mean_and_variance(values)
    absolute = 0.0
    for value in values:
        absolute += abs(value - mean)
    return absolute / len(values) / math.sqrt(variance)


@njit(cache=True, error_model="numpy")
def _compute_all(time: np.ndarray, mag: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    for curve in range(len(offsets) - 1):
        start, stop = offsets[curve], offsets[curve + 1]
        if stop > start:
            mean, variance = mean_and_variance(mag[start:stop])
            if variance > 0.0:
                residual = mag[start:stop] - mean
                out[curve, 0] = _autocorrelation_length(residual)
                # Since the first epoch, as FATS counts: which slot a pair at half a day falls in hangs on rounding.
                out[curve, 1], out[curve, 2] = _slotted(time[start:stop] - time[start], residual)
