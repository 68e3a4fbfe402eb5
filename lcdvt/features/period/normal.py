"""Normal equations of harmonics, of several fits side by side, compiled.

A model is a set of harmonics of one frequency. Models are prefixes of a few chains of harmonics: one elimination of a
chain's normal equations gives the reduction of χ² of all its prefixes. The chain 1, 2, 3, … makes the usual truncated
Fourier series. The others begin with even harmonics, that is with a series at half the period, and add the first one or
two odd ones: a binary whose two minima hardly differ pays for one odd harmonic, not for all of them.

With few epochs the equations cost more than their sums. So the sums of `LANES` fits, at neighbouring frequencies or of
several bands, are gathered first, each number of a fit at its own place of a row, and all fits go through the
elimination together, several at a time in the processor. Every fit's numbers are those that it would have alone.
"""

import numpy as np
from numpy.typing import NDArray

from lcdvt.compiled.kernel import apart_part, fast_part, inlined_part

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Singles = NDArray[np.float32]

HIGHEST_HARMONIC = 8
# Up to so many, sums of all harmonics fit into the processor's registers.
FEW_HARMONICS = 4
# Up to so many, half of the last steps are left out.
SOME_HARMONICS = 6
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
# The rows of numbers per epoch, after cosines, sines and by how much they turn.
NOW, BEFORE, SINES_NOW, SINES_BEFORE, RESIDUALS, SCALED = range(4, 10)
# Fits side by side: each number has a row with a place for every fit. The rows of sums are one for each multiple of the
# phase, none among them.
LANES = 8
COSINES, SINES = 0, (2 * HIGHEST_HARMONIC + 1) * LANES
Y_COSINES, Y_SINES = 2 * SINES, 2 * SINES + (HIGHEST_HARMONIC + 1) * LANES
# An equation has one number for each column and, as the last, its right side. Of odd harmonics there are at most two.
RIGHT = 2 * HIGHEST_HARMONIC * LANES
EQUATION = RIGHT + LANES
MOST_ODDS = 2
# Where the arrays begin that stand one after the other: sums; normal equations, and a copy of those of odd harmonics;
# of an elimination, the two equations that are eliminated, others' shares of them, and their inverse; what the
# harmonics of the first chain reduce, even ones, the odd ones after these, and the models that begin with even ones.
SUMS, NORMAL = 0, Y_SINES + (HIGHEST_HARMONIC + 1) * LANES
TAIL = NORMAL + 2 * HIGHEST_HARMONIC * EQUATION
PIVOTS = TAIL + 2 * MOST_ODDS * EQUATION
SHARES = PIVOTS + 2 * EQUATION
INVERSE = 4 * LANES
REDUCTIONS = SHARES + 7 * LANES
EVEN_REDUCTIONS = REDUCTIONS + (HIGHEST_HARMONIC + 1) * LANES
TAIL_REDUCTIONS = EVEN_REDUCTIONS + (HIGHEST_HARMONIC + 1) * LANES
OF_EVEN_MODELS = TAIL_REDUCTIONS + (MOST_ODDS + 1) * LANES
SIDE_BY_SIDE = OF_EVEN_MODELS + (N_MODELS - HIGHEST_HARMONIC) * LANES


