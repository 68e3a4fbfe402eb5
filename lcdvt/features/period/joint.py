"""One period from three bands or more: by templates where epochs are few, else by the search of the joined curve.

Surveys with one or two bands keep the search that fits each band by itself. With more bands that search would ask for
enough epochs in each, fit each its own harmonics, and cost as many scans as there are bands.
"""

import math
from typing import Final

import numpy as np

from lcdvt.features.config import FeatureConfig
from lcdvt.features.families.all_bands import amplitude_slopes
from lcdvt.features.families.joint_curve import fit_joint_curves
from lcdvt.features.gate import Curves, varies
from lcdvt.features.period.normal import Floats
from lcdvt.features.period.scan import SIDEREAL_DAY, SOLAR_DAY
from lcdvt.features.period.search import NO_PERIOD, PeriodResult, find_period
from lcdvt.features.period.sparse import compare_periods, find_sparse_period

# With fewer epochs in all, templates take the place of free harmonics.
WELL_SAMPLED: Final = 80
EXPECTED_SLOPE: Final = -0.5
REFERENCE_WAVELENGTH: Final = 600.0
# By how much the templates' log evidence has to prefer another alias.
PREFERENCE: Final = 3.0
# The sampling turns frequencies into each other by these many cycles a day.
ALIASES: Final = np.array(
    [0.0, *(sign * k * day for k in (1, 2, 3) for day in (SOLAR_DAY, SIDEREAL_DAY) for sign in (1, -1))]
)


def search_joint_periods(curves: Curves, config: FeatureConfig) -> list[PeriodResult]:
    """Return the period of each object.

    Parameters
    ----------
    curves
        An object's bands follow each other, however few epochs a band has.
    config
        Bands, wavelengths, errors and the period range.
    """
    if config.period_range is None:
        raise ValueError("a request for periods has a period range")
    wavelengths = np.array(config.band_wavelengths())
    bands = len(wavelengths)
    results = []
    for row in range((len(curves.offsets) - 1) // bands):
        bounds = curves.offsets[row * bands : (row + 1) * bands + 1]
        part = slice(bounds[0], bounds[-1])
        epochs = int(bounds[-1] - bounds[0])
        if epochs < config.minimum_epochs or not varies(curves.mag[part]):
            results.append(NO_PERIOD)
        elif epochs < WELL_SAMPLED:
            error = np.hypot(config.error_scale * curves.err[part], config.error_floor)
            found = find_sparse_period(
                curves.time[part], curves.mag[part], error, bounds - bounds[0], wavelengths, config.period_range
            )
            results.append(NO_PERIOD if found is None else found)
        else:
            results.append(_well_sampled(curves, bounds, wavelengths, config))
    return results


def _well_sampled(curves: Curves, bounds: np.ndarray, wavelengths: Floats, config: FeatureConfig) -> PeriodResult:
    """Search the joined curve, amplitudes brought to 600 nm, and let templates judge between daily aliases."""
    period_range = config.period_range or (0.0, 0.0)
    part = slice(bounds[0], bounds[-1])
    star = Curves(curves.time[part], curves.mag[part], curves.err[part], bounds - bounds[0])
    curve = fit_joint_curves(star, len(wavelengths), config.error_scale, config.error_floor)
    slope = float(amplitude_slopes(curve, wavelengths)[0])
    scale = (wavelengths / REFERENCE_WAVELENGTH) ** (slope if math.isfinite(slope) else EXPECTED_SLOPE)
    scale[~np.isfinite(scale)] = 1.0
    time = curve.time
    mag, err = (values / scale[curve.band] for values in (curve.residual, curve.error))
    found = find_period((time,), (mag,), (err,), period_range)
    if not math.isfinite(found.period):
        return found
    frequency = 1.0 / found.period
    others = np.abs(np.concatenate((frequency + ALIASES, frequency * np.array((0.5, 2.0)))))
    inside = (others >= 1.0 / period_range[1]) & (others <= 1.0 / period_range[0])
    inside[0] = True
    noise = math.sqrt(max(1.0 - found.power, 0.0)) * float(np.std(mag))
    frequencies, evidence = compare_periods(time, mag, err, others[inside], noise)
    if not np.isfinite(evidence[0]):
        return found
    best = int(np.argmax(evidence))
    if evidence[best] <= evidence[0] + PREFERENCE:
        best = 0
    else:
        found = find_period((time,), (mag,), (err,), period_range, near=float(frequencies[best]))
    apart = np.abs(frequencies / frequencies[best] - 1.0) > 0.01
    ambiguity = float(np.sum(np.exp(np.minimum(evidence[apart] - evidence[best], 0.0))))
    return found._replace(fap=min(max(found.fap, ambiguity / (1.0 + ambiguity)), 1.0))
