"""Features of the light curve that all bands make together, and of how it changes with wavelength.

What is asked for is enough epochs in all, not in a band. The FATS features that make sense on the joined curve are
those of the distribution of magnitudes and of their changes in time. Those that do not: Mean, Meanvariance, CAR_mean,
PercentAmplitude and PercentDifferenceFluxPercentile (the zero point is gone), Autocor_length, Con, Rcs and
PairSlopeTrend (they count epochs, and neighbouring epochs are different bands), MaxSlope (two bands within a minute,
divided by that minute), PeriodLS and its harmonics (the period search has its own model of all bands).

Magnitude and noise are kept out on purpose: they tell how bright a survey's targets were chosen, not what they are.
"""

from typing import Final

import numpy as np

from lcdvt.compiled.kernel import kernel
from lcdvt.features.families.joint_curve import JointCurves, fit_joint_curves
from lcdvt.features.gate import Curves
from lcdvt.features.segments import lengths, sorted_within, sum_within

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

# Of the whole spread, of the asymmetry, and of the inner 20, 50 and 80 %.
QUANTILES: Final = np.array((0.05, 0.95, 0.5, *(0.5 + 0.5 * s * w for w in (0.2, 0.5, 0.8) for s in (-1.0, 1.0))))
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
# The amplitudes tried for each slope, relative to what the whole scatter says.
AMPLITUDES: Final = np.exp(0.12 * np.arange(-8, 9))


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
    bands = len(wavelengths)
    epochs = lengths(curves.offsets[::bands])
    out = np.full((len(epochs), len(FEATURES)), np.nan)
    enough = np.flatnonzero(epochs >= max(minimum_epochs, 4))
    if len(enough) == 0:
        return out, epochs
    joint = fit_joint_curves(_objects(curves, enough, bands), bands, error_scale, error_floor)
    largest = np.maximum.reduceat(np.abs(joint.residual), joint.offsets[:-1])
    values = np.full((len(enough), len(FEATURES)), np.nan)
    _distribution(joint, values)
    _changes(joint, values)
    values[:, _DRW] = np.log10(joint.tau)
    values[:, _DRW + 1] = np.log10(np.maximum(joint.sigma, 1e-4))
    values[:, _DRW + 2] = joint.gain
    # One band has no colour.
    if np.count_nonzero((wavelengths >= SED_RANGE[0]) & (wavelengths <= SED_RANGE[1])) > 1:
        if calibrated:
            _spectrum(joint, wavelengths, values)
        values[:, _SED + 2] = amplitude_slopes(joint, wavelengths)
        _colour_change(joint, wavelengths, values)
    # A star that does not vary at all has no values.
    values[largest <= 1e-10] = np.nan
    out[enough] = values
    return out, epochs


def _objects(curves: Curves, chosen: np.ndarray, bands: int) -> Curves:
    """Return the curves of some objects."""
    edges = curves.offsets[::bands]
    if len(chosen) == len(edges) - 1:
        return curves
    rows = np.concatenate([np.arange(edges[i], edges[i + 1]) for i in chosen])
    epochs = lengths(curves.offsets).reshape(-1, bands)[chosen].ravel()
    offsets = np.concatenate(([0], np.cumsum(epochs)))
    return Curves(curves.time[rows], curves.mag[rows], curves.err[rows], offsets)


def _distribution(curve: JointCurves, out: np.ndarray) -> None:
    offsets = curve.offsets
    n = lengths(offsets).astype(np.float64)
    residual = curve.residual - np.repeat(sum_within(curve.residual, offsets) / n, lengths(offsets))
    square = residual * residual
    variance = sum_within(square, offsets) / n
    noise = sum_within(curve.error**2, offsets) / n
    # In logarithm; a star as quiet as its errors gets a tenth of them.
    out[:, 0] = 0.5 * np.log10(np.maximum(variance - noise, 0.01 * noise))
    out[:, 1] = sum_within(square * residual, offsets) / n / np.sqrt(variance) ** 3
    out[:, 2] = n * (n + 1.0) / ((n - 1.0) * (n - 2.0) * (n - 3.0)) * sum_within(square * square, offsets) / variance**2
    out[:, 2] -= 3.0 * (n - 1.0) ** 2 / ((n - 2.0) * (n - 3.0))
    ordered = sorted_within(curve.residual, offsets)
    lower, upper, middle, *inner = _quantiles(ordered, offsets, QUANTILES)
    out[:, 3] = (upper + lower - 2.0 * middle) / (upper - lower)
    for place in range(3):
        out[:, 4 + place] = (inner[2 * place + 1] - inner[2 * place]) / (upper - lower)


