"""The first-order continuous autoregression CAR(1): likelihood and optimiser, both compiled.

FATS minimises the negative log-likelihood of Brockwell & Davis' state-space form over (σ, τ) with Nelder–Mead,
starting at (10, 0.5), clipped to [0, 100]². Many curves leave it at a bound or a local optimum, so the value is
defined by the path as well as by the likelihood: the same simplex is walked here, step by step.
"""

import math
from typing import Final

import numpy as np
from numba import njit

from lcdvt.features.families.moments import mean_and_variance
from lcdvt.features.gate import Curves

FEATURES: Final = ("CAR_sigma", "CAR_tau", "CAR_mean")

START: Final = (10.0, 0.5)
UPPER_BOUND: Final = 100.0
START_STEP: Final = 1.05
TOLERANCE: Final = 1e-4
MOST_CALLS: Final = 400
# FATS adds this to each likelihood term so that an outlier's does not vanish; it matters below exp(-650) only.
SMALLEST_LIKELIHOOD: Final = 1e-300
NEGLIGIBLE_EXPONENT: Final = -650.0
PRODUCT_RANGE: Final = 1e200


def compute(curves: Curves) -> np.ndarray:
    """Return one row per curve, columns as in FEATURES."""
    out = np.full((len(curves.offsets) - 1, len(FEATURES)), np.nan)
    _compute_all(curves.time, curves.mag, curves.err, curves.offsets, out)
    return out


@njit(cache=True, error_model="numpy")
def _negative_log_likelihood(
    sigma: float, tau: float, gaps: np.ndarray, residual: np.ndarray, error_variance: np.ndarray
) -> float:
    stationary = 0.5 * tau * sigma * sigma
    variance = stationary
    predicted = 0.0
    exponents = 0.0
    logs = 0.0
    product = 1.0
    for i in range(len(gaps)):
        decay = math.exp(-gaps[i] / tau)
        gain = variance / (variance + error_variance[i])
        predicted = decay * (predicted + gain * (residual[i] - predicted))
        variance = stationary + decay * decay * (variance * (1.0 - gain) - stationary)
        total_variance = variance + error_variance[i + 1]
        offset = predicted - residual[i + 1]
        exponent = -0.5 * offset * offset / total_variance
        if exponent < NEGLIGIBLE_EXPONENT:
            exponent = math.log(math.exp(exponent) + SMALLEST_LIKELIHOOD)
        exponents += exponent
        # One logarithm for many factors: taken whenever the product nears the end of the float range.
        product *= total_variance
        if not (1.0 / PRODUCT_RANGE < product < PRODUCT_RANGE):
            logs += math.log(product)
            product = 1.0
    logs += math.log(product) + len(gaps) * math.log(2.0 * math.pi)
    return 0.5 * logs - exponents


@njit(cache=True, error_model="numpy")
def _sort_simplex(vertices: np.ndarray, values: np.ndarray) -> None:
    """Sort three vertices by value, NaN last, equals in their order."""
    for i in range(1, 3):
        j = i
        while j > 0 and (values[j - 1] > values[j] or (math.isnan(values[j - 1]) and not math.isnan(values[j]))):
            values[j - 1], values[j] = values[j], values[j - 1]
            for axis in range(2):
                vertices[j - 1, axis], vertices[j, axis] = vertices[j, axis], vertices[j - 1, axis]
            j -= 1


@njit(cache=True, error_model="numpy")
def _has_converged(vertices: np.ndarray, values: np.ndarray) -> bool:
    for i in range(1, 3):
        for axis in range(2):
            if not abs(vertices[i, axis] - vertices[0, axis]) <= TOLERANCE:
                return False
        if not abs(values[i] - values[0]) <= TOLERANCE:
            return False
    return True


@njit(cache=True, error_model="numpy")
def _along(vertices: np.ndarray, weight: float) -> tuple[float, float]:
    """Return the point on the line from the worst vertex through the others' centre, within the bounds."""
    sigma = (1.0 + weight) * 0.5 * (vertices[0, 0] + vertices[1, 0]) - weight * vertices[2, 0]
    tau = (1.0 + weight) * 0.5 * (vertices[0, 1] + vertices[1, 1]) - weight * vertices[2, 1]
    return min(max(sigma, 0.0), UPPER_BOUND), min(max(tau, 0.0), UPPER_BOUND)


@njit(cache=True, error_model="numpy")
def _fit(gaps: np.ndarray, residual: np.ndarray, error_variance: np.ndarray) -> tuple[float, float]:
    """Walk FATS' simplex to the best (σ, τ)."""
    vertices = np.empty((3, 2))
    values = np.empty(3)
    for i in range(3):
        vertices[i, 0], vertices[i, 1] = START
    vertices[1, 0] *= START_STEP
    vertices[2, 1] *= START_STEP
    for i in range(3):
        values[i] = _negative_log_likelihood(vertices[i, 0], vertices[i, 1], gaps, residual, error_variance)
    _sort_simplex(vertices, values)
    calls = 3
    while calls < MOST_CALLS and not _has_converged(vertices, values):
        sigma, tau = _along(vertices, 1.0)
        value = _negative_log_likelihood(sigma, tau, gaps, residual, error_variance)
        calls += 1
        shrink = False
        # FATS' optimiser drops the step in which it runs out of calls.
        if calls >= MOST_CALLS and not values[0] <= value < values[1]:
            break
        if value < values[0]:
            far_sigma, far_tau = _along(vertices, 2.0)
            far_value = _negative_log_likelihood(far_sigma, far_tau, gaps, residual, error_variance)
            calls += 1
            if far_value < value:
                sigma, tau, value = far_sigma, far_tau, far_value
        elif not value < values[1]:
            outside = value < values[2]
            limit = value if outside else values[2]
            sigma, tau = _along(vertices, 0.5 if outside else -0.5)
            value = _negative_log_likelihood(sigma, tau, gaps, residual, error_variance)
            calls += 1
            shrink = not (value <= limit if outside else value < limit)
        if shrink:
            for i in range(1, 3):
                for axis in range(2):
                    vertices[i, axis] = vertices[0, axis] + 0.5 * (vertices[i, axis] - vertices[0, axis])
                if calls >= MOST_CALLS:
                    break
                values[i] = _negative_log_likelihood(vertices[i, 0], vertices[i, 1], gaps, residual, error_variance)
                calls += 1
        else:
            vertices[2, 0], vertices[2, 1], values[2] = sigma, tau, value
        _sort_simplex(vertices, values)
    if not math.isfinite(values[0]):
        return np.nan, np.nan
    return vertices[0, 0], vertices[0, 1]


@njit(cache=True, error_model="numpy")
def _compute_all(time: np.ndarray, mag: np.ndarray, err: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    for curve in range(len(offsets) - 1):
        start, stop = offsets[curve], offsets[curve + 1]
        if stop - start > 1:
            mean, _ = mean_and_variance(mag[start:stop])
            sigma, tau = _fit(
                time[start + 1 : stop] - time[start : stop - 1], mag[start:stop] - mean, err[start:stop] ** 2
            )
            out[curve, 0] = sigma
            out[curve, 1] = tau
            out[curve, 2] = mean / tau
