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

from lcdvt.compiled.kernel import kernel
from lcdvt.features.gate import Curves
from lcdvt.features.segments import median_within, order_within, sum_within

# Residuals beyond this many robust standard deviations lose their weight for offsets and walk.
OUTLIER_SIGMA: Final = 4.0
MAD_TO_SIGMA: Final = 1.4826
SHORTEST_TAU: Final = 0.05
LONGEST_TAU: Final = 10_000.0
TAUS: Final = 11
# Standard deviation of the walk relative to that of the residuals.
SIGMAS: Final = np.array((0.15, 0.35, 0.6, 0.85, 1.1, 1.5, 2.2, 3.5))
# Uncorrelated scatter may also be next to nothing.
WHITE_SIGMAS: Final = np.array((0.02, *SIGMAS))
# Log-likelihood by which one walk must be better than another to be more than rounding.
CLEARLY: Final = 1e-6
# The product of so many variances, square magnitudes from 1e-30 to 1e30, stays within a float's range.
EPOCHS_PER_LOGARITHM: Final = 8


class JointCurves(NamedTuple):
    """Objects' epochs of all bands in order of time, offsets taken out, and the walks that describe them.

    Attributes
    ----------
    offsets
        Object i is `offsets[i]:offsets[i + 1]` of the epochs.
    time, residual, error
        Days; magnitudes minus their band's offset; errors of the survey's own error model.
    band
        The place of each epoch's band.
    offset, offset_error
        Magnitudes per object and band; NaN where the band has no epochs.
    tau, sigma
        Per object: days and magnitudes, of the damped random walk: means of their logarithms over its likelihood.
    gain
        Per object: the highest log-likelihood above that of uncorrelated scatter of free size, per epoch.
    """

    offsets: np.ndarray
    time: np.ndarray
    residual: np.ndarray
    error: np.ndarray
    band: np.ndarray
    offset: np.ndarray
    offset_error: np.ndarray
    tau: np.ndarray
    sigma: np.ndarray
    gain: np.ndarray


def fit_joint_curves(curves: Curves, n_bands: int, error_scale: float, error_floor: float) -> JointCurves:
    """Fit offsets and walk to objects with at least two epochs; an object's `n_bands` curves follow each other."""
    of_band = curves.offsets
    # A kernel takes one layout: another would be compiled again.
    offsets = np.ascontiguousarray(of_band[::n_bands])
    epochs = np.diff(offsets)
    given = np.diff(of_band).reshape(-1, n_bands)
    rough = curves.mag - np.repeat(median_within(curves.mag, of_band), given.ravel())
    order = order_within(curves.time, offsets)
    band = np.repeat(np.tile(np.arange(n_bands), len(epochs)), given.ravel())[order]
    t, y, e2 = curves.time[order], curves.mag[order], (error_scale * curves.err[order]) ** 2 + error_floor**2
    spread = np.repeat(MAD_TO_SIGMA * median_within(np.abs(rough), offsets), epochs)
    excess = np.maximum(np.abs(rough[order]) - OUTLIER_SIGMA * np.sqrt(spread * spread + e2), 0.0)
    middle = median_within(curves.mag, offsets)
    y = y - np.repeat(middle, epochs)
    scale = np.maximum(np.sqrt(sum_within(rough * rough, offsets) / np.maximum(epochs, 1)), 1e-6)
    # The index of a band among those that have epochs.
    place = np.cumsum(given > 0, axis=1) - 1
    walks = _Walks(t, y, e2 + excess * excess, place[np.repeat(np.arange(len(epochs)), epochs), band], offsets, n_bands)

    tried_tau, tried_sigma = walks.tried()
    sigmas = scale[:, None] * tried_sigma
    white = walks.likelihoods(np.zeros((len(epochs), len(WHITE_SIGMAS))), scale[:, None] * WHITE_SIGMAS).max(axis=1)
    values = walks.likelihoods(tried_tau, sigmas)
    best, best_tau, best_sigma = np.full(len(epochs), -np.inf), np.ones(len(epochs)), scale.copy()
    for k in range(values.shape[1]):
        better = values[:, k] > best + CLEARLY
        best[better], best_tau[better], best_sigma[better] = values[better, k], tried_tau[better, k], sigmas[better, k]
    # The mean over the likelihood: where sparse epochs leave it flat, the highest point would be chance.
    weights = np.exp(values - best[:, None])
    total = weights.sum(axis=1)
    tau = np.exp(np.sum(weights * np.log(tried_tau), axis=1) / total)
    sigma = scale * np.exp(np.sum(weights * np.log(tried_sigma), axis=1) / total)
    walks.likelihoods(best_tau[:, None], best_sigma[:, None])
    objects = np.arange(len(epochs))[:, None]
    offset = np.where(given > 0, walks.solution[objects, place] + middle[:, None], np.nan)
    offset_error = np.where(given > 0, np.sqrt(np.maximum(walks.variance[objects, place], 0.0)), np.nan)
    residual = y - walks.solution[np.repeat(objects[:, 0], epochs), walks.column]
    gain = np.maximum(best - white, 0.0) / np.maximum(epochs, 1)
    return JointCurves(offsets, t, residual, np.sqrt(e2), band, offset, offset_error, tau, sigma, gain)


