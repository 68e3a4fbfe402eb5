"""Autocorrelation: by epoch number, and in slots of one day for uneven sampling."""

import math
from typing import Final

import numpy as np

from lcdvt.compiled.kernel import fast_part, kernel, part
from lcdvt.features.families.moments import mean_and_variance
from lcdvt.features.gate import Curves

FEATURES: Final = ("Autocor_length", "SlottedA_length", "StetsonK_AC")

THRESHOLD: Final = math.exp(-1.0)
FIRST_SLOTS: Final = 100
# No survey lasts a million days: beyond, the search for the length stops instead of filling the memory.
MOST_SLOTS: Final = 1_000_000


def compute(curves: Curves) -> np.ndarray:
    """Return one row per curve, columns as in FEATURES."""
    out = np.full((len(curves.offsets) - 1, len(FEATURES)), np.nan)
    since, residual = np.empty((2, int(np.max(np.diff(curves.offsets), initial=0))))
    _compute_all(curves.time, curves.mag, curves.offsets, since, residual, out)
    return out


@fast_part
def _lagged_product(residual: np.ndarray, count: int, lag: int) -> float:
    total = 0.0
    for i in range(count - lag):
        total += residual[i] * residual[i + lag]
    return total


@part
def _add_pairs(
    time: np.ndarray, residual: np.ndarray, count: int, first: int, stop: int, products: np.ndarray, pairs: np.ndarray
) -> None:
    """Sum the products of every pair of epochs in its slot, `first` ≤ slot < `stop`; slots are one day wide."""
    for slot in range(stop - first):
        products[slot] = 0.0
        pairs[slot] = 0.0
    nearest = 1
    for i in range(count - 1):
        if nearest < i + 1:
            nearest = i + 1
        while nearest < count and time[nearest] - time[i] + 0.5 < first:
            nearest += 1
        for j in range(nearest, count):
            lag = time[j] - time[i] + 0.5
            if lag >= stop:
                break
            slot = int(lag) - first
            products[slot] += residual[i] * residual[j]
            pairs[slot] += 1.0


@part
def _stetson_k(values: np.ndarray, count: int) -> float:
    mean, variance = mean_and_variance(values, 0 * count, count)
    absolute = 0.0
    for i in range(count):
        absolute += abs(values[i] - mean)
    return absolute / count / math.sqrt(variance)


@kernel
def _compute_all(
    time: np.ndarray, mag: np.ndarray, offsets: np.ndarray, since: np.ndarray, residual: np.ndarray, out: np.ndarray
) -> None:
    products, pairs, filled = np.empty(FIRST_SLOTS), np.empty(FIRST_SLOTS), np.empty(FIRST_SLOTS)
    for curve in range(out.shape[0]):
        start, stop = offsets[curve], offsets[curve + 1]
        if stop == start:
            continue
        count = stop - start
        mean, variance = mean_and_variance(mag, start, stop)
        if not variance > 0.0:
            continue
        for i in range(count):
            residual[i] = mag[start + i] - mean
            # Since the first epoch, as FATS counts: which slot a pair at half a day falls in hangs on rounding.
            since[i] = time[start + i] - time[start]
        lag = 0
        power = _lagged_product(residual, count, lag)
        if power > 0.0:
            for lag in range(1, count):
                if _lagged_product(residual, count, lag) / power < THRESHOLD:
                    out[curve, 0] = lag
                    break
        first, slots = 0, FIRST_SLOTS
        _add_pairs(since, residual, count, first, slots, products, pairs)
        # Every epoch pairs with itself at lag zero.
        at_zero = (power + products[0]) / (pairs[0] + count)
        filled[0] = 1.0
        number = 1
        length = np.nan
        for slot in range(1, FIRST_SLOTS):
            if pairs[slot] > 0.0:
                filled[number] = products[slot] / pairs[slot] / at_zero
                if math.isnan(length) and filled[number] < THRESHOLD:
                    length = float(slot)
                number += 1
        # With all pairs within half a day FATS has no slot at all, not even the zeroth.
        if number > 1:
            out[curve, 2] = _stetson_k(filled, number)
        while math.isnan(length):
            first, slots = slots, 2 * slots
            if slots > since[count - 1] or slots > MOST_SLOTS:
                break
            later_products, later_pairs = np.empty(slots - first), np.empty(slots - first)
            _add_pairs(since, residual, count, first, slots, later_products, later_pairs)
            for slot in range(slots - first):
                if later_pairs[slot] > 0.0 and later_products[slot] / later_pairs[slot] / at_zero < THRESHOLD:
                    length = float(first + slot)
                    break
        out[curve, 1] = length
