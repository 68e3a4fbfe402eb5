"""The compiled half of the epochs table: raw epochs to sorted segments, and segments with some epochs left out.

It is one file on purpose: numba keeps compiled code beside the source and does not notice that a function called from
another file has changed.
"""

from typing import Final

import numba
import numpy as np
from numpy.typing import NDArray

# Why an epoch is dropped before any cleaning rule looks at it; 0 keeps it.
VALID: Final = 0
MISSING_VALUE: Final = 1
BAD_ERROR: Final = 2
OTHER_BAND: Final = 3
BAD_DATE: Final = 4
READ_BEFORE: Final = 5
REPEATED: Final = 6
UPPER_LIMIT: Final = 7
NO_MAGNITUDE: Final = 8
REASON_COUNT: Final = 9


@numba.njit(cache=True, inline="always")
def _is_any_of(value, sentinels, tolerances):  # type: ignore[no-untyped-def]
    found = False
    for i in range(sentinels.size):
        found |= abs(value - sentinels[i]) < tolerances[i]
    return found


@numba.njit(cache=True)
def arrange(object_index, band_index, time, mag, err, new_object, band_rank, n_objects, sentinels, offset, dates):  # type: ignore[no-untyped-def]
    """Sort valid epochs by object, band and date, and count the others by reason.

    Parameters
    ----------
    object_index, band_index, time, mag, err
        The raw epochs, in any order; a magnitude of +inf is an upper limit, one of -inf a flux that has no magnitude.
    new_object
        For each raw object its place among the `n_objects` objects, -1 for one that is not wanted.
    band_rank
        For each band its place in the order of segments.
    sentinels
        Magnitudes that stand for nothing and how near a value must be, then the same for errors.
    offset
        Days from the raw dates to MJD.
    dates
        The first and the last MJD that is believed.

    Returns
    -------
    Where each segment (object by band) starts, with the end of the last; MJD, magnitudes and errors; the counts.
    """
    n_bands = band_rank.size
    dropped = np.zeros(REASON_COUNT, dtype=np.int64)
    segment_of = np.empty(time.size, dtype=np.int32)
    start = np.zeros(n_objects * n_bands + 1, dtype=np.int64)
    no_mag, near_no_mag, no_err, near_no_err = sentinels
    for i in range(time.size):
        mjd = time[i] + offset
        place = new_object[object_index[i]]
        is_missing = not (np.isfinite(mag[i]) and np.isfinite(mjd))
        if place < 0:
            reason = READ_BEFORE
        elif mag[i] == np.inf and np.isfinite(mjd):
            reason = UPPER_LIMIT
        elif mag[i] == -np.inf and np.isfinite(mjd):
            reason = NO_MAGNITUDE
        elif is_missing or _is_any_of(mag[i], no_mag, near_no_mag) or _is_any_of(err[i], no_err, near_no_err):
            reason = MISSING_VALUE
        elif band_index[i] < 0:
            reason = OTHER_BAND
        elif not dates[0] < mjd < dates[1]:
            reason = BAD_DATE
        elif not 0.0 < err[i] < np.inf:
            reason = BAD_ERROR
        else:
            segment = place * n_bands + band_rank[band_index[i]]
            segment_of[i] = segment
            start[segment + 1] += 1
            continue
        segment_of[i] = -1
        dropped[reason] += 1
    start = np.cumsum(start)
    place_of = start.copy()
    sorted_time, sorted_mag, sorted_err = np.empty(start[-1]), np.empty(start[-1]), np.empty(start[-1])
    for i in range(time.size):
        if segment_of[i] >= 0:
            place = place_of[segment_of[i]]
            place_of[segment_of[i]] = place + 1
            sorted_time[place], sorted_mag[place], sorted_err[place] = time[i], mag[i], err[i]
    repeated = 0
    for segment in range(start.size - 1):
        of_segment = slice(start[segment], start[segment + 1])
        repeated += _sort_segment(sorted_time[of_segment], sorted_mag[of_segment], sorted_err[of_segment], offset)
    dropped[REPEATED] = repeated
    if repeated:
        keep = _not_repeated(start, sorted_time, sorted_mag, sorted_err)
        start, sorted_time, sorted_mag, sorted_err = keep_marked(keep, start, sorted_time, sorted_mag, sorted_err)
    return start, sorted_time, sorted_mag, sorted_err, dropped


@numba.njit(cache=True)
def _sort_segment(time, mag, err, offset):  # type: ignore[no-untyped-def]
    """Sort in place by date, then magnitude, then error; add the offset to the dates; return how many repeat another.

    Most files are in order and cost one look.
    """
    for i in range(1, time.size):
        if (time[i], mag[i], err[i]) < (time[i - 1], mag[i - 1], err[i - 1]):
            # Stable sorts from the least to the most important key.
            order = np.argsort(err, kind="mergesort")
            order = order[np.argsort(mag[order], kind="mergesort")]
            order = order[np.argsort(time[order], kind="mergesort")]
            time[:], mag[:], err[:] = time[order], mag[order], err[order]
            break
    repeated = 0
    for i in range(time.size):
        time[i] += offset
        repeated += i > 0 and time[i] == time[i - 1] and mag[i] == mag[i - 1] and err[i] == err[i - 1]
    return repeated


@numba.njit(cache=True)
def _not_repeated(start, mjd, mag, err):  # type: ignore[no-untyped-def]
    keep = np.ones(mjd.size, dtype=np.bool_)
    for segment in range(start.size - 1):
        for i in range(start[segment] + 1, start[segment + 1]):
            keep[i] = mjd[i] != mjd[i - 1] or mag[i] != mag[i - 1] or err[i] != err[i - 1]
    return keep


@numba.njit(cache=True)
def keep_marked(keep: NDArray[np.bool_], start, mjd, mag, err):  # type: ignore[no-untyped-def]
    """Return the segments with only the marked epochs in them."""
    count = np.count_nonzero(keep)
    new_start = np.zeros(start.size, dtype=np.int64)
    new_mjd, new_mag, new_err = np.empty(count), np.empty(count), np.empty(count)
    place = 0
    for segment in range(start.size - 1):
        for i in range(start[segment], start[segment + 1]):
            if keep[i]:
                new_mjd[place], new_mag[place], new_err[place] = mjd[i], mag[i], err[i]
                place += 1
        new_start[segment + 1] = place
    return new_start, new_mjd, new_mag, new_err
