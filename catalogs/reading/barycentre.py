"""Dates of a file to the one system in which epochs are stored: barycentric, TDB, middle of the exposure.

The light takes up to 8.3 minutes from the Earth's place to that of the Sun, and the Sun is up to 5 light seconds off
the barycentre; between UTC and TDB lie 32 to 69 seconds. All of it comes from ERFA, the library under astropy,
with the leap seconds and the ephemeris that are built in: nothing is ever fetched. ERFA takes 0.1 ms for the Earth's
place at one date; so that an ingest does not wait for it, places are taken every few days and joined by cubic curves.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.catalogs.file_format import Format
from lcdvt.catalogs.reading.curves import RawEpochs, RawObject
from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.time_system import TimeSystem
from lcdvt.compiled.kernel import kernel

Floats = NDArray[np.float64]
SECONDS_OF_DAY: Final = 86_400.0
LIGHT_DAYS_OF_AU: Final = 499.004_783_836 / SECONDS_OF_DAY
"""IAU 2012: one astronomical unit is 149 597 870 700 m."""
EPHEMERIS_MJD: Final = (15_020.0, 88_069.0)
"""From 1900 to 2100, for which ERFA's ephemeris is made; other dates are left alone."""
DAYS_BETWEEN_PLACES: Final = 8.0
"""The cubic curve between two places is wrong by half a millisecond at most, because of the Moon."""
PLACES_AT_ONCE: Final = 64
"""Places are computed and kept in blocks of this many, 512 days."""
NOT_BARYCENTRIC: Final = {
    "earth": "light curves without a position: dates at the Earth, not barycentric",
    "sun": "light curves without a position: dates heliocentric, within 5 s of barycentric",
    "barycentre": "",
}
_MJD_ZERO: Final = 2_400_000.5
_TT_MINUS_TAI: Final = 32.184
_MJD_J2000: Final = 51_544.5
# IAU 2006 resolution B3: TDB is TCB, but for a rate and a constant.
_TCB_RATE: Final = 1.550_519_768e-8
_TCB_ORIGIN: Final = 43_144.000_372_5
_TCB_CONSTANT: Final = -6.55e-5


def in_stored_time(
    survey: Survey, form: Format, objects: Sequence[RawObject], epochs: RawEpochs
) -> tuple[RawEpochs, Counter[str]]:
    """Return the epochs with their dates in the stored system, and how many light curves lack a position for it.

    Dates still count from the survey's own zero point; a survey that does not ask for it keeps its dates.
    """
    time = survey.time_of(form)
    if not time.convert or not objects:
        return epochs, Counter()
    ra, dec = (np.array([getattr(one, axis) for one in objects], dtype=float) for axis in ("ra", "dec"))
    placed = np.isfinite(ra) & (np.abs(dec) <= 90)
    directions = np.where(placed[:, None], _directions(ra, dec), np.nan)
    days = days_to_stored_time(epochs.time + survey.time.offset_to_mjd, directions, epochs.object_index, time)
    lacking = 0 if time.observer == "barycentre" else int(np.count_nonzero(~placed))
    return epochs._replace(time=epochs.time + days), +Counter({NOT_BARYCENTRIC[time.observer]: lacking})


def _directions(ra: Floats, dec: Floats) -> Floats:
    alpha, delta = np.radians(ra), np.radians(dec)
    return np.column_stack([np.cos(delta) * np.cos(alpha), np.cos(delta) * np.sin(alpha), np.sin(delta)])


