"""Exact weighted least-squares fits of harmonics at candidate frequencies, compiled.

A model is a set of harmonics of one frequency, the same in every band, each band with its own offset and
coefficients. Models are prefixes of a few chains of harmonics: one elimination of a chain's normal equations gives the
reduction of χ² of all its prefixes. The chain 1, 2, 3, … makes the usual truncated Fourier
series. The others begin with even harmonics, that is with a series at half the period, and add the first one or
two odd ones: a binary whose two minima hardly differ pays for one odd harmonic, not for all of them.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcdvt.compiled.kernel import fast_part, inlined_part, part, small_part
from lcdvt.features.waves import wave

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
ONE_SINE, NO_MODEL = 0, -1
LONGEST_LAG = 40
SHARPENING_POINTS = 5
# Of what the fits fill: the rows after cosines, sines and by how much they turn, and the columns of the weighted mean
# squares before and after. The right side of normal equations is their last column.
NOW, BEFORE, SINES_NOW, SINES_BEFORE, RESIDUALS, SCALED = range(4, 10)
WHOLE, LEFT = 2 * HIGHEST_HARMONIC, 2 * HIGHEST_HARMONIC + 1
RIGHT = 2 * HIGHEST_HARMONIC


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
    at a time, cosines and sines together, spare most of the traffic with memory.
    """
    sums[0, 0], sums[1, 0] = 1.0, 0.0
    c_1, c_2, c_3, c_4, c_5, s_1, s_2, s_3, s_4, s_5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    yc_1, yc_2, yc_3, yc_4, ys_1, ys_2, ys_3, ys_4 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(begin, end):
        twice, magnitude, before = 2.0 * epochs[0, i], y[i], w[i]
        now, sine = before * epochs[0, i], before * epochs[1, i]
        c_1 += now
        s_1 += sine
        yc_1 += magnitude * now
        ys_1 += magnitude * sine
        a, e = twice * now - before, twice * sine
        b, f = twice * a - now, twice * e - sine
        c, g = twice * b - a, twice * f - e
        d, h = twice * c - b, twice * g - f
        epochs[BEFORE, i], epochs[NOW, i], epochs[SINES_BEFORE, i], epochs[SINES_NOW, i] = c, d, g, h
        c_2 += a
        c_3 += b
        c_4 += c
        c_5 += d
        s_2 += e
        s_3 += f
        s_4 += g
        s_5 += h
        yc_2 += magnitude * a
        yc_3 += magnitude * b
        yc_4 += magnitude * c
        ys_2 += magnitude * e
        ys_3 += magnitude * f
        ys_4 += magnitude * g
    sums[0, 1], sums[0, 2], sums[0, 3], sums[0, 4], sums[0, 5] = c_1, c_2, c_3, c_4, c_5
    sums[1, 1], sums[1, 2], sums[1, 3], sums[1, 4], sums[1, 5] = s_1, s_2, s_3, s_4, s_5
    y_sums[0, 1], y_sums[0, 2], y_sums[0, 3], y_sums[0, 4] = yc_1, yc_2, yc_3, yc_4
    y_sums[1, 1], y_sums[1, 2], y_sums[1, 3], y_sums[1, 4] = ys_1, ys_2, ys_3, ys_4
    for k in range(6, 2 * highest + 1, 4):
        c_1, c_2, c_3, c_4, s_1, s_2, s_3, s_4 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        # The fifth harmonic's product with the magnitudes comes with the sixth's, and so on.
        yc_1, yc_2, yc_3, yc_4, ys_1, ys_2, ys_3, ys_4 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if k <= highest + 1:
            for i in range(begin, end):
                twice, magnitude = 2.0 * epochs[0, i], y[i]
                before, now, sine_before, sine = (
                    epochs[BEFORE, i], epochs[NOW, i], epochs[SINES_BEFORE, i], epochs[SINES_NOW, i]
                )  # fmt: skip
                a, e = twice * now - before, twice * sine - sine_before
                b, f = twice * a - now, twice * e - sine
                c, g = twice * b - a, twice * f - e
                d, h = twice * c - b, twice * g - f
                epochs[BEFORE, i], epochs[NOW, i], epochs[SINES_BEFORE, i], epochs[SINES_NOW, i] = c, d, g, h
                c_1 += a
                c_2 += b
                c_3 += c
                c_4 += d
                s_1 += e
                s_2 += f
                s_3 += g
                s_4 += h
                yc_1 += magnitude * now
                yc_2 += magnitude * a
                yc_3 += magnitude * b
                yc_4 += magnitude * c
                ys_1 += magnitude * sine
                ys_2 += magnitude * e
                ys_3 += magnitude * f
                ys_4 += magnitude * g
        else:
            for i in range(begin, end):
                twice = 2.0 * epochs[0, i]
                before, now, sine_before, sine = (
                    epochs[BEFORE, i], epochs[NOW, i], epochs[SINES_BEFORE, i], epochs[SINES_NOW, i]
                )  # fmt: skip
                a, e = twice * now - before, twice * sine - sine_before
                b, f = twice * a - now, twice * e - sine
                c, g = twice * b - a, twice * f - e
                d, h = twice * c - b, twice * g - f
                epochs[BEFORE, i], epochs[NOW, i], epochs[SINES_BEFORE, i], epochs[SINES_NOW, i] = c, d, g, h
                c_1 += a
                c_2 += b
                c_3 += c
                c_4 += d
                s_1 += e
                s_2 += f
                s_3 += g
                s_4 += h
        sums[0, k], sums[0, k + 1], sums[0, k + 2], sums[0, k + 3] = c_1, c_2, c_3, c_4
        sums[1, k], sums[1, k + 1], sums[1, k + 2], sums[1, k + 3] = s_1, s_2, s_3, s_4
        if k <= highest + 1:
            y_sums[0, k - 1], y_sums[0, k], y_sums[0, k + 1], y_sums[0, k + 2] = yc_1, yc_2, yc_3, yc_4
            y_sums[1, k - 1], y_sums[1, k], y_sums[1, k + 1], y_sums[1, k + 2] = ys_1, ys_2, ys_3, ys_4


