"""The default engine: every family's compiled kernels over a whole batch at once."""

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from lcdvt.features.config import FeatureConfig
from lcdvt.features.families import all_bands as family_of_all_bands
from lcdvt.features.families import (
    autocorrelation,
    car,
    indices,
    moments,
    percentiles,
    periodic,
    structure_function,
    two_band,
)
from lcdvt.features.gate import Curves
from lcdvt.features.table import FEATURES

Compute = Callable[[Curves], np.ndarray]

SINGLE_BAND_FAMILIES: Final[dict[str, tuple[tuple[str, ...], Compute]]] = {
    "moments": (moments.FEATURES, moments.compute),
    "percentiles": (percentiles.FEATURES, percentiles.compute),
    "indices": (indices.FEATURES, indices.compute),
    "autocorrelation": (autocorrelation.FEATURES, autocorrelation.compute),
    "structure_function": (structure_function.FEATURES, structure_function.compute),
    "car": (car.FEATURES, car.compute),
    "periodic": (periodic.FEATURES, periodic.compute),
}


def single_band(curves: Curves, names: Iterable[str]) -> np.ndarray:
    """Return one row per curve and one column per feature asked for."""
    names = tuple(names)
    epochs = np.diff(curves.offsets)
    out = np.full((len(epochs), len(names)), np.nan)
    column_of = {name: column for column, name in enumerate(names)}
    for members, compute in SINGLE_BAND_FAMILIES.values():
        wanted = [(column_of[name], place) for place, name in enumerate(members) if name in column_of]
        if wanted:
            columns, places = zip(*wanted, strict=True)
            out[:, columns] = compute(curves)[:, places]
    return _keep_defined(out, names, epochs)


def colours(curves: Curves, bands: int, names: Iterable[str], pairing_days: float = 0.0) -> np.ndarray:
    """Return one row per object and one column per two-band feature asked for."""
    names = tuple(names)
    values, common = two_band.compute(curves, bands, pairing_days)
    by_epochs = values[:, [two_band.FEATURES.index(name) for name in names]]
    # Color compares the means of all epochs: both bands passed the gate where it has a value.
    epochs = np.where(np.isfinite(values[:, 0]), np.maximum(common, 1), 0)
    return _keep_defined(by_epochs, names, epochs)


def all_bands(curves: Curves, config: FeatureConfig) -> np.ndarray:
    """Return the columns `config.all_bands_names()`, one row per object.

    Parameters
    ----------
    curves
        Gated with one epoch as enough, because bands with few epochs add up.
    config
        Which features, and what is known of bands and errors.
    """
    names = config.all_bands_names()
    values, epochs = family_of_all_bands.compute(
        curves,
        np.array(config.band_wavelengths()),
        config.minimum_epochs,
        config.error_scale,
        config.error_floor,
        config.calibrated,
    )
    places = [family_of_all_bands.FEATURES.index(name) for name in names]
    return _keep_defined(values[:, places], names, epochs)


def _keep_defined(values: np.ndarray, names: tuple[str, ...], epochs: np.ndarray) -> np.ndarray:
    """Set to NaN what has too few epochs for the feature, and what is not finite (0/0 of a flat curve)."""
    minimum = np.array([FEATURES[name].minimum_epochs for name in names], dtype=np.int64)
    values[epochs[:, np.newaxis] < minimum] = np.nan
    values[~np.isfinite(values)] = np.nan
    return values