@fast_part
def fill_few_moments(
    epochs: Floats | Singles, w: Floats | Singles, y: Floats | Singles, begin: int, end: int, sums: Floats, lane: int
) -> None:
    """Fill what `fill_moments` does for at most four harmonics, in one loop that keeps nothing in memory.

    Sums have the precision of what is summed.
    """
    zero = w.dtype.type(0.0)
    c_1, c_2, c_3, c_4, c_5, c_6, c_7, c_8 = zero, zero, zero, zero, zero, zero, zero, zero
    s_1, s_2, s_3, s_4, s_5, s_6, s_7, s_8 = zero, zero, zero, zero, zero, zero, zero, zero
    yc_1, yc_2, yc_3, yc_4, ys_1, ys_2, ys_3, ys_4 = zero, zero, zero, zero, zero, zero, zero, zero
    for i in range(begin, end):
        twice, magnitude, weight = epochs[0, i] + epochs[0, i], y[i], w[i]
        a, e = weight * epochs[0, i], weight * epochs[1, i]
        b, f = twice * a - weight, twice * e
        c, g = twice * b - a, twice * f - e
        d, h = twice * c - b, twice * g - f
        c_1 += a
        c_2 += b
        c_3 += c
        c_4 += d
        s_1 += e
        s_2 += f
        s_3 += g
        s_4 += h
        yc_1 += magnitude * a
        yc_2 += magnitude * b
        yc_3 += magnitude * c
        yc_4 += magnitude * d
        ys_1 += magnitude * e
        ys_2 += magnitude * f
        ys_3 += magnitude * g
        ys_4 += magnitude * h
        a, e = twice * d - c, twice * h - g
        b, f = twice * a - d, twice * e - h
        c, g = twice * b - a, twice * f - e
        d, h = twice * c - b, twice * g - f
        c_5 += a
        c_6 += b
        c_7 += c
        c_8 += d
        s_5 += e
        s_6 += f
        s_7 += g
        s_8 += h
    sums[COSINES + lane], sums[SINES + lane] = 1.0, 0.0
    at = LANES + lane
    sums[COSINES + at], sums[SINES + at] = c_1, s_1
    sums[COSINES + at + LANES], sums[SINES + at + LANES] = c_2, s_2
    sums[COSINES + at + 2 * LANES], sums[SINES + at + 2 * LANES] = c_3, s_3
    sums[COSINES + at + 3 * LANES], sums[SINES + at + 3 * LANES] = c_4, s_4
    sums[COSINES + at + 4 * LANES], sums[SINES + at + 4 * LANES] = c_5, s_5
    sums[COSINES + at + 5 * LANES], sums[SINES + at + 5 * LANES] = c_6, s_6
    sums[COSINES + at + 6 * LANES], sums[SINES + at + 6 * LANES] = c_7, s_7
    sums[COSINES + at + 7 * LANES], sums[SINES + at + 7 * LANES] = c_8, s_8
    sums[Y_COSINES + at], sums[Y_SINES + at] = yc_1, ys_1
    sums[Y_COSINES + at + LANES], sums[Y_SINES + at + LANES] = yc_2, ys_2
    sums[Y_COSINES + at + 2 * LANES], sums[Y_SINES + at + 2 * LANES] = yc_3, ys_3
    sums[Y_COSINES + at + 3 * LANES], sums[Y_SINES + at + 3 * LANES] = yc_4, ys_4


