"""Features of two bands at once, at the times that both bands share."""

import math
from typing import Final

import numpy as np

from lcdvt.compiled.kernel import kernel, part
from lcdvt.features.families.indices import von_neumann_uneven, weighted_mean
from lcdvt.features.families.moments import mean_and_variance
from lcdvt.features.gate import Curves

FEATURES: Final = ("Color", "Eta_color", "Q31_color", "StetsonJ", "StetsonL")

GAUSSIAN_STETSON_K: Final = 0.798
# The rows of what the kernel fills for each pair of epochs.
TIME, FIRST_MAG, FIRST_ERR, SECOND_MAG, SECOND_ERR, COLOUR = range(6)


def compute(curves: Curves, bands: int, pairing_days: float) -> tuple[np.ndarray, np.ndarray]:
    """Return one row per object, columns as in FEATURES, and the number of epochs common to the two bands.

    Parameters
    ----------
    curves
        An object's bands follow each other, `bands` curves per object; the first two are compared.
    bands
        Curves per object.
    pairing_days
        How far apart in time two epochs may lie and still be a pair; 0 asks for equal times, as FATS does.
    """
    objects = (len(curves.offsets) - 1) // bands
    out = np.full((objects, len(FEATURES)), np.nan)
    common = np.zeros(objects, dtype=np.int64)
    pairs = np.empty((6, len(curves.time)))
    _compute_all(curves.time, curves.mag, curves.err, curves.offsets, bands, pairing_days, pairs, out, common)
    paired = np.flatnonzero(common > 1)
    starts = curves.offsets[paired * bands]
    stops = starts + common[paired]
    colour = pairs[COLOUR]
    for start, stop in zip(starts, stops, strict=True):
        colour[start:stop].sort()
    out[paired, 2] = _percentile(colour, starts, stops, 75.0) - _percentile(colour, starts, stops, 25.0)
    return out, common


def _percentile(ordered: np.ndarray, starts: np.ndarray, stops: np.ndarray, percent: float) -> np.ndarray:
    """Return the linearly interpolated percentile of each part, rounded as numpy rounds it."""
    position = (percent / 100.0) * (stops - starts - 1)
    below = position.astype(np.int64)
    share = position - below
    low, high = ordered[starts + below], ordered[np.minimum(starts + below + 1, stops - 1)]
    return np.where(share >= 0.5, high - (high - low) * (1.0 - share), low + (high - low) * share)


@part
def _pair_epochs(
    time: np.ndarray, mag: np.ndarray, err: np.ndarray, start: int, middle: int, stop: int, pairing_days: float,
    pairs: np.ndarray,
) -> int:  # fmt: skip
    """Fill the epochs of two sorted curves that lie no more than `pairing_days` apart, each used once; count them."""
    i, j, found = start, middle, 0
    while i < middle and j < stop:
        if time[i] < time[j] - pairing_days:
            i += 1
        elif time[i] > time[j] + pairing_days:
            j += 1
        else:
            at = start + found
            pairs[TIME, at] = time[i]
            pairs[FIRST_MAG, at] = mag[i]
            pairs[FIRST_ERR, at] = err[i]
            pairs[SECOND_MAG, at] = mag[j]
            pairs[SECOND_ERR, at] = err[j]
            pairs[COLOUR, at] = mag[i] - mag[j]
            found += 1
            i += 1
            j += 1
    return found


@kernel
def _compute_all(
    time: np.ndarray,
    mag: np.ndarray,
    err: np.ndarray,
    offsets: np.ndarray,
    bands: int,
    pairing_days: float,
    pairs: np.ndarray,
    out: np.ndarray,
    common: np.ndarray,
) -> None:
    """Fill all but Q31_color, which wants the colours in order: numpy's sort is quicker."""
    colour = pairs[COLOUR]
    for row in range(out.shape[0]):
        start, middle, stop = offsets[row * bands], offsets[row * bands + 1], offsets[row * bands + 2]
        if middle == start or stop == middle:
            continue
        out[row, 0] = mean_and_variance(mag, start, middle)[0] - mean_and_variance(mag, middle, stop)[0]
        count = _pair_epochs(time, mag, err, start, middle, stop, pairing_days, pairs)
        common[row] = count
        if count < 2:
            continue
        end = start + count
        out[row, 1] = von_neumann_uneven(pairs[TIME], colour, start, end, mean_and_variance(colour, start, end)[1])
        centre = weighted_mean(pairs[FIRST_MAG], pairs[FIRST_ERR], start, end)
        other_centre = weighted_mean(pairs[SECOND_MAG], pairs[SECOND_ERR], start, end)
        scale = count / (count - 1.0)
        signed_roots = 0.0
        absolute = 0.0
        squares = 0.0
        for i in range(start, end):
            product = scale * (pairs[FIRST_MAG, i] - centre) / pairs[FIRST_ERR, i]
            product *= (pairs[SECOND_MAG, i] - other_centre) / pairs[SECOND_ERR, i]
            root = math.sqrt(abs(product))
            signed_roots += root if product > 0.0 else -root
            absolute += abs(product)
            squares += product * product
        out[row, 3] = signed_roots / count
        out[row, 4] = out[row, 3] * absolute / math.sqrt(count * squares) / GAUSSIAN_STETSON_K
