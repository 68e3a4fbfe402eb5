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
from numpy.typing import NDArray

from lcdvt.compiled.kernel import fast_part, kernel, part

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


@fast_part
def _moments(
    c1: Floats, s1: Floats, w: Floats, y: Floats, highest: int, now: Floats, before: Floats, sums: Floats,
    y_sums: Floats,
) -> None:  # fmt: skip
    """Fill the sums of w cos kφ and w sin kφ, k ≤ 2 highest (rows of `sums`), and of w y cos kφ and w y sin kφ.

    Chebyshev's recurrence f(k + 1) = 2 cos φ f(k) − f(k − 1) holds for the weighted functions as well; two steps
    at a time halve the traffic with memory. One band's epochs alone: a loop that begins at 0 needs no look at whether
    an index counts from the end.
    """
    sums[0, 0], sums[1, 0] = 1.0, 0.0
    for row in range(2):
        start = c1 if row == 0 else s1
        total, y_total = 0.0, 0.0
        for i in range(c1.size):
            value = w[i] * start[i]
            now[i], before[i] = value, w[i] if row == 0 else 0.0
            total += value
            y_total += y[i] * value
        sums[row, 1], y_sums[row, 1] = total, y_total
        for k in range(2, 2 * highest + 1, 2):
            even, odd, y_even, y_odd = 0.0, 0.0, 0.0, 0.0
            for i in range(c1.size):
                twice = 2.0 * c1[i]
                u = twice * now[i] - before[i]
                v = twice * u - now[i]
                before[i], now[i] = u, v
                even += u
                odd += v
                y_even += y[i] * u
                y_odd += y[i] * v
            sums[row, k], sums[row, k + 1] = even, odd
            y_sums[row, k], y_sums[row, k + 1] = y_even, y_odd