@fast_part
def fill_moments(
    epochs: Floats, w: Floats, y: Floats, begin: int, end: int, highest: int, sums: Floats, lane: int
) -> None:
    """Fill a fit's sums of w cos kφ and w sin kφ (k ≤ 2 highest), and of w y cos kφ and w y sin kφ (k ≤ highest).

    Chebyshev's recurrence f(k + 1) = 2 cos φ f(k) − f(k − 1) holds for the weighted functions as well; several steps
    at a time, cosines and sines together, spare most of the traffic with memory. So there may be a few more than asked
    for.
    """
    if highest <= FEW_HARMONICS:
        fill_few_moments(epochs, w, y, begin, end, sums, lane)
        return
    sums[COSINES + lane], sums[SINES + lane] = 1.0, 0.0
    c_1, c_2, c_3, c_4, s_1, s_2, s_3, s_4 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    yc_1, yc_2, yc_3, yc_4, ys_1, ys_2, ys_3, ys_4 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(begin, end):
        twice, magnitude, weight = 2.0 * epochs[0, i], y[i], w[i]
        a, e = weight * epochs[0, i], weight * epochs[1, i]
        b, f = twice * a - weight, twice * e
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
        yc_1 += magnitude * a
        yc_2 += magnitude * b
        yc_3 += magnitude * c
        yc_4 += magnitude * d
        ys_1 += magnitude * e
        ys_2 += magnitude * f
        ys_3 += magnitude * g
        ys_4 += magnitude * h
    at = LANES + lane
    sums[COSINES + at], sums[SINES + at] = c_1, s_1
    sums[COSINES + at + LANES], sums[SINES + at + LANES] = c_2, s_2
    sums[COSINES + at + 2 * LANES], sums[SINES + at + 2 * LANES] = c_3, s_3
    sums[COSINES + at + 3 * LANES], sums[SINES + at + 3 * LANES] = c_4, s_4
    sums[Y_COSINES + at], sums[Y_SINES + at] = yc_1, ys_1
    sums[Y_COSINES + at + LANES], sums[Y_SINES + at + LANES] = yc_2, ys_2
    sums[Y_COSINES + at + 2 * LANES], sums[Y_SINES + at + 2 * LANES] = yc_3, ys_3
    sums[Y_COSINES + at + 3 * LANES], sums[Y_SINES + at + 3 * LANES] = yc_4, ys_4
    c_1, c_2, c_3, c_4, s_1, s_2, s_3, s_4 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    yc_1, yc_2, yc_3, yc_4, ys_1, ys_2, ys_3, ys_4 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
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
        yc_1 += magnitude * a
        yc_2 += magnitude * b
        yc_3 += magnitude * c
        yc_4 += magnitude * d
        ys_1 += magnitude * e
        ys_2 += magnitude * f
        ys_3 += magnitude * g
        ys_4 += magnitude * h
    at = 5 * LANES + lane
    sums[COSINES + at], sums[SINES + at] = c_1, s_1
    sums[COSINES + at + LANES], sums[SINES + at + LANES] = c_2, s_2
    sums[COSINES + at + 2 * LANES], sums[SINES + at + 2 * LANES] = c_3, s_3
    sums[COSINES + at + 3 * LANES], sums[SINES + at + 3 * LANES] = c_4, s_4
    sums[Y_COSINES + at], sums[Y_SINES + at] = yc_1, ys_1
    sums[Y_COSINES + at + LANES], sums[Y_SINES + at + LANES] = yc_2, ys_2
    sums[Y_COSINES + at + 2 * LANES], sums[Y_SINES + at + 2 * LANES] = yc_3, ys_3
    sums[Y_COSINES + at + 3 * LANES], sums[Y_SINES + at + 3 * LANES] = yc_4, ys_4
    at = 9 * LANES + lane
    if highest <= SOME_HARMONICS:
        c_1, c_2, c_3, c_4, s_1, s_2, s_3, s_4 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(begin, end):
            twice = 2.0 * epochs[0, i]
            before, now, sine_before, sine = (
                epochs[BEFORE, i], epochs[NOW, i], epochs[SINES_BEFORE, i], epochs[SINES_NOW, i]
            )  # fmt: skip
            a, e = twice * now - before, twice * sine - sine_before
            b, f = twice * a - now, twice * e - sine
            c, g = twice * b - a, twice * f - e
            c_1 += a
            c_2 += b
            c_3 += c
            c_4 += twice * c - b
            s_1 += e
            s_2 += f
            s_3 += g
            s_4 += twice * g - f
        sums[COSINES + at], sums[SINES + at] = c_1, s_1
        sums[COSINES + at + LANES], sums[SINES + at + LANES] = c_2, s_2
        sums[COSINES + at + 2 * LANES], sums[SINES + at + 2 * LANES] = c_3, s_3
        sums[COSINES + at + 3 * LANES], sums[SINES + at + 3 * LANES] = c_4, s_4
        return
    c_1, c_2, c_3, c_4, c_5, c_6, c_7, c_8 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    s_1, s_2, s_3, s_4, s_5, s_6, s_7, s_8 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(begin, end):
        twice = 2.0 * epochs[0, i]
        before, now, sine_before, sine = (
            epochs[BEFORE, i], epochs[NOW, i], epochs[SINES_BEFORE, i], epochs[SINES_NOW, i]
        )  # fmt: skip
        a, e = twice * now - before, twice * sine - sine_before
        b, f = twice * a - now, twice * e - sine
        c, g = twice * b - a, twice * f - e
        d, h = twice * c - b, twice * g - f
        c_1 += a
        c_2 += b
        c_3 += c
        c_4 += d
        s_1 += e
        s_2 += f
        s_3 += g
        s_4 += h
        a, e = twice * d - c, twice * h - g
        b, f = twice * a - d, twice * e - h
        c, g = twice * b - a, twice * f - e
        d, h = twice * c - b, twice * g - f
        c_5 += a
        c_6 += b
        c_7 += c
        c_8 += d
        s_5 += e
        s_6 += f
        s_7 += g
        s_8 += h
    sums[COSINES + at], sums[SINES + at] = c_1, s_1
    sums[COSINES + at + LANES], sums[SINES + at + LANES] = c_2, s_2
    sums[COSINES + at + 2 * LANES], sums[SINES + at + 2 * LANES] = c_3, s_3
    sums[COSINES + at + 3 * LANES], sums[SINES + at + 3 * LANES] = c_4, s_4
    sums[COSINES + at + 4 * LANES], sums[SINES + at + 4 * LANES] = c_5, s_5
    sums[COSINES + at + 5 * LANES], sums[SINES + at + 5 * LANES] = c_6, s_6
    sums[COSINES + at + 6 * LANES], sums[SINES + at + 6 * LANES] = c_7, s_7
    sums[COSINES + at + 7 * LANES], sums[SINES + at + 7 * LANES] = c_8, s_8


