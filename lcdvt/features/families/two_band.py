"""Features of two bands at once, at the times that both bands share."""

import math
from typing import Final

import numpy as np
from numba import njit

from lcdvt.features.families.indices import von_neumann_uneven, weighted_mean
from lcdvt.features.families.moments import mean_and_variance
from lcdvt.features.families.percentiles import percentile_of_sorted
from lcdvt.features.gate import Curves

FEATURES: Final = ("Color", "Eta_color", "Q31_color", "StetsonJ", "StetsonL")

GAUSSIAN_STETSON_K: Final = 0.798


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
    _compute_all(curves.time, curves.mag, curves.err, curves.offsets, bands, pairing_days, out, common)
    return out, common


@njit(cache=True)
def common_epochs(first: np.ndarray, second: np.ndarray, pairing_days: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of times in two sorted arrays that lie no more than `pairing_days` apart, each used once."""
    in_first = np.empty(min(len(first), len(second)), dtype=np.int64)
    in_second = np.empty_like(in_first)
    found = i = j = 0
    while i < len(first) and j < len(second):
        if first[i] < second[j] - pairing_days:
            i += 1
        elif first[i] > second[j] + pairing_days:
            j += 1
        else:
            in_first[found], in_second[found] = i, j
            found += 1
            i += 1
            j += 1
    return in_first[:found], in_second[:found]


@njit(cache=True, error_model="numpy")
def _stetson(mag: np.ndarray, err: np.ndarray, other_mag: np.ndarray, other_err: np.ndarray) -> tuple[float, float]:
    count = len(mag)
    centre, other_centre = weighted_mean(mag, err), weighted_mean(other_mag, other_err)
    scale = count / (count - 1.0)
    signed_roots = 0.0
    absolute = 0.0
    squares = 0.0
    for i in range(count):
        product = scale * (mag[i] - centre) / err[i] * (other_mag[i] - other_centre) / other_err[i]
        signed_roots += math.copysign(math.sqrt(abs(product)), product)
        absolute += abs(product)
        squares += product * product
    stetson_j = signed_roots / count
    stetson_k = absolute / math.sqrt(count * squares)
    return stetson_j, stetson_j * stetson_k / GAUSSIAN_STETSON_K


@njit(cache=True, error_model="numpy")
def _compute_all(
    time: np.ndarray,
    mag: np.ndarray,
    err: np.ndarray,
    offsets: np.ndarray,
    bands: int,
    pairing_days: float,
    out: np.ndarray,
    common: np.ndarray,
) -> None:
    for row in range(len(out)):
        start, middle, stop = offsets[row * bands], offsets[row * bands + 1], offsets[row * bands + 2]
        if middle == start or stop == middle:
            continue
        out[row, 0] = mean_and_variance(mag[start:middle])[0] - mean_and_variance(mag[middle:stop])[0]
        in_first, in_second = common_epochs(time[start:middle], time[middle:stop], pairing_days)
        common[row] = len(in_first)
        if len(in_first) < 2:
            continue
        common_time = time[start:middle][in_first]
        first_mag, second_mag = mag[start:middle][in_first], mag[middle:stop][in_second]
        first_err, second_err = err[start:middle][in_first], err[middle:stop][in_second]
        colour = first_mag - second_mag
        out[row, 1] = von_neumann_uneven(common_time, colour, mean_and_variance(colour)[1])
        colour.sort()
        out[row, 2] = percentile_of_sorted(colour, 75.0) - percentile_of_sorted(colour, 25.0)
        out[row, 3], out[row, 4] = _stetson(first_mag, first_err, second_mag, second_err)
