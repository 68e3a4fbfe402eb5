"""Exact weighted least-squares fits of harmonics at candidate frequencies, compiled.

A model is a set of harmonics of one frequency, the same in every band, each band with its own offset and
coefficients. Models are prefixes of a few chains of harmonics: one Cholesky factorisation of a chain's normal
equations gives the reduction of χ² of all its prefixes. The chain 1, 2, 3, … makes the usual truncated Fourier
series. The others begin with even harmonics, that is with a series at half the period, and add the first one or
two odd ones: a binary whose two minima hardly differ pays for one odd harmonic, not for all of them.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

HIGHEST_HARMONIC = 8
CHAINS = np.array(
    ((1, 2, 3, 4, 5, 6, 7, 8), (2, 4, 1, 0, 0, 0, 0, 0), (2, 4, 6, 1, 3, 0, 0, 0), (2, 4, 6, 8, 1, 3, 0, 0)),
    dtype=np.int64,
)
CHAIN_LENGTHS = np.array((8, 3, 5, 6), dtype=np.int64)
CHAIN_HIGHEST = np.array((8, 4, 6, 8), dtype=np.int64)
# The shortest prefix of each chain that is a model.
CHAIN_SHORTEST = np.array((1, 3, 4, 5), dtype=np.int64)
# Model m is the first MODEL_HARMONICS[m] harmonics of chain MODEL_CHAINS[m].
MODEL_CHAINS = np.array((0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 3, 3), dtype=np.int64)
MODEL_HARMONICS = np.array((1, 2, 3, 4, 5, 6, 7, 8, 3, 4, 5, 5, 6), dtype=np.int64)
MODEL_HIGHEST = np.array((1, 2, 3, 4, 5, 6, 7, 8, 4, 6, 6, 8, 8), dtype=np.int64)
N_MODELS = MODEL_CHAINS.size
# A basis function that the earlier ones explain to 98 % at these epochs (mean square 0.5, 0.01 left) tells
# noise from signal no more: the phases are covered too poorly, and the fit would swing through the gaps.
SMALLEST_PIVOT = 0.01
LARGEST_GAIN_RATIO = 1e12


class Bands(NamedTuple):
    """The bands one after the other, ready to be fitted.

    Attributes
    ----------
    t
        Days from the middle of the observations.
    w
        Inverse variances, normalised to sum 1 in each band.
    y
        Magnitudes minus their weighted mean in the band.
    bounds
        Band b is `bounds[b]:bounds[b + 1]`.
    max_harmonics
        How many harmonics each band has epochs for.
    """

    t: Floats
    w: Floats
    y: Floats
    bounds: Integers
    max_harmonics: Integers


@njit(cache=True, fastmath=True, forceinline=True)
def _moments(
    c1: Floats, s1: Floats, w: Floats, y: Floats, highest: int, now: Floats, before: Floats, sums: Floats,
    y_sums: Floats,
) -> None:  # fmt: skip
    """Fill the sums of w cos kφ and w sin kφ, k ≤ 2 highest (rows of `sums`), and of w y cos kφ and w y sin kφ.

    Chebyshev's recurrence f(k + 1) = 2 cos φ f(k) − f(k − 1) holds for the weighted functions as well; two steps
    at a time halve the traffic with memory.
    """
    n = c1.size
    sums[0, 0], sums[1, 0] = 1.0, 0.0
    for part in range(2):
        start = c1 if part == 0 else s1
        total, y_total = 0.0, 0.0
        for i in range(n):
            value = w[i] * start[i]
            now[i], before[i] = value, w[i] if part == 0 else 0.0
            total += value
            y_total += y[i] * value
        sums[part, 1], y_sums[part, 1] = total, y_total
        for k in range(2, 2 * highest + 1, 2):
            even, odd, y_even, y_odd = 0.0, 0.0, 0.0, 0.0
            for i in range(n):
                twice = 2.0 * c1[i]
                u = twice * now[i] - before[i]
                v = twice * u - now[i]
                before[i], now[i] = u, v
                even += u
                odd += v
                y_even += y[i] * u
                y_odd += y[i] * v
            sums[part, k], sums[part, k + 1] = even, odd
            y_sums[part, k], y_sums[part, k + 1] = y_even, y_odd


@njit(cache=True)
def _chain_reductions(
    sums: Floats, y_sums: Floats, chain: Integers, length: int, factor: Floats, projected: Floats, reductions: Floats
) -> int:  # fmt: skip
    """Fill the reduction of Σ w y² by each prefix of the chain; return how many harmonics the epochs determine.

    Rows alternate cosine and sine; the weighted means of the basis functions are projected out (floating mean).
    """
    cos_w, sin_w = sums[0], sums[1]
    reductions[0] = 0.0
    total = 0.0
    for row in range(2 * length):
        j, row_is_sine = chain[row // 2], row % 2 == 1
        for column in range(row + 1):
            k, column_is_sine = chain[column // 2], column % 2 == 1
            apart, together = abs(j - k), j + k
            sine_apart = sin_w[apart] if j >= k else -sin_w[apart]
            if row_is_sine and column_is_sine:
                entry = 0.5 * (cos_w[apart] - cos_w[together]) - sin_w[j] * sin_w[k]
            elif row_is_sine:
                entry = 0.5 * (sin_w[together] + sine_apart) - sin_w[j] * cos_w[k]
            elif column_is_sine:
                entry = 0.5 * (sin_w[together] - sine_apart) - cos_w[j] * sin_w[k]
            else:
                entry = 0.5 * (cos_w[apart] + cos_w[together]) - cos_w[j] * cos_w[k]
            for i in range(column):
                entry -= factor[row, i] * factor[column, i]
            if column < row:
                factor[row, column] = entry / factor[column, column]
            elif entry < SMALLEST_PIVOT:
                return row // 2
            else:
                factor[row, row] = math.sqrt(entry)
        value = y_sums[1 if row_is_sine else 0, j]
        for i in range(row):
            value -= factor[row, i] * projected[i]
        projected[row] = value / factor[row, row]
        total += projected[row] ** 2
        if row_is_sine:
            reductions[row // 2 + 1] = total
    return length


@njit(cache=True)
def _harmonics_needed(highest: int, max_harmonics: int) -> int:
    needed = min(highest, max_harmonics)
    for chain in range(1, CHAINS.shape[0]):
        if CHAIN_HIGHEST[chain] <= highest and CHAIN_SHORTEST[chain] <= max_harmonics:
            needed = max(needed, CHAIN_HIGHEST[chain])
    return needed


@njit(cache=True)
def fit_candidates(
    bands: Bands, frequencies: Floats, reaches: Floats, n_points: int, highest: int
) -> tuple[Floats, Floats, Floats]:
    """Fit every model with harmonics up to `highest` at `n_points` frequencies around each candidate.

    Returns
    -------
    best_frequency, gain
        Per candidate and model: the best frequency and its log-likelihood above a constant's, summed over bands,
        ½ n ln(χ²₀/χ²), the noise level being free.
    window
        Per candidate: the spectral window's power there, 0 to 1.
    """
    t, w, y, bounds = bands.t, bands.w, bands.y, bands.bounds
    n, n_bands = t.size, bounds.size - 1
    c1, s1, turn_c, turn_s, now, before = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    sums, y_sums = np.empty((2, 2 * HIGHEST_HARMONIC + 2)), np.empty((2, 2 * HIGHEST_HARMONIC + 2))
    factor, projected = np.empty((2 * HIGHEST_HARMONIC, 2 * HIGHEST_HARMONIC)), np.empty(2 * HIGHEST_HARMONIC)
    reductions, gains = np.empty(HIGHEST_HARMONIC + 1), np.empty(N_MODELS)
    variance = np.empty(n_bands)
    for b in range(n_bands):
        lo, hi = bounds[b], bounds[b + 1]
        variance[b] = np.sum(w[lo:hi] * y[lo:hi] ** 2)
    best_frequency = np.zeros((frequencies.size, N_MODELS))
    best_gain = np.full((frequencies.size, N_MODELS), -np.inf)
    window = np.zeros(frequencies.size)
    step = 0.0
    for candidate in range(frequencies.size):
        lowest = frequencies[candidate] - reaches[candidate]
        for i in range(n):
            cycles = lowest * t[i]
            phase = 2.0 * math.pi * (cycles - math.floor(cycles))
            c1[i], s1[i] = math.cos(phase), math.sin(phase)
        if step != 2.0 * reaches[candidate] / (n_points - 1):
            # Candidates come in groups of equal reach, so this is rarely done again.
            step = 2.0 * reaches[candidate] / (n_points - 1)
            for i in range(n):
                phase = 2.0 * math.pi * step * t[i]
                turn_c[i], turn_s[i] = math.cos(phase), math.sin(phase)
        for point in range(n_points):
            gains[:] = 0.0
            for b in range(n_bands):
                lo, hi = bounds[b], bounds[b + 1]
                needed = _harmonics_needed(highest, bands.max_harmonics[b])
                _moments(c1[lo:hi], s1[lo:hi], w[lo:hi], y[lo:hi], needed, now[lo:hi], before[lo:hi], sums, y_sums)
                if point == n_points // 2:
                    window[candidate] += (sums[0, 1] ** 2 + sums[1, 1] ** 2) * (hi - lo) / n
                _add_gains(
                    sums, y_sums, highest, bands.max_harmonics[b], hi - lo, variance[b], factor, projected, reductions,
                    gains,
                )  # fmt: skip
            for model in range(N_MODELS):
                if gains[model] > best_gain[candidate, model]:
                    best_gain[candidate, model] = gains[model]
                    best_frequency[candidate, model] = lowest + point * step
            for i in range(n):
                turned = c1[i] * turn_c[i] - s1[i] * turn_s[i]
                s1[i] = s1[i] * turn_c[i] + c1[i] * turn_s[i]
                c1[i] = turned
    return best_frequency, best_gain, window


@njit(cache=True)
def _add_gains(
    sums: Floats, y_sums: Floats, highest: int, max_harmonics: int, n_epochs: int, variance: float, factor: Floats,
    projected: Floats, reductions: Floats, gains: Floats,
) -> None:  # fmt: skip
    """Add one band's log-likelihood gains of all models at one frequency."""
    for chain in range(CHAINS.shape[0]):
        if chain > 0 and (CHAIN_HIGHEST[chain] > highest or CHAIN_SHORTEST[chain] > max_harmonics):
            continue
        length = min(CHAIN_LENGTHS[chain], max_harmonics)
        if chain == 0:
            length = min(length, highest)
        determined = _chain_reductions(sums, y_sums, CHAINS[chain], length, factor, projected, reductions)
        for model in range(N_MODELS):
            harmonics = min(MODEL_HARMONICS[model], determined)
            # Without its odd harmonics an even chain is another frequency's model.
            if MODEL_CHAINS[model] != chain or harmonics == 0 or (chain > 0 and harmonics < MODEL_HARMONICS[model]):
                continue
            left = max(1.0 - reductions[harmonics] / variance, 1.0 / LARGEST_GAIN_RATIO)
            gains[model] -= 0.5 * n_epochs * math.log(left)


