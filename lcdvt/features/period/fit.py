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

from lcdvt.compiled.kernel import fast_part, inlined_part, kernel, part
from lcdvt.features.waves import wave

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

HIGHEST_HARMONIC = 8
CHAINS = np.array(
    ((1, 2, 3, 4, 5, 6, 7, 8), (2, 4, 1, 0, 0, 0, 0, 0), (2, 4, 6, 1, 3, 0, 0, 0), (2, 4, 6, 8, 1, 3, 0, 0)),
    dtype=np.int64,
)
# Where the cosine and sine of each harmonic of a chain stand in the normal equations.
CHAIN_PLACES = np.maximum(2 * np.repeat(CHAINS, 2, axis=1) - 2 + np.tile((0, 1), CHAINS.shape), 0)
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
ONE_SINE, NO_MODEL = 0, -1
LONGEST_LAG = 40
SHARPENING_POINTS = 5
# Of what the fits fill: the rows after cosines, sines and by how much they turn, and the columns of the weighted mean
# squares before and after.
NOW, BEFORE, RESIDUALS, SCALED = range(4, 8)
WHOLE, LEFT = 2 * HIGHEST_HARMONIC, 2 * HIGHEST_HARMONIC + 1


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
    epochs: Floats, w: Floats, y: Floats, begin: int, end: int, highest: int, sums: Floats, y_sums: Floats
) -> None:
    """Fill the sums of w cos kφ and w sin kφ (rows of `sums`, k ≤ 2 highest) and of w y cos kφ and w y sin kφ.

    Chebyshev's recurrence f(k + 1) = 2 cos φ f(k) − f(k − 1) holds for the weighted functions as well; four steps
    at a time spare three quarters of the traffic with memory.
    """
    sums[0, 0], sums[1, 0] = 1.0, 0.0
    for row in range(2):
        total, y_total = 0.0, 0.0
        for i in range(begin, end):
            value = w[i] * epochs[row, i]
            epochs[NOW, i], epochs[BEFORE, i] = value, w[i] if row == 0 else 0.0
            total += value
            y_total += y[i] * value
        sums[row, 1], y_sums[row, 1] = total, y_total
        for k in range(2, 2 * highest + 1, 4):
            first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
            y_first, y_second, y_third, y_fourth = 0.0, 0.0, 0.0, 0.0
            if k <= highest:
                for i in range(begin, end):
                    twice, magnitude = 2.0 * epochs[0, i], y[i]
                    a = twice * epochs[NOW, i] - epochs[BEFORE, i]
                    b = twice * a - epochs[NOW, i]
                    c = twice * b - a
                    d = twice * c - b
                    epochs[BEFORE, i], epochs[NOW, i] = c, d
                    first += a
                    second += b
                    third += c
                    fourth += d
                    y_first += magnitude * a
                    y_second += magnitude * b
                    y_third += magnitude * c
                    y_fourth += magnitude * d
            else:
                for i in range(begin, end):
                    twice = 2.0 * epochs[0, i]
                    a = twice * epochs[NOW, i] - epochs[BEFORE, i]
                    b = twice * a - epochs[NOW, i]
                    c = twice * b - a
                    d = twice * c - b
                    epochs[BEFORE, i], epochs[NOW, i] = c, d
                    first += a
                    second += b
                    third += c
                    fourth += d
            sums[row, k], sums[row, k + 1], sums[row, k + 2], sums[row, k + 3] = first, second, third, fourth
            y_sums[row, k], y_sums[row, k + 1] = y_first, y_second
            y_sums[row, k + 2], y_sums[row, k + 3] = y_third, y_fourth


