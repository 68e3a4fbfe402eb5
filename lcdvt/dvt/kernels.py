"""The likelihood and the latent of a batch, each in one compiled pass over memory forward and one backward.

The features of all rows, members and surveys are the widest array of a step, and the latent has the most
operations on it. As separate operations each of them passes over its array a dozen times and leaves as many
arrays for the way back; here every number is read once, and the gradient is worked out by hand.

Arrays are (groups, rows, …): a group is one member's rows of one survey, its labelled rows first.
"""

import math

import numba
import numpy as np
from numpy.typing import NDArray

from lcdvt.compiled.kernel import fast_roomy_kernel

Floats = NDArray[np.float32]

_LOG2_E = np.float32(1 / math.log(2))
# ln 2 in two parts, the first of few digits, so that subtracting a multiple of it loses nothing
_LN_2_HIGH = np.float32(0.693359375)
_LN_2_LOW = np.float32(math.log(2) - 0.693359375)
_TAYLOR = tuple(np.float32(1 / math.factorial(power)) for power in range(7, -1, -1))
_LOG_2_PI = np.float32(math.log(2 * math.pi))


@numba.njit(fastmath={"contract", "nsz", "arcp"}, inline="always")
def _exponential(x: np.float32) -> np.float32:
    """Return exp(x) for |x| < 80 to float32 precision, in operations that a compiler can vectorise.

    x = n ln 2 + r with |r| < 0.35; exp(r) by its series, 2ⁿ by writing n into a float's exponent bits.
    """
    n = np.floor(x * _LOG2_E + np.float32(0.5))
    r = x - n * _LN_2_HIGH - n * _LN_2_LOW
    series = _TAYLOR[0]
    for coefficient in _TAYLOR[1:]:
        series = series * r + coefficient
    power_of_two = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    return series * power_of_two


@fast_roomy_kernel
def gaussian_cost(
    output: Floats, x: Floats, observed: Floats, low: float, high: float, labelled: int
) -> tuple[Floats, Floats]:
    """Return the means of −log N(x; mean, exp logvar) over labelled and other rows, (groups, 2), and their gradient.

    Outputs are made in here, because the compiler has to know that they overlap nothing.

    Parameters
    ----------
    output
        (groups, rows, 2 × features): means, then log variances before they are limited to [low, high].
    x
        (groups, rows, features).
    observed
        Like `x`, 1 where observed; of no group at all when everything is.
    low, high
        The limits, beyond which the log variance has no gradient.
    labelled
        How many rows of a group are labelled.
    """
    groups, rows, features = x.shape
    masked = observed.shape[0] > 0
    lowest, highest, half, zero = np.float32(low), np.float32(high), np.float32(0.5), np.float32(0)
    means, gradient = np.zeros((groups, 2), dtype=np.float32), np.empty_like(output)
    # a sum for each feature and not for each row: a sum along the fast axis is vectorised badly
    sums, everything = np.zeros(features, dtype=np.float32), np.ones(features, dtype=np.float32)
    for group in range(groups):
        for row in range(rows):
            part = 0 if row < labelled else 1
            share = np.float32(1 / (labelled if row < labelled else rows - labelled))
            seen = observed[group, row] if masked else everything
            for feature in range(features):
                free = output[group, row, features + feature]
                logvar = min(max(free, lowest), highest)
                residual = output[group, row, feature] - x[group, row, feature]
                weight = seen[feature]
                pull = weight * residual * _exponential(-logvar)
                square = residual * pull
                gradient[group, row, feature] = share * pull
                spread = share * half * (weight - square)
                gradient[group, row, features + feature] = spread if free == logvar else zero
                sums[feature] += square + weight * (logvar + _LOG_2_PI)
            if row == labelled - 1 or row == rows - 1:
                means[group, part] = half * share * sums.sum()
                sums[:] = zero
    return means, gradient


