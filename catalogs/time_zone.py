"""Dates that somebody wrote down in the local time of their desk, and what they are in UTC.

MACHO's `.mjd` files are such: exposures that the archive has too stand there four hours earlier from April to October
and five hours earlier from October to April, which is the time of the eastern United States, daylight saving included.
"""

import datetime as dt
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_MJD_ZERO = dt.datetime(1858, 11, 17, tzinfo=dt.UTC)
_FIRST_YEAR, _LAST_YEAR = 1970, 2038
"""The years in which time zones are the same in every edition of the time-zone database."""


@lru_cache(maxsize=8)
def _offsets(zone: str) -> tuple[Floats, Floats, Floats]:
    """Return when the zone's clocks were changed, in UTC and by the clock before the change, and the offset since."""
    place = ZoneInfo(zone)

    def offset(moment: dt.datetime) -> dt.timedelta:
        return moment.astimezone(place).utcoffset() or dt.timedelta()

    day, end = dt.datetime(_FIRST_YEAR, 1, 1, tzinfo=dt.UTC), dt.datetime(_LAST_YEAR, 1, 1, tzinfo=dt.UTC)
    changed, before = [-np.inf], [0.0]
    since = [offset(day) / dt.timedelta(days=1)]
    while day < end:
        following = day + dt.timedelta(days=1)
        if offset(following) != offset(day):
            early, late = day, following
            while late - early > dt.timedelta(seconds=1):
                middle = early + (late - early) / 2
                early, late = (early, middle) if offset(middle) == offset(following) else (middle, late)
            changed.append(round((late - _MJD_ZERO) / dt.timedelta(minutes=1)) / (24 * 60))
            before.append(since[-1])
            since.append(offset(following) / dt.timedelta(days=1))
        day = following
    in_utc = np.array(changed)
    return in_utc, in_utc + np.array(before), np.array(since)


def is_time_zone(name: str) -> bool:
    """Say whether a time zone of this name is known."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # unknown, or no name that a time zone can have
        return False
    return True


def utc_from_local(mjd: Floats, zone: str) -> Floats:
    """Return dates in UTC from dates by the clocks of a time zone; an hour that came twice is taken as the first."""
    _, by_the_clock, since = _offsets(zone)
    return mjd - since[np.searchsorted(by_the_clock, mjd, side="right") - 1]


def local_from_utc(mjd: Floats, zone: str) -> Floats:
    """Return dates by the clocks of a time zone from dates in UTC."""
    in_utc, _, since = _offsets(zone)
    return mjd + since[np.searchsorted(in_utc, mjd, side="right") - 1]
