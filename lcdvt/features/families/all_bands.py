"""Features of the light curve that all bands make together, and of how it changes with wavelength.

What is asked for is enough epochs in all, not in a band. The FATS features that make sense on the joined curve are
those of the distribution of magnitudes and of their changes in time. Those that do not: Mean, Meanvariance, CAR_mean,
PercentAmplitude and PercentDifferenceFluxPercentile (the zero point is gone), Autocor_length, Con, Rcs and
PairSlopeTrend (they count epochs, and neighbouring epochs are different bands), MaxSlope (two bands within a minute,
divided by that minute), PeriodLS and its harmonics (the period search has its own model of all bands).

Magnitude and noise are kept out on purpose: they tell how bright a survey's targets were chosen, not what they are.
"""

import math
from typing import Final

import numpy as np
from numba import njit

from lcdvt.features.families.joint_curve import JointCurve, fit_joint_curve
from lcdvt.features.gate import Curves

# Edges of the structure function's bins, days: within a night, nights, weeks, months, seasons, years.
LAG_EDGES: Final = np.array((0.005, 0.1, 1.5, 10.0, 60.0, 400.0, 10_000.0))
LAG_NAMES: Final = ("night", "day", "week", "month", "season", "years")
FEATURES: Final = (
    "Joint_spread",
    "Joint_Skew",
    "Joint_SmallKurtosis",
    "Joint_asymmetry",
    "Joint_FluxPercentileRatioMid20",
    "Joint_FluxPercentileRatioMid50",
    "Joint_FluxPercentileRatioMid80",
    "Joint_eta",
    *(f"Joint_SF_{name}" for name in LAG_NAMES),
    "DRW_tau",
    "DRW_sigma",
    "DRW_gain",
    "SED_slope",
    "SED_curvature",
    "Amplitude_slope",
    "Colour_change",
)
_SF, _DRW, _SED = FEATURES.index("Joint_SF_night"), FEATURES.index("DRW_tau"), FEATURES.index("SED_slope")

# Surveys share this part of the spectrum; across the Balmer jump and beyond the silicon detectors' range a straight
# line through other bands would be another quantity.
SED_RANGE: Final = (430.0, 1000.0)
REFERENCE_WAVELENGTH: Final = 600.0
SED_FLOOR: Final = 0.03
PAIRS_COMPARED: Final = 1200
FEWEST_LAG_PAIRS: Final = 3
FEWEST_COLOUR_PAIRS: Final = 5
COLOUR_PAIR_DAYS: Final = 0.02
# Amplitude ∝ λ^β: the values tried, and what is expected before looking (pulsators −1, quasars −0.5, eclipses 0).
AMPLITUDE_SLOPES: Final = np.arange(-2.5, 1.51, 0.1)
EXPECTED_SLOPE, SLOPE_WIDTH = -0.5, 0.6


