"""The stars of a batch made ready for the period search, all at once: a call costs more than a sparse star."""

import math
from typing import NamedTuple

import numpy as np

from lcdvt.compiled.kernel import kernel, part
from lcdvt.features.period.fit import Bands
from lcdvt.features.period.median import median, select
from lcdvt.features.period.normal import HIGHEST_HARMONIC, Floats, Integers
from lcdvt.features.waves import wave

# With fewer epochs a sine and a mean leave nothing to judge them by.
FEWEST_EPOCHS = 5
# Columns of `Stars.numbers` and of `Stars.grid`.
BASELINE, STEP, LOWEST, HIGHEST, INDEPENDENT, NEAR_A_DAY, NUMBERS = range(7)
FIRST, LAST = range(2)
# Where the spectral window is so high at one cycle a day, slow changes look like periods near a day. On the ground it
# is 0.4 to 0.75 (EROS-1, Catalina, ASAS; MACHO, HiTS, ZTF, Rubin simulated), for Gaia below 0.01.
NIGHTLY = 0.25
# So near, in cycles a day: what changes within a month or more.
NEAR = 0.03


class Stars(NamedTuple):
    """The usable epochs of stars, and the frequencies to look at.

    Attributes
    ----------
    t, w, y
        As in `Bands`, star after star.
    starts
        Where each star's epochs begin.
    bounds, max_harmonics
        A row for each star, as in `Bands`, of its bands worth fitting, counted from where the star begins.
    n_bands
        How many bands these are; 0 where a star has no period.
    numbers
        A row for each star: days from its first to its last epoch, step of the grid, lowest and highest frequency that
        may be chosen, how many independent frequencies lie between, and how near to one cycle a day a frequency is
        doubtful: 0 where the star was not observed night by night.
    grid
        A row for each star: the first and the last of the multiples of the step to look at.
    """

    t: Floats
    w: Floats
    y: Floats
    starts: Integers
    bounds: Integers
    max_harmonics: Integers
    n_bands: Integers
    numbers: Floats
    grid: Integers

    def bands(self, star: int) -> Bands:
        """Return one star's bands."""
        count, begin = int(self.n_bands[star]), int(self.starts[star])
        bounds = self.bounds[star, : count + 1]
        part = slice(begin, begin + int(bounds[-1]))
        return Bands(self.t[part], self.w[part], self.y[part], bounds, self.max_harmonics[star, :count])

    def only(self, star: int) -> "Stars":
        """Return one star as a batch of its own."""
        here = slice(star, star + 1)
        bands = self.bounds[here], self.max_harmonics[here], self.n_bands[here]
        return Stars(self.t, self.w, self.y, self.starts[here], *bands, self.numbers[here], self.grid[here])


def prepare_stars(time: Floats, mag: Floats, err: Floats, offsets: Integers, bands: int, rules: Floats) -> Stars:
    """Return what is searched of the stars, each of so many bands, and at which frequencies.

    Parameters
    ----------
    time, mag, err, offsets
        Band b of the star s is `offsets[s * bands + b]:offsets[s * bands + b + 1]` of the arrays.
    bands
        Bands of each star; they may be empty.
    rules
        Isolation, error floor, epochs per coefficient, shortest and longest period, samples per peak, fewest cycles and
        longest grid, as in `PeriodConfig`.
    """
    stars, epochs = (len(offsets) - 1) // bands, int(offsets[-1] - offsets[0])
    t, w, y, work = np.empty((4, epochs))
    starts = offsets[:-1:bands] - offsets[0]
    bounds, max_harmonics = np.zeros((stars, bands + 1), dtype=np.int64), np.zeros((stars, bands), dtype=np.int64)
    n_bands, grid = np.empty(stars, dtype=np.int64), np.empty((stars, 2), dtype=np.int64)
    numbers = np.empty((stars, NUMBERS))
    _prepare_all(time, mag, err, offsets, rules, t, w, y, work, starts, bounds, max_harmonics, n_bands, numbers, grid)
    return Stars(t, w, y, starts, bounds, max_harmonics, n_bands, numbers, grid)


