"""Scan a survey's whole period range with one sine per band and propose candidate frequencies.

The scan only has to bring the true frequency into the list of candidates; which candidate wins is decided by
the exact fits of `lcdvt.features.period.fit`. The grid's frequencies are the multiples i·df, so the power of a
frequency's harmonics lies on the same grid: sums of P(f) + P(2f) + … find narrow eclipses, whose power is
spread over many harmonics, at no further transform.
"""

import nifty_ls
import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Below this many epochs a compiled sum is faster than a non-uniform FFT whatever the grid's length.
DIRECT_SUM_EPOCHS = 40
# Relative precision of the transform: the exact fits decide, the scan only proposes.
TRANSFORM_PRECISION = 1e-6
# The direct sum turns its phases by recurrence; starting afresh this often keeps them exact to ~1e-13.
RECURRENCE_LENGTH = 256
# Frequencies that turn one into the other by sampling once a night, once a sidereal night, or one season a year.
SOLAR_DAY = 1.0
SIDEREAL_DAY = 1.00273791
YEAR = 1.0 / 365.25
HARMONICS_SUMMED = 6


def scan_score(times: list[Floats], mags: list[Floats], weights: list[Floats], df: float, n_grid: int) -> Floats:
    """Return how much of the light the frequencies i·df, i = 0 … n_grid, explain, all bands together.

    Each band has its own amplitude, phase and offset. Its power counts by its number of epochs over the share of
    variance its best frequency leaves, which is the slope of its log-likelihood there.
    """
    score = np.zeros(n_grid + 1)
    for t, y, w in zip(times, mags, weights, strict=True):
        if t.size <= DIRECT_SUM_EPOCHS:
            power = _direct_power(t, y, w, df, n_grid)
        else:
            power = nifty_ls.lombscargle(
                t, y, 1.0 / np.sqrt(w), fmin=df, fmax=n_grid * df, Nf=n_grid, backend="finufft", nthreads=1,
                finufft_kwargs={"eps": TRANSFORM_PRECISION},
            ).power  # fmt: skip
        _add_power(score, power, float(t.size))
    return score


@njit(cache=True)
def _add_power(score: Floats, power: Floats, n_epochs: float) -> None:
    highest = 0.0
    for i in range(power.size):
        # A frequency at which the epochs determine no sine gives 0/0 there.
        power[i] = min(max(power[i], 0.0), 1.0) if np.isfinite(power[i]) else 0.0
        highest = max(highest, power[i])
    scale = n_epochs / (1.0 - min(highest, 0.98))
    for i in range(power.size):
        score[i + 1] += scale * power[i]


@njit(cache=True, fastmath=True, forceinline=True)
def _direct_power(t: Floats, y: Floats, w: Floats, df: float, n_grid: int) -> Floats:
    """Return the floating-mean Lomb–Scargle power at df, 2 df, … (Zechmeister & Kürster 2009, eq. 5)."""
    n = t.size
    power = np.zeros(n_grid)
    turn_c, turn_s = np.cos(2.0 * np.pi * df * t), np.sin(2.0 * np.pi * df * t)
    c, s = np.ones(n), np.zeros(n)
    variance = np.sum(w * y * y)
    for i in range(n_grid):
        if i % RECURRENCE_LENGTH == 0:
            for j in range(n):
                cycles = (i + 1) * df * t[j]
                phase = 2.0 * np.pi * (cycles - np.floor(cycles))
                c[j], s[j] = np.cos(phase), np.sin(phase)
        sum_c, sum_s, sum_yc, sum_ys, sum_cc, sum_cs = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(n):
            cj, sj, wj = c[j], s[j], w[j]
            sum_c += wj * cj
            sum_s += wj * sj
            sum_yc += wj * y[j] * cj
            sum_ys += wj * y[j] * sj
            sum_cc += wj * cj * cj
            sum_cs += wj * cj * sj
            c[j] = cj * turn_c[j] - sj * turn_s[j]
            s[j] = sj * turn_c[j] + cj * turn_s[j]
        cc = sum_cc - sum_c * sum_c
        ss = 1.0 - sum_cc - sum_s * sum_s
        cs = sum_cs - sum_c * sum_s
        determinant = cc * ss - cs * cs
        if determinant > 1e-9:
            power[i] = (ss * sum_yc**2 + cc * sum_ys**2 - 2.0 * cs * sum_yc * sum_ys) / (determinant * variance)
    return power


