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


@njit(cache=True, fastmath=True)
def _moments(
    c1: Floats, s1: Floats, w: Floats, wy: Floats, ck: Floats, sk: Floats, cos_w: Floats, sin_w: Floats,
    cos_y: Floats, sin_y: Floats,
) -> None:  # fmt: skip
    """Fill the sums of w cos kφ, w sin kφ, k ≤ 2 K, and of w y cos kφ, w y sin kφ, k ≤ K."""
    n = c1.size
    cos_w[0], sin_w[0] = 1.0, 0.0
    for i in range(n):
        ck[i], sk[i] = c1[i], s1[i]
    for k in range(1, 2 * HIGHEST_HARMONIC + 1):
        sum_c, sum_s = 0.0, 0.0
        for i in range(n):
            sum_c += w[i] * ck[i]
            sum_s += w[i] * sk[i]
        cos_w[k], sin_w[k] = sum_c, sum_s
        if k <= HIGHEST_HARMONIC:
            sum_c, sum_s = 0.0, 0.0
            for i in range(n):
                sum_c += wy[i] * ck[i]
                sum_s += wy[i] * sk[i]
            cos_y[k], sin_y[k] = sum_c, sum_s
        for i in range(n):
            turned = ck[i] * c1[i] - sk[i] * s1[i]
            sk[i] = sk[i] * c1[i] + ck[i] * s1[i]
            ck[i] = turned