@fast_roomy_kernel
def latent_sample(
    output: Floats, noise: Floats, classes: int, low: float, high: float, variance: float, distance: float
) -> tuple[Floats, Floats, Floats]:
    """Return z, its standard deviation, and KL(q(z|x) ‖ p(z|k)) of each class k, (groups, classes, rows).

    Parameters
    ----------
    output
        (groups, rows, 2 J): means, then log variances before they are limited to [low, high].
    noise
        (groups, rows, J).
    classes
        K.
    low, high
        The limits.
    variance, distance
        σ² and μ of the components.
    """
    groups, rows, width = noise.shape
    lowest, highest, half = np.float32(low), np.float32(high), np.float32(0.5)
    z, deviation = np.empty_like(noise), np.empty_like(noise)
    divergence = np.empty((groups, classes, rows), dtype=np.float32)
    spread, pull = np.float32(0.5 / variance), np.float32(distance / variance)
    own_variance = np.float32(variance)
    constant = np.float32(0.5 * (width * (math.log(variance) - 1) + distance**2 / variance))
    for group in range(groups):
        for row in range(rows):
            total = np.float32(0)
            for axis in range(width):
                mean = output[group, row, axis]
                logvar = min(max(output[group, row, width + axis], lowest), highest)
                sigma = _exponential(half * logvar)
                deviation[group, row, axis] = sigma
                z[group, row, axis] = mean + sigma * noise[group, row, axis]
                total += mean * mean + sigma * sigma - own_variance * logvar
            for number in range(classes):
                # only m_k tells the components apart: Σ_j (m_j − μ_kj)² = |m|² − 2 μ m_k + μ²
                divergence[group, number, row] = total * spread + constant - pull * output[group, row, number]
    return z, deviation, divergence


@fast_roomy_kernel
def latent_gradient(
    output: Floats,
    noise: Floats,
    deviation: Floats,
    low: float,
    high: float,
    variance: float,
    distance: float,
    z_gradient: Floats,
    divergence_gradient: Floats,
) -> Floats:
    """Return the gradient by `output` of what depends on z and the divergences of `latent_sample`."""
    groups, rows, width = noise.shape
    classes = divergence_gradient.shape[1]
    lowest, highest, half, zero = np.float32(low), np.float32(high), np.float32(0.5), np.float32(0)
    inverse, pull = np.float32(1 / variance), np.float32(distance / variance)
    gradient = np.empty_like(output)
    for group in range(groups):
        for row in range(rows):
            total = np.float32(0)
            for number in range(classes):
                total += divergence_gradient[group, number, row]
            scaled = total * inverse
            for axis in range(width):
                sigma, by_z = deviation[group, row, axis], z_gradient[group, row, axis]
                free = output[group, row, width + axis]
                by_logvar = half * (by_z * sigma * noise[group, row, axis] + sigma * sigma * scaled - total)
                gradient[group, row, axis] = by_z + scaled * output[group, row, axis]
                gradient[group, row, width + axis] = by_logvar if lowest <= free <= highest else zero
            for number in range(classes):
                gradient[group, row, number] -= pull * divergence_gradient[group, number, row]
    return gradient


@fast_roomy_kernel
def ramps(x: Floats, threshold: Floats, height: Floats, half_width: float, shown: Floats) -> Floats:
    """Return height × (x − threshold) / half_width limited to ±1, (members, rows, thresholds × features).

    Parameters
    ----------
    x
        (members, rows, features).
    threshold, height
        (members, thresholds, features).
    half_width
        How far from its threshold a ramp ends.
    shown
        Like `x`, 0 where a feature is hidden; of no member at all when everything is shown.
    """
    members, rows, features = x.shape
    thresholds = threshold.shape[1]
    slope, one = np.float32(1 / half_width), np.float32(1)
    values = np.empty((members, rows, thresholds * features), dtype=np.float32)
    everything = np.ones(features, dtype=np.float32)
    masked = shown.shape[0] > 0
    for member in range(members):
        for row in range(rows):
            seen = shown[member, row] if masked else everything
            for number in range(thresholds):
                for feature in range(features):
                    distance = slope * (x[member, row, feature] - threshold[member, number, feature])
                    limited = min(max(distance, -one), one)
                    values[member, row, number * features + feature] = (
                        seen[feature] * height[member, number, feature] * limited
                    )
    return values
