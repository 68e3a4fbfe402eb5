"""When a survey looks: nights, seasons, weather, the Moon, and several visits a night."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lcdvt.simulator.star import Array

NEW_MOON_MJD = 51549.6
LUNAR_MONTH = 29.5306
SPRING_EQUINOX_MJD = 51623.3  # the Sun at right ascension zero
YEAR = 365.2422
HOURS_PER_DAY = 24.0
MINUTES_PER_DAY = 1440.0


@dataclass(frozen=True)
class Visits:
    """The exposures of one field, in time order."""

    mjd: Array
    error_factor: Array  # how much worse than the median night: seeing, cloud, moonlight
    airmass: Array
    filters: NDArray[np.str_] | None = None  # of each exposure; None where all are exposed at once

    def where(self, kept: NDArray[np.bool_]) -> "Visits":
        """Return some of the exposures."""
        filters = None if self.filters is None else self.filters[kept]
        return Visits(self.mjd[kept], self.error_factor[kept], self.airmass[kept], filters)

    def through(self, name: str) -> NDArray[np.bool_]:
        """Return which exposures were taken in the filter of this name."""
        return np.ones(self.mjd.size, dtype=bool) if self.filters is None else self.filters == name


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


@dataclass(frozen=True)
class PlannedNights:
    """A field in one filter after the other: each night that it is visited follows one of a few plans."""

    nights: LongCampaign
    plans: tuple[tuple[float, tuple[str, ...]], ...]  # share of the nights, and the filters one after the other
    minutes_apart: float
    in_turn: bool = False  # one plan after the other, so that no filter is left out; otherwise by chance

    @property
    def first_mjd(self) -> float:
        """When the survey began."""
        return self.nights.first_mjd

    @property
    def longitude(self) -> float:
        """Degrees east."""
        return self.nights.longitude

    def lasting(self, years: int) -> "PlannedNights":
        """Return the same campaign, so many years long."""
        return replace(self, nights=replace(self.nights, last_mjd=self.first_mjd + years * YEAR))

    def visits(self, rng: np.random.Generator) -> Visits:
        """Draw the history of one field."""
        nights = self.nights.visits(rng)
        plans = [self.plans[number][1] for number in self._plan_numbers(rng, nights.mjd.size)]
        # Centred, so that the last exposure does not run into dawn.
        place = np.concatenate([np.arange(len(filters)) - (len(filters) - 1) / 2 for filters in plans])
        night = np.repeat(np.arange(nights.mjd.size), [len(filters) for filters in plans])
        wait = self.minutes_apart * place * rng.uniform(0.85, 1.15, place.size)
        return Visits(
            nights.mjd[night] + wait / MINUTES_PER_DAY,
            nights.error_factor[night] * np.exp(0.05 * rng.standard_normal(night.size)),
            nights.airmass[night],
            np.concatenate(plans),
        )

    def _plan_numbers(self, rng: np.random.Generator, nights: int) -> NDArray[np.intp]:
        if self.in_turn:
            return (rng.integers(len(self.plans)) + np.arange(nights)) % len(self.plans)
        shares = np.cumsum([share for share, _ in self.plans])
        return np.searchsorted(shares, rng.random(nights) * shares[-1])


@dataclass(frozen=True)
class ScanningLaw:
    """A satellite that turns: a few transits within a day whenever its great circle crosses the field, as Gaia's."""

    first_mjd: float
    last_mjd: float
    days_between_crossings: tuple[float, float]  # shortest, and the mean of what is added to it
    transits_a_crossing: float
    # The two telescopes look 106.5 degrees apart, and a turn takes six hours.
    hours_between_transits: tuple[float, float] = (1.775, 4.225)
    error_spread: float = 0.1

    def visits(self, rng: np.random.Generator) -> Visits:
        """Draw the transits of one field."""
        shortest, more = self.days_between_crossings
        most = int((self.last_mjd - self.first_mjd) / shortest) + 1
        crossings = self.first_mjd + rng.uniform(0, shortest) + np.cumsum(shortest + rng.exponential(more, most))
        crossings = crossings[crossings < self.last_mjd - 1.5]
        sizes = 1 + rng.poisson(self.transits_a_crossing - 1, crossings.size)
        second_telescope = rng.integers(2, size=crossings.size)
        hours = [
            np.cumsum(np.r_[0.0, np.resize(np.roll(self.hours_between_transits, turned), size - 1)])
            for size, turned in zip(sizes, second_telescope, strict=True)
        ]
        # A crossing that lasts days would run into the next only if it had dozens of transits.
        mjd = np.repeat(crossings, sizes) + np.concatenate(hours) / HOURS_PER_DAY
        error_factor = np.exp(self.error_spread * rng.standard_normal(mjd.size))
        return Visits(mjd, error_factor, np.zeros(mjd.size))


Campaign = LongCampaign | ShortCampaign | PlannedNights | ScanningLaw


def _moon_illumination(mjd: Array) -> Array:
    return 0.5 * (1 - np.cos(2 * np.pi * (mjd - NEW_MOON_MJD) / LUNAR_MONTH))


def _clear_nights(rng: np.random.Generator, nights: int) -> NDArray[np.bool_]:
    """Clear and cloudy spells follow each other; a spell's length is random."""
    spells = rng.geometric(np.tile([1 / 6.0, 1 / 2.2], nights // 4 + 8))
    clear = np.repeat(np.tile([True, False], nights // 4 + 8), spells)
    while clear.size < nights:
        clear = np.concatenate([clear, clear])
    return clear[:nights]