@njit(cache=True)
def _chain_reductions(
    cos_w: Floats, sin_w: Floats, cos_y: Floats, sin_y: Floats, chain: Integers, length: int, factor: Floats,
    projected: Floats, reductions: Floats,
) -> int:  # fmt: skip
    """Fill the reduction of Σ w y² by each prefix of the chain; return how many harmonics the epochs determine.

    Rows alternate cosine and sine; the weighted means of the basis functions are projected out (floating mean).
    """
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
        value = sin_y[j] if row_is_sine else cos_y[j]
        for i in range(row):
            value -= factor[row, i] * projected[i]
        projected[row] = value / factor[row, row]
        total += projected[row] ** 2
        if row_is_sine:
            reductions[row // 2 + 1] = total
    return length


@njit(cache=True)
def fit_candidates(bands: Bands, frequencies: Floats, reaches: Floats, n_points: int) -> tuple[Floats, Floats, Floats]:
    """Fit every model at `n_points` frequencies around each candidate.

    Returns
    -------
    best_frequency, gain
        Per candidate and model: the best frequency and its log-likelihood above a constant's, summed over bands,
        ½ (n − 2K − 1) ln(χ²₀/χ²) with the noise level free (Baluev 2008, normalisation 3).
    window
        Per candidate: the spectral window's power there, 0 to 1.
    """
    t, w, bounds = bands.t, bands.w, bands.bounds
    n, n_bands = t.size, bounds.size - 1
    wy = w * bands.y
    c1, s1, turn_c, turn_s, ck, sk = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    cos_w, sin_w = np.empty(2 * HIGHEST_HARMONIC + 1), np.empty(2 * HIGHEST_HARMONIC + 1)
    cos_y, sin_y = np.empty(HIGHEST_HARMONIC + 1), np.empty(HIGHEST_HARMONIC + 1)
    factor, projected = np.empty((2 * HIGHEST_HARMONIC, 2 * HIGHEST_HARMONIC)), np.empty(2 * HIGHEST_HARMONIC)
    reductions, gains = np.empty(HIGHEST_HARMONIC + 1), np.empty(N_MODELS)
    variance = np.empty(n_bands)
    for b in range(n_bands):
        variance[b] = np.sum(wy[bounds[b] : bounds[b + 1]] * bands.y[bounds[b] : bounds[b + 1]])
    best_frequency = np.zeros((frequencies.size, N_MODELS))
    best_gain = np.full((frequencies.size, N_MODELS), -np.inf)
    window = np.zeros(frequencies.size)
    for candidate in range(frequencies.size):
        step = 2.0 * reaches[candidate] / (n_points - 1)
        lowest = frequencies[candidate] - reaches[candidate]
        for i in range(n):
            phase = 2.0 * math.pi * ((lowest * t[i]) % 1.0)
            c1[i], s1[i] = math.cos(phase), math.sin(phase)
            phase = 2.0 * math.pi * step * t[i]
            turn_c[i], turn_s[i] = math.cos(phase), math.sin(phase)
        for point in range(n_points):
            gains[:] = 0.0
            for b in range(n_bands):
                lo, hi = bounds[b], bounds[b + 1]
                _moments(c1[lo:hi], s1[lo:hi], w[lo:hi], wy[lo:hi], ck[lo:hi], sk[lo:hi], cos_w, sin_w, cos_y, sin_y)
                if point == n_points // 2:
                    window[candidate] += (cos_w[1] ** 2 + sin_w[1] ** 2) * (hi - lo) / n
                for chain in range(CHAINS.shape[0]):
                    length = min(CHAIN_LENGTHS[chain], bands.max_harmonics[b])
                    determined = _chain_reductions(
                        cos_w, sin_w, cos_y, sin_y, CHAINS[chain], length, factor, projected, reductions
                    )
                    for model in range(N_MODELS):
                        if MODEL_CHAINS[model] != chain:
                            continue
                        harmonics = min(MODEL_HARMONICS[model], determined)
                        # Without its odd harmonics an even chain is another frequency's model.
                        if harmonics == 0 or (chain > 0 and harmonics < MODEL_HARMONICS[model]):
                            continue
                        left = max(1.0 - reductions[harmonics] / variance[b], 1.0 / LARGEST_GAIN_RATIO)
                        gains[model] -= 0.5 * (hi - lo - 2 * harmonics - 1) * math.log(left)
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
def fit_model(bands: Bands, frequency: float, model: int) -> tuple[Floats, Floats]:
    """Return residuals (magnitudes) of one model at one frequency and the coefficients per band.

    Row b of the coefficients holds cosine and sine amplitude of harmonic k at 2k − 2 and 2k − 1.
    """
    bounds = bands.bounds
    chain, wanted = CHAINS[MODEL_CHAINS[model]], MODEL_HARMONICS[model]
    n_bands = bounds.size - 1
    residuals = bands.y.copy()
    coefficients = np.zeros((n_bands, 2 * HIGHEST_HARMONIC))
    cos_w, sin_w = np.empty(2 * HIGHEST_HARMONIC + 1), np.empty(2 * HIGHEST_HARMONIC + 1)
    cos_y, sin_y = np.empty(HIGHEST_HARMONIC + 1), np.empty(HIGHEST_HARMONIC + 1)
    factor, projected = np.empty((2 * HIGHEST_HARMONIC, 2 * HIGHEST_HARMONIC)), np.empty(2 * HIGHEST_HARMONIC)
    reductions, solution = np.empty(HIGHEST_HARMONIC + 1), np.empty(2 * HIGHEST_HARMONIC)
    for b in range(n_bands):
        lo, hi = bounds[b], bounds[b + 1]
        phases = 2.0 * math.pi * ((frequency * bands.t[lo:hi]) % 1.0)
        w = bands.w[lo:hi]
        _moments(
            np.cos(phases), np.sin(phases), w, w * bands.y[lo:hi], np.empty(hi - lo), np.empty(hi - lo),
            cos_w, sin_w, cos_y, sin_y,
        )  # fmt: skip
        length = min(wanted, bands.max_harmonics[b])
        determined = _chain_reductions(cos_w, sin_w, cos_y, sin_y, chain, length, factor, projected, reductions)
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
                residuals[i] -= cosine * (math.cos(phase) - cos_w[k]) + sine * (math.sin(phase) - sin_w[k])
    return residuals, coefficients
