"""Raw epochs to sorted segments, and segments with some epochs left out; the loops over all epochs are compiled."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcdvt.compiled.kernel import kernel, part

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
# In the place of a segment.
_DROPPED: Final = -1
_LIMIT: Final = -2


class Segments(NamedTuple):
    """Epochs in order; segment i is `start[i]:start[i + 1]`."""

    start: NDArray[np.int64]
    mjd: NDArray[np.float64]
    mag: NDArray[np.float64]
    err: NDArray[np.float64]


class Wanted(NamedTuple):
    """Which epochs are wanted, and where they go.

    Attributes
    ----------
    new_object
        For each raw object its place among the objects, -1 for one that is not wanted.
    band_rank
        For each band its place in the order of segments.
    n_objects
        How many objects there are.
    mag_sentinels, err_sentinels
        Values that stand for nothing, and below them how near a value must be.
    offset
        Days from the raw dates to MJD.
    dates
        The first and the last MJD that is believed.
    """

    new_object: NDArray[np.int32]
    band_rank: NDArray[np.int64]
    n_objects: int
    mag_sentinels: NDArray[np.float64]
    err_sentinels: NDArray[np.float64]
    offset: float
    dates: tuple[float, float]


def arrange(
    object_index: NDArray[np.int32],
    band_index: NDArray[np.int8],
    time: NDArray[np.float64],
    mag: NDArray[np.float64],
    err: NDArray[np.float64],
    wanted: Wanted,
) -> tuple[Segments, NDArray[np.int64], NDArray[np.int64]]:
    """Sort valid epochs by object, band and date, tell which others are upper limits, and count all others by reason.

    Parameters
    ----------
    object_index, band_index, time, mag, err
        The raw epochs, in any order; a magnitude of +inf is an upper limit, with its limit in the place of the error,
        one of -inf a flux that has no magnitude.
    wanted
        Which of them are wanted.
    """
    time, mag, err = (np.ascontiguousarray(column, dtype=np.float64) for column in (time, mag, err))
    dropped = np.zeros(REASON_COUNT, dtype=np.int64)
    segment_of = np.empty(time.size, dtype=np.int32)
    start = np.zeros(wanted.n_objects * wanted.band_rank.size + 1, dtype=np.int64)
    _classify(
        np.ascontiguousarray(object_index, dtype=np.int32),
        np.ascontiguousarray(band_index, dtype=np.int8),
        time,
        mag,
        err,
        wanted.new_object,
        wanted.band_rank,
        wanted.mag_sentinels,
        wanted.err_sentinels,
        wanted.offset,
        *wanted.dates,
        segment_of,
        start,
        dropped,
    )
    np.cumsum(start, out=start)
    found = Segments(start, *(np.empty(start[-1]) for _ in range(3)))
    is_unsorted = np.zeros(start.size, dtype=np.int8)
    _distribute(segment_of, time, mag, err, start.copy(), start, *found[1:], is_unsorted)
    # Most files are in order.
    for segment in np.flatnonzero(is_unsorted).tolist():
        of_segment = slice(start[segment], start[segment + 1])
        order = np.lexsort((found.err[of_segment], found.mag[of_segment], found.mjd[of_segment]))
        for column in found[1:]:
            column[of_segment] = column[of_segment][order]
    if wanted.offset:
        found.mjd[:] += wanted.offset
    is_repeated = _repeated(found)
    dropped[REPEATED] = np.count_nonzero(is_repeated)
    limits = np.flatnonzero(segment_of == _LIMIT) if dropped[UPPER_LIMIT] else np.empty(0, dtype=np.int64)
    return (keep_marked(~is_repeated, found) if dropped[REPEATED] else found), limits, dropped


@part
def _is_any_of(value: float, sentinels: NDArray[np.float64]) -> bool:
    found = False
    for i in range(sentinels.shape[1]):
        found = found or abs(value - sentinels[0, i]) < sentinels[1, i]
    return found


@kernel
def _classify(  # type: ignore[no-untyped-def]
    object_index, band_index, time, mag, err, new_object, band_rank, mag_sentinels, err_sentinels, offset, first_date,
    last_date, segment_of, start, dropped,
):  # fmt: skip
    """Fill each epoch's segment, below zero for none; count epochs in the place after their segment's in `start`."""
    for i in range(time.size):
        mjd = time[i] + offset
        has_date = -np.inf < mjd < np.inf
        place = new_object[object_index[i]]
        is_limit = mag[i] == np.inf
        value = err[i] if is_limit else mag[i]
        if place < 0:
            reason = READ_BEFORE
        elif mag[i] == -np.inf and has_date:
            reason = NO_MAGNITUDE
        elif (
            not (has_date and -np.inf < value < np.inf)
            or _is_any_of(value, mag_sentinels)
            or (_is_any_of(err[i], err_sentinels) and not is_limit)
        ):
            reason = MISSING_VALUE
        elif band_index[i] < 0:
            reason = OTHER_BAND
        elif not first_date < mjd < last_date:
            reason = BAD_DATE
        elif is_limit:
            reason = UPPER_LIMIT
        elif not 0.0 < err[i] < np.inf:
            reason = BAD_ERROR
        else:
            segment = place * band_rank.size + band_rank[band_index[i]]
            segment_of[i] = segment
            start[segment + 1] += 1
            continue
        segment_of[i] = _LIMIT if reason == UPPER_LIMIT else _DROPPED
        dropped[reason] += 1


@kernel
def _distribute(  # type: ignore[no-untyped-def]
    segment_of, time, mag, err, place_of, start, new_time, new_mag, new_err, is_unsorted
):
    """Put each epoch into its segment, and mark the segments that are not in order of date, magnitude and error."""
    for i in range(segment_of.size):
        segment = segment_of[i]
        if segment < 0:
            continue
        place = place_of[segment]
        place_of[segment] = place + 1
        new_time[place], new_mag[place], new_err[place] = time[i], mag[i], err[i]
        if place > start[segment] and not new_time[place - 1] < time[i]:
            before = place - 1
            in_order = new_time[before] == time[i] and (
                new_mag[before] < mag[i] or (new_mag[before] == mag[i] and new_err[before] <= err[i])
            )
            if not in_order:
                is_unsorted[segment] = 1


def _repeated(found: Segments) -> NDArray[np.bool_]:
    """Say of each epoch whether it says the same as the one before it in its segment."""
    is_repeated = np.zeros(found.mjd.size, dtype=np.bool_)
    same = np.flatnonzero(found.mjd[1:] == found.mjd[:-1]) + 1
    is_repeated[same] = (found.mag[same] == found.mag[same - 1]) & (found.err[same] == found.err[same - 1])
    is_repeated[found.start[:-1][np.diff(found.start) > 0]] = False
    return is_repeated


def keep_marked(keep: NDArray[np.bool_], segments: Segments) -> Segments:
    """Return the segments with only the marked epochs in them."""
    kept = np.flatnonzero(keep)
    return Segments(np.searchsorted(kept, segments.start), *(column.take(kept) for column in segments[1:]))
