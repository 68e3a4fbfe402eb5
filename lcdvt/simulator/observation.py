"""One simulated object as its survey would have recorded it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lcdvt.simulator.cadence import Visits
from lcdvt.simulator.noise import Measured
from lcdvt.simulator.star import Array, Star
from lcdvt.simulator.surveys import SimulatedSurvey, field_visits, star_generator

# The survey's files hold only objects detected at least this often.
FEWEST_EPOCHS = 15
# Less than this from peak to peak, in units of the median error, and no catalogue lists it as a variable.
SMALLEST_AMPLITUDE_IN_ERRORS = 2.0


@dataclass(frozen=True)
class Observation:
    """A star, when it was visited, and what was measured in each band."""

    index: int
    field: int
    ra: float  # degrees
    dec: float
    label: str
    survey_label: str
    star: Star
    visits: Visits
    measured: Mapping[str, Measured]
    mean_mag: Mapping[str, float]  # noise-free, averaged over the visits
    amplitude: Mapping[str, float]  # noise-free, peak to peak over the visits
    rng: np.random.Generator  # for the details that only one file format has


def observe(survey: SimulatedSurvey, seed: int, index: int, field: int) -> Observation:
    """Draw star `index` of the run and observe it."""
    rng = star_generator(survey.name, seed, index)
    label = survey.draw_label(rng)
    # An object that would not be in a catalogue of variables is drawn again, in its class: the mix is of catalogues.
    while True:
        star = survey.draw_star(rng, label)
        observation = _observe(survey, seed, index, field, star, rng)
        if observation is not None:
            return observation


def _observe(
    survey: SimulatedSurvey, seed: int, index: int, field: int, star: Star, rng: np.random.Generator
) -> Observation | None:
    """Observe the star, or return None if nobody would have noticed it."""
    visits = field_visits(survey.name, seed, field)
    # A few exposures miss the star: chip edges, defects, cosmic rays.
    kept = rng.random(visits.mjd.size) < 0.97
    visits = Visits(visits.mjd[kept], visits.error_factor[kept], visits.airmass[kept])
    delta_v, delta_i = star.curve(visits.mjd - survey.campaign.first_mjd)
    v, i = star.mean_v + delta_v, star.mean_i + delta_i
    if rng.random() < survey.blended:
        v, i = _with_neighbour(rng, v, i)
    crowding = float(np.exp(0.28 * rng.standard_normal()))
    lost = rng.integers(len(survey.bands)) if rng.random() < survey.one_band_lost else None
    measured, mean_mag, amplitude = {}, {}, {}
    noticed = False
    for number, band in enumerate(survey.bands):
        truth = band.magnitude(v, i) + band.calibration * rng.standard_normal()
        one = band.measure(rng, truth, visits.error_factor, crowding)
        if number == lost:
            one = Measured(one.mag, one.err, np.zeros_like(one.seen))
        measured[band.name] = one
        noticed |= _varies_visibly(one, truth)
        mean_mag[band.name] = float(truth.mean())
        amplitude[band.name] = float(truth.max() - truth.min())
    if not noticed:
        return None
    ra, dec = _position(survey, field, rng)
    return Observation(
        index, field, ra, dec, star.label, survey.survey_label(star.label), star, visits, measured, mean_mag,
        amplitude, rng,
    )  # fmt: skip


def _with_neighbour(rng: np.random.Generator, v: Array, i: Array) -> tuple[Array, Array]:
    """Add the steady light of an unresolved neighbour, most often a red clump giant."""
    neighbour_v = rng.normal(19.3, 0.7)
    neighbour_i = neighbour_v - rng.normal(0.9, 0.2)
    return _sum_of_light(v, neighbour_v), _sum_of_light(i, neighbour_i)


def _sum_of_light(magnitudes: Array, neighbour: float) -> Array:
    return -2.5 * np.log10(10 ** (-0.4 * magnitudes) + 10 ** (-0.4 * neighbour))


def _varies_visibly(measured: Measured, truth: Array) -> bool:
    seen = measured.seen
    if seen.sum() < FEWEST_EPOCHS:
        return False
    return bool(np.ptp(truth[seen]) > SMALLEST_AMPLITUDE_IN_ERRORS * np.median(measured.err[seen]))


def _position(survey: SimulatedSurvey, field: int, rng: np.random.Generator) -> tuple[float, float]:
    """Scatter the fields over the survey's part of the sky, and the star within half a degree of its field."""
    # The golden ratio spreads any number of fields evenly.
    across, along = (field * 0.6180339887) % 1.0, (field * 0.7548776662) % 1.0
    if survey.name == "hits":
        centre_ra, centre_dec = 150.0 + 20.0 * across, -7.0 + 10.0 * along
    else:
        centre_ra, centre_dec = 72.5 + 16.0 * across, -71.5 + 5.0 * along
    dec = centre_dec + rng.uniform(-0.45, 0.45)
    return float(centre_ra + rng.uniform(-0.45, 0.45) / np.cos(np.radians(dec))), float(dec)
