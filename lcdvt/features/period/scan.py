"""Scan a survey's whole period range with one sine per band and propose candidate frequencies.

The scan only has to bring the true frequency into the list of candidates; which candidate wins is decided by
the exact fits of `lcdvt.features.period.fit`. The grid's frequencies are the multiples i·df, so the power of a
frequency's harmonics lies on the same grid: sums of P(f) + P(2f) + … find narrow eclipses, whose power is
spread over many harmonics, at no further transform.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcdvt.compiled.kernel import fast_kernel, fast_part, kernel, part
from lcdvt.features.period.fit import Bands
from lcdvt.features.period.normal import Floats, Integers
from lcdvt.features.period.stars import FIRST, LAST, NUMBERS, STEP, Stars
from lcdvt.features.transforms import Transforms
from lcdvt.features.waves import wave

Powers = NDArray[np.float32]

# Below this many epochs a compiled sum is faster than a non-uniform FFT whatever the grid's length.
DIRECT_SUM_EPOCHS = 40
TRANSFORMS = 3
# Half a peak's width apart, frequencies tell all others: two thirds of the transforms, and a sum over the nearest
# frequencies for those between. So many to each side leave an error of 1e-5, as far as the first and the last epoch.
HALVES = 2
BESIDE = 6
BLOCK = 256
# Of the sizes of a scan (samples of a peak's width, peaks, and peaks of harmonic sums before it): where the most epochs
# of a band that is summed directly stand.
DIRECT_EPOCHS = 3
# Where the epochs see a sine as constant, the transform's rounding (1e-3) would be all that is left. A quarter is the
# determinant of phases spread evenly.
LEAST_DETERMINANT = np.float32(2e-3)
# A sine that explains more than this share of the variance counts as if it were this.
MOST_EXPLAINED = 0.98
# The direct sum turns its phases by recurrence; starting afresh this often keeps them exact to ~1e-13.
RECURRENCE_LENGTH = 256
# Frequencies that turn one into the other by sampling once a night, once a sidereal night, or one season a year.
SOLAR_DAY = 1.0
SIDEREAL_DAY = 1.00273791
YEAR = 1.0 / 365.25
HARMONICS_SUMMED = 6
HARMONIC_SUMS = HARMONICS_SUMMED // 2
ALIAS_SHIFTS = np.array((SOLAR_DAY, SIDEREAL_DAY, 2.0 * SOLAR_DAY, 2.0 * SIDEREAL_DAY, YEAR))
# Side lobes closer than the separation use up places, so several times as many maxima as wanted are kept at first.
PEAKS_LOOKED_AT = 4
# How many of the strongest peaks come with their aliases.
ALIASED_PEAKS = 3
# Of each harmonic sum, so many peaks come with their third, double and half.
LEADING_PEAKS = 2
# What a parent's frequency is multiplied with, and how far to look around it, in steps of the grid.
RELATIVES = np.array(((1.0 / 3.0, 0.4), (2.0, 1.2), (0.5, 0.5)))
ALIAS_RELATIVES = np.array(((0.5, 0.5), (1.0, 1.0)))


def _between(place: float) -> Powers:
    """Return the shares that samples at 1 − BESIDE … BESIDE have in a value at `place`, between 0 and 1.

    By least squares over all functions whose frequencies are at most a quarter of the sampling's.
    """
    frequencies = 0.25 * np.sin(np.linspace(-0.5 * math.pi, 0.5 * math.pi, 400))
    samples = np.exp(2j * math.pi * np.outer(frequencies, np.arange(1 - BESIDE, BESIDE + 1)))
    value = np.exp(2j * math.pi * frequencies * place)
    parts = np.concatenate((samples.real, samples.imag)), np.concatenate((value.real, value.imag))
    return np.linalg.lstsq(*parts)[0].astype(np.float32)


# A third of a peak's width is two thirds of a half, two thirds are a half and a third of the next.
SHARES = tuple(tuple(_between(place)) for place in (2.0 / 3.0, 1.0 / 3.0))


class ScanRoom(NamedTuple):
    """Arrays that the scan of a star fills, long enough for all, so that the next star finds them in the cache.

    Attributes
    ----------
    score, power
        How much of the light each frequency explains, all bands together (`scan_score`), and one band's power.
    beside, total
        The highest score beside each frequency, and harmonic sums.
    waves
        Cosines and sines of the epochs' phases, and those by which they turn from one frequency to the next.
    heights, places, peaks
        Peaks looked at: how high they are, and where; then those chosen, and those of them that have relatives.
    """

    score: Powers
    power: Powers
    beside: Powers
    total: Powers
    waves: Floats
    heights: Powers
    places: Integers
    peaks: Integers

    @classmethod
    def of(cls, n_grid: int, sizes: Integers) -> "ScanRoom":
        """Return arrays for grids of at most so many frequencies."""
        _, n_peaks, n_harmonic_peaks, direct_epochs = sizes.tolist()
        capacity = PEAKS_LOOKED_AT * max(n_peaks, n_harmonic_peaks)
        score, power, beside, total = np.empty((4, n_grid + 1), dtype=np.float32)
        return cls(
            score,
            power,
            beside,
            total,
            np.empty((4, direct_epochs)),
            np.empty(capacity, dtype=np.float32),
            np.empty(capacity, dtype=np.int64),
            np.empty((2, n_peaks + HARMONIC_SUMS * n_harmonic_peaks), dtype=np.int64),
        )


class Candidates(NamedTuple):
    """Candidate frequencies of stars, a row for each, how far to each side the exact fit has to look, and how many."""

    frequencies: Floats
    reaches: Floats
    counts: Integers

    @classmethod
    def of(cls, stars: int, sizes: Integers) -> "Candidates":
        """Return arrays for so many stars, without candidates as yet."""
        _, n_peaks, n_harmonic_peaks, _ = sizes.tolist()
        parents = n_peaks // 2 + HARMONIC_SUMS * LEADING_PEAKS
        room = n_peaks + HARMONIC_SUMS * n_harmonic_peaks + len(RELATIVES) * parents
        room += len(ALIAS_RELATIVES) * ALIASED_PEAKS * 2 * len(ALIAS_SHIFTS)
        return cls(np.empty((stars, room)), np.empty((stars, room)), np.zeros(stars, dtype=np.int64))


def candidate_frequencies(stars: Stars, samples_per_peak: int, n_peaks: int, n_harmonic_peaks: int) -> Candidates:
    """Return candidate frequencies of every star.

    Peaks of the score and of its harmonic sums come with their half, third and double, and the strongest with what
    they turn into when the sampling repeats nightly or yearly (and with half of that: a binary's half period is
    aliased just as well).
    """
    sizes = np.array((samples_per_peak, n_peaks, n_harmonic_peaks, DIRECT_SUM_EPOCHS))
    return _scan_stars(stars, sizes)[1]


def scan_score(stars: Stars) -> Powers:
    """Return how much of the light the frequencies i·df, i = 0 … n_grid, of a single star explain, all bands together.

    A sine's power counts by its number of epochs over the share of variance its best frequency leaves, which is the
    slope of its log-likelihood there. Long bands share one sine, their spreads made equal, as stars change in all bands
    at once: one transform does for all of them. Short ones have a sine each, with its own amplitude, phase and offset.
    """
    return _scan_stars(stars, np.array((1, 1, 1, DIRECT_SUM_EPOCHS)))[0].score


def direct_power(t: Floats, y: Floats, w: Floats, df: float, n_grid: int) -> Powers:
    """Return the floating-mean Lomb–Scargle power at df, 2 df, … (Zechmeister & Kürster 2009, eq. 5)."""
    numbers, one = np.full((1, NUMBERS), df), np.ones(1, dtype=np.int64)
    one_band = Stars(t, w, y, 0 * one, np.array(((0, t.size),)), one[None], one, numbers, np.array(((1, n_grid),)))
    return _scan_stars(one_band, np.array((1, 1, 1, t.size)))[0].power[:-1]


def _scan_stars(stars: Stars, sizes: Integers) -> tuple[ScanRoom, Candidates]:
    """Return the candidates of all stars, and the arrays as the last star left them."""
    number = len(stars.starts)
    longest_grid = int(np.max(stars.grid[:, LAST], where=stars.n_bands > 0, initial=1))
    room, found = ScanRoom.of(longest_grid, sizes), Candidates.of(number, sizes)
    lengths = stars.bounds[:, 1:] - stars.bounds[:, :-1]
    n_long = np.sum(lengths, axis=1, where=lengths > sizes[DIRECT_EPOCHS]) * (stars.n_bands > 0)
    n_short = stars.bounds.max(axis=1) * (stars.n_bands > 0) - n_long
    short = np.flatnonzero((n_short > 0) & (n_long == 0))
    if len(short):
        _scan(*stars, short, sizes, *room, *found)
    for star in np.flatnonzero(n_long).tolist():
        (first, n_grid), epochs, step = stars.grid[star].tolist(), int(n_long[star]), float(stars.numbers[star, STEP])
        power = _transformed_power(stars.bands(star), epochs, step, n_grid)
        weight = np.float32(epochs / (1.0 - min(float(power.max()), MOST_EXPLAINED)))
        room.score[0] = 0.0
        np.multiply(power, weight, out=room.score[1 : n_grid + 1])
        if n_short[star]:
            _scan(*stars, np.array((star,)), sizes, *room, *found)
        else:
            score, _, beside, total, _, *peaks = room
            found.counts[star] = _fill_candidates(
                score[: n_grid + 1], beside, total, step, first, sizes, *peaks, found.frequencies[star],
                found.reaches[star],
            )  # fmt: skip
    return room, found


def _transformed_power(bands: Bands, n_epochs: int, df: float, n_grid: int) -> Powers:
    """Return the same as `direct_power` of the long bands together, by non-uniform FFT.

    Single precision does for candidates, which are fitted. The epochs fill only a third of the circle, because there
    are three frequencies to a peak's width: instead of one transform of a grid that is mostly empty there are short
    ones, each of frequencies a peak's width apart.
    """
    number = -(-n_grid // TRANSFORMS)
    # The window at twice the frequency: for the lower half of the grid it is on the grid.
    lower = number // 2
    whole, upper = Transforms(number + BESIDE, 2 * HALVES), Transforms(number - lower, TRANSFORMS)
    points, values = (
        np.empty((2, n_epochs), dtype=np.float32),
        np.empty((2 * HALVES + TRANSFORMS, n_epochs, 2), dtype=np.float32),
    )
    variance = _fill_transformed(*bands[:4], df, whole.modes // 2, lower, upper.modes // 2, points, values)
    whole.at(points[0])
    upper.at(points[1])
    turned = values.view(np.complex64)[:, :, 0]
    halves, of_upper = whole.sums(turned[: 2 * HALVES]), upper.sums(turned[2 * HALVES :])
    sums = np.empty(2 * TRANSFORMS * 2 * number, dtype=np.float32)
    _fill_thirds(halves, whole.modes, number, sums)
    power = np.empty(n_grid, dtype=np.float32)
    _fill_power(sums, number, of_upper, upper.modes, lower, np.float32(variance), power)
    return power


@kernel
def _fill_transformed(
    t: Floats, w: Floats, y: Floats, bounds: Integers, df: float, middle: int, lower: int, upper_middle: int,
    points: Powers, values: Powers,
) -> float:  # fmt: skip
    """Fill what is transformed, of all long bands as if of one; return Σ w y².

    That is equal spreads, and weights by numbers of epochs. Modes begin at the middle of the transform, so that every
    value is turned there first.
    """
    n_long, n_epochs, variance = 0, points.shape[1], 0.0
    for b in range(bounds.size - 1):
        n_long += 1 if bounds[b + 1] - bounds[b] > DIRECT_SUM_EPOCHS else 0
    place = np.int64(0)
    for b in range(bounds.size - 1):
        begin, end = bounds[b], bounds[b + 1]
        if end - begin <= DIRECT_SUM_EPOCHS:
            continue
        square = 0.0
        for i in range(begin, end):
            square += w[i] * y[i] * y[i]
        scale = 1.0 / math.sqrt(square) if n_long > 1 else 1.0
        share = (end - begin) / n_epochs
        variance += share * scale * scale * square
        for i in range(begin, end):
            at = place + i - begin
            turns = df * t[i]
            angle = 2.0 * math.pi * TRANSFORMS * turns
            points[0, at], points[1, at] = angle, 2.0 * angle
            weight, signal = share * w[i], scale * y[i]
            for half in range(HALVES):
                # The first modes are those beside the first frequency.
                c, s = wave((1 + TRANSFORMS * (0.5 * half + middle - BESIDE // 2)) * turns)
                values[half, at, 0], values[half, at, 1] = weight * c, weight * s
                values[HALVES + half, at, 0], values[HALVES + half, at, 1] = signal * weight * c, signal * weight * s
            for r in range(TRANSFORMS):
                c, s = wave(2 * (1 + r + TRANSFORMS * (lower + upper_middle)) * turns)
                values[2 * HALVES + r, at, 0], values[2 * HALVES + r, at, 1] = weight * c, weight * s
        place += end - begin
    return variance


@fast_kernel
def _fill_thirds(halves: Powers, modes: int, number: int, sums: Powers) -> None:
    """Fill the sums at frequencies a third of a peak's width apart from those half a width apart, row after row."""
    for function in range(2):
        here = 2 * HALVES * function * modes + BESIDE
        # Half a peak's width above.
        there, out = here + 2 * modes, 2 * TRANSFORMS * function * number
        for i in range(2 * number):
            sums[out + i] = halves[here + i]
        for third in range(TRANSFORMS - 1):
            out += 2 * number
            # What lies beside is of the one row and the other in turn.
            first, second = here - BESIDE + 2, there - BESIDE + 2
            if third == 0:
                first, second = there - BESIDE, first
            a, b, c, d, e, f, g, h, j, k, m, n = SHARES[third]
            # Written out: of a loop over them the compiler makes no SIMD.
            for i in range(2 * number):
                one, other = first + i, second + i
                sums[out + i] = (
                    a * halves[one] + b * halves[other] + c * halves[one + 2] + d * halves[other + 2]
                    + e * halves[one + 4] + f * halves[other + 4] + g * halves[one + 6] + h * halves[other + 6]
                    + j * halves[one + 8] + k * halves[other + 8] + m * halves[one + 10] + n * halves[other + 10]
                )  # fmt: skip


