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
    filled = np.diff(curves.offsets) > 0
    spans = curves.time[curves.offsets[1:][filled] - 1] - curves.time[curves.offsets[:-1][filled]]
    # Memory that nobody touches costs nothing: nearly always the first hundred days are enough.
    most = int(min(max(np.max(spans, initial=0.0), FIRST_SLOTS), MOST_SLOTS))
    products, pairs = np.empty((2, most))
    _compute_all(curves.time, curves.mag, curves.offsets, since, residual, products, pairs, np.empty(FIRST_SLOTS), out)
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


@kernel
def _compute_all(
    time: np.ndarray,
    mag: np.ndarray,
    offsets: np.ndarray,
    since: np.ndarray,
    residual: np.ndarray,
    products: np.ndarray,
    pairs: np.ndarray,
    filled: np.ndarray,
    out: np.ndarray,
) -> None:
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
        power = _lagged_product(residual, count, np.int64(0))
        if power > 0.0:
            for lag in range(1, count):
                if _lagged_product(residual, count, lag) / power < THRESHOLD:
                    out[curve, 0] = lag
                    break
        first, slots = np.int64(0), np.int64(FIRST_SLOTS)
        _add_pairs(since, residual, count, first, slots, products, pairs)
        # Every epoch pairs with itself at lag zero.
        at_zero = (power + products[0]) / (pairs[0] + count)
        filled[0] = 1.0
        number = np.int64(1)
        length = np.nan
        for slot in range(1, FIRST_SLOTS):
            if pairs[slot] > 0.0:
                filled[number] = products[slot] / pairs[slot] / at_zero
                if math.isnan(length) and filled[number] < THRESHOLD:
                    length = float(slot)
                number += 1
        # With all pairs within half a day FATS has no slot at all, not even the zeroth.
        if number > 1:
            mean, variance = mean_and_variance(filled, np.int64(0), number)
            absolute = 0.0
            for i in range(number):
                absolute += abs(filled[i] - mean)
            out[curve, 2] = absolute / number / math.sqrt(variance)
        while math.isnan(length):
            first, slots = slots, 2 * slots
            if slots > since[count - 1] or slots > MOST_SLOTS:
                break
            _add_pairs(since, residual, count, first, slots, products, pairs)
            for slot in range(slots - first):
                if pairs[slot] > 0.0 and products[slot] / pairs[slot] / at_zero < THRESHOLD:
                    length = float(first + slot)
                    break
        out[curve, 1] = length
