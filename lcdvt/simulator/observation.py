"""One simulated object as its survey would have recorded it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from lcdvt.simulator.cadence import Visits
from lcdvt.simulator.noise import Measured
from lcdvt.simulator.photometry import MeasuredFlux
from lcdvt.simulator.spectra import stellar_spectrum
from lcdvt.simulator.star import Array, Light, Star
from lcdvt.simulator.survey import SimulatedSurvey
from lcdvt.simulator.surveys import field_visits, star_generator

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
    truth: Mapping[str, Array]  # noise-free magnitudes at the visits
    rng: np.random.Generator  # for the details that only one file format has

    @property
    def mean_mag(self) -> Mapping[str, float]:
        """Noise-free, averaged over the visits."""
        return {band: float(truth.mean()) for band, truth in self.truth.items()}

    @property
    def amplitude(self) -> Mapping[str, float]:
        """Noise-free, peak to peak over the visits."""
        return {band: float(truth.max() - truth.min()) for band, truth in self.truth.items()}

    @property
    def flux(self) -> Mapping[str, MeasuredFlux]:
        """The bands that were measured in flux: all of a calibrated survey."""
        return {band: one for band, one in self.measured.items() if isinstance(one, MeasuredFlux)}


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
    visits = field_visits(survey, seed, field)
    # A few exposures miss the star: chip edges, defects, cosmic rays.
    kept = rng.random(visits.mjd.size) < 0.97
    visits = visits.where(kept)
    light = star.light(visits.mjd - survey.campaign.first_mjd, survey.wavelengths)
    if rng.random() < survey.blended:
        light = _with_neighbour(rng, light)
    crowding = float(np.exp(survey.crowding * rng.standard_normal()))
    lost = rng.integers(len(survey.bands)) if rng.random() < survey.one_band_lost else None
    measured, truths = {}, {}
    noticed = False
    for number, band in enumerate(survey.bands):
        truth = band.magnitude(light) + band.calibration * rng.standard_normal()
        one = band.measure(rng, truth, visits.error_factor, crowding)
        exposed = np.zeros_like(one.seen) if number == lost else visits.through(band.name)
        one = replace(one, seen=one.seen & exposed)
        measured[band.name], truths[band.name] = one, truth
        noticed |= _varies_visibly(one, truth, survey)
    if not noticed:
        return None
    ra, dec = _position(survey, field, rng)
    return Observation(
        index, field, ra, dec, star.label, survey.survey_label(star.label), star, visits, measured, truths, rng,
    )  # fmt: skip


def _with_neighbour(rng: np.random.Generator, light: Light) -> Light:
    """Add the steady light of an unresolved neighbour, most often a red clump giant."""
    neighbour_v = rng.normal(19.3, 0.7)
    neighbour_i = neighbour_v - rng.normal(0.9, 0.2)
    neighbour = stellar_spectrum(neighbour_v, neighbour_i, np.array(list(light)))
    return {
        wavelength: _sum_of_light(magnitudes, steady)
        for (wavelength, magnitudes), steady in zip(light.items(), neighbour, strict=True)
    }


def _sum_of_light(magnitudes: Array, neighbour: float) -> Array:
    return -2.5 * np.log10(10 ** (-0.4 * magnitudes) + 10 ** (-0.4 * neighbour))


def _varies_visibly(measured: Measured, truth: Array, survey: SimulatedSurvey) -> bool:
    seen = measured.seen
    if seen.sum() < survey.fewest_epochs:
        return False
    smallest = max(SMALLEST_AMPLITUDE_IN_ERRORS * np.median(measured.err[seen]), survey.smallest_amplitude)
    return bool(np.ptp(truth[seen]) > smallest)


def _position(survey: SimulatedSurvey, field: int, rng: np.random.Generator) -> tuple[float, float]:
    """Scatter the fields over the survey's part of the sky, and the star within half a degree of its field."""
    # The golden ratio spreads any number of fields evenly.
    across, along = (field * 0.6180339887) % 1.0, (field * 0.7548776662) % 1.0
    region = survey.region
    centre_ra, centre_dec = region.west + region.width * across, region.south + region.height * along
    dec = centre_dec + rng.uniform(-0.45, 0.45)
    return float(centre_ra + rng.uniform(-0.45, 0.45) / np.cos(np.radians(dec))), float(dec)