@fast_kernel
def _fill_power(
    sums: Powers, modes: int, upper: Powers, upper_modes: int, lower: int, variance: float, power: Powers
) -> None:
    """Fill the power from the sums Σ w e^{iφ} and Σ w y e^{iφ}, and those of twice the frequency for the upper half.

    The sums are flat, real and imaginary parts in turn: of an array with an axis of two the compiler would not know
    that it is two, and make no SIMD.
    """
    for r in range(TRANSFORMS):
        # Twice the frequency 1 + 3 j + r is 1 + 3 (2 j + off) + other.
        off, other = (2 * r + 1) // TRANSFORMS, (2 * r + 1) % TRANSFORMS
        single, signal = 2 * r * modes, 2 * (TRANSFORMS + r) * modes
        double, beyond = 2 * other * modes + 2 * off, 2 * r * upper_modes - 2 * lower
        for j in range(lower):
            power[TRANSFORMS * j + r] = _power(
                sums[single + 2 * j], sums[single + 2 * j + 1], sums[double + 4 * j], sums[double + 4 * j + 1],
                sums[signal + 2 * j], sums[signal + 2 * j + 1], variance,
            )  # fmt: skip
        for j in range(lower, (power.size - r + TRANSFORMS - 1) // TRANSFORMS):
            power[TRANSFORMS * j + r] = _power(
                sums[single + 2 * j], sums[single + 2 * j + 1], upper[beyond + 2 * j], upper[beyond + 2 * j + 1],
                sums[signal + 2 * j], sums[signal + 2 * j + 1], variance,
            )  # fmt: skip


@fast_part
def _power(
    c: np.float32, s: np.float32, double_c: np.float32, double_s: np.float32, yc: np.float32, ys: np.float32,
    variance: float,
) -> np.floating[Any]:  # fmt: skip
    half, one, none = np.float32(0.5), np.float32(1.0), np.float32(0.0)
    cc = half * (one + double_c) - c * c
    ss = half * (one - double_c) - s * s
    cs = half * double_s - c * s
    determinant = cc * ss - cs * cs
    power = (ss * yc * yc + cc * ys * ys - (cs + cs) * yc * ys) / (determinant * variance)
    power = power if determinant > LEAST_DETERMINANT and power > none else none
    return power if power < one else one


@fast_part
def _fill_direct_power(t: Floats, y: Floats, w: Floats, df: float, waves: Floats, power: Powers) -> None:
    n, variance = t.size, 0.0
    for j in range(n):
        variance += w[j] * y[j] * y[j]
        waves[2, j], waves[3, j] = wave(df * t[j])
    for i in range(power.size):
        if i % RECURRENCE_LENGTH == 0:
            for j in range(n):
                waves[0, j], waves[1, j] = wave((i + 1) * df * t[j])
        sum_c, sum_s, sum_yc, sum_ys, sum_cc, sum_cs = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(n):
            cj, sj, wj = waves[0, j], waves[1, j], w[j]
            sum_c += wj * cj
            sum_s += wj * sj
            sum_yc += wj * y[j] * cj
            sum_ys += wj * y[j] * sj
            sum_cc += wj * cj * cj
            sum_cs += wj * cj * sj
            waves[0, j] = cj * waves[2, j] - sj * waves[3, j]
            waves[1, j] = sj * waves[2, j] + cj * waves[3, j]
        cc = sum_cc - sum_c * sum_c
        ss = 1.0 - sum_cc - sum_s * sum_s
        cs = sum_cs - sum_c * sum_s
        determinant = cc * ss - cs * cs
        power[i] = 0.0
        if determinant > 1e-9:
            explained = ss * sum_yc * sum_yc + cc * sum_ys * sum_ys - 2.0 * cs * sum_yc * sum_ys
            value = explained / (determinant * variance)
            power[i] = 0.0 if value < 0.0 else (value if value < 1.0 else 1.0)


@kernel
def _scan(
    t: Floats, w: Floats, y: Floats, starts: Integers, bounds: Integers, max_harmonics: Integers, n_bands: Integers,
    numbers: Floats, grid: Integers, stars: Integers, sizes: Integers, score: Powers, power: Powers, beside: Powers,
    total: Powers, waves: Floats, heights: Powers, places: Integers, peaks: Integers, frequencies: Floats,
    reaches: Floats, counts: Integers,
) -> None:  # fmt: skip
    """Fill the candidates of some stars; the score of a star with long bands has that of these bands already."""
    for star in stars:
        df, first, last = numbers[star, STEP], grid[star, FIRST], grid[star, LAST]
        is_begun = False
        for b in range(n_bands[star]):
            is_begun = is_begun or bounds[star, b + 1] - bounds[star, b] > sizes[DIRECT_EPOCHS]
        score[0] = 0.0
        for i in range(1, last + 1 if not is_begun else 1):
            score[i] = 0.0
        for b in range(n_bands[star]):
            begin, end = starts[star] + bounds[star, b], starts[star] + bounds[star, b + 1]
            if end - begin > sizes[DIRECT_EPOCHS]:
                continue
            _fill_direct_power(t[begin:end], y[begin:end], w[begin:end], df, waves, power[:last])
            highest = 0.0
            for i in range(last):
                highest = power[i] if power[i] > highest else highest
            weight = np.float32((end - begin) / (1.0 - (highest if highest < MOST_EXPLAINED else MOST_EXPLAINED)))
            for i in range(last):
                score[i + 1] += weight * power[i]
        counts[star] = _fill_candidates(
            score[: last + 1], beside, total, df, first, sizes, heights, places, peaks, frequencies[star], reaches[star]
        )  # fmt: skip


@fast_part
def _sum(values: Powers) -> np.floating[Any]:
    total = np.float32(0.0)
    for i in range(values.size):
        total += values[i]
    return total


@part
def _highest_peaks(
    score: Powers, first: int, separation: int, n_peaks: int, heights: Powers, places: Integers, chosen: Integers,
    begin: int,
) -> int:  # fmt: skip
    """Fill the highest local maxima at least `separation` samples apart, highest first; return where they end."""
    capacity = PEAKS_LOOKED_AT * n_peaks
    for j in range(capacity):
        heights[j] = -np.inf
    size, filled = score.size, 0
    for start in range(first, size, BLOCK):
        stop = start + BLOCK if start + BLOCK < size else size
        # Most blocks have nothing high enough: to count is SIMD, to look is not.
        limit, high = heights[capacity - 1], 0
        for i in range(start, stop):
            high += 1 if score[i] > limit else 0
        for i in range(start, stop if high > 0 else start):
            h = score[i]
            if h <= heights[capacity - 1]:
                continue
            if (i > first and h < score[i - 1]) or (i < size - 1 and h <= score[i + 1]):
                continue
            j = filled if filled < capacity else capacity - 1
            while j > 0 and heights[j - 1] < h:
                heights[j], places[j] = heights[j - 1], places[j - 1]
                j -= 1
            heights[j], places[j] = h, i
            filled += 1 if filled < capacity else 0
    end = begin
    for j in range(capacity):
        if heights[j] == -np.inf or end == begin + n_peaks:
            break
        is_apart = True
        for k in range(begin, end):
            is_apart = is_apart and abs(chosen[k] - places[j]) > separation
        if is_apart:
            chosen[end] = places[j]
            end += 1
    return end


@part
def _append(
    frequencies: Floats, reaches: Floats, count: int, f: float, reach: float, lowest: float, highest: float
) -> int:
    if not lowest <= f <= highest:
        return count
    # To count is SIMD, to stop at the first is not.
    known = 0
    for i in range(count):
        nearer = reaches[i] if reaches[i] < reach else reach
        known += 1 if abs(frequencies[i] - f) < 0.5 * nearer else 0
    if known > 0:
        return count
    frequencies[count] = f
    reaches[count] = reach
    return count + 1


@kernel
def _fill_candidates(
    score: Powers, beside: Powers, total: Powers, df: float, first: int, sizes: Integers, heights: Powers,
    places: Integers, peaks: Integers, frequencies: Floats, reaches: Floats,
) -> np.int64:  # fmt: skip
    """Fill frequencies and reaches; return how many."""
    separation, n_peaks, n_harmonic_peaks = sizes[0], sizes[1], sizes[2]
    seeds, parents = peaks[0], peaks[1]
    last = score.size - 1
    total = total[: score.size]
    for i in range(score.size):
        total[i] = score[i]
    beside_noise = np.float32(1.5) * _sum(score) / np.float32(score.size)
    # A frequency half a step off the grid is some half steps off at its harmonics: look beside them. The highest of
    # three noise samples lies about half a mean above the mean, at `beside_noise`.
    for k in range(1, last):
        highest_near = score[k] if score[k] > score[k - 1] else score[k - 1]
        beside[k] = (highest_near if highest_near > score[k + 1] else score[k + 1]) - beside_noise
    beside[last] = (score[last] if score[last] > score[last - 1] else score[last - 1]) - beside_noise
    n_seeds, n_parents, strongest = np.int64(0), np.int64(0), np.int64(0)
    # The score itself, then the sums over 2, 4 and 6 harmonics.
    for harmonic in range(1, HARMONICS_SUMMED + 1):
        for i in range(first, last // harmonic + 1 if harmonic > 1 else first):
            total[i] += beside[i * harmonic]
        if harmonic > 1 and harmonic % 2 == 1:
            continue
        wanted = n_peaks if harmonic == 1 else n_harmonic_peaks
        end = _highest_peaks(total, first, separation, wanted, heights, places, seeds, n_seeds)
        leading = n_peaks // 2 if harmonic == 1 else LEADING_PEAKS
        for k in range(n_seeds, end):
            if k < n_seeds + leading:
                parents[n_parents] = seeds[k]
                n_parents += 1
        n_seeds = end
        if harmonic == 1:
            strongest = end if end < ALIASED_PEAKS else np.int64(ALIASED_PEAKS)
    lowest, highest = first * df, last * df
    count = np.int64(0)
    for k in range(n_seeds):
        count = _append(frequencies, reaches, count, seeds[k] * df, 0.8 * df, lowest, highest)
    for relative in range(RELATIVES.shape[0]):
        for k in range(n_parents):
            f, reach = RELATIVES[relative, 0] * (parents[k] * df), RELATIVES[relative, 1] * df
            count = _append(frequencies, reaches, count, f, reach, lowest, highest)
    for relative in range(ALIAS_RELATIVES.shape[0]):
        for k in range(strongest):
            for shift in range(2 * ALIAS_SHIFTS.size):
                step = ALIAS_SHIFTS[shift // 2]
                f = abs(seeds[k] * df + (step if shift % 2 == 0 else -step))
                f, reach = ALIAS_RELATIVES[relative, 0] * f, ALIAS_RELATIVES[relative, 1] * df
                count = _append(frequencies, reaches, count, f, reach, lowest, highest)
    return count