def days_to_stored_time(mjd: Floats, directions: Floats, whose: NDArray[np.int32], time: TimeSystem) -> Floats:
    """Return what to add to each date so that it is barycentric, TDB, of the middle of the exposure.

    Parameters
    ----------
    mjd
        Dates in the file's system, as modified Julian dates.
    directions
        The unit vector to each star; where it is not finite, dates stay at the Earth or the Sun.
    whose
        The star of each date.
    time
        What the dates are.
    """
    shift = _seconds_to_tdb(mjd, time.scale)
    if time.exposure == "start":
        shift += time.exposure_seconds / 2
    days = shift / SECONDS_OF_DAY
    if time.observer == "barycentre":
        return days
    inside = mjd[(mjd > EPHEMERIS_MJD[0]) & (mjd < EPHEMERIS_MJD[1])]
    if inside.size:
        block = DAYS_BETWEEN_PLACES * PLACES_AT_ONCE
        # A day to both sides, because the dates are still to be moved to TDB.
        first, last = int((inside.min() - 1) // block), int((inside.max() + 1) // block)
        places = [*(_places(number, time.observer) for number in range(first, last + 1))]
        places.append(_places(last + 1, time.observer)[:1])  # where the last curve ends
        _add_light_time(days, mjd, *EPHEMERIS_MJD, whose, directions, first * block, np.concatenate(places))
    return days


def _seconds_to_tdb(mjd: Floats, scale: str) -> Floats:
    """Return TDB minus the scale, with the 2 ms by which it goes up and down in a year."""
    if scale == "tdb":
        return np.zeros(mjd.size)
    if scale == "tcb":
        return np.asarray(_TCB_CONSTANT - _TCB_RATE * (mjd - _TCB_ORIGIN) * SECONDS_OF_DAY)
    # The Earth's mean anomaly (Astronomical Almanac, section B).
    seconds = 0.001_657 * np.sin(np.radians(357.53 + 0.985_600_28 * (mjd - _MJD_J2000)))
    if scale == "tt":
        return np.asarray(seconds)
    seconds += _TT_MINUS_TAI
    if scale == "utc":
        days, tai_minus_utc = _leap_seconds()
        seconds += tai_minus_utc[np.maximum(np.searchsorted(days, mjd, side="right") - 1, 0)]
    return np.asarray(seconds)


@lru_cache(maxsize=1)
def _leap_seconds() -> tuple[Floats, Floats]:
    """Return from which MJD on TAI minus UTC is how many seconds."""
    import erfa

    table = erfa.leap_seconds.get()
    days = erfa.cal2jd(table["year"], table["month"], 1)[1]
    return np.asarray(days, dtype=float), np.asarray(table["tai_utc"], dtype=float)


@lru_cache(maxsize=256)
def _places(block: int, observer: str) -> Floats:
    """Return place and velocity of the Earth, or of the Sun, from the barycentre, in light days and days."""
    import warnings

    import erfa

    days = (block * PLACES_AT_ONCE + np.arange(PLACES_AT_ONCE)) * DAYS_BETWEEN_PLACES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", erfa.ErfaWarning)  # of the dates just beyond 2100 in the last block
        from_sun, from_barycentre = erfa.epv00(_MJD_ZERO, days)
    place, velocity = from_barycentre["p"], from_barycentre["v"]
    if observer == "sun":
        place, velocity = place - from_sun["p"], velocity - from_sun["v"]
    return np.asarray(LIGHT_DAYS_OF_AU * np.concatenate([place, velocity], axis=1))


@kernel
def _add_light_time(days, mjd, first_valid, last_valid, whose, directions, origin, places):  # type: ignore[no-untyped-def]
    """Add the light time from the observer to the barycentre: the observer's place along the star's direction."""
    step = DAYS_BETWEEN_PLACES
    for i in range(mjd.size):
        star = whose[i]
        if first_valid < mjd[i] < last_valid and np.isfinite(directions[star, 0]):
            x = (mjd[i] + days[i] - origin) / step
            k = int(x)
            u = x - k
            a = (2 * u - 3) * u * u + 1
            b = (3 - 2 * u) * u * u
            va = step * (((u - 2) * u + 1) * u)
            vb = step * ((u - 1) * u * u)
            for axis in range(3):
                place = a * places[k, axis] + b * places[k + 1, axis]
                place += va * places[k, axis + 3] + vb * places[k + 1, axis + 3]
                days[i] += place * directions[star, axis]
