"""One light curve from all bands: per-band offsets and a damped random walk, fitted together.

A star that was observed five times in each of five bands has five epochs for a feature of one band and twenty-five
for one of these. The model is m = offset(band) + x(t) + noise, where x is a damped random walk with variance σ² and
correlation time τ. A Kalman filter gives its likelihood in O(N); the offsets enter linearly and are solved for by
generalised least squares, with the filter run on the magnitudes and on each band's indicator at once (the restricted
likelihood of Kelly et al. 2009, ApJ 698, 895, and Zu et al. 2011, ApJ 735, 80). So slow variability, of which each band
saw another part, does not shift the bands against each other.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numba import njit

# Residuals beyond this many robust standard deviations lose their weight for offsets and walk.
OUTLIER_SIGMA: Final = 4.0
MAD_TO_SIGMA: Final = 1.4826
SHORTEST_TAU: Final = 0.05
LONGEST_TAU: Final = 10_000.0
TAUS: Final = 11
# Standard deviation of the walk relative to that of the residuals.
SIGMAS: Final = np.array((0.15, 0.35, 0.6, 0.85, 1.1, 1.5, 2.2, 3.5))
# Log-likelihood by which one walk must be better than another to be more than rounding.
CLEARLY: Final = 1e-6


class JointCurve(NamedTuple):
    """An object's epochs of all bands in order of time, offsets taken out, and the walk that describes them.

    Attributes
    ----------
    time, residual, error
        Days; magnitudes minus their band's offset; errors of the survey's own error model.
    band
        The place of each epoch's band.
    offset, offset_error
        Magnitudes per band; NaN where the band has no epochs.
    tau, sigma
        Days and magnitudes, of the damped random walk: means of their logarithms over its likelihood.
    gain
        The highest log-likelihood above that of uncorrelated scatter of free size, per epoch.
    """

    time: np.ndarray
    residual: np.ndarray
    error: np.ndarray
    band: np.ndarray
    offset: np.ndarray
    offset_error: np.ndarray
    tau: float
    sigma: float
    gain: float


@njit(cache=True, error_model="numpy")
def fit_joint_curve(
    time: np.ndarray, mag: np.ndarray, err: np.ndarray, bounds: np.ndarray, error_scale: float, error_floor: float
) -> JointCurve:
    """Fit offsets and walk to the bands `bounds[b]:bounds[b + 1]` of an object with at least two epochs."""
    first, last = bounds[0], bounds[len(bounds) - 1]
    n, n_bands = last - first, len(bounds) - 1
    band = np.empty(n, dtype=np.int64)
    rough = np.empty(n)
    for b in range(n_bands):
        low, high = bounds[b] - first, bounds[b + 1] - first
        if high > low:
            band[low:high] = b
            rough[low:high] = mag[bounds[b] : bounds[b + 1]] - np.median(mag[bounds[b] : bounds[b + 1]])
    order = np.argsort(time[first:last], kind="mergesort")
    t, y, e2, band = time[first:last][order], mag[first:last][order], err[first:last][order], band[order]
    e2 = (error_scale * e2) ** 2 + error_floor**2
    spread = MAD_TO_SIGMA * np.median(np.abs(rough))
    weight_error = e2.copy()
    for i in range(n):
        excess = abs(rough[order[i]]) - OUTLIER_SIGMA * math.sqrt(spread * spread + e2[i])
        if excess > 0.0:
            weight_error[i] += excess * excess
    # The index of a band among those that have epochs.
    place = np.full(n_bands, -1, dtype=np.int64)
    used = 0
    for b in range(n_bands):
        if bounds[b + 1] > bounds[b]:
            place[b] = used
            used += 1
    column = place[band]
    middle = np.median(y)
    y = y - middle
    solution, variance = np.zeros(used), np.zeros(used)
    scale = max(math.sqrt(np.mean(rough * rough)), 1e-6)
    span = max(t[n - 1] - t[0], SHORTEST_TAU)
    best, best_tau, best_sigma = -np.inf, 1.0, scale
    white = -np.inf
    for s in range(-1, len(SIGMAS)):
        sigma = scale * (SIGMAS[s] if s >= 0 else 0.02)
        white = max(white, _likelihood(t, y, weight_error, column, 0.0, sigma, solution, variance))
    longest = min(max(3.0 * span, 2.0 * SHORTEST_TAU), LONGEST_TAU)
    tau_step = math.log(longest / SHORTEST_TAU) / (TAUS - 1)
    values = np.empty((TAUS, len(SIGMAS)))
    for k in range(TAUS):
        tau = SHORTEST_TAU * math.exp(k * tau_step)
        for s in range(len(SIGMAS)):
            sigma = scale * SIGMAS[s]
            values[k, s] = _likelihood(t, y, weight_error, column, tau, sigma, solution, variance)
            if values[k, s] > best + CLEARLY:
                best, best_tau, best_sigma = values[k, s], tau, sigma
    # The mean over the likelihood: where sparse epochs leave it flat, the highest point would be chance.
    weights, mean_tau, mean_sigma = 0.0, 0.0, 0.0
    for k in range(TAUS):
        for s in range(len(SIGMAS)):
            weight = math.exp(values[k, s] - best)
            weights += weight
            mean_tau += weight * k * tau_step
            mean_sigma += weight * math.log(SIGMAS[s])
    mean_tau = SHORTEST_TAU * math.exp(mean_tau / weights)
    mean_sigma = scale * math.exp(mean_sigma / weights)
    _likelihood(t, y, weight_error, column, best_tau, best_sigma, solution, variance)
    offset, offset_error = np.full(n_bands, np.nan), np.full(n_bands, np.nan)
    for b in range(n_bands):
        if place[b] >= 0:
            offset[b] = solution[place[b]] + middle
            offset_error[b] = math.sqrt(max(variance[place[b]], 0.0))
    residual = np.empty(n)
    for i in range(n):
        residual[i] = y[i] - solution[column[i]]
    return JointCurve(
        t, residual, np.sqrt(e2), band, offset, offset_error, mean_tau, mean_sigma, max(best - white, 0.0) / n
    )


@njit(cache=True, error_model="numpy")
def _likelihood(
    t: np.ndarray,
    y: np.ndarray,
    e2: np.ndarray,
    column: np.ndarray,
    tau: float,
    sigma: float,
    solution: np.ndarray,
    variance: np.ndarray,
) -> float:
    """Return the restricted log-likelihood of a walk (τ = 0: uncorrelated); fill the offsets and their variances."""
    bands = len(solution)
    stationary = sigma * sigma
    state = np.zeros(bands + 1)
    surprise = np.empty(bands + 1)
    normal = np.zeros((bands, bands + 1))
    squares, logs = 0.0, 0.0
    uncertainty = stationary
    for i in range(len(t)):
        if i > 0:
            decay = math.exp(-(t[i] - t[i - 1]) / tau) if tau > 0.0 else 0.0
            for k in range(bands + 1):
                state[k] *= decay
            uncertainty = stationary + decay * decay * (uncertainty - stationary)
        expected = uncertainty + e2[i]
        gain = uncertainty / expected
        for k in range(bands):
            surprise[k] = -state[k]
        surprise[column[i]] += 1.0
        surprise[bands] = y[i] - state[bands]
        for k in range(bands):
            part = surprise[k] / expected
            if part != 0.0:
                for j in range(k, bands + 1):
                    normal[k, j] += part * surprise[j]
        squares += surprise[bands] * surprise[bands] / expected
        logs += math.log(expected)
        for k in range(bands + 1):
            state[k] += gain * surprise[k]
        uncertainty *= 1.0 - gain
    # Cholesky: normal = L Lᵀ, in place in the lower triangle.
    for k in range(bands):
        for j in range(k + 1):
            entry = normal[j, k]
            for i in range(j):
                entry -= normal[k, i] * normal[j, i]
            if k == j:
                if entry <= 0.0:
                    return -np.inf
                normal[k, k] = math.sqrt(entry)
                logs += math.log(entry)
            else:
                normal[k, j] = entry / normal[j, j]
    for k in range(bands):
        value = normal[k, bands]
        for i in range(k):
            value -= normal[k, i] * solution[i]
        solution[k] = value / normal[k, k]
        squares -= solution[k] * solution[k]
    for k in range(bands - 1, -1, -1):
        value = solution[k]
        for i in range(k + 1, bands):
            value -= normal[i, k] * solution[i]
        solution[k] = value / normal[k, k]
    for b in range(bands):
        # Column b of the inverse: L u = e_b, variance = |u|².
        total = 0.0
        inverse = np.zeros(bands)
        for k in range(b, bands):
            value = 1.0 if k == b else 0.0
            for i in range(b, k):
                value -= normal[k, i] * inverse[i]
            inverse[k] = value / normal[k, k]
            total += inverse[k] * inverse[k]
        variance[b] = total
    return -0.5 * (squares + logs)


@njit(cache=True, error_model="numpy")
def walk_evidence(time: np.ndarray, mag: np.ndarray, variance: np.ndarray, band: np.ndarray) -> float:
    """Return the log evidence that a star is a damped random walk: the mean likelihood over all walks tried."""
    order = np.argsort(time, kind="mergesort")
    t, y, e2, column = time[order], mag[order], variance[order], band[order]
    bands = np.max(band) + 1
    solution, offset_variance = np.zeros(bands), np.zeros(bands)
    rough = y.copy()
    for b in range(bands):
        rough[column == b] -= np.median(y[column == b])
    scale = max(math.sqrt(np.mean(rough * rough)), 1e-6)
    longest = min(max(3.0 * (t[len(t) - 1] - t[0]), 2.0 * SHORTEST_TAU), LONGEST_TAU)
    tau_step = math.log(longest / SHORTEST_TAU) / (TAUS - 1)
    total = -np.inf
    for k in range(TAUS):
        for s in range(len(SIGMAS)):
            tau, sigma = SHORTEST_TAU * math.exp(k * tau_step), scale * SIGMAS[s]
            value = _likelihood(t, y - np.median(y), e2, column, tau, sigma, solution, offset_variance)
            high, low = max(total, value), min(total, value)
            total = high + math.log1p(math.exp(low - high)) if low > -np.inf else high
    return total - math.log(TAUS * len(SIGMAS))