@part
def _fill_normal(sums: Floats, y_sums: Floats, chain: Integers, harmonics: int, normal: Floats) -> None:
    """Fill the normal equations of the first harmonics of a chain, cosine and sine in turn, the mean projected out.

    Products of two cosines or sines are made of cosines of sum and difference, mixed ones of sines. The matrix is
    symmetric; only what is on and above its diagonal is filled.
    """
    for right in range(harmonics):
        j, column = chain[right], 2 * right
        cos_j, sin_j = sums[0, j], sums[1, j]
        normal[column, RIGHT], normal[column + 1, RIGHT] = y_sums[0, j], y_sums[1, j]
        for left in range(right + 1):
            k, row = chain[left], 2 * left
            cos_k, sin_k, even_sum, odd_sum = sums[0, k], sums[1, k], sums[0, j + k], sums[1, j + k]
            gap = j - k if j > k else k - j
            even_gap, odd_gap = sums[0, gap], sums[1, gap] if j > k else -sums[1, gap]
            normal[row, column] = 0.5 * (even_sum + even_gap) - cos_k * cos_j
            normal[row, column + 1] = 0.5 * (odd_sum + odd_gap) - cos_k * sin_j
            normal[row + 1, column] = 0.5 * (odd_sum - odd_gap) - sin_k * cos_j
            normal[row + 1, column + 1] = 0.5 * (even_gap - even_sum) - sin_k * sin_j


