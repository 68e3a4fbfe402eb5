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

from lcdvt.compiled.kernel import inlined_part, kernel
from lcdvt.features.gate import Curves
from lcdvt.features.segments import lengths, median_within, order_within, sum_within
from lcdvt.features.waves import decay

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
# The product of so many variances, square magnitudes from 1e-30 to 1e30, stays within a float's range, also after one
# between these bounds.
EPOCHS_PER_LOGARITHM: Final = 8
PRODUCT_FROM, PRODUCT_TO = 1e-60, 1e60
# Walks that go through the filter side by side, and where the rows of their numbers begin: of the filter, of the first
# three columns that it filters, and of the sums of their products.
LANES: Final = len(SIGMAS)
STATIONARY, UNCERTAINTY, PRODUCT, LOGS, INVERSE, GAIN = (row * LANES for row in range(6))
STATE, STATE_1, STATE_2, SURPRISE, SURPRISE_1, SURPRISE_2 = (row * LANES for row in range(6, 12))
SUMS, SUM_10, SUM_11, SUM_20, SUM_21, SUM_22 = (row * LANES for row in range(12, 18))
FUSED: Final = 3


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
    epochs = lengths(offsets)
    given = lengths(of_band).reshape(-1, n_bands)
    of_object = np.repeat(np.arange(len(epochs)), epochs)
    of_bands = median_within(curves.mag, of_band)
    # The index of a band among those that have epochs.
    place = np.cumsum(given > 0, axis=1) - 1
    if n_bands > 1:
        rough = curves.mag - np.repeat(of_bands, given.ravel())
        order = order_within(curves.time, offsets)
        band = np.repeat(np.tile(np.arange(n_bands), len(epochs)), given.ravel())[order]
        t, error, middle = curves.time[order], curves.err[order], median_within(curves.mag, offsets)
        y, column = curves.mag[order] - middle[of_object], place[of_object, band]
        distance = np.abs(rough)
        spread, distance = median_within(distance, offsets), distance[order]
    else:
        # The gate has sorted a single band.
        t, error, middle = curves.time, curves.err, of_bands
        y = rough = curves.mag - middle[of_object]
        band = column = np.zeros(len(y), dtype=np.int64)
        distance = np.abs(rough)
        spread = median_within(distance, offsets)
    e2, spread = (error_scale * error) ** 2 + error_floor**2, (MAD_TO_SIGMA * spread)[of_object]
    excess = np.maximum(distance - OUTLIER_SIGMA * np.sqrt(spread * spread + e2), 0.0)
    scale = np.maximum(np.sqrt(sum_within(rough * rough, offsets) / np.maximum(epochs, 1)), 1e-6)
    walks = _Walks(t, y, e2 + excess * excess, column, offsets, n_bands)

    tried_tau, tried_sigma = walks.tried()
    sigmas = scale[:, None] * tried_sigma
    white = walks.likelihoods(np.zeros((len(epochs), len(WHITE_SIGMAS))), scale[:, None] * WHITE_SIGMAS).max(axis=1)
    values = walks.likelihoods(tried_tau, sigmas)
    rows, chosen = np.arange(len(epochs)), walks.chosen.copy()
    best = np.where(chosen >= 0, values[rows, chosen], -np.inf)
    best_tau = np.where(chosen >= 0, tried_tau[rows, chosen], 1.0)
    best_sigma = np.where(chosen >= 0, sigmas[rows, chosen], scale)
    # The mean over the likelihood: where sparse epochs leave it flat, the highest point would be chance.
    weights = np.exp(values - best[:, None]).reshape(-1, TAUS, len(SIGMAS))
    of_tau, of_sigma = weights.sum(axis=2), weights.sum(axis=1)
    total = of_tau.sum(axis=1)
    tau = np.exp(np.sum(of_tau * np.log(tried_tau[:, :: len(SIGMAS)]), axis=1) / total)
    sigma = scale * np.exp(np.sum(of_sigma * np.log(SIGMAS), axis=1) / total)
    walks.likelihoods(best_tau[:, None], best_sigma[:, None])
    objects = np.arange(len(epochs))[:, None]
    offset = np.where(given > 0, walks.solution[objects, place] + middle[:, None], np.nan)
    offset_error = np.where(given > 0, np.sqrt(np.maximum(walks.variance[objects, place], 0.0)), np.nan)
    residual = y - walks.solution[of_object, column]
    gain = np.maximum(best - white, 0.0) / np.maximum(epochs, 1)
    return JointCurves(offsets, t, residual, np.sqrt(e2), band, offset, offset_error, tau, sigma, gain)