def _quantiles(ordered: np.ndarray, offsets: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return a row for each share: the value below which that share of a segment lies."""
    last = lengths(offsets) - 1
    position = shares[:, None] * last
    low = position.astype(np.int64)
    below, above = ordered[offsets[:-1] + low], ordered[offsets[:-1] + np.minimum(low + 1, last)]
    return below + (position - low) * (above - below)


def _changes(curve: JointCurves, out: np.ndarray) -> None:
    """Fill the von Neumann ratio of neighbours and the structure function, both relative to the whole variance."""
    offsets, residual = curve.offsets, curve.residual
    n = lengths(offsets)
    variance = sum_within(residual**2, offsets) / n - (sum_within(residual, offsets) / n) ** 2
    steps = np.diff(residual, append=0.0) ** 2
    steps[offsets[1:] - 1] = 0.0
    out[:, 7] = sum_within(steps, offsets) / (n - 1) / (2.0 * variance)
    sums, counts = np.zeros((2, len(n), len(LAG_EDGES) - 1))
    running, edges = np.empty((2, int(n.max()) + 1)), np.empty(len(LAG_EDGES), dtype=np.int64)
    _pair_sums(curve.time, residual, curve.error, offsets, sums, counts, running, edges)
    intrinsic = np.maximum(variance - sum_within(curve.error**2, offsets) / n, 0.1 * variance)
    structure = np.maximum(sums / counts / (2.0 * intrinsic[:, None]), 0.0)
    out[:, _SF : _SF + len(LAG_NAMES)] = np.where(counts >= FEWEST_LAG_PAIRS, structure, np.nan)


@kernel
def _pair_sums(
    t: np.ndarray, r: np.ndarray, e: np.ndarray, offsets: np.ndarray, sums: np.ndarray, counts: np.ndarray,
    running: np.ndarray, edges: np.ndarray,
) -> None:  # fmt: skip
    """Add the squared differences of pairs of epochs, errors taken out, to the bins of their lags.

    The partners of an epoch in a bin follow each other, and their sums are differences of running sums, of r² − e² and
    of r (the rows of `running`). Where a bin begins, in `edges`, only moves on from one epoch to the next.
    """
    bins = sums.shape[1]
    squares, values = running[0], running[1]
    for row in range(sums.shape[0]):
        start, epochs = offsets[row], offsets[row + 1] - offsets[row]
        squares[0], values[0] = 0.0, 0.0
        for i in range(epochs):
            here = start + i
            squares[i + 1] = squares[i] + r[here] * r[here] - e[here] * e[here]
            values[i + 1] = values[i] + r[here]
        for k in range(bins + 1):
            edges[k] = 0
        for i in range(0, epochs, 1 + epochs // PAIRS_COMPARED):
            here = start + i
            own = r[here] * r[here] - e[here] * e[here]
            for k in range(bins + 1):
                place = edges[k] if edges[k] > i else i + 1
                while place < epochs and t[start + place] - t[here] < LAG_EDGES[k]:
                    place += 1
                edges[k] = place
            for k in range(bins):
                first, last = edges[k], edges[k + 1]
                number = last - first
                sums[row, k] += squares[last] - squares[first] + number * own
                sums[row, k] -= 2.0 * r[here] * (values[last] - values[first])
                counts[row, k] += number


def _spectrum(curve: JointCurves, wavelengths: np.ndarray, out: np.ndarray) -> None:
    """Fill slope and curvature of the offsets against x = log10(λ / 600 nm), weighted by their errors."""
    shared = (wavelengths >= SED_RANGE[0]) & (wavelengths <= SED_RANGE[1])
    usable = shared & ~np.isnan(curve.offset)
    weight = np.where(usable, 1.0 / (curve.offset_error**2 + SED_FLOOR**2), 0.0)
    offset = np.where(usable, curve.offset, 0.0)
    powers = np.where(shared, np.log10(wavelengths / REFERENCE_WAVELENGTH), 0.0) ** np.arange(3)[:, None]
    normal = np.einsum("ob,ib,jb->oij", weight, powers, powers)
    right = np.einsum("ob,ib,ob->oi", weight, powers, offset)[:, :, None]
    used = usable.sum(axis=1)
    two, three = used >= 2, used >= 3
    out[two, _SED] = np.linalg.solve(normal[two, :2, :2], right[two, :2])[:, 1, 0]
    out[three, _SED + 1] = np.linalg.solve(normal[three], right[three])[:, 2, 0]


def amplitude_slopes(curve: JointCurves, wavelengths: np.ndarray) -> np.ndarray:
    """Return β of amplitude ∝ λ^β of each object: the mean over likelihood and a wide normal prior; NaN for one band.

    A band's variance is (A (λ/600)^β)² plus its noise. With five epochs a band the amplitude of a single band says
    little, and the prior keeps what the data cannot tell at the expected slope.
    """
    objects, bands = curve.offset.shape
    place = np.repeat(np.arange(objects), lengths(curve.offsets)) * bands + curve.band
    count, squares, noise = (
        np.bincount(place, weights, objects * bands).reshape(objects, bands)
        for weights in (np.ones(len(place)), curve.residual**2, curve.error**2)
    )
    used = (count >= 2) & (wavelengths >= SED_RANGE[0]) & (wavelengths <= SED_RANGE[1])
    total = np.sum(count, axis=1, where=used)
    whole, noise_total = np.sum(squares, axis=1, where=used), np.sum(noise, axis=1, where=used)
    start = np.sqrt(np.maximum((whole - noise_total) / total, 1e-2 * whole / total))
    mean_square, mean_noise = squares / count, noise / count
    prior = -0.5 * ((AMPLITUDE_SLOPES - EXPECTED_SLOPE) / SLOPE_WIDTH) ** 2
    best = np.full((objects, len(AMPLITUDE_SLOPES)), -np.inf)
    for relative in AMPLITUDES:
        value = np.tile(prior, (objects, 1))
        for b in np.flatnonzero(used.any(axis=0)):
            ratio = (wavelengths[b] / REFERENCE_WAVELENGTH) ** AMPLITUDE_SLOPES
            variance = ((start * relative)[:, None] * ratio) ** 2 + mean_noise[:, b, None]
            # One degree of freedom went into the offset.
            spent = (count[:, b, None] - 1.0) * np.log(variance)
            spent += (count[:, b] * mean_square[:, b])[:, None] / variance
            value -= np.where(used[:, b, None], 0.5 * spent, 0.0)
        best = np.maximum(best, value)
    weights = np.exp(best - best.max(axis=1, keepdims=True))
    slopes = weights @ AMPLITUDE_SLOPES / weights.sum(axis=1)
    return np.where(used.sum(axis=1) >= 2, slopes, np.nan)


def _colour_change(curve: JointCurves, wavelengths: np.ndarray, out: np.ndarray) -> None:
    """Fill the slope of colour against brightness over pairs of neighbouring epochs in different bands.

    A pair's colour is blue minus red residual over ln(red/blue wavelength), its brightness their mean; 0 is grey,
    positive is bluer when brighter.
    """
    objects = np.repeat(np.arange(len(out)), lengths(curve.offsets))
    first, second = wavelengths[curve.band[:-1]], wavelengths[curve.band[1:]]
    near = (objects[1:] == objects[:-1]) & (np.diff(curve.time) <= COLOUR_PAIR_DAYS) & (first != second)
    near &= (np.minimum(first, second) >= SED_RANGE[0]) & (np.maximum(first, second) <= SED_RANGE[1])
    i = np.flatnonzero(near) + 1
    colour = (curve.residual[i - 1] - curve.residual[i]) / np.log(second[near] / first[near])
    brightness = 0.5 * (curve.residual[i - 1] + curve.residual[i])
    noise = 0.25 * (curve.error[i] ** 2 + curve.error[i - 1] ** 2)
    pairs = np.bincount(objects[i], minlength=len(out))
    cross = np.bincount(objects[i], colour * brightness, len(out))
    squares = np.bincount(objects[i], brightness * brightness - noise, len(out))
    out[:, _SED + 3] = np.where((pairs >= FEWEST_COLOUR_PAIRS) & (squares > 0.0), cross / squares, np.nan)