@part
def _eliminate(normal: Floats, first: int, stop: int, size: int, reductions: Floats) -> int:
    """Eliminate the harmonics `first` to `stop` from normal equations of `size` harmonics; return where it had to stop.

    `reductions[i]` becomes by how much the first i harmonics reduce Σ w y², beginning at `reductions[first]`. It stops
    at a harmonic that the epochs do not determine. Cosine and sine go together, which keeps the numbers in registers.
    """
    for harmonic in range(first, stop):
        one, two = 2 * harmonic, 2 * harmonic + 1
        a, b, d = normal[one, one], normal[one, two], normal[two, two]
        if a < SMALLEST_PIVOT or d - b * b / a < SMALLEST_PIVOT:
            return harmonic
        scale = 1.0 / (a * d - b * b)
        a, b, d = a * scale, b * scale, d * scale
        y, z = normal[one, RIGHT], normal[two, RIGHT]
        reductions[harmonic + 1] = reductions[harmonic] + d * y * y + a * z * z - 2.0 * b * y * z
        for row in range(2 * harmonic + 2, 2 * size, 2):
            p, q, r, s = normal[one, row], normal[one, row + 1], normal[two, row], normal[two, row + 1]
            # The rows' shares of both.
            f, g, h, k = d * p - b * r, a * r - b * p, d * q - b * s, a * s - b * q
            for column in range(row, 2 * size, 2):
                p, q, r, s = normal[one, column], normal[one, column + 1], normal[two, column], normal[two, column + 1]
                normal[row, column] -= f * p + g * r
                normal[row, column + 1] -= f * q + g * s
                normal[row + 1, column] -= h * p + k * r
                normal[row + 1, column + 1] -= h * q + k * s
            normal[row, RIGHT] -= f * y + g * z
            normal[row + 1, RIGHT] -= h * y + k * z
    return stop


@inlined_part
def _reduce(
    sums: Floats, y_sums: Floats, highest: int, most: int, normal: Floats, reductions: Floats, tail: Floats,
    tail_reductions: Floats, reduced: Floats,
) -> None:  # fmt: skip
    """Fill by how much each model with harmonics up to `highest` reduces Σ w y² in a band; −1 where it cannot be told.

    A band has epochs for `most` harmonics. The chains of even harmonics share their beginning: each time another even
    one is eliminated, the odd ones, which come last, are eliminated in a copy of what is left of them.
    """
    for model in range(N_MODELS):
        reduced[model] = -1.0
    reductions[0] = 0.0
    length = most if most < highest else highest
    _fill_normal(sums, y_sums, CHAINS[0], length, normal)
    determined = _eliminate(normal, np.int64(0), length, length, reductions)
    for model in range(HIGHEST_HARMONIC):
        harmonics = model + 1 if model < determined else determined
        if harmonics > 0:
            reduced[model] = reductions[harmonics]
    evens = np.int64(0)
    for chain in range(1, CHAIN_HIGHEST.size):
        if CHAIN_HIGHEST[chain] <= highest and CHAIN_SHORTEST[chain] <= most:
            evens = np.int64(chain + 1)
    if evens == 0:
        return
    odds = CHAIN_LENGTHS[evens - 1] - evens
    _fill_normal(sums, y_sums, CHAINS[evens - 1], evens + odds, normal)
    for chain in range(evens):
        if _eliminate(normal, chain, chain + 1, evens + odds, reductions) == chain:
            return
        if chain == 0:
            continue
        for row in range(2 * odds):
            for column in range(2 * odds):
                tail[row, column] = normal[2 * evens + row, 2 * evens + column]
            tail[row, RIGHT] = normal[2 * evens + row, RIGHT]
        tail_reductions[0] = reductions[chain + 1]
        allowed = most - chain - 1
        allowed = allowed if allowed < odds else odds
        determined = _eliminate(tail, np.int64(0), allowed, allowed, tail_reductions)
        # Without its odd harmonics an even chain is another frequency's model.
        for model in range(HIGHEST_HARMONIC, N_MODELS):
            odd = MODEL_HARMONICS[model] - chain - 1
            if MODEL_CHAINS[model] == chain and odd <= determined:
                reduced[model] = tail_reductions[odd]