class _Walks:
    """Curves of which damped random walks are tried; `column` numbers each epoch's band among those with epochs."""

    def __init__(
        self, t: np.ndarray, y: np.ndarray, e2: np.ndarray, column: np.ndarray, offsets: np.ndarray, n_bands: int
    ) -> None:
        self._data = (t, y, e2, column, offsets)
        columns = max(n_bands + 1, FUSED)
        lanes = np.empty(SUMS + (columns * (columns + 1) // 2 + 2 * (columns - FUSED)) * LANES)
        self._room = (np.empty((columns, columns)), lanes, LANES, np.empty(lengths(offsets).max(initial=1)))
        self.solution = np.zeros((len(offsets) - 1, n_bands))
        self.variance = np.zeros((len(offsets) - 1, n_bands))
        self.chosen = np.empty(len(offsets) - 1, dtype=np.int64)

    def tried(self) -> tuple[np.ndarray, np.ndarray]:
        """Return τ of all walks tried, a row for each object, and σ relative to the object's scatter."""
        t, _, _, _, offsets = self._data
        filled = lengths(offsets) > 0
        span = np.zeros(len(filled))
        span[filled] = t[offsets[1:][filled] - 1] - t[offsets[:-1][filled]]
        longest = np.minimum(np.maximum(3.0 * np.maximum(span, SHORTEST_TAU), 2.0 * SHORTEST_TAU), LONGEST_TAU)
        tau_step = np.log(longest / SHORTEST_TAU) / (TAUS - 1)
        tau = SHORTEST_TAU * np.exp(np.arange(TAUS) * tau_step[:, None])
        return np.repeat(tau, len(SIGMAS), axis=1), np.tile(SIGMAS, TAUS)

    def likelihoods(self, tau: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        """Return the likelihoods of some walks for each object.

        `solution` and `variance` are those of the last walk; `chosen` is the best one, −1 where there is none, the
        first of those that are not clearly better than one another.
        """
        values = np.empty(np.broadcast_shapes(tau.shape, sigma.shape))
        found = self.solution, self.variance, self.chosen, values
        _likelihoods(*self._data, tau, np.ascontiguousarray(sigma), *self._room, *found)
        return values


@kernel
def _likelihoods(
    t: np.ndarray, y: np.ndarray, e2: np.ndarray, column: np.ndarray, offsets: np.ndarray, taus: np.ndarray,
    sigmas: np.ndarray, work: np.ndarray, lanes: np.ndarray, width: int, decays: np.ndarray, solutions: np.ndarray,
    variances: np.ndarray, chosen: np.ndarray, values: np.ndarray,
) -> None:  # fmt: skip
    """Fill the restricted log-likelihoods of walks (τ = 0: uncorrelated), the offsets, their variances and the best.

    Walks of the same τ follow each other: `width` of them share `decays` and go through the filter side by side.
    `work` is the factor of one walk's normal equations and, in its last row, a column of the inverse.
    """
    inverse = work[work.shape[0] - 1]
    for row in range(values.shape[0]):
        start, stop = offsets[row], offsets[row + 1]
        bands = 0
        for i in range(start, stop):
            if column[i] >= bands:
                bands = column[i] + 1
        chosen[row], least = -1, -np.inf
        first_walk = np.int64(0)
        while first_walk < values.shape[1]:
            tau = taus[row, first_walk]
            if first_walk == 0 or tau != taus[row, first_walk - 1]:
                decays[0], rate = 0.0, 1.0 / tau
                for i in range(1, stop - start):
                    decays[i] = decay((t[start + i] - t[start + i - 1]) * rate) if tau > 0.0 else 0.0
            count = np.int64(1)
            while count < width and first_walk + count < values.shape[1] and taus[row, first_walk + count] == tau:
                count += 1
            for place in range(lanes.size):
                lanes[place] = 0.0
            for place in range(width):
                # Places beyond the last walk repeat it.
                sigma = sigmas[row, first_walk + (place if place < count else count - 1)]
                lanes[STATIONARY + place], lanes[UNCERTAINTY + place] = sigma * sigma, sigma * sigma
                lanes[PRODUCT + place] = 1.0
            _filter_walks(y, e2, column, start, stop, bands, decays, width, lanes)
            for place in range(count):
                walk = first_walk + place
                squares, logs, is_definite = lanes[SUMS + place], lanes[LOGS + place], True
                # Cholesky: normal = L Lᵀ, in the lower triangle; the solution of L alone comes with it.
                for k in range(bands):
                    sums = SUMS + (k + 1) * (k + 2) // 2 * LANES + place
                    for j in range(k + 1):
                        entry = lanes[sums + (j + 1) * LANES]
                        for i in range(j):
                            entry -= work[k, i] * work[j, i]
                        if k > j:
                            work[k, j] = entry / work[j, j]
                        elif entry > 0.0:
                            work[k, k] = math.sqrt(entry)
                            logs += math.log(entry)
                        else:
                            is_definite = False
                    value = lanes[sums]
                    for i in range(k):
                        value -= work[k, i] * solutions[row, i]
                    solutions[row, k] = value / work[k, k]
                    squares -= solutions[row, k] * solutions[row, k]
                values[row, walk] = -0.5 * (squares + logs) if is_definite else -np.inf
                if values[row, walk] > least:
                    chosen[row], least = walk, values[row, walk] + CLEARLY
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
            first_walk += count


@inlined_part
def _filter_walks(
    y: np.ndarray, e2: np.ndarray, column: np.ndarray, start: int, stop: int, bands: int, decays: np.ndarray,
    width: int, lanes: np.ndarray,
) -> None:  # fmt: skip
    """Run the filter of walks side by side over the magnitudes (column 0) and the indicators of bands (1, 2, …).

    Every walk has a place in each row of `lanes`: the filter's own, then the lower triangle of the normal equations of
    all columns, then state and surprise of columns beyond the first three. These three are one loop over places that
    differ by constants: so the compiler sees that no row overlaps another, and the processor takes several walks at a
    time. Of products of some epochs' variances one logarithm is taken.
    """
    others = SUMS + (bands + 1) * (bands + 2) // 2 * LANES
    for i in range(start, stop):
        decay, noise, magnitude, band = decays[i - start], e2[i], y[i], column[i]
        kept = decay * decay
        first, second = 1.0 if band == 0 else 0.0, 1.0 if band == 1 else 0.0
        for k in range(width):
            stationary = lanes[STATIONARY + k]
            uncertainty = stationary + kept * (lanes[UNCERTAINTY + k] - stationary)
            expected = uncertainty + noise
            inverse = 1.0 / expected
            gain = uncertainty * inverse
            lanes[UNCERTAINTY + k] = uncertainty * (1.0 - gain)
            lanes[PRODUCT + k] *= expected
            lanes[INVERSE + k], lanes[GAIN + k] = inverse, gain
            state, state_1, state_2 = decay * lanes[STATE + k], decay * lanes[STATE_1 + k], decay * lanes[STATE_2 + k]
            surprise, surprise_1, surprise_2 = magnitude - state, first - state_1, second - state_2
            lanes[STATE + k] = state + gain * surprise
            lanes[STATE_1 + k] = state_1 + gain * surprise_1
            lanes[STATE_2 + k] = state_2 + gain * surprise_2
            lanes[SURPRISE + k] = surprise
            lanes[SURPRISE_1 + k] = surprise_1
            lanes[SURPRISE_2 + k] = surprise_2
            share_1, share_2 = surprise_1 * inverse, surprise_2 * inverse
            lanes[SUMS + k] += surprise * surprise * inverse
            lanes[SUM_10 + k] += share_1 * surprise
            lanes[SUM_11 + k] += share_1 * surprise_1
            lanes[SUM_20 + k] += share_2 * surprise
            lanes[SUM_21 + k] += share_2 * surprise_1
            lanes[SUM_22 + k] += share_2 * surprise_2
        for other in range(FUSED, bands + 1):
            states = others + 2 * (other - FUSED) * LANES
            surprises = states + LANES
            indicator = 1.0 if band == other - 1 else 0.0
            for k in range(width):
                state = decay * lanes[states + k]
                lanes[surprises + k] = indicator - state
                lanes[states + k] = state + lanes[GAIN + k] * lanes[surprises + k]
            sums = SUMS + other * (other + 1) // 2 * LANES
            for earlier in range(other + 1):
                beside = SURPRISE + earlier * LANES if earlier < FUSED else others + (2 * (earlier - FUSED) + 1) * LANES
                for k in range(width):
                    lanes[sums + k] += lanes[surprises + k] * lanes[INVERSE + k] * lanes[beside + k]
                sums += LANES
        if (i - start) % EPOCHS_PER_LOGARITHM == 0 or i == stop - 1:
            smallest, largest = lanes[PRODUCT], lanes[PRODUCT]
            for k in range(width):
                smallest = lanes[PRODUCT + k] if lanes[PRODUCT + k] < smallest else smallest
                largest = lanes[PRODUCT + k] if lanes[PRODUCT + k] > largest else largest
            if i < stop - 1 and smallest > PRODUCT_FROM and largest < PRODUCT_TO:
                continue
            for k in range(width):
                lanes[LOGS + k] += math.log(lanes[PRODUCT + k])
                lanes[PRODUCT + k] = 1.0


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
