"""Fluxes and their magnitudes: a flux of zero or below is a measurement, and has an asinh magnitude.

Lupton, Gunn & Szalay 1999, AJ 118, 1406: m = zero point - 1.0857 (asinh(f / 2b) + ln b). Far above the softening b it
is the usual magnitude (0.04 mag brighter at f = 5b, 0.01 mag at 10b), about zero it is linear in the flux. As they
propose, b is the noise: the median flux error of the star in the band.
"""

from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lcdvt.names import BAND, FLUX, FLUX_ERR, MAG, MAG_ERR

Floats = NDArray[np.float64]
POGSON: Final = 2.5 / np.log(10.0)
ROUNDING: Final = 1e-12
"""A flux of zero comes back from its magnitude as this share of the softening, or less."""


def softenings(err: Floats, start: NDArray[np.int64]) -> Floats:
    """Return the softening of each segment of flux errors; NaN for an empty one."""
    counts = np.diff(start)
    ordered = err[np.lexsort((err, np.repeat(np.arange(counts.size), counts)))]
    medians = np.full(counts.size, np.nan)
    filled = counts > 0
    low, high = start[:-1] + (counts - 1) // 2, start[:-1] + counts // 2
    medians[filled] = (ordered[low[filled]] + ordered[high[filled]]) / 2
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


def with_one_softening(epochs: pd.DataFrame, star: str, zero_point: float) -> pd.DataFrame:
    """Return epochs that were read at several times, with magnitudes of one softening for each star and band.

    Parameters
    ----------
    epochs
        The epochs table, where `flux` is missing in rows that were read as magnitudes.
    star
        The column that names the star.
    zero_point
        The magnitude of flux 1.
    """
    softening = epochs.groupby([star, BAND])[FLUX_ERR].transform("median")
    here = (epochs[FLUX].notna() & softening.notna()).to_numpy()
    flux, err, soft = (np.asarray(column[here], dtype=float) for column in (epochs[FLUX], epochs[FLUX_ERR], softening))
    changed = epochs.copy()
    changed.loc[here, MAG], changed.loc[here, MAG_ERR] = asinh_magnitudes(flux, err, soft, zero_point)
    return changed