@apart_part
def fill_normal(sums: Floats, chain: Integers, harmonics: int, normal: Floats, width: int) -> None:
    """Fill the normal equations of the first harmonics of a chain, cosine and sine in turn, the mean projected out.

    Products of two cosines or sines are made of cosines of sum and difference, mixed ones of sines. The matrix is
    symmetric; only what is on and above its diagonal is filled. Of the fits side by side there are `width`.
    """
    for right in range(harmonics):
        j = chain[right] * LANES
        at = 2 * right * EQUATION + RIGHT
        for lane in range(width):
            normal[at + lane], normal[at + EQUATION + lane] = sums[Y_COSINES + j + lane], sums[Y_SINES + j + lane]
        for left in range(right + 1):
            k = chain[left] * LANES
            gap, sign = j - k if j > k else k - j, 1.0 if j > k else -1.0
            at = 2 * left * EQUATION + 2 * right * LANES
            for lane in range(width):
                cos_j, sin_j = sums[COSINES + j + lane], sums[SINES + j + lane]
                cos_k, sin_k = sums[COSINES + k + lane], sums[SINES + k + lane]
                even_sum, odd_sum = sums[COSINES + j + k + lane], sums[SINES + j + k + lane]
                even_gap, odd_gap = sums[COSINES + gap + lane], sign * sums[SINES + gap + lane]
                normal[at + lane] = 0.5 * (even_sum + even_gap) - cos_k * cos_j
                normal[at + LANES + lane] = 0.5 * (odd_sum + odd_gap) - cos_k * sin_j
                normal[at + EQUATION + lane] = 0.5 * (odd_sum - odd_gap) - sin_k * cos_j
                normal[at + EQUATION + LANES + lane] = 0.5 * (even_gap - even_sum) - sin_k * sin_j