class _Walks:
    """Curves of which damped random walks are tried; `column` numbers each epoch's band among those with epochs."""

    def __init__(
        self, t: np.ndarray, y: np.ndarray, e2: np.ndarray, column: np.ndarray, offsets: np.ndarray, n_bands: int
    ) -> None:
        self.column = column
        self._data = (t, y, e2, column, offsets)
        self._n_bands = n_bands
        self.solution = np.zeros((len(offsets) - 1, n_bands))
        self.variance = np.zeros((len(offsets) - 1, n_bands))

    def tried(self) -> tuple[np.ndarray, np.ndarray]:
        """Return τ of all walks tried, a row for each object, and σ relative to the object's scatter."""
        t, _, _, _, offsets = self._data
        filled = np.diff(offsets) > 0
        span = np.zeros(len(filled))
        span[filled] = t[offsets[1:][filled] - 1] - t[offsets[:-1][filled]]
        longest = np.minimum(np.maximum(3.0 * np.maximum(span, SHORTEST_TAU), 2.0 * SHORTEST_TAU), LONGEST_TAU)
        tau_step = np.log(longest / SHORTEST_TAU) / (TAUS - 1)
        tau = SHORTEST_TAU * np.exp(np.arange(TAUS) * tau_step[:, None])
        return np.repeat(tau, len(SIGMAS), axis=1), np.tile(SIGMAS, TAUS)

    def likelihoods(self, tau: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        """Return the likelihoods of some walks for each object; `solution` and `variance` are those of the last."""
        values = np.empty(np.broadcast_shapes(tau.shape, sigma.shape))
        n = self._n_bands
        work, decays = np.empty((n + 3, n + 1)), np.empty(int(np.max(np.diff(self._data[-1]), initial=1)))
        _likelihoods(*self._data, tau, np.ascontiguousarray(sigma), work, decays, self.solution, self.variance, values)
        return values


@kernel
def _likelihoods(
    t: np.ndarray,
    y: np.ndarray,
    e2: np.ndarray,
    column: np.ndarray,
    offsets: np.ndarray,
    taus: np.ndarray,
    sigmas: np.ndarray,
    work: np.ndarray,
    decays: np.ndarray,
    solutions: np.ndarray,
    variances: np.ndarray,
    values: np.ndarray,
) -> None:
    """Fill the restricted log-likelihoods of walks (τ = 0: uncorrelated), the offsets and their variances.

    The rows of `work` are the normal equations, the filter's state, its surprise, and a column of the inverse. Walks of
    the same τ follow each other and share `decays`; of products of some epochs' variances one logarithm is taken.
    """
    state, surprise, inverse = work[work.shape[0] - 3], work[work.shape[0] - 2], work[work.shape[0] - 1]
    for row in range(values.shape[0]):
        start, stop = offsets[row], offsets[row + 1]
        bands = 0
        for i in range(start, stop):
            if column[i] >= bands:
                bands = column[i] + 1
        for walk in range(values.shape[1]):
            tau = taus[row, walk]
            stationary = sigmas[row, walk] * sigmas[row, walk]
            squares, logs, product = 0.0, 0.0, 1.0
            uncertainty = stationary
            if walk == 0 or tau != taus[row, walk - 1]:
                decays[0] = 0.0
                for i in range(1, stop - start):
                    gap = t[start + i] - t[start + i - 1]
                    decays[i] = math.exp(-gap / tau) if tau > 0.0 else 0.0
            for k in range(bands + 1):
                state[k] = 0.0
                for j in range(bands + 1):
                    work[k, j] = 0.0
            for i in range(start, stop):
                decay = decays[i - start]
                if i > start:
                    uncertainty = stationary + decay * decay * (uncertainty - stationary)
                expected = uncertainty + e2[i]
                inverse_expected = 1.0 / expected
                gain = uncertainty * inverse_expected
                for k in range(bands):
                    state[k] *= decay
                    surprise[k] = -state[k]
                surprise[column[i]] += 1.0
                state[bands] *= decay
                surprise[bands] = y[i] - state[bands]
                for k in range(bands):
                    share = surprise[k] * inverse_expected
                    if share != 0.0:
                        for j in range(k, bands + 1):
                            work[k, j] += share * surprise[j]
                    state[k] += gain * surprise[k]
                squares += surprise[bands] * surprise[bands] * inverse_expected
                state[bands] += gain * surprise[bands]
                uncertainty *= 1.0 - gain
                product *= expected
                if (i - start) % EPOCHS_PER_LOGARITHM == 0 or i == stop - 1:
                    logs += math.log(product)
                    product = 1.0
            # Cholesky: normal = L Lᵀ, in place in the lower triangle; the solution of L alone comes with it.
            is_definite = True
            for k in range(bands):
                for j in range(k + 1):
                    entry = work[j, k]
                    for i in range(j):
                        entry -= work[k, i] * work[j, i]
                    if k > j:
                        work[k, j] = entry / work[j, j]
                    elif entry > 0.0:
                        work[k, k] = math.sqrt(entry)
                        logs += math.log(entry)
                    else:
                        is_definite = False
                value = work[k, bands]
                for i in range(k):
                    value -= work[k, i] * solutions[row, i]
                solutions[row, k] = value / work[k, k]
                squares -= solutions[row, k] * solutions[row, k]
            values[row, walk] = -0.5 * (squares + logs) if is_definite else -np.inf
            if walk < values.shape[1] - 1 or not is_definite:
                continue
            for turn in range(bands):
                k = bands - 1 - turn
                value = solutions[row, k]
                for i in range(k + 1, bands):
                    value -= work[i, k] * solutions[row, i]
                solutions[row, k] = value / work[k, k]
            for b in range(bands):
                # Column b of the inverse: L u = e_b, variance = |u|².
                total = 0.0
                for k in range(b, bands):
                    value = 1.0 if k == b else 0.0
                    for i in range(b, k):
                        value -= work[k, i] * inverse[i]
                    inverse[k] = value / work[k, k]
                    total += inverse[k] * inverse[k]
                variances[row, b] = total


def walk_evidence(time: np.ndarray, mag: np.ndarray, variance: np.ndarray, band: np.ndarray) -> float:
    """Return the log evidence that a star is a damped random walk: the mean likelihood over all walks tried."""
    order = np.argsort(time, kind="stable")
    y, column = mag[order], band[order]
    rough = y.copy()
    for b in range(int(band.max()) + 1):
        rough[column == b] -= np.median(y[column == b])
    scale = max(float(np.sqrt(np.mean(rough * rough))), 1e-6)
    bounds = np.array((0, len(time)))
    walks = _Walks(time[order], y - np.median(y), variance[order], column, bounds, int(band.max()) + 1)
    tau, sigma = walks.tried()
    values = walks.likelihoods(tau, scale * sigma[None, :])
    top = values.max()
    return float(top + np.log(np.sum(np.exp(values - top))) - np.log(values.size))