class FitWork(NamedTuple):
    """Arrays that the fits fill.

    Attributes
    ----------
    epochs
        Rows of one number per epoch; `RESIDUALS` are one of them.
    small
        Rows for moments, normal equations and what comes of them.
    coefficients
        A row for each band: of the harmonics, and the weighted mean squares of magnitudes and residuals.
    places
        Chosen candidates and their models.
    table
        Best frequency, gain and score of each candidate and model.
    window
        The spectral window's power at each candidate.
    """

    epochs: Floats
    small: Floats
    coefficients: Floats
    places: Integers
    table: Floats
    window: Floats

    @classmethod
    def of(cls, bands: Bands, candidates: int) -> "FitWork":
        """Return arrays for so many candidates."""
        return cls(
            np.empty((SCALED + 1, bands.t.size)),
            _SMALL,
            np.empty((bands.bounds.size - 1, 2 * HIGHEST_HARMONIC + 2)),
            np.empty((2, candidates), dtype=np.int64),
            np.empty((3, candidates, N_MODELS)),
            np.empty(candidates),
        )


def room_for_one() -> tuple[Integers, Floats, Floats]:
    """Return the last three arrays that `fit_model` takes."""
    return np.empty((2, 1), dtype=np.int64), np.empty((3, 1, N_MODELS)), np.empty(2)


# Moments come four at a time, the last of sixteen at 17. One for all threads: a kernel holds the interpreter's lock.
_SMALL = np.empty((2 * HIGHEST_HARMONIC + 12, 2 * HIGHEST_HARMONIC + 2))


@small_part
def fill_scores(
    bounds: Integers, max_harmonics: Integers, count: int, frequencies: Floats, gains: Floats, window: Floats,
    memory: float, baseline: float, cycles_per_harmonic: float, window_penalty: float, scores: Floats,
) -> None:  # fmt: skip
    """Fill log-likelihoods minus penalties, both for the effective number of epochs; −∞ for models not allowed."""
    for model in range(N_MODELS):
        wanted, penalty, is_determined = MODEL_HARMONICS[model], 0.0, False
        for b in range(bounds.size - 1):
            used = wanted if wanted < max_harmonics[b] else max_harmonics[b]
            is_determined = is_determined or used == wanted
            effective = (bounds[b + 1] - bounds[b]) / memory
            penalty += used * math.log(effective if effective > 3.0 else 3.0)
        for place in range(count):
            most = frequencies[place, model] * baseline / cycles_per_harmonic
            is_allowed = is_determined and (most >= MODEL_HIGHEST[model] or MODEL_HIGHEST[model] == 1)
            scores[place, model] = -np.inf
            if is_allowed and gains[place, model] > 0.0:
                scores[place, model] = gains[place, model] / memory - penalty - window_penalty * window[place]


@small_part
def fill_best(scores: Floats, count: int, wanted: int, places: Integers) -> None:
    """Fill the candidates with the highest scores, highest first, and in the second row the best model of each."""
    for rank in range(wanted if wanted < count else count):
        chosen, chosen_model = -1, 0
        for place in range(count):
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


@small_part
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