@njit(cache=True)
def fit_model(bands: Bands, frequency: float, model: int) -> tuple[Floats, Floats]:
    """Return residuals (magnitudes) of one model at one frequency and the coefficients per band.

    Row b of the coefficients holds cosine and sine amplitude of harmonic k at 2k − 2 and 2k − 1.
    """
    bounds = bands.bounds
    chain, wanted = CHAINS[MODEL_CHAINS[model]], MODEL_HARMONICS[model]
    n_bands = bounds.size - 1
    residuals = bands.y.copy()
    coefficients = np.zeros((n_bands, 2 * HIGHEST_HARMONIC))
    sums, y_sums = np.empty((2, 2 * HIGHEST_HARMONIC + 2)), np.empty((2, 2 * HIGHEST_HARMONIC + 2))
    factor, projected = np.empty((2 * HIGHEST_HARMONIC, 2 * HIGHEST_HARMONIC)), np.empty(2 * HIGHEST_HARMONIC)
    reductions, solution = np.empty(HIGHEST_HARMONIC + 1), np.empty(2 * HIGHEST_HARMONIC)
    for b in range(n_bands):
        lo, hi = bounds[b], bounds[b + 1]
        phases = 2.0 * math.pi * ((frequency * bands.t[lo:hi]) % 1.0)
        w = bands.w[lo:hi]
        now, before = np.empty(hi - lo), np.empty(hi - lo)
        _moments(np.cos(phases), np.sin(phases), w, bands.y[lo:hi], HIGHEST_HARMONIC, now, before, sums, y_sums)
        length = min(wanted, bands.max_harmonics[b])
        determined = _chain_reductions(sums, y_sums, chain, length, factor, projected, reductions)
        for row in range(2 * determined - 1, -1, -1):
            value = projected[row]
            for i in range(row + 1, 2 * determined):
                value -= factor[i, row] * solution[i]
            solution[row] = value / factor[row, row]
        for position in range(determined):
            k = chain[position]
            cosine, sine = solution[2 * position], solution[2 * position + 1]
            coefficients[b, 2 * k - 2], coefficients[b, 2 * k - 1] = cosine, sine
            for i in range(lo, hi):
                phase = k * phases[i - lo]
                residuals[i] -= cosine * (math.cos(phase) - sums[0, k]) + sine * (math.sin(phase) - sums[1, k])
    return residuals, coefficients