@njit(cache=True)
def candidate_frequencies(
    score: Floats, df: float, first: int, samples_per_peak: int, n_peaks: int, n_harmonic_peaks: int
) -> tuple[Floats, Floats]:
    """Return candidate frequencies and how far to each side the exact fit has to look.

    Peaks of the score and of its harmonic sums come with their half, third and double, and the strongest with what
    they turn into when the sampling repeats nightly or yearly (and with half of that: a binary's half period is
    aliased just as well).
    """
    peaks = _highest_peaks(score, first, samples_per_peak, n_peaks)
    harmonic_peaks, leading = _harmonic_sum_peaks(score, first, samples_per_peak, n_harmonic_peaks)
    seeds = np.concatenate((peaks, harmonic_peaks)) * df
    parents = np.concatenate((peaks[: n_peaks // 2], leading)) * df
    aliases = np.array((SOLAR_DAY, SIDEREAL_DAY, 2.0 * SOLAR_DAY, 2.0 * SIDEREAL_DAY, YEAR))
    n_aliased = min(3, peaks.size)
    capacity = seeds.size + 3 * parents.size + 4 * n_aliased * aliases.size
    frequencies, reaches = np.empty(capacity), np.empty(capacity)
    lowest, highest = first * df, (score.size - 1) * df
    count = 0
    for f in seeds:
        count = _append(frequencies, reaches, count, f, 0.8 * df, lowest, highest)
    for factor, reach in ((1.0 / 3.0, 0.4 * df), (2.0, 1.2 * df), (0.5, 0.5 * df)):
        for f in parents:
            count = _append(frequencies, reaches, count, factor * f, reach, lowest, highest)
    for factor, reach in ((0.5, 0.5 * df), (1.0, df)):
        for i in range(n_aliased):
            for shift in aliases:
                for f in (peaks[i] * df + shift, abs(peaks[i] * df - shift)):
                    count = _append(frequencies, reaches, count, factor * f, reach, lowest, highest)
    return frequencies[:count], reaches[:count]


@njit(cache=True)
def _append(
    frequencies: Floats, reaches: Floats, count: int, f: float, reach: float, lowest: float, highest: float
) -> int:
    if not lowest <= f <= highest:
        return count
    for i in range(count):
        if abs(frequencies[i] - f) < 0.5 * min(reaches[i], reach):
            return count
    frequencies[count] = f
    reaches[count] = reach
    return count + 1


@njit(cache=True)
def _harmonic_sum_peaks(
    score: Floats, first: int, samples_per_peak: int, n_peaks: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the highest peaks of the sums over 2, 4 and 6 harmonics, and the two highest of each sum."""
    last = score.size - 1
    mean = score.mean()
    total = score.copy()
    found, leading = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for harmonic in range(2, HARMONICS_SUMMED + 1):
        for i in range(first, last // harmonic + 1):
            k = i * harmonic
            # A frequency half a step off the grid is `harmonic` half steps off at its harmonic: look beside it.
            beside = max(score[k], score[k - 1], score[min(k + 1, last)])
            # The highest of three noise samples lies about half a mean above the mean.
            total[i] += beside - 1.5 * mean
        if harmonic % 2 == 0:
            peaks = _highest_peaks(total, first, samples_per_peak, n_peaks)
            found = np.concatenate((found, peaks))
            leading = np.concatenate((leading, peaks[:2]))
    return found, leading


@njit(cache=True)
def _highest_peaks(score: Floats, first: int, separation: int, n_peaks: int) -> NDArray[np.int64]:
    """Return the highest local maxima at least `separation` samples apart, highest first."""
    # Side lobes closer than the separation use up places, so several times as many maxima are kept at first.
    capacity = 4 * n_peaks
    heights, places = np.full(capacity, -np.inf), np.zeros(capacity, dtype=np.int64)
    size = score.size
    for i in range(first, size):
        h = score[i]
        if h <= heights[capacity - 1]:
            continue
        if (i > first and h < score[i - 1]) or (i < size - 1 and h <= score[i + 1]):
            continue
        j = capacity - 1
        while j > 0 and heights[j - 1] < h:
            heights[j], places[j] = heights[j - 1], places[j - 1]
            j -= 1
        heights[j], places[j] = h, i
    chosen = np.empty(n_peaks, dtype=np.int64)
    count = 0
    for j in range(capacity):
        if heights[j] == -np.inf or count == n_peaks:
            break
        apart = True
        for k in range(count):
            apart = apart and abs(chosen[k] - places[j]) > separation
        if apart:
            chosen[count] = places[j]
            count += 1
    return chosen[:count]
