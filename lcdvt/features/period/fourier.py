"""The shape of the light curve at its period: Fourier parameters, as for pulsating stars since Simon & Lee (1981).

FATS' harmonics belong to the highest peak of a periodogram in one band, which for a binary is half the orbit; these
belong to the period that was found, aliases and double waves considered, and to all bands together.
"""

import math
from typing import Final

import numpy as np

from lcdvt.compiled.kernel import small_part
from lcdvt.features.period.fit import LEFT
from lcdvt.features.period.normal import Floats, Integers

FOUR_HARMONICS: Final = 3
"""The model 1, 2, 3, 4 among the models of `fit`."""

# What is known of the harmonics 2 and 3 of all bands relative to the first, as sums weighted by how well a band shows
# the first: Σ weight·Rk1 exp(i φk1) (φk1 = φk − k φ1 for cosines, which do not depend on where time begins), and the
# weights of bands whose epochs determine the harmonic. Then all weights (inverse relative variances of the first
# harmonic; 0 where no band shows it), and the first harmonic's amplitude in magnitudes.
REAL_2, IMAGINARY_2, WEIGHT_2, REAL_3, IMAGINARY_3, WEIGHT_3, PRECISION, AMPLITUDE = range(8)
RELATIVE: Final = 8


@small_part
def relative_harmonics(bounds: Integers, coefficients: Floats, relative: Floats) -> None:
    """Fill `relative` from the coefficients of a model that begins with the harmonics 1 and 2."""
    for k in range(RELATIVE):
        relative[k] = 0.0
    for b in range(bounds.size - 1):
        cosine, sine = coefficients[b, 0], -coefficients[b, 1]
        first = math.sqrt(cosine * cosine + sine * sine)
        if first == 0.0:
            continue
        noise = math.sqrt(2.0 * coefficients[b, LEFT] / (bounds[b + 1] - bounds[b]))
        noise = noise if noise > 1e-6 * first else 1e-6 * first
        weight = (first / noise) * (first / noise)
        # Turned back by the first harmonic's phase, once more for each harmonic.
        turn_c, turn_s = cosine / first, -sine / first
        c, s = turn_c, turn_s
        for k in range(2, 4):
            c, s = c * turn_c - s * turn_s, s * turn_c + c * turn_s
            real, imaginary = coefficients[b, 2 * k - 2] / first, -coefficients[b, 2 * k - 1] / first
            at = 3 * (k - 2)
            relative[at] += weight * (real * c - imaginary * s)
            relative[at + 1] += weight * (real * s + imaginary * c)
            # What the epochs do not determine is exactly zero.
            if real != 0.0 or imaginary != 0.0:
                relative[at + 2] += weight
        relative[PRECISION] += weight
        relative[AMPLITUDE] += weight * first
    if relative[PRECISION] > 0.0:
        relative[AMPLITUDE] /= relative[PRECISION]


@small_part
def fill_fourier_parameters(relative: Floats, out: Floats, place: int) -> None:
    """Fill from `place` on: amplitude of the fundamental (mag), then R21, φ21, R31, φ31 (radians, 0 to 2π).

    NaN where no band has the epochs for a harmonic.
    """
    out[place] = relative[AMPLITUDE] if relative[PRECISION] > 0.0 else np.nan
    for k in range(2):
        real, imaginary, weight = relative[3 * k], relative[3 * k + 1], relative[3 * k + 2]
        out[place + 1 + 2 * k], out[place + 2 + 2 * k] = np.nan, np.nan
        if weight > 0.0:
            angle = math.atan2(imaginary, real)
            out[place + 1 + 2 * k] = math.sqrt(real * real + imaginary * imaginary) / weight
            out[place + 2 + 2 * k] = angle if angle >= 0.0 else angle + 2.0 * math.pi