@part
def _chain_reductions(
    sums: Floats, y_sums: Floats, chain: int, length: int, factor: Floats, projected: Floats, reductions: Floats
) -> int:  # fmt: skip
    """Fill the reduction of Σ w y² by each prefix of the chain; return how many harmonics the epochs determine.

    Rows alternate cosine and sine; the weighted means of the basis functions are projected out (floating mean).
    """
    reductions[0] = 0.0
    total = 0.0
    for row in range(2 * length):
        j, row_sine = CHAINS[chain, row // 2], row % 2
        for column in range(row + 1):
            k, column_sine = CHAINS[chain, column // 2], column % 2
            # Products of two cosines or sines are made of cosines of sum and difference, mixed ones of sines.
            kind = 0 if row_sine == column_sine else 1
            apart = j - k if j >= k else k - j
            difference = sums[kind, apart]
            if kind == 1 and (j < k) != (row_sine == 0):
                difference = -difference
            together = sums[kind, j + k]
            if row_sine == 1 and column_sine == 1:
                together = -together
            entry = 0.5 * (together + difference) - sums[row_sine, j] * sums[column_sine, k]
            for i in range(column):
                entry -= factor[row, i] * factor[column, i]
            if column < row:
                factor[row, column] = entry / factor[column, column]
            elif entry < SMALLEST_PIVOT:
                return row // 2
            else:
                factor[row, row] = math.sqrt(entry)
        value = y_sums[row_sine, j]
        for i in range(row):
            value -= factor[row, i] * projected[i]
        projected[row] = value / factor[row, row]
        total += projected[row] * projected[row]
        if row_sine == 1:
            reductions[row // 2 + 1] = total
    return length


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
    best_frequency = np.zeros((len(frequencies), N_MODELS))
    best_gain = np.full((len(frequencies), N_MODELS), -np.inf)
    window = np.zeros(len(frequencies))
    variance = np.add.reduceat(bands.w * bands.y**2, bands.bounds[:-1])
    c1, s1, turn_c, turn_s, now, before = np.empty((6, len(bands.t)))
    _fit_all(
        bands.t, bands.w, bands.y, bands.bounds, bands.max_harmonics, variance, frequencies, reaches, n_points, highest,
        c1, s1, turn_c, turn_s, now, before, *_scratch(), best_frequency, best_gain, window,
    )  # fmt: skip
    return best_frequency, best_gain, window


def _scratch() -> tuple[Floats, ...]:
    """Return the small arrays of a fit: sums, y_sums, factor, projected, reductions, and gains or solution."""
    rows, width = 2 * HIGHEST_HARMONIC, 2 * HIGHEST_HARMONIC + 2
    sums, y_sums = np.empty((2, 2, width))
    return sums, y_sums, np.empty((rows, rows)), np.empty(rows), np.empty(HIGHEST_HARMONIC + 1), np.empty(rows)


@kernel
def _fit_all(
    t: Floats, w: Floats, y: Floats, bounds: Integers, max_harmonics: Integers, variance: Floats, frequencies: Floats,
    reaches: Floats, n_points: int, highest: int, c1: Floats, s1: Floats, turn_c: Floats, turn_s: Floats, now: Floats,
    before: Floats, sums: Floats, y_sums: Floats, factor: Floats, projected: Floats, reductions: Floats,
    gains: Floats, best_frequency: Floats, best_gain: Floats, window: Floats,
) -> None:  # fmt: skip
    n, n_bands = t.size, bounds.size - 1
    step = 0.0
    for candidate in range(frequencies.size):
        lowest = frequencies[candidate] - reaches[candidate]
        if step != 2.0 * reaches[candidate] / (n_points - 1):
            # Candidates come in groups of equal reach, so this is rarely done again.
            step = 2.0 * reaches[candidate] / (n_points - 1)
            for i in range(n):
                phase = 2.0 * math.pi * step * t[i]
                turn_c[i], turn_s[i] = math.cos(phase), math.sin(phase)
        for i in range(n):
            cycles = lowest * t[i]
            phase = 2.0 * math.pi * (cycles - math.floor(cycles))
            c1[i], s1[i] = math.cos(phase), math.sin(phase)
        for point in range(n_points):
            for model in range(N_MODELS):
                gains[model] = 0.0
            for b in range(n_bands):
                lo, hi, most = bounds[b], bounds[b + 1], max_harmonics[b]
                needed = most if most < highest else highest
                for chain in range(1, CHAIN_HIGHEST.size):
                    fits = CHAIN_HIGHEST[chain] <= highest and CHAIN_SHORTEST[chain] <= most
                    if fits and CHAIN_HIGHEST[chain] > needed:
                        needed = CHAIN_HIGHEST[chain]
                _moments(c1[lo:hi], s1[lo:hi], w[lo:hi], y[lo:hi], needed, now[lo:hi], before[lo:hi], sums, y_sums)
                if point == n_points // 2:
                    window[candidate] += (sums[0, 1] * sums[0, 1] + sums[1, 1] * sums[1, 1]) * (hi - lo) / n
                for chain in range(CHAIN_HIGHEST.size):
                    if chain > 0 and (CHAIN_HIGHEST[chain] > highest or CHAIN_SHORTEST[chain] > most):
                        continue
                    length = most if most < CHAIN_LENGTHS[chain] else CHAIN_LENGTHS[chain]
                    if chain == 0 and highest < length:
                        length = highest
                    determined = _chain_reductions(sums, y_sums, chain, length, factor, projected, reductions)
                    for model in range(N_MODELS):
                        wanted = MODEL_HARMONICS[model]
                        harmonics = determined if determined < wanted else wanted
                        # Without its odd harmonics an even chain is another frequency's model.
                        if MODEL_CHAINS[model] != chain or harmonics == 0 or (chain > 0 and harmonics < wanted):
                            continue
                        left = 1.0 - reductions[harmonics] / variance[b]
                        if not left > 1.0 / LARGEST_GAIN_RATIO:
                            left = 1.0 / LARGEST_GAIN_RATIO
                        gains[model] -= 0.5 * (hi - lo) * math.log(left)
            for model in range(N_MODELS):
                if gains[model] > best_gain[candidate, model]:
                    best_gain[candidate, model] = gains[model]
                    best_frequency[candidate, model] = lowest + point * step
            for i in range(n):
                turned = c1[i] * turn_c[i] - s1[i] * turn_s[i]
                s1[i] = s1[i] * turn_c[i] + c1[i] * turn_s[i]
                c1[i] = turned


def fit_model(bands: Bands, frequency: float, model: int) -> tuple[Floats, Floats]:
    """Return residuals (magnitudes) of one model at one frequency and the coefficients per band.

    Row b of the coefficients holds cosine and sine amplitude of harmonic k at 2k − 2 and 2k − 1.
    """
    residuals = bands.y.copy()
    coefficients = np.zeros((len(bands.bounds) - 1, 2 * HIGHEST_HARMONIC))
    c1, s1, now, before = np.empty((4, len(bands.t)))
    _fit_one(
        bands.t, bands.w, bands.y, bands.bounds, bands.max_harmonics, frequency, model, c1, s1, now, before,
        *_scratch(), residuals, coefficients,
    )  # fmt: skip
    return residuals, coefficients


@kernel
def _fit_one(
    t: Floats, w: Floats, y: Floats, bounds: Integers, max_harmonics: Integers, frequency: float, model: int,
    c1: Floats, s1: Floats, now: Floats, before: Floats, sums: Floats, y_sums: Floats, factor: Floats,
    projected: Floats, reductions: Floats, solution: Floats, residuals: Floats, coefficients: Floats,
) -> None:  # fmt: skip
    chain, wanted = MODEL_CHAINS[model], MODEL_HARMONICS[model]
    for i in range(t.size):
        cycles = frequency * t[i]
        phase = 2.0 * math.pi * (cycles - math.floor(cycles))
        c1[i], s1[i] = math.cos(phase), math.sin(phase)
    for b in range(bounds.size - 1):
        lo, hi = bounds[b], bounds[b + 1]
        highest = MODEL_HIGHEST[model]
        _moments(c1[lo:hi], s1[lo:hi], w[lo:hi], y[lo:hi], highest, now[lo:hi], before[lo:hi], sums, y_sums)
        length = wanted if wanted < max_harmonics[b] else max_harmonics[b]
        determined = _chain_reductions(sums, y_sums, chain, length, factor, projected, reductions)
        for turn in range(2 * determined):
            row = 2 * determined - 1 - turn
            value = projected[row]
            for i in range(row + 1, 2 * determined):
                value -= factor[i, row] * solution[i]
            solution[row] = value / factor[row, row]
        for position in range(determined):
            k = CHAINS[chain, position]
            cosine, sine = solution[2 * position], solution[2 * position + 1]
            coefficients[b, 2 * k - 2], coefficients[b, 2 * k - 1] = cosine, sine
            for i in range(lo, hi):
                c, s = c1[i], s1[i]
                for _ in range(k - 1):
                    c, s = c * c1[i] - s * s1[i], s * c1[i] + c * s1[i]
                residuals[i] -= cosine * (c - sums[0, k]) + sine * (s - sums[1, k])