@part
def fit_all(
    t: Floats, w: Floats, y: Floats, bounds: Integers, max_harmonics: Integers, frequencies: Floats, reaches: Floats,
    count: int, n_points: int, highest: int, model: int, sharpenings: int, sharpened: int, baseline: float,
    cycles_per_harmonic: float, window_penalty: float, epochs: Floats, small: Floats, coefficients: Floats,
    places: Integers, table: Floats, window: Floats,
) -> float:  # fmt: skip
    """Fit every model with harmonics up to `highest` at `n_points` frequencies around each of `count` candidates.

    Of each candidate and model the best frequency and its log-likelihood above a constant's, summed over bands,
    ½ n ln(χ²₀/χ²), the noise level being free, go to the first two rows of `table`, and the spectral window's power, 0
    to 1, to `window`. With a model instead of `NO_MODEL`, its residuals (magnitudes) at the first frequency and its
    coefficients are filled, and how many epochs tell as much as one independent epoch is returned.

    `sharpened` of the candidates, the best by the rules of `fill_scores`, are fitted again, `sharpenings` times ever
    closer to their tops: strong signals with many harmonics have tops much narrower than a peak of the scan, and
    without this, chance on the grid would decide between them. One loop for all, because it holds the one place where
    models are fitted: first every candidate; then, for each sharpening, the best sine, whose residuals measure the
    noise's memory, and the best candidates.
    """
    n, n_bands = t.size, bounds.size - 1
    sums, y_sums, reductions, tail_reductions, reduced = small[0:2], small[2:4], small[4], small[5], small[6]
    gains, tail, normal = small[7], small[8:12], small[12 : 12 + 2 * HIGHEST_HARMONIC]
    best_frequency, best_gain, scores = table[0], table[1], table[2]
    for b in range(n_bands):
        total = 0.0
        for i in range(bounds[b], bounds[b + 1]):
            total += w[i] * y[i] * y[i]
        coefficients[b, WHOLE] = total
    for candidate in range(count):
        window[candidate] = 0.0
        for each in range(N_MODELS):
            best_frequency[candidate, each], best_gain[candidate, each] = 0.0, -np.inf
    memory, step, shrinking = 1.0, -1.0, 1.0
    for turn in range(1 + 2 * sharpenings):
        items, points, most_harmonics, residual_model = count, n_points, highest, model
        if turn % 2 == 1:
            items, points, most_harmonics, residual_model = 1, 1, 1, ONE_SINE
            places[0, 0], places[1, 0] = 0, ONE_SINE
            for candidate in range(count):
                if best_gain[candidate, ONE_SINE] > best_gain[places[0, 0], ONE_SINE]:
                    places[0, 0] = candidate
        elif turn > 0:
            shrinking *= 2.0 / (points - 1) if turn == 2 else 2.0 / (SHARPENING_POINTS - 1)
            items = sharpened if sharpened < count else count
            points, residual_model = SHARPENING_POINTS, NO_MODEL
        for item in range(items):
            candidate = places[0, item] if turn > 0 else item
            centre = best_frequency[candidate, places[1, item]] if turn > 0 else frequencies[item]
            reach = shrinking * reaches[candidate] if points > 1 else 0.0
            lowest, wanted_step = centre - reach, 2.0 * reach / (points - 1) if points > 1 else 0.0
            if step != wanted_step:
                # Candidates come in groups of equal reach, so this is rarely done again.
                step = wanted_step
                for i in range(n):
                    epochs[2, i], epochs[3, i] = wave(step * t[i])
            for i in range(n):
                epochs[0, i], epochs[1, i] = wave(lowest * t[i])
            for point in range(points):
                for each in range(N_MODELS):
                    gains[each] = 0.0
                for b in range(n_bands):
                    lo, hi, most = bounds[b], bounds[b + 1], max_harmonics[b]
                    needed = most if most < most_harmonics and residual_model == NO_MODEL else most_harmonics
                    for chain in range(1, CHAIN_HIGHEST.size):
                        fits = CHAIN_HIGHEST[chain] <= most_harmonics and CHAIN_SHORTEST[chain] <= most
                        if fits and CHAIN_HIGHEST[chain] > needed:
                            needed = CHAIN_HIGHEST[chain]
                    _moments(epochs, w, y, lo, hi, needed, sums, y_sums)
                    if turn == 0 and point == points // 2:
                        window[candidate] += (sums[0, 1] * sums[0, 1] + sums[1, 1] * sums[1, 1]) * (hi - lo) / n
                    if residual_model != NO_MODEL:
                        harmonics = MODEL_HARMONICS[residual_model]
                        harmonics = harmonics if harmonics < most else most
                        members = CHAINS[MODEL_CHAINS[residual_model]]
                        _fill_normal(sums, y_sums, members, harmonics, normal)
                        reductions[0] = 0.0
                        determined = _eliminate(normal, np.int64(0), harmonics, harmonics, reductions)
                        _subtract(members, determined, epochs, w, y, b, lo, hi, sums, normal, reductions, coefficients)
                        continue
                    _reduce(sums, y_sums, most_harmonics, most, normal, reductions, tail, tail_reductions, reduced)
                    gain, of_reduction = 0.0, 0.0
                    for each in range(N_MODELS):
                        # Models beyond the highest harmonic are all alike.
                        if reduced[each] >= 0.0 and reduced[each] != of_reduction:
                            of_reduction = reduced[each]
                            left = 1.0 - of_reduction / coefficients[b, WHOLE]
                            if not left > 1.0 / LARGEST_GAIN_RATIO:
                                left = 1.0 / LARGEST_GAIN_RATIO
                            gain = -0.5 * (hi - lo) * math.log(left)
                        if reduced[each] >= 0.0:
                            gains[each] += gain
                if residual_model != NO_MODEL:
                    continue
                for each in range(N_MODELS):
                    if gains[each] > best_gain[candidate, each]:
                        best_gain[candidate, each] = gains[each]
                        best_frequency[candidate, each] = lowest + point * step
                for i in range(n):
                    c, s = epochs[0, i], epochs[1, i]
                    epochs[0, i] = c * epochs[2, i] - s * epochs[3, i]
                    epochs[1, i] = s * epochs[2, i] + c * epochs[3, i]
        if residual_model != NO_MODEL:
            memory = _correlation_length(epochs, w, bounds)
        if turn % 2 == 1:
            fill_scores(
                bounds, max_harmonics, count, best_frequency, best_gain, window, memory, baseline, cycles_per_harmonic,
                window_penalty, scores,
            )  # fmt: skip
            fill_best(scores, count, sharpened, places)
    return memory


