"""When a survey looks: nights, seasons, weather, the Moon, and several visits a night."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lcdvt.simulator.star import Array

NEW_MOON_MJD = 51549.6
LUNAR_MONTH = 29.5306
SPRING_EQUINOX_MJD = 51623.3  # the Sun at right ascension zero
YEAR = 365.2422
HOURS_PER_DAY = 24.0


@dataclass(frozen=True)
class Visits:
    """The exposures of one field, in time order."""

    mjd: Array
    error_factor: Array  # how much worse than the median night: seeing, cloud, moonlight
    airmass: Array


@dataclass(frozen=True)
class LongCampaign:
    """Years of nights on one field, as EROS-2 and MACHO observed the Magellanic Clouds."""

    first_mjd: float
    last_mjd: float
    longitude: float  # degrees east
    latitude: float
    right_ascension: float  # of the target, hours
    declination: float
    hours_from_transit: float  # how far from the meridian the telescope follows it
    visit_chance: tuple[float, float]  # on a clear night, for the least and the most wanted field
    late_decline: float  # share of the visit chance lost by the end of the survey
    second_visit_chance: float
    instrument_gaps: int  # stops of weeks to months
    longest_gap: float
    error_spread: tuple[float, float]  # natural-log spread of the error below and above its median

    def visits(self, rng: np.random.Generator) -> Visits:
        """Draw the history of one field."""
        nights = np.arange(np.floor(self.first_mjd), np.floor(self.last_mjd) + 1)
        midnight = nights + (-self.longitude / 360.0) % 1.0
        opens, closes = self._window(midnight)
        chance = rng.uniform(*self.visit_chance)
        chance = chance * (1 - self.late_decline * (nights - nights[0]) / (nights[-1] - nights[0]))
        # A short window at the end of the season is often missed.
        chance = chance * np.clip((closes - opens) / 5.0, 0, 1)
        moon = _moon_illumination(midnight)
        chance = np.where(moon > 0.97, 0.6 * chance, chance)
        chance[~_clear_nights(rng, nights.size)] = 0.0
        for _ in range(self.instrument_gaps):
            start = rng.uniform(nights[0], nights[-1])
            chance[(nights > start) & (nights < start + rng.uniform(15, self.longest_gap))] = 0.0
        observed = np.flatnonzero(rng.random(nights.size) < chance)
        again = observed[rng.random(observed.size) < self.second_visit_chance]
        chosen = np.sort(np.concatenate([observed, again, again[rng.random(again.size) < 0.3]]))
        hours = rng.uniform(opens[chosen], closes[chosen])
        mjd = midnight[chosen] + hours / HOURS_PER_DAY
        order = np.argsort(mjd)
        mjd, chosen = mjd[order], chosen[order]
        # Two exposures of the same field are at least a few minutes apart.
        apart = np.r_[True, np.diff(mjd) > 0.009]
        mjd, chosen = mjd[apart], chosen[apart]
        return Visits(mjd, self._errors(rng, moon[chosen]), self._airmass(mjd))

    def _window(self, midnight: Array) -> tuple[Array, Array]:
        """Hours after local midnight between which it is dark and the target is well up."""
        season = 2 * np.pi * (midnight - SPRING_EQUINOX_MJD) / YEAR
        # South of the equator the June nights are long.
        half_night = 4.6 - 0.033 * self.latitude * np.sin(season)
        hour_angle = self._hour_angle(midnight)
        opens = np.maximum(-half_night, -hour_angle - self.hours_from_transit)
        closes = np.maximum(opens, np.minimum(half_night, -hour_angle + self.hours_from_transit))
        return opens, closes

    def _hour_angle(self, mjd: Array) -> Array:
        """Hour angle of the target."""
        sidereal = 24 * ((mjd - SPRING_EQUINOX_MJD) / YEAR + (mjd + self.longitude / 360.0) % 1.0) + 12.0
        return (sidereal - self.right_ascension + 12.0) % 24.0 - 12.0

    def _airmass(self, mjd: Array) -> Array:
        latitude, declination = np.radians(self.latitude), np.radians(self.declination)
        hour_angle = np.radians(15 * self._hour_angle(mjd))
        altitude = np.sin(latitude) * np.sin(declination)
        altitude = altitude + np.cos(latitude) * np.cos(declination) * np.cos(hour_angle)
        return 1.0 / np.clip(altitude, 0.3, 1.0)

    def _errors(self, rng: np.random.Generator, moon: Array) -> Array:
        normal = rng.standard_normal(moon.size)
        below, above = self.error_spread
        return np.exp(normal * np.where(normal < 0, below, above)) * (0.9 + 0.4 * moon**2)


@dataclass(frozen=True)
class ShortCampaign:
    """A few nights, the same field every couple of hours, as HiTS hunted for shock breakouts."""

    first_mjd: float
    nights: int
    visits_a_night: int
    longitude: float
    hours_between_visits: float
    lost_chance: float
    error_spread: tuple[float, float]

    def visits(self, rng: np.random.Generator) -> Visits:
        """Draw the visits of one field."""
        midnight = self.first_mjd + np.arange(self.nights) + (-self.longitude / 360.0) % 1.0
        # Fields are visited in turn, each at its own time of the night.
        first_hour = -3.6 + rng.uniform(0, self.hours_between_visits)
        hours = first_hour + self.hours_between_visits * np.arange(self.visits_a_night)
        mjd = (midnight[:, None] + (hours + rng.normal(0, 0.06, (self.nights, hours.size))) / HOURS_PER_DAY).ravel()
        mjd = np.sort(mjd[rng.random(mjd.size) >= self.lost_chance])
        normal = rng.standard_normal(mjd.size)
        below, above = self.error_spread
        error_factor = np.exp(normal * np.where(normal < 0, below, above))
        return Visits(mjd, error_factor, 1.1 + 0.8 * rng.random(mjd.size) ** 2)


Campaign = LongCampaign | ShortCampaign


def _moon_illumination(mjd: Array) -> Array:
    return 0.5 * (1 - np.cos(2 * np.pi * (mjd - NEW_MOON_MJD) / LUNAR_MONTH))


def _clear_nights(rng: np.random.Generator, nights: int) -> NDArray[np.bool_]:
    """Clear and cloudy spells follow each other; a spell's length is random."""
    spells = rng.geometric(np.tile([1 / 6.0, 1 / 2.2], nights // 4 + 8))
    clear = np.repeat(np.tile([True, False], nights // 4 + 8), spells)
    while clear.size < nights:
        clear = np.concatenate([clear, clear])
    return clear[:nights]