@kernel
def _prepare_all(
    time: Floats, mag: Floats, err: Floats, offsets: Integers, rules: Floats, t: Floats, w: Floats, y: Floats,
    work: Floats, starts: Integers, bounds: Integers, max_harmonics: Integers, n_bands: Integers, numbers: Floats,
    grid: Integers,
) -> None:  # fmt: skip
    """Fill the arrays of `Stars`."""
    isolation, error_floor, epochs_per_coefficient, shortest, longest = rules[0], rules[1], rules[2], rules[3], rules[4]
    samples_per_peak, min_cycles, max_frequencies = rules[5], rules[6], np.int64(rules[7])
    bands = max_harmonics.shape[1]
    for star in range(n_bands.size):
        begin = starts[star]
        count, span = _prepare(
            time, mag, err, offsets[star * bands : (star + 1) * bands + 1], isolation, error_floor,
            epochs_per_coefficient, t[begin:], w[begin:], y[begin:], work, bounds[star], max_harmonics[star],
        )  # fmt: skip
        n_bands[star] = 0
        if count == 0:
            continue
        step = 1.0 / (samples_per_peak * span)
        last = 1.0 / (shortest * step)
        last = max_frequencies if last > max_frequencies else np.int64(math.ceil(last))
        lowest, highest = 1.0 / longest, 1.0 / shortest
        lowest = min_cycles / span if min_cycles / span > lowest else lowest
        highest = last * step if last * step < highest else highest
        first = np.int64(math.ceil(lowest / step))
        first = first if first > 1 else np.int64(1)
        if first + 2 < last:
            n_bands[star] = count
            numbers[star, BASELINE], numbers[star, STEP] = span, step
            numbers[star, LOWEST], numbers[star, HIGHEST] = lowest, highest
            numbers[star, INDEPENDENT] = (highest - lowest) * span
            end = begin + bounds[star, count]
            numbers[star, NEAR_A_DAY] = NEAR if _window_at_a_day(t[begin:end]) > NIGHTLY else 0.0
            grid[star, FIRST], grid[star, LAST] = first, last


@part
def _window_at_a_day(t: Floats) -> float:
    """Return the power of the spectral window at one cycle a day, 0 to 1."""
    cosines, sines = 0.0, 0.0
    for i in range(t.size):
        c, s = wave(t[i])
        cosines += c
        sines += s
    return (cosines * cosines + sines * sines) / (t.size * t.size)


@part
def _prepare(
    time: Floats, mag: Floats, err: Floats, offsets: Integers, isolation: float, error_floor: float,
    epochs_per_coefficient: float, t: Floats, w: Floats, y: Floats, work: Floats, bounds: Integers,
    max_harmonics: Integers,
) -> tuple[np.int64, float]:  # fmt: skip
    """Fill time from the middle, normalised weight and magnitude from the mean of the bands worth fitting.

    Return how many bands these are, and the days from the first epoch to the last. A flat curve tells nothing about a
    period, whatever its number of epochs, and epochs lost far outside are left out.
    """
    count = np.int64(0)
    for b in range(offsets.size - 1):
        varies = False
        for i in range(offsets[b], offsets[b + 1]):
            varies = varies or mag[i] != mag[offsets[b]]
        max_harmonics[b] = 1 if varies else 0
        if varies:
            for i in range(offsets[b], offsets[b + 1]):
                work[count] = time[i]
                count += 1
    if count < FEWEST_EPOCHS:
        return np.int64(0), 0.0
    none = np.int64(0)
    low, high = select(work, none, count, int(0.1 * count)), select(work, none, count, int(0.9 * count))
    margin = isolation * (high - low)
    start, end = np.inf, -np.inf
    for i in range(count):
        if low - margin <= work[i] <= high + margin:
            start, end = work[i] if work[i] < start else start, work[i] if work[i] > end else end
    if not end - start > 0.0:
        return np.int64(0), 0.0
    used, found = np.int64(0), np.int64(0)
    for b in range(offsets.size - 1):
        if max_harmonics[b] == 0:
            continue
        count = used
        total, largest = 0.0, 1.0
        for i in range(offsets[b], offsets[b + 1]):
            if start <= time[i] <= end:
                t[count] = time[i] - 0.5 * (start + end)
                w[count] = 1.0 / (err[i] * err[i] + error_floor * error_floor)
                y[count] = mag[i]
                work[count] = mag[i]
                total += w[count]
                largest = abs(mag[i]) if abs(mag[i]) > largest else largest
                count += 1
        if count - used < FEWEST_EPOCHS:
            continue
        middle, mean, square = median(work, used, count), 0.0, 0.0
        for i in range(used, count):
            w[i] /= total
            y[i] -= middle
            mean += w[i] * y[i]
        for i in range(used, count):
            y[i] -= mean
            square += w[i] * y[i] * y[i]
        # A spread at the last digits of a float is a constant magnitude.
        if not 1e-10 * largest < math.sqrt(square) < np.inf:
            continue
        harmonics = int(((count - used) / epochs_per_coefficient - 1.0) // 2.0)
        harmonics = harmonics if harmonics < HIGHEST_HARMONIC else HIGHEST_HARMONIC
        max_harmonics[found] = harmonics if harmonics > 1 else 1
        used = count
        found += 1
        bounds[found] = used
    return found, end - start