@inlined_part
def _fill_normal(sums: Floats, highest: int, normal: Floats) -> None:
    """Fill the normal equations of harmonics 1 to `highest`, cosine and sine in turn, floating mean projected out.

    Products of two cosines or sines are made of cosines of sum and difference, mixed ones of sines.
    """
    for j in range(1, highest + 1):
        cos_j, sin_j = sums[0, j], sums[1, j]
        for k in range(1, j + 1):
            cos_k, sin_k = sums[0, k], sums[1, k]
            even_sum, odd_sum, even_gap, odd_gap = sums[0, j + k], sums[1, j + k], sums[0, j - k], sums[1, j - k]
            row, column = 2 * j - 2, 2 * k - 2
            normal[row, column] = normal[column, row] = 0.5 * (even_sum + even_gap) - cos_j * cos_k
            normal[row + 1, column + 1] = normal[column + 1, row + 1] = 0.5 * (even_gap - even_sum) - sin_j * sin_k
            normal[row, column + 1] = normal[column + 1, row] = 0.5 * (odd_sum - odd_gap) - cos_j * sin_k
            normal[row + 1, column] = normal[column, row + 1] = 0.5 * (odd_sum + odd_gap) - sin_j * cos_k


@part
def _chain_reductions(
    normal: Floats, y_sums: Floats, chain: int, length: int, factor: Floats, projected: Floats, reductions: Floats
) -> int:  # fmt: skip
    """Fill the reduction of Σ w y² by each prefix of the chain; return how many harmonics the epochs determine.

    Cholesky, row by row; the diagonal of `factor` holds inverses, which spare the divisions.
    """
    reductions[0] = 0.0
    total = 0.0
    for row in range(2 * length):
        place = CHAIN_PLACES[chain, row]
        value = y_sums[place % 2, place // 2 + 1]
        pivot = normal[place, place]
        for column in range(row):
            entry = normal[place, CHAIN_PLACES[chain, column]]
            for i in range(column):
                entry -= factor[row, i] * factor[column, i]
            entry *= factor[column, column]
            factor[row, column] = entry
            pivot -= entry * entry
            value -= entry * projected[column]
        if pivot < SMALLEST_PIVOT:
            return row // 2
        factor[row, row] = 1.0 / math.sqrt(pivot)
        projected[row] = value * factor[row, row]
        total += projected[row] * projected[row]
        if row % 2 == 1:
            reductions[row // 2 + 1] = total
    return length


class Sharpening(NamedTuple):
    """How the best candidates are fitted again, ever closer to their tops.

    Attributes
    ----------
    rounds, candidates
        How often, and how many.
    baseline
        Days from the first to the last epoch.
    cycles_per_harmonic, window_penalty
        By which rules they are the best, as in `fill_scores`.
    """

    rounds: int
    candidates: int
    baseline: float
    cycles_per_harmonic: float
    window_penalty: float


NO_SHARPENING = Sharpening(0, 0, 0.0, 1.0, 0.0)


def fit_candidates(
    bands: Bands,
    frequencies: Floats,
    reaches: Floats,
    n_points: int,
    highest: int,
    sharpening: Sharpening = NO_SHARPENING,
) -> tuple[Floats, Floats, Floats]:
    """Fit every model with harmonics up to `highest` at `n_points` frequencies around each candidate.

    Parameters
    ----------
    bands
        The light curves.
    frequencies, reaches
        The candidates, and how far to each side of them to look.
    n_points, highest
        How many frequencies around each, and the highest harmonic of the models.
    sharpening
        Which of them to fit again.

    Returns
    -------
    best_frequency, gain
        Per candidate and model: the best frequency and its log-likelihood above a constant's, summed over bands,
        ½ n ln(χ²₀/χ²), the noise level being free.
    window
        Per candidate: the spectral window's power there, 0 to 1.
    """
    work = _Work.of(bands, len(frequencies))
    _fit_all(*bands, frequencies, reaches, n_points, highest, NO_MODEL, *sharpening, *work)
    return work.table[0], work.table[1], work.window


def fit_model(bands: Bands, frequency: float, model: int) -> tuple[Floats, Floats]:
    """Return residuals (magnitudes) of one model at one frequency and the coefficients per band.

    Row b of the coefficients holds cosine and sine amplitude of harmonic k at 2k − 2 and 2k − 1, and at `LEFT` the
    weighted mean square of the residuals.
    """
    work, _ = _fit_one(bands, frequency, model)
    return work.epochs[RESIDUALS], work.coefficients


def noise_memory(bands: Bands, frequency: float) -> float:
    """Return how many epochs tell as much as one independent epoch: 1 + 2 Σ autocorrelation of a sine's residuals."""
    return _fit_one(bands, frequency, ONE_SINE)[1]


def _fit_one(bands: Bands, frequency: float, model: int) -> tuple["_Work", float]:
    work = _Work.of(bands, 1)
    place, highest = np.array((frequency,)), int(MODEL_HIGHEST[model])
    memory = _fit_all(*bands, place, np.zeros(1), 1, highest, model, *NO_SHARPENING, *work)
    return work, float(memory)


# Moments come four at a time, the last of sixteen at 17. One for all threads: a kernel holds the interpreter's lock.
_SMALL = np.empty((4 * HIGHEST_HARMONIC + 7, 2 * HIGHEST_HARMONIC + 2))


class _Work(NamedTuple):
    """Arrays that the fits fill.

    Attributes
    ----------
    epochs
        Rows of one number per epoch; the last but one are residuals.
    small
        Rows for moments, normal equations and their factors.
    places
        Chosen candidates and their models.
    table
        Best frequency, gain and score of each candidate and model.
    window
        The spectral window's power at each candidate.
    coefficients
        A row for each band: of the harmonics, and the weighted mean squares of magnitudes and residuals.
    """

    epochs: Floats
    small: Floats
    places: Integers
    table: Floats
    window: Floats
    coefficients: Floats

    @classmethod
    def of(cls, bands: Bands, candidates: int) -> "_Work":
        return cls(
            np.empty((SCALED + 1, len(bands.t))),
            _SMALL,
            np.empty((2, candidates), dtype=np.int64),
            np.empty((3, candidates, N_MODELS)),
            np.empty(candidates),
            np.empty((len(bands.bounds) - 1, 2 * HIGHEST_HARMONIC + 2)),
        )


@kernel
def fill_scores(
    bounds: Integers, max_harmonics: Integers, frequencies: Floats, gains: Floats, window: Floats, memory: float,
    baseline: float, cycles_per_harmonic: float, window_penalty: float, scores: Floats,
) -> None:  # fmt: skip
    """Fill log-likelihoods minus penalties, both for the effective number of epochs; −∞ for models not allowed."""
    for model in range(N_MODELS):
        wanted, penalty, is_determined = MODEL_HARMONICS[model], 0.0, False
        for b in range(bounds.size - 1):
            used = wanted if wanted < max_harmonics[b] else max_harmonics[b]
            is_determined = is_determined or used == wanted
            effective = (bounds[b + 1] - bounds[b]) / memory
            penalty += used * math.log(effective if effective > 3.0 else 3.0)
        for place in range(gains.shape[0]):
            most = frequencies[place, model] * baseline / cycles_per_harmonic
            is_allowed = is_determined and (most >= MODEL_HIGHEST[model] or MODEL_HIGHEST[model] == 1)
            scores[place, model] = -np.inf
            if is_allowed and gains[place, model] > 0.0:
                scores[place, model] = gains[place, model] / memory - penalty - window_penalty * window[place]


@part
def _fill_best(scores: Floats, wanted: int, places: Integers) -> None:
    """Fill the candidates with the highest scores, highest first, and in the second row the best model of each."""
    for rank in range(wanted if wanted < scores.shape[0] else scores.shape[0]):
        chosen, chosen_model = -1, 0
        for place in range(scores.shape[0]):
            is_taken = False
            for earlier in range(rank):
                is_taken = is_taken or places[0, earlier] == place
            if is_taken:
                continue
            model = 0
            for other in range(1, scores.shape[1]):
                if scores[place, other] > scores[place, model]:
                    model = other
            if chosen < 0 or scores[place, model] > scores[chosen, chosen_model]:
                chosen, chosen_model = place, model
        places[0, rank], places[1, rank] = chosen, chosen_model


@part
def _correlation_length(epochs: Floats, w: Floats, bounds: Integers) -> float:
    """Return 1 + 2 Σ autocorrelation of the residuals in units of their errors, the mean of all bands' epochs."""
    total = 0.0
    for b in range(bounds.size - 1):
        begin, end = bounds[b], bounds[b + 1]
        n = end - begin
        variance = 0.0
        for i in range(begin, end):
            scaled = epochs[RESIDUALS, i] * math.sqrt(w[i])
            epochs[SCALED, i] = scaled
            variance += scaled * scaled
        length = 1.0
        longest = n // 3 if n // 3 < LONGEST_LAG else LONGEST_LAG
        for lag in range(1, longest if variance > 0.0 else 1):
            correlation = 0.0
            for i in range(begin, end - lag):
                correlation += epochs[SCALED, i + lag] * epochs[SCALED, i]
            correlation /= variance
            if correlation < 1.0 / math.sqrt(n):
                break
            length += 2.0 * correlation
        total += length * n
    return total / w.size


@kernel
def _fit_all(
    t: Floats, w: Floats, y: Floats, bounds: Integers, max_harmonics: Integers, frequencies: Floats, reaches: Floats,
    first_points: int, first_highest: int, first_model: int, sharpenings: int, sharpened: int, baseline: float,
    cycles_per_harmonic: float, window_penalty: float, epochs: Floats, small: Floats, places: Integers, table: Floats,
    window: Floats, coefficients: Floats,
) -> float:  # fmt: skip
    """Fill what `fit_candidates` returns, or with a model its residuals and coefficients; return the noise's memory.

    One loop for all, because it holds the one place where models are fitted: first every candidate; then, for each
    sharpening, the best sine, whose residuals measure the noise's memory, and the best candidates by the rules.
    """
    n, n_bands, chains = t.size, bounds.size - 1, CHAIN_HIGHEST.size
    sums, y_sums, projected, reductions, gains = small[0:2], small[2:4], small[4], small[5], small[6]
    normal, factor = small[7:23], small[23:39]
    best_frequency, best_gain, scores = table[0], table[1], table[2]
    for b in range(n_bands):
        total = 0.0
        for i in range(bounds[b], bounds[b + 1]):
            total += w[i] * y[i] * y[i]
        coefficients[b, WHOLE] = total
    for candidate in range(frequencies.size):
        window[candidate] = 0.0
        for model in range(N_MODELS):
            best_frequency[candidate, model], best_gain[candidate, model] = 0.0, -np.inf
    memory, step, shrinking = 1.0, -1.0, 1.0
    for turn in range(1 + 2 * sharpenings):
        count, n_points, highest, residual_model = frequencies.size, first_points, first_highest, first_model
        if turn % 2 == 1:
            count, n_points, highest, residual_model = 1, 1, 1, ONE_SINE
            places[0, 0], places[1, 0] = 0, ONE_SINE
            for candidate in range(frequencies.size):
                if best_gain[candidate, ONE_SINE] > best_gain[places[0, 0], ONE_SINE]:
                    places[0, 0] = candidate
        elif turn > 0:
            shrinking *= 2.0 / (n_points - 1) if turn == 2 else 2.0 / (SHARPENING_POINTS - 1)
            count = sharpened if sharpened < frequencies.size else frequencies.size
            n_points, residual_model = SHARPENING_POINTS, NO_MODEL
        for item in range(count):
            candidate = places[0, item] if turn > 0 else item
            centre = best_frequency[candidate, places[1, item]] if turn > 0 else frequencies[item]
            reach = shrinking * reaches[candidate] if n_points > 1 else 0.0
            lowest, wanted_step = centre - reach, 2.0 * reach / (n_points - 1) if n_points > 1 else 0.0
            if step != wanted_step:
                # Candidates come in groups of equal reach, so this is rarely done again.
                step = wanted_step
                for i in range(n):
                    epochs[2, i], epochs[3, i] = wave(step * t[i])
            for i in range(n):
                epochs[0, i], epochs[1, i] = wave(lowest * t[i])
            for point in range(n_points):
                for model in range(N_MODELS):
                    gains[model] = 0.0
                for b in range(n_bands):
                    lo, hi, most = bounds[b], bounds[b + 1], max_harmonics[b]
                    needed = most if most < highest and residual_model == NO_MODEL else highest
                    for chain in range(1, chains):
                        fits = CHAIN_HIGHEST[chain] <= highest and CHAIN_SHORTEST[chain] <= most
                        if fits and CHAIN_HIGHEST[chain] > needed:
                            needed = CHAIN_HIGHEST[chain]
                    _moments(epochs, w, y, lo, hi, needed, sums, y_sums)
                    _fill_normal(sums, needed, normal)
                    if turn == 0 and point == n_points // 2:
                        window[candidate] += (sums[0, 1] * sums[0, 1] + sums[1, 1] * sums[1, 1]) * (hi - lo) / n
                    for chain in range(chains):
                        length = most if most < CHAIN_LENGTHS[chain] else CHAIN_LENGTHS[chain]
                        if residual_model != NO_MODEL:
                            if chain != MODEL_CHAINS[residual_model]:
                                continue
                            if MODEL_HARMONICS[residual_model] < length:
                                length = MODEL_HARMONICS[residual_model]
                        elif chain > 0 and (CHAIN_HIGHEST[chain] > highest or CHAIN_SHORTEST[chain] > most):
                            continue
                        elif chain == 0 and highest < length:
                            length = highest
                        determined = _chain_reductions(normal, y_sums, chain, length, factor, projected, reductions)
                        if residual_model != NO_MODEL:
                            _subtract(
                                chain, determined, epochs, w, y, b, lo, hi, sums, factor, projected, gains, coefficients
                            )
                            continue
                        for model in range(N_MODELS):
                            wanted = MODEL_HARMONICS[model]
                            harmonics = determined if determined < wanted else wanted
                            # Without its odd harmonics an even chain is another frequency's model.
                            if MODEL_CHAINS[model] != chain or harmonics == 0 or (chain > 0 and harmonics < wanted):
                                continue
                            left = 1.0 - reductions[harmonics] / coefficients[b, WHOLE]
                            if not left > 1.0 / LARGEST_GAIN_RATIO:
                                left = 1.0 / LARGEST_GAIN_RATIO
                            gains[model] -= 0.5 * (hi - lo) * math.log(left)
                if residual_model != NO_MODEL:
                    continue
                for model in range(N_MODELS):
                    if gains[model] > best_gain[candidate, model]:
                        best_gain[candidate, model] = gains[model]
                        best_frequency[candidate, model] = lowest + point * step
                for i in range(n):
                    c, s = epochs[0, i], epochs[1, i]
                    epochs[0, i] = c * epochs[2, i] - s * epochs[3, i]
                    epochs[1, i] = s * epochs[2, i] + c * epochs[3, i]
        if residual_model != NO_MODEL:
            memory = _correlation_length(epochs, w, bounds)
        if turn % 2 == 1:
            fill_scores(
                bounds, max_harmonics, best_frequency, best_gain, window, memory, baseline, cycles_per_harmonic,
                window_penalty, scores,
            )  # fmt: skip
            _fill_best(scores, sharpened, places)
    return memory


@part
def _subtract(
    chain: int, determined: int, epochs: Floats, w: Floats, y: Floats, band: int, begin: int, end: int, sums: Floats,
    factor: Floats, projected: Floats, solution: Floats, coefficients: Floats,
) -> None:  # fmt: skip
    """Fill the residuals and coefficients of a band from the factor of its normal equations."""
    for k in range(2 * HIGHEST_HARMONIC):
        coefficients[band, k] = 0.0
    for turn in range(2 * determined):
        row = 2 * determined - 1 - turn
        value = projected[row]
        for i in range(row + 1, 2 * determined):
            value -= factor[i, row] * solution[i]
        solution[row] = value * factor[row, row]
    for i in range(begin, end):
        epochs[RESIDUALS, i] = y[i]
    for position in range(determined):
        k = CHAINS[chain, position]
        cosine, sine = solution[2 * position], solution[2 * position + 1]
        coefficients[band, 2 * k - 2], coefficients[band, 2 * k - 1] = cosine, sine
        for i in range(begin, end):
            first_c, first_s = epochs[0, i], epochs[1, i]
            c, s = first_c, first_s
            for _ in range(k - 1):
                c, s = c * first_c - s * first_s, s * first_c + c * first_s
            epochs[RESIDUALS, i] -= cosine * (c - sums[0, k]) + sine * (s - sums[1, k])
    coefficients[band, LEFT] = 0.0
    for i in range(begin, end):
        coefficients[band, LEFT] += w[i] * epochs[RESIDUALS, i] * epochs[RESIDUALS, i]
