"""The first-order continuous autoregression CAR(1): likelihood and optimiser, both compiled.

FATS minimises the negative log-likelihood of Brockwell & Davis' state-space form over (σ, τ) with Nelder–Mead,
starting at (10, 0.5), clipped to [0, 100]². Many curves leave it at a bound or a local optimum, so the value is
defined by the path as well as by the likelihood: the same simplex is walked here, step by step.
"""

import math
from typing import Final

import numpy as np

from lcdvt.compiled.kernel import kernel, part
from lcdvt.features.gate import Curves

FEATURES: Final = ("CAR_sigma", "CAR_tau", "CAR_mean")

START_SIGMA, START_TAU = 10.0, 0.5
UPPER_BOUND: Final = 100.0
START_STEP: Final = 1.05
TOLERANCE: Final = 1e-4
MOST_CALLS: Final = 400
# FATS adds this to each likelihood term so that an outlier's does not vanish; it matters below exp(-650) only.
SMALLEST_LIKELIHOOD: Final = 1e-300
NEGLIGIBLE_EXPONENT: Final = -650.0
PRODUCT_RANGE: Final = 1e200
# Why the likelihood is asked for.
STARTING, REFLECTING, EXPANDING, CONTRACTING_OUTSIDE, CONTRACTING_INSIDE, SHRINKING = range(6)


def compute(curves: Curves) -> np.ndarray:
    """Return one row per curve, columns as in FEATURES."""
    out = np.full((len(curves.offsets) - 1, len(FEATURES)), np.nan)
    sigmas, taus, values = np.empty((3, 3))
    for curve in np.flatnonzero(np.diff(curves.offsets) > 1).tolist():
        part_of_all = slice(curves.offsets[curve], curves.offsets[curve + 1])
        mag, err = curves.mag[part_of_all], curves.err[part_of_all]
        mean = mag.sum() / len(mag)
        _fit(np.diff(curves.time[part_of_all]), mag - mean, err * err, sigmas, taus, values)
        if math.isfinite(values[0]):
            out[curve] = sigmas[0], taus[0], mean / taus[0] if taus[0] else np.nan
    return out


@part
def _negative_log_likelihood(
    sigma: float, tau: float, gaps: np.ndarray, residual: np.ndarray, error_variance: np.ndarray
) -> float:
    stationary = 0.5 * tau * sigma * sigma
    variance = stationary
    predicted = 0.0
    exponents = 0.0
    logs = 0.0
    product = 1.0
    for i in range(gaps.size):
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
    logs += math.log(product) + gaps.size * math.log(2.0 * math.pi)
    return 0.5 * logs - exponents


@part
def _within(value: float) -> float:
    if value < 0.0:
        return 0.0
    return value if value < UPPER_BOUND else UPPER_BOUND


@kernel
def _fit(
    gaps: np.ndarray,
    residual: np.ndarray,
    error_variance: np.ndarray,
    sigmas: np.ndarray,
    taus: np.ndarray,
    values: np.ndarray,
) -> None:
    """Walk FATS' simplex; the best (σ, τ) and its value come first in the three arrays.

    `move` says what is tried next: a start vertex, the reflection, what follows it, or a vertex of the shrunk simplex.
    So the likelihood stands in one place only, where it is compiled once.
    """
    for i in range(3):
        sigmas[i], taus[i] = START_SIGMA, START_TAU
    sigmas[1] *= START_STEP
    taus[2] *= START_STEP
    calls, move, vertex = 0, STARTING, 0
    weight, limit, sigma, tau, value = 1.0, 0.0, 0.0, 0.0, 0.0
    while True:
        if move in (STARTING, SHRINKING):
            new_sigma, new_tau = sigmas[vertex], taus[vertex]
        else:
            # On the line from the worst vertex through the centre of the others.
            new_sigma = _within((1.0 + weight) * 0.5 * (sigmas[0] + sigmas[1]) - weight * sigmas[2])
            new_tau = _within((1.0 + weight) * 0.5 * (taus[0] + taus[1]) - weight * taus[2])
        new_value = _negative_log_likelihood(new_sigma, new_tau, gaps, residual, error_variance)
        calls += 1
        step_is_done = True
        if move in (STARTING, SHRINKING):
            values[vertex] = new_value
            vertex += 1
            step_is_done = vertex == 3 or (move == SHRINKING and calls >= MOST_CALLS)
        elif move == REFLECTING:
            sigma, tau, value = new_sigma, new_tau, new_value
            # FATS' optimiser drops the step in which it runs out of calls.
            if calls >= MOST_CALLS and not values[0] <= value < values[1]:
                break
            if value < values[0]:
                move, weight, step_is_done = EXPANDING, 2.0, False
            elif not value < values[1]:
                step_is_done = False
                if value < values[2]:
                    move, weight, limit = CONTRACTING_OUTSIDE, 0.5, value
                else:
                    move, weight, limit = CONTRACTING_INSIDE, -0.5, values[2]
        elif move == EXPANDING:
            if new_value < value:
                sigma, tau, value = new_sigma, new_tau, new_value
        else:
            sigma, tau, value = new_sigma, new_tau, new_value
            if not (value <= limit if move == CONTRACTING_OUTSIDE else value < limit):
                move, vertex, step_is_done = SHRINKING, 1, False
                for i in range(1, 3):
                    sigmas[i] = sigmas[0] + 0.5 * (sigmas[i] - sigmas[0])
                    taus[i] = taus[0] + 0.5 * (taus[i] - taus[0])
        if not step_is_done:
            continue
        if move != STARTING and move != SHRINKING:
            sigmas[2], taus[2], values[2] = sigma, tau, value
        # Sorted by value, NaN last, equals in their order.
        has_converged = True
        for i in range(1, 3):
            j = i
            while j > 0 and (values[j - 1] > values[j] or (math.isnan(values[j - 1]) and not math.isnan(values[j]))):
                values[j - 1], values[j] = values[j], values[j - 1]
                sigmas[j - 1], sigmas[j] = sigmas[j], sigmas[j - 1]
                taus[j - 1], taus[j] = taus[j], taus[j - 1]
                j -= 1
        for i in range(1, 3):
            has_converged = (
                has_converged
                and abs(sigmas[i] - sigmas[0]) <= TOLERANCE
                and abs(taus[i] - taus[0]) <= TOLERANCE
                and abs(values[i] - values[0]) <= TOLERANCE
            )
        if calls >= MOST_CALLS or has_converged:
            break
        move, weight = REFLECTING, 1.0
