"""The shape of the light curve at its period: Fourier parameters, as for pulsating stars since Simon & Lee (1981).

FATS' harmonics belong to the highest peak of a periodogram in one band, which for a binary is half the orbit; these
belong to the period that was found, aliases and double waves considered, and to all bands together.
"""

import cmath
import math
from typing import Final, NamedTuple

import numpy as np

from lcdvt.features.period.fit import LEFT, Bands, fit_model

FOUR_HARMONICS: Final = 3
"""The model 1, 2, 3, 4 among the models of `fit`."""


class FourierParameters(NamedTuple):
    """Amplitude of the fundamental (mag), and the next two harmonics' ratios to it and phases (radians, 0 to 2π)."""

    amplitude: float
    r21: float
    phi21: float
    r31: float
    phi31: float


class RelativeHarmonics(NamedTuple):
    """Harmonics 2, 3, … of all bands relative to the first, as sums weighted by how well a band shows the first.

    Attributes
    ----------
    sums
        Weighted sums of Rk1 exp(i φk1), φk1 = φk − k φ1 for cosines, which do not depend on where time begins.
    weights
        Sums of the weights of those bands whose epochs determine the harmonic.
    precision
        Sum of all bands' weights: inverse relative variances of the first harmonic; 0 where no band shows it.
    amplitude
        Amplitude of the first harmonic, magnitudes, averaged with the same weights.
    """

    sums: list[complex]
    weights: list[float]
    precision: float
    amplitude: float


def relative_harmonics(bands: Bands, frequency: float, model: int, highest: int) -> RelativeHarmonics:
    """Fit a model that begins with harmonics 1, 2, … at a frequency and compare up to `highest` with the first."""
    _, fitted = fit_model(bands, frequency, model)
    epochs = np.diff(bands.bounds).tolist()
    sums, weights = [0j] * (highest - 1), [0.0] * (highest - 1)
    precision, amplitude = 0.0, 0.0
    for n, coefficients in zip(epochs, fitted.tolist(), strict=True):
        first = complex(coefficients[0], -coefficients[1])
        if abs(first) == 0.0:
            continue
        noise = math.sqrt(2.0 * coefficients[LEFT] / n)
        weight = (abs(first) / max(noise, 1e-6 * abs(first))) ** 2
        for place, k in enumerate(range(2, highest + 1)):
            harmonic = complex(coefficients[2 * k - 2], -coefficients[2 * k - 1])
            sums[place] += weight * harmonic / abs(first) * (abs(first) / first) ** k
            # what the epochs do not determine is exactly zero
            weights[place] += weight if harmonic != 0.0 else 0.0
        precision += weight
        amplitude += weight * abs(first)
    return RelativeHarmonics(sums, weights, precision, amplitude / precision if precision else 0.0)


def fourier_parameters(bands: Bands, frequency: float) -> FourierParameters:
    """Describe the light curve at a frequency; NaN where no band has the epochs for a harmonic."""
    found = relative_harmonics(bands, frequency, FOUR_HARMONICS, highest=3)
    (r21, phi21), (r31, phi31) = (
        (abs(total) / weight, cmath.phase(total) % (2.0 * math.pi)) if weight else (math.nan, math.nan)
        for total, weight in zip(found.sums, found.weights, strict=True)
    )
    return FourierParameters(found.amplitude if found.precision else math.nan, r21, phi21, r31, phi31)
