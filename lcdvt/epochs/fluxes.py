"""Fluxes and their magnitudes: a flux of zero or below is a measurement, and has an asinh magnitude.

Lupton, Gunn & Szalay 1999, AJ 118, 1406: m = zero point - 1.0857 (asinh(f / 2b) + ln b). Far above the softening b it
is the usual magnitude (0.04 mag brighter at f = 5b, 0.01 mag at 10b), about zero it is linear in the flux. As they
propose, b is the noise: the median flux error of the star in the band.
"""

from typing import Final

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
POGSON: Final = 2.5 / np.log(10.0)
ROUNDING: Final = 1e-12
"""A flux of zero comes back from its magnitude as this share of the softening, or less."""


@numba.njit(cache=True)
def softenings(err, start):  # type: ignore[no-untyped-def]
    """Return the softening of each segment of flux errors; NaN for an empty one."""
    medians = np.full(start.size - 1, np.nan)
    for segment in range(medians.size):
        if start[segment + 1] > start[segment]:
            medians[segment] = np.median(err[start[segment] : start[segment + 1]])
    return medians


def asinh_magnitudes(flux: Floats, err: Floats, softening: Floats, zero_point: float) -> tuple[Floats, Floats]:
    """Return the asinh magnitudes of fluxes, and their errors."""
    mag = zero_point - POGSON * (np.arcsinh(flux / (2 * softening)) + np.log(softening))
    return mag, POGSON * err / np.hypot(flux, 2 * softening)


def fluxes(mag: Floats, err: Floats, softening: Floats, zero_point: float) -> tuple[Floats, Floats]:
    """Return the fluxes of asinh magnitudes, and their errors."""
    flux = 2 * softening * np.sinh((zero_point - mag) / POGSON - np.log(softening))
    flux = np.where(np.abs(flux) < ROUNDING * softening, 0.0, flux)
    return flux, err / POGSON * np.hypot(flux, 2 * softening)