def compute(
    curves: Curves,
    wavelengths: np.ndarray,
    minimum_epochs: int,
    error_scale: float,
    error_floor: float,
    calibrated: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return one row per object, columns as in FEATURES, and the number of epochs in all bands.

    Parameters
    ----------
    curves
        An object's bands follow each other, one curve per wavelength, however few epochs it has.
    wavelengths
        Nanometres, of each band; NaN where unknown.
    minimum_epochs
        An object with fewer in all has no values.
    error_scale, error_floor
        True errors are sqrt((scale × error)² + floor²).
    calibrated
        Whether magnitudes of different bands can be compared.
    """
    objects = (len(curves.offsets) - 1) // len(wavelengths)
    out = np.full((objects, len(FEATURES)), np.nan)
    epochs = np.diff(curves.offsets[:: len(wavelengths)])
    _compute_all(
        curves.time,
        curves.mag,
        curves.err,
        curves.offsets,
        wavelengths,
        max(minimum_epochs, 4),
        error_scale,
        error_floor,
        calibrated,
        out,
    )
    return out, epochs


@njit(cache=True, error_model="numpy")
def _compute_all(
    time: np.ndarray,
    mag: np.ndarray,
    err: np.ndarray,
    offsets: np.ndarray,
    wavelengths: np.ndarray,
    minimum_epochs: int,
    error_scale: float,
    error_floor: float,
    calibrated: bool,
    out: np.ndarray,
) -> None:
    bands = len(wavelengths)
    for row in range(len(out)):
        bounds = offsets[row * bands : (row + 1) * bands + 1]
        if bounds[bands] - bounds[0] < minimum_epochs:
            continue
        curve = fit_joint_curve(time, mag, err, bounds, error_scale, error_floor)
        if np.max(np.abs(curve.residual)) <= 1e-10:
            continue
        _distribution(curve, out[row])
        _changes(curve, out[row])
        out[row, _DRW] = math.log10(curve.tau)
        out[row, _DRW + 1] = math.log10(max(curve.sigma, 1e-4))
        out[row, _DRW + 2] = curve.gain
        if calibrated:
            _spectrum(curve, wavelengths, out[row])
        out[row, _SED + 2] = amplitude_slope(curve, wavelengths)
        _colour_change(curve, wavelengths, out[row])


@njit(cache=True, error_model="numpy")
def _distribution(curve: JointCurve, out: np.ndarray) -> None:
    r = curve.residual
    n = len(r)
    mean = np.mean(r)
    second, third, fourth, noise = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        d = r[i] - mean
        second += d * d
        third += d * d * d
        fourth += d * d * d * d
        noise += curve.error[i] ** 2
    variance = second / n
    std = math.sqrt(variance)
    # In logarithm; a star as quiet as its errors gets a tenth of them.
    out[0] = 0.5 * math.log10(max(variance - noise / n, 0.01 * noise / n))
    out[1] = third / n / std**3
    out[2] = n * (n + 1.0) / ((n - 1.0) * (n - 2.0) * (n - 3.0)) * fourth / variance**2
    out[2] -= 3.0 * (n - 1.0) ** 2 / ((n - 2.0) * (n - 3.0))
    ordered = np.sort(r)
    whole = _quantile(ordered, 0.95) - _quantile(ordered, 0.05)
    out[3] = (_quantile(ordered, 0.95) + _quantile(ordered, 0.05) - 2.0 * _quantile(ordered, 0.5)) / whole
    for place, width in ((4, 0.2), (5, 0.5), (6, 0.8)):
        out[place] = (_quantile(ordered, 0.5 + 0.5 * width) - _quantile(ordered, 0.5 - 0.5 * width)) / whole


@njit(cache=True)
def _quantile(ordered: np.ndarray, share: float) -> float:
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])


@njit(cache=True, error_model="numpy")
def _changes(curve: JointCurve, out: np.ndarray) -> None:
    """Fill the von Neumann ratio of neighbours and the structure function, both relative to the whole variance."""
    t, r, e = curve.time, curve.residual, curve.error
    n = len(r)
    variance = np.mean(r * r) - np.mean(r) ** 2
    neighbours = 0.0
    for i in range(1, n):
        neighbours += (r[i] - r[i - 1]) ** 2
    out[7] = neighbours / (n - 1) / (2.0 * variance)
    bins = len(LAG_EDGES) - 1
    sums, counts = np.zeros(bins), np.zeros(bins)
    step = 1 + n // PAIRS_COMPARED
    for i in range(0, n, step):
        k = 0
        for j in range(i + 1, n):
            lag = t[j] - t[i]
            if lag < LAG_EDGES[0]:
                continue
            while k < bins and lag >= LAG_EDGES[k + 1]:
                k += 1
            if k == bins:
                break
            sums[k] += (r[j] - r[i]) ** 2 - e[i] ** 2 - e[j] ** 2
            counts[k] += 1.0
    intrinsic = max(variance - np.mean(e * e), 0.1 * variance)
    for k in range(bins):
        if counts[k] >= FEWEST_LAG_PAIRS:
            out[_SF + k] = max(sums[k] / counts[k] / (2.0 * intrinsic), 0.0)


@njit(cache=True, error_model="numpy")
def _spectrum(curve: JointCurve, wavelengths: np.ndarray, out: np.ndarray) -> None:
    """Fill slope and curvature of the offsets against x = log10(λ / 600 nm), weighted by their errors."""
    normal, right = np.zeros((3, 3)), np.zeros(3)
    powers = np.empty(3)
    used = 0
    for b in range(len(wavelengths)):
        if not (SED_RANGE[0] <= wavelengths[b] <= SED_RANGE[1]) or np.isnan(curve.offset[b]):
            continue
        used += 1
        powers[0], powers[1] = 1.0, math.log10(wavelengths[b] / REFERENCE_WAVELENGTH)
        powers[2] = powers[1] ** 2
        weight = 1.0 / (curve.offset_error[b] ** 2 + SED_FLOOR**2)
        for i in range(3):
            right[i] += weight * powers[i] * curve.offset[b]
            for j in range(3):
                normal[i, j] += weight * powers[i] * powers[j]
    if used >= 2:
        out[_SED] = np.linalg.solve(normal[:2, :2].copy(), right[:2].copy())[1]
    if used >= 3:
        out[_SED + 1] = np.linalg.solve(normal, right)[2]


@njit(cache=True, error_model="numpy")
def amplitude_slope(curve: JointCurve, wavelengths: np.ndarray) -> float:
    """Return β of amplitude ∝ λ^β: the mean over its likelihood and a wide normal prior; NaN for one band.

    A band's variance is (A (λ/600)^β)² plus its noise. With five epochs a band the amplitude of a single band says
    little, and the prior keeps what the data cannot tell at the expected slope.
    """
    bands = len(wavelengths)
    squares, noise, count = np.zeros(bands), np.zeros(bands), np.zeros(bands)
    for i in range(len(curve.residual)):
        b = curve.band[i]
        squares[b] += curve.residual[i] ** 2
        noise[b] += curve.error[i] ** 2
        count[b] += 1.0
    used, whole, total, noise_total = 0, 0.0, 0.0, 0.0
    for b in range(bands):
        if count[b] >= 2.0 and SED_RANGE[0] <= wavelengths[b] <= SED_RANGE[1]:
            used += 1
            whole += squares[b]
            noise_total += noise[b]
            total += count[b]
            squares[b] /= count[b]
            noise[b] /= count[b]
        else:
            count[b] = 0.0
    if used < 2:
        return np.nan
    start = math.sqrt(max(whole / total - noise_total / total, 1e-2 * whole / total))
    best = np.empty(len(AMPLITUDE_SLOPES))
    for k in range(len(AMPLITUDE_SLOPES)):
        best[k] = -np.inf
        for step in range(-8, 9):
            amplitude = start * math.exp(0.12 * step)
            value = -0.5 * ((AMPLITUDE_SLOPES[k] - EXPECTED_SLOPE) / SLOPE_WIDTH) ** 2
            for b in range(bands):
                if count[b] > 0.0:
                    ratio = (wavelengths[b] / REFERENCE_WAVELENGTH) ** AMPLITUDE_SLOPES[k]
                    variance = (amplitude * ratio) ** 2 + noise[b]
                    # One degree of freedom went into the offset.
                    value -= 0.5 * ((count[b] - 1.0) * math.log(variance) + count[b] * squares[b] / variance)
            best[k] = max(best[k], value)
    top = np.max(best)
    weights, moment = 0.0, 0.0
    for k in range(len(AMPLITUDE_SLOPES)):
        weight = math.exp(best[k] - top)
        weights += weight
        moment += weight * AMPLITUDE_SLOPES[k]
    return moment / weights


@njit(cache=True, error_model="numpy")
def _colour_change(curve: JointCurve, wavelengths: np.ndarray, out: np.ndarray) -> None:
    """Fill the slope of colour against brightness over pairs of neighbouring epochs in different bands.

    A pair's colour is blue minus red residual over ln(red/blue wavelength), its brightness their mean; 0 is grey,
    positive is bluer when brighter.
    """
    t, r = curve.time, curve.residual
    cross, squares, pairs = 0.0, 0.0, 0
    for i in range(1, len(t)):
        first, second = wavelengths[curve.band[i - 1]], wavelengths[curve.band[i]]
        if t[i] - t[i - 1] > COLOUR_PAIR_DAYS or first == second:
            continue
        if not (min(first, second) >= SED_RANGE[0] and max(first, second) <= SED_RANGE[1]):
            continue
        colour = (r[i - 1] - r[i]) / math.log(second / first)
        brightness = 0.5 * (r[i - 1] + r[i])
        noise = 0.25 * (curve.error[i] ** 2 + curve.error[i - 1] ** 2)
        cross += colour * brightness
        squares += brightness * brightness - noise
        pairs += 1
    if pairs >= FEWEST_COLOUR_PAIRS and squares > 0.0:
        out[_SED + 3] = cross / squares