@small_part
def _subtract(
    chain: Integers, determined: int, epochs: Floats, w: Floats, y: Floats, band: int, begin: int, end: int,
    sums: Floats, normal: Floats, solution: Floats, coefficients: Floats,
) -> None:  # fmt: skip
    """Fill the residuals and coefficients of a band from its normal equations after the elimination."""
    for k in range(2 * HIGHEST_HARMONIC):
        coefficients[band, k] = 0.0
    for turn in range(determined):
        one = 2 * (determined - 1 - turn)
        two = one + 1
        y_one, y_two = normal[one, RIGHT], normal[two, RIGHT]
        for i in range(one + 2, 2 * determined):
            y_one -= normal[one, i] * solution[i]
            y_two -= normal[two, i] * solution[i]
        a, b, d = normal[one, one], normal[one, two], normal[two, two]
        determinant = a * d - b * b
        solution[one], solution[two] = (d * y_one - b * y_two) / determinant, (a * y_two - b * y_one) / determinant
    for i in range(begin, end):
        epochs[RESIDUALS, i] = y[i]
    for position in range(determined):
        k = chain[position]
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


@small_part
def fit_model(
    t: Floats, w: Floats, y: Floats, bounds: Integers, max_harmonics: Integers, frequency: float, model: int,
    epochs: Floats, small: Floats, coefficients: Floats, place: Integers, row: Floats, single: Floats,
) -> float:  # fmt: skip
    """Fill residuals and coefficients of one model at one frequency; return the noise's memory, as `fit_all` does.

    `place` and `row` have room for one candidate, `single` for its frequency and window.
    """
    single[0] = frequency
    one, none = np.int64(1), np.int64(0)
    return fit_all(
        t, w, y, bounds, max_harmonics, single[0:1], single[0:1], one, one, MODEL_HIGHEST[model], model, none, none,
        0.0, 1.0, 0.0, epochs, small, coefficients, place, row, single[1:2],
    )  # fmt: skip
