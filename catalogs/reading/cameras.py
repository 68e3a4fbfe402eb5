"""A star's light curve from several cameras, brought to one zero point.

A file may hold what several cameras saw of a star, each with an offset of its own that is no variation of the star. The
camera with the most epochs gives the zero point; each other one is shifted by the median difference to what is there
already, taken between epochs of nearly the same time, so that a star that changes slowly is not mistaken for an offset.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.catalogs.reading.values import any_of
from lcdvt.catalogs.survey import Survey

Floats = NDArray[np.float64]
PAIR_DAYS: Final = 1.0
"""Epochs of the same night are compared: most stars change less in it than cameras differ."""
FEWEST_PAIRS: Final = 5
"""A median of fewer says little, and its error nothing."""
SIGNIFICANCE: Final = 3.0
"""A shift by chance would do harm."""
SHIFTED_CAMERAS: Final = "cameras shifted to the zero point of a star's other cameras"
_MEDIAN_ERROR: Final = 1.2533
_ONE_SIGMA: Final = (16, 50, 84)


def levelled(
    survey: Survey,
    curve: tuple[NDArray[np.int32], NDArray[np.int8]],
    camera: NDArray[np.int64],
    measured: tuple[Floats, Floats, Floats],
    usable: NDArray[np.bool_],
) -> tuple[Floats, Floats, int]:
    """Return magnitudes and errors with every camera of a star and band on one zero point, and how many were shifted.

    Of an upper limit the limiting magnitude, which stands in the place of the error, is shifted.

    Parameters
    ----------
    survey
        Whose sentinels count.
    curve
        The object and the band of each row; negative for none.
    camera
        A number for each row's camera.
    measured
        Dates, magnitudes and errors as read.
    usable
        Rows that no flag marks: offsets are found from these and given to all.
    """
    star, band = curve
    time, mag, err = measured
    good = usable & np.isfinite(time) & np.isfinite(mag) & (err > 0) & (star >= 0) & (band >= 0)
    good &= ~(any_of(mag, survey.mag_sentinels) | any_of(err, survey.err_sentinels))
    order = np.lexsort((camera, band, star))
    keys = np.column_stack([star, band, camera])[order]
    edges = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
    groups: dict[tuple[int, int], list[NDArray[np.int64]]] = {}
    for rows in np.split(order, edges) if order.size else ():
        groups.setdefault((int(star[rows[0]]), int(band[rows[0]])), []).append(rows)
    is_limit = np.isposinf(mag)
    changed, limits, shifted = mag, err, 0
    for (of_star, in_band), cameras in groups.items():
        if len(cameras) < 2 or of_star < 0 or in_band < 0:
            continue
        cameras = sorted(cameras, key=lambda rows: -int(np.count_nonzero(good[rows])))
        there = cameras[0][good[cameras[0]]]
        for rows in cameras[1:]:
            own = rows[good[rows]]
            offset = _offset(time[there], changed[there], time[own], mag[own])
            if offset:
                if changed is mag:
                    changed, limits = mag.copy(), err.copy()
                changed[rows] += np.where(good[rows], offset, 0.0)
                limits[rows] += np.where(is_limit[rows], offset, 0.0)
                shifted += 1
            if offset is not None:
                there = np.concatenate([there, own])
    return changed, limits, shifted


def _offset(time: Floats, mag: Floats, own_time: Floats, own_mag: Floats) -> float | None:
    """Return what brings a camera to the others: 0 if it agrees with them, None if it cannot be compared."""
    if time.size == 0 or own_time.size < FEWEST_PAIRS:
        return None
    order = np.argsort(time, kind="stable")
    time, mag = time[order], mag[order]
    after = np.clip(np.searchsorted(time, own_time), 1, max(time.size - 1, 1))
    before = after - 1
    after = np.minimum(after, time.size - 1)
    nearest = np.where(np.abs(time[after] - own_time) < np.abs(time[before] - own_time), after, before)
    paired = np.abs(time[nearest] - own_time) <= PAIR_DAYS
    if np.count_nonzero(paired) < FEWEST_PAIRS:
        return None
    low, median, high = np.percentile(mag[nearest[paired]] - own_mag[paired], _ONE_SIGMA)
    error = _MEDIAN_ERROR * (high - low) / 2 / np.sqrt(np.count_nonzero(paired))
    return float(median) if abs(median) > SIGNIFICANCE * error else 0.0
