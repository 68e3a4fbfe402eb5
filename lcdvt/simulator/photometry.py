"""Calibrated photometry of today: flux with the noise of sky and photons, negative where the sky wins."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lcdvt.simulator.noise import POGSON, Measured
from lcdvt.simulator.spectra import vega_in_ab
from lcdvt.simulator.star import Array, Light


@dataclass(frozen=True)
class MeasuredFlux(Measured):
    """One band of one star in flux, too: the unit is a star of magnitude zero."""

    flux: Array
    flux_err: Array
    spoiled: NDArray[np.bool_]  # a cosmic ray, a satellite, a bad pixel: what flags are for


@dataclass(frozen=True)
class CalibratedBand:
    """One filter of a calibrated survey.

    With x = 10^0.4(m - depth) the squared error is (0.04 - g) x + g x^2 in magnitudes, g being `sky_share`: photons
    of the star and of the sky (Ivezic et al. 2019, equation 5), so that a star of magnitude `depth` has five sigma.
    `floor` is added to it. True errors are sqrt((error_scale x quoted)^2 + error_floor^2), as in a survey's TOML.
    """

    name: str
    wavelength: float  # micrometres
    depth: float
    saturated_above: float  # magnitudes brighter than this are lost
    floor: float
    is_ab: bool = True
    sky_share: float = 0.039
    error_scale: float = 1.0
    error_floor: float = 0.0
    calibration: float = 0.01
    missing: tuple[float, float] = (0.0, 0.03)  # range of the share of epochs a star has lost in this band
    spoiled_chance: float = 0.004
    detected_above: float = 5.0  # in errors; -inf where the flux is measured wherever the star is known to be

    @property
    def wavelengths(self) -> tuple[float, ...]:
        """Where the star's light has to be known."""
        return (self.wavelength,)

    def magnitude(self, light: Light) -> Array:
        """Return the magnitude in this filter of a star, on the survey's system."""
        zero_point = float(vega_in_ab(np.array(self.wavelength))) if self.is_ab else 0.0
        return light[self.wavelength] + zero_point

    def measure(self, rng: np.random.Generator, truth: Array, error_factor: Array, crowding: float) -> MeasuredFlux:
        """Observe `truth`; `crowding` multiplies the sky's errors of the star, `error_factor` those of each epoch."""
        true_flux = _flux(truth)
        limit = _flux(np.array(self.depth)) * error_factor * crowding
        scatter = np.hypot(self.error_scale * self._quoted(true_flux, limit), self.error_floor * true_flux / POGSON)
        flux = true_flux + scatter * rng.standard_normal(truth.size)
        chance = rng.random((2, truth.size))
        spoiled = chance[0] < self.spoiled_chance
        flux[spoiled] *= 10 ** (0.4 * rng.normal(0.1, 0.6, int(spoiled.sum())))
        quoted = self._quoted(np.maximum(flux, 0.0), limit)
        seen = flux > self.detected_above * quoted
        seen &= truth > self.saturated_above
        seen &= chance[1] >= rng.uniform(*self.missing)
        positive = np.maximum(flux, 0.0)
        with np.errstate(divide="ignore"):  # no light: infinitely faint, with an infinite error
            mag, err = -2.5 * np.log10(positive), POGSON * quoted / positive
        return MeasuredFlux(mag, err, seen, flux, quoted, spoiled)

    def _quoted(self, flux: Array, limit: Array) -> Array:
        """Error of the flux that the survey gives, where `limit` is the flux of five sigma."""
        photons = (0.04 - self.sky_share) * limit * flux + self.sky_share * limit**2
        errors: Array = np.sqrt(photons + (self.floor * flux / POGSON) ** 2)
        return errors


def _flux(magnitudes: Array) -> Array:
    flux: Array = 10 ** (-0.4 * magnitudes)
    return flux
