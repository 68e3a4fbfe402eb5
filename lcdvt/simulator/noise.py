"""What the telescope makes of a star: depth, noise, quoted errors, outliers and lost measurements."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lcdvt.simulator.spectra import WAVELENGTH_I, WAVELENGTH_V
from lcdvt.simulator.star import Array, Light

POGSON = 2.5 / np.log(10)
# A measurement cannot fall below this share of the star's flux: fainter ones are not reported.
FAINTEST_FLUX = 0.08


@dataclass(frozen=True)
class Measured:
    """One band of one star: `seen` marks the epochs that have a value."""

    mag: Array
    err: Array
    seen: NDArray[np.bool_]


@dataclass(frozen=True)
class Band:
    """One filter of one survey.

    The magnitude is ``(1 - redness) V + redness I + zero_point``. The quoted error is the sky's noise,
    `sky_error` at `sky_magnitude`, and a floor; the true scatter is larger, as it is in every survey.
    """

    name: str
    redness: float
    zero_point: float
    sky_magnitude: float
    sky_error: float
    floor: float
    unquoted_scatter: float
    missing: tuple[float, float]  # range of the share of epochs a star has lost in this band
    saturated_above: float  # magnitudes brighter than this are lost
    calibration: float  # spread of the zero point from chip to chip
    seeing_bias: float  # magnitudes per e-fold of the error, from star to star
    outlier_chance: float = 0.004
    wild_error_chance: float = 0.001
    largest_error: float = 9.8
    decimals: int = 3

    @property
    def wavelengths(self) -> tuple[float, ...]:
        """Where the star's light has to be known."""
        return WAVELENGTH_V, WAVELENGTH_I

    def magnitude(self, light: Light) -> Array:
        """Return the magnitude in this filter of a star."""
        v, i = light[WAVELENGTH_V], light[WAVELENGTH_I]
        return (1 - self.redness) * v + self.redness * i + self.zero_point

    def measure(self, rng: np.random.Generator, truth: Array, error_factor: Array, crowding: float) -> Measured:
        """Observe `truth`; `crowding` multiplies all errors of the star, `error_factor` those of each epoch."""
        epochs = truth.size
        sky = self.sky_error * crowding * error_factor * 10 ** (0.4 * (truth - self.sky_magnitude))
        floor = self.floor * crowding * np.sqrt(error_factor)
        quoted = np.hypot(sky, floor) * np.exp(0.08 * rng.standard_normal(epochs))
        scatter = np.hypot(quoted * rng.uniform(1.0, 1.35), self.unquoted_scatter)
        flux = 1 + scatter / POGSON * rng.standard_normal(epochs)
        # In bad seeing a star takes light from its neighbours, or loses some to them.
        seeing_bias = self.seeing_bias * rng.standard_normal() * np.log(error_factor)
        mag = truth + seeing_bias - POGSON * np.log(np.maximum(flux, FAINTEST_FLUX))
        err = quoted / np.clip(flux, 0.3, 3.0)
        chance = rng.random((3, epochs))
        outliers = np.flatnonzero(chance[0] < self.outlier_chance)
        mag[outliers] += rng.normal(0.15, 0.6, outliers.size)
        err[outliers] *= rng.uniform(0.8, 6.0, outliers.size)
        wild = np.flatnonzero(chance[1] < self.wild_error_chance)
        err[wild] = self.largest_error * rng.random(wild.size) ** 2
        mag[wild] += rng.normal(0.5, 1.0, wild.size)
        smallest = 10.0**-self.decimals
        err = np.clip(err, smallest, self.largest_error)
        # A detection needs about three sigma.
        seen = (flux > FAINTEST_FLUX) & (scatter < 0.36 * POGSON) | (chance[1] < self.wild_error_chance)
        seen &= chance[2] >= rng.uniform(*self.missing)
        seen &= mag > self.saturated_above
        return Measured(np.round(mag, self.decimals), np.round(err, self.decimals), seen)