@apart_part
def eliminate(
    normal: Floats, first: int, stop: int, size: int, pivots: Floats, shares: Floats, reductions: Floats, width: int
) -> None:
    """Eliminate the harmonics `first` to `stop` from normal equations of `size` harmonics.

    The i-th row of `reductions` becomes by how much the first i harmonics reduce Σ w y², beginning with the one at
    `first`; it is −∞ or NaN from a harmonic on that the epochs do not determine. Cosine and sine go together, which
    keeps the numbers in registers.
    """
    for harmonic in range(first, stop):
        one, left = 2 * harmonic * EQUATION, 2 * harmonic * LANES
        for place in range(left, 2 * size * LANES):
            pivots[place], pivots[EQUATION + place] = normal[one + place], normal[one + EQUATION + place]
        for lane in range(width):
            y, z = normal[one + RIGHT + lane], normal[one + EQUATION + RIGHT + lane]
            pivots[RIGHT + lane], pivots[EQUATION + RIGHT + lane] = y, z
            one_one, one_two = normal[one + left + lane], normal[one + left + LANES + lane]
            two_two = normal[one + left + EQUATION + LANES + lane]
            is_lost = one_one < SMALLEST_PIVOT or two_two - one_two * one_two / one_one < SMALLEST_PIVOT
            scale = 1.0 / (one_one * two_two - one_two * one_two)
            a, b, d = one_one * scale, one_two * scale, two_two * scale
            shares[INVERSE + lane], shares[INVERSE + LANES + lane], shares[INVERSE + 2 * LANES + lane] = a, b, d
            more = reductions[left // 2 + lane] + d * y * y + a * z * z - 2.0 * b * y * z
            reductions[left // 2 + LANES + lane] = -np.inf if is_lost else more
        for row in range(2 * harmonic + 2, 2 * size, 2):
            column, right = row * LANES, row * EQUATION + RIGHT
            for lane in range(width):
                a, b = shares[INVERSE + lane], shares[INVERSE + LANES + lane]
                d = shares[INVERSE + 2 * LANES + lane]
                p, q = pivots[column + lane], pivots[column + LANES + lane]
                r, s = pivots[EQUATION + column + lane], pivots[EQUATION + column + LANES + lane]
                f, g, h, k = d * p - b * r, a * r - b * p, d * q - b * s, a * s - b * q
                shares[lane], shares[LANES + lane] = f, g
                shares[2 * LANES + lane], shares[3 * LANES + lane] = h, k
                y, z = pivots[RIGHT + lane], pivots[EQUATION + RIGHT + lane]
                normal[right + lane] -= f * y + g * z
                normal[right + EQUATION + lane] -= h * y + k * z
            for other in range(row, 2 * size, 2):
                column, at = other * LANES, row * EQUATION + other * LANES
                for lane in range(width):
                    f, g = shares[lane], shares[LANES + lane]
                    h, k = shares[2 * LANES + lane], shares[3 * LANES + lane]
                    p, q = pivots[column + lane], pivots[column + LANES + lane]
                    r, s = pivots[EQUATION + column + lane], pivots[EQUATION + column + LANES + lane]
                    normal[at + lane] -= f * p + g * r
                    normal[at + LANES + lane] -= f * q + g * s
                    normal[at + EQUATION + lane] -= h * p + k * r
                    normal[at + EQUATION + LANES + lane] -= h * q + k * s


@inlined_part
def reduce(
    sums: Floats, highest: int, most: int, normal: Floats, tail: Floats, pivots: Floats, shares: Floats,
    reductions: Floats, even_reductions: Floats, tail_reductions: Floats, of_even_models: Floats, width: int,
) -> None:  # fmt: skip
    """Fill by how much each model with harmonics up to `highest` reduces Σ w y²: not at all positive where untold.

    That is `reductions` for the first chain, `of_even_models` for others. Bands have epochs for `most` harmonics; of
    one that has them for fewer, what needs more means nothing. The chains of even harmonics share their beginning: each
    time another even one is eliminated, the odd ones, which come last, are eliminated in a copy of what is left of
    them.
    """
    for lane in range(width):
        reductions[lane], even_reductions[lane] = 0.0, 0.0
    for place in range(of_even_models.size):
        of_even_models[place] = -1.0
    none, length = np.int64(0), most if most < highest else highest
    fill_normal(sums, CHAINS[0], length, normal, width)
    eliminate(normal, none, length, length, pivots, shares, reductions, width)
    evens, odds = np.int64(0), np.int64(0)
    for chain in range(1, CHAIN_HIGHEST.size):
        if CHAIN_HIGHEST[chain] <= highest and CHAIN_SHORTEST[chain] <= most:
            evens = np.int64(chain + 1)
            # The second odd one is left out where no band has epochs for it.
            told = CHAIN_LENGTHS[chain] if CHAIN_LENGTHS[chain] < most else most
            odds = told - evens if told - evens > odds else odds
    if evens == 0:
        return
    fill_normal(sums, CHAINS[evens - 1], evens + odds, normal, width)
    for chain in range(evens):
        eliminate(normal, chain, chain + 1, evens + odds, pivots, shares, even_reductions, width)
        if chain == 0:
            continue
        for row in range(2 * odds):
            of_row, of_odds = row * EQUATION, (2 * evens + row) * EQUATION
            for place in range(row * LANES, 2 * odds * LANES):
                tail[of_row + place] = normal[of_odds + 2 * evens * LANES + place]
            for place in range(RIGHT, EQUATION):
                tail[of_row + place] = normal[of_odds + place]
        for lane in range(width):
            tail_reductions[lane] = even_reductions[(chain + 1) * LANES + lane]
        eliminate(tail, none, odds, odds, pivots, shares, tail_reductions, width)
        # Without its odd harmonics an even chain is another frequency's model.
        for model in range(HIGHEST_HARMONIC, N_MODELS):
            odd = MODEL_HARMONICS[model] - chain - 1
            for lane in range(width if MODEL_CHAINS[model] == chain and odd <= odds else 0):
                of_even_models[(model - HIGHEST_HARMONIC) * LANES + lane] = tail_reductions[odd * LANES + lane]
