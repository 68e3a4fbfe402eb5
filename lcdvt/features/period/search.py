"""The period search: one period for all bands of a star, honest about what it cannot know.

A single-sine scan of the survey's physical period range (`scan`) proposes candidates; exact fits with up
to eight harmonics (`fit`) compare them and their aliases by penalised likelihood (`choice`), as do eclipses where
these are all that varies (`eclipse`); the winner gets a false-alarm value against red noise (`significance`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from lcdvt.compiled.kernel import kernel
from lcdvt.features.period.choice import ChoiceConfig, choose_frequency
from lcdvt.features.period.fit import Bands
from lcdvt.features.period.median import median, select
from lcdvt.features.period.normal import HIGHEST_HARMONIC, MODEL_HARMONICS, Floats, Integers
from lcdvt.features.period.scan import candidate_frequencies, scan_score

# With fewer epochs a sine and a mean leave nothing to judge them by.
FEWEST_EPOCHS = 5


@dataclass(frozen=True)
class PeriodConfig:
    """How periods are searched.

    Attributes
    ----------
    samples_per_peak
        Oversampling: scanned frequencies per peak width, which is 1 / baseline.
    min_cycles
        Fewest cycles a reported period must have within the baseline.
    max_frequencies
        Longest grid; a longer baseline raises the shortest period instead of filling the memory.
    n_peaks, n_harmonic_peaks
        Peaks taken from the scan and from each of its harmonic sums.
    epochs_per_coefficient
        Epochs a band needs for every fitted coefficient.
    isolation
        Epochs further out than this many times the central 80 % of the epochs' time span are left out: one
        mistyped date would otherwise stretch the baseline, and the grid with it, a thousandfold.
    error_floor
        Magnitudes added in quadrature to the errors, so that no single epoch dominates.
    choice
        How candidates are compared.
    """

    samples_per_peak: int = 3
    min_cycles: float = 1.5
    max_frequencies: int = 2_000_000
    n_peaks: int = 12
    n_harmonic_peaks: int = 6
    epochs_per_coefficient: float = 3.0
    isolation: float = 20.0
    error_floor: float = 0.01
    choice: ChoiceConfig = field(default_factory=ChoiceConfig)


DEFAULT_CONFIG = PeriodConfig()


class PeriodResult(NamedTuple):
    """The best period of a star.

    Attributes
    ----------
    period
        Days; NaN when no period can be computed.
    fap
        Chance, 0 to 1, that a random walk with white noise gives a signal this strong anywhere in the range.
    power
        Share of the variance that the chosen model explains, 0 to 1.
    n_harmonics
        Harmonics of the chosen model; 0 when no period can be computed.
    amplitude
        Magnitudes, of the fundamental.
    r21, phi21, r31, phi31
        Fourier parameters of the light curve at the period (`period_fourier`); NaN where the epochs do not
        determine the harmonic.
    """

    period: float
    fap: float
    power: float
    n_harmonics: int
    amplitude: float = math.nan
    r21: float = math.nan
    phi21: float = math.nan
    r31: float = math.nan
    phi31: float = math.nan


NO_PERIOD = PeriodResult(math.nan, math.nan, math.nan, 0)


def find_period(
    times: Sequence[Floats],
    mags: Sequence[Floats],
    errs: Sequence[Floats],
    period_range: tuple[float, float],
    *,
    config: PeriodConfig = DEFAULT_CONFIG,
    near: float | None = None,
) -> PeriodResult:
    """Find the period that all bands of a star share.

    Parameters
    ----------
    times, mags, errs
        One array per band: days in ascending order, magnitudes, positive errors. A band may be empty.
    period_range
        Shortest and longest period in days that make sense in the survey.
    config
        How periods are searched.
    near
        A frequency known beforehand: no scan, only the best model within a peak's width of it.

    Returns
    -------
    PeriodResult
        `NO_PERIOD` when too few epochs, a constant magnitude or too short a baseline allow none.
    """
    return search_curves(*_one_after_the_other(times, mags, errs), period_range, config=config, near=near)


def search_curves(
    time: Floats,
    mag: Floats,
    err: Floats,
    offsets: Integers,
    period_range: tuple[float, float],
    *,
    config: PeriodConfig = DEFAULT_CONFIG,
    near: float | None = None,
) -> PeriodResult:
    """Return what `find_period` does, from bands that stand one after the other.

    Parameters
    ----------
    time, mag, err, offsets
        Band b is `offsets[b]:offsets[b + 1]` of the arrays.
    period_range, config, near
        As in `find_period`.
    """
    grid = _frequency_grid(time, mag, err, offsets, period_range, config)
    if grid is None:
        return NO_PERIOD
    bands, baseline, df, first, n_grid, (lowest, highest) = grid
    limits = (lowest, highest)
    if near is None:
        candidates, reaches = candidate_frequencies(
            scan_score(bands, df, n_grid), df, first, config.samples_per_peak, config.n_peaks, config.n_harmonic_peaks
        )
    else:
        candidates, reaches = np.array((near,)), np.array((df,))
        limits = (near - 2.0 * df, near + 2.0 * df)
    if candidates.size == 0:
        return NO_PERIOD
    n_independent = (highest - lowest) * baseline
    chosen = choose_frequency(bands, candidates, reaches, baseline, limits, n_independent, config.choice)
    if chosen is None:
        return NO_PERIOD
    harmonics = int(MODEL_HARMONICS[chosen.model])
    return PeriodResult(1.0 / chosen.frequency, chosen.fap, chosen.power, harmonics, *chosen.shape)


class Periodogram(NamedTuple):
    """What the scan sees: frequencies (cycles a day) from the lowest to the highest, and the score of each."""

    frequency: Floats
    score: Floats
    samples_per_peak: int


def periodogram(
    times: Sequence[Floats],
    mags: Sequence[Floats],
    errs: Sequence[Floats],
    period_range: tuple[float, float],
    *,
    config: PeriodConfig = DEFAULT_CONFIG,
) -> Periodogram | None:
    """Return the scan that `find_period` takes its candidates from; None where there is too little to scan.

    Parameters
    ----------
    times, mags, errs, period_range, config
        As in `find_period`.
    """
    grid = _frequency_grid(*_one_after_the_other(times, mags, errs), period_range, config)
    if grid is None:
        return None
    score = scan_score(grid.bands, grid.step, grid.last).astype(np.float64)
    numbers = np.arange(grid.first, grid.last + 1)
    return Periodogram((numbers * grid.step).astype(np.float64), score[grid.first :], config.samples_per_peak)


class _Grid(NamedTuple):
    """The usable epochs of each band, and the frequencies `step` × (`first` … `last`) to look at."""

    bands: Bands
    baseline: float
    step: float
    first: int
    last: int
    limits: tuple[float, float]


def _one_after_the_other(
    times: Sequence[Floats], mags: Sequence[Floats], errs: Sequence[Floats]
) -> tuple[Floats, Floats, Floats, Integers]:
    offsets = np.cumsum([0, *(len(each) for each in times)])
    time, mag, err = (np.concatenate((*each, ())).astype(np.float64) for each in (times, mags, errs))
    return time, mag, err, offsets


def _frequency_grid(
    time: Floats,
    mag: Floats,
    err: Floats,
    offsets: Integers,
    period_range: tuple[float, float],
    config: PeriodConfig,
) -> _Grid | None:
    epochs = int(offsets[-1] - offsets[0])
    t, w, y, work = np.empty((4, epochs))
    bounds, max_harmonics = np.zeros((2, len(offsets)), dtype=np.int64)
    baseline = np.empty(1)
    count = _prepare(
        time, mag, err, offsets, config.isolation, config.error_floor, config.epochs_per_coefficient, t, w, y, work,
        bounds, max_harmonics, baseline,
    )  # fmt: skip
    if count == 0:
        return None
    span, usable = float(baseline[0]), int(bounds[count])
    bands = Bands(t[:usable], w[:usable], y[:usable], bounds[: count + 1], max_harmonics[:count])
    df = 1.0 / (config.samples_per_peak * span)
    n_grid = min(math.ceil(1.0 / (period_range[0] * df)), config.max_frequencies)
    lowest = max(1.0 / period_range[1], config.min_cycles / span)
    highest = min(1.0 / period_range[0], n_grid * df)
    first = max(math.ceil(lowest / df), 1)
    if first + 2 >= n_grid:
        return None
    return _Grid(bands, span, df, first, n_grid, (lowest, highest))


@kernel
def _prepare(
    time: Floats, mag: Floats, err: Floats, offsets: Integers, isolation: float, error_floor: float,
    epochs_per_coefficient: float, t: Floats, w: Floats, y: Floats, work: Floats, bounds: Integers,
    max_harmonics: Integers, baseline: Floats,
) -> np.int64:  # fmt: skip
    """Fill time from the middle, normalised weight and magnitude from the mean of the bands worth fitting; count them.

    A flat curve tells nothing about a period, whatever its number of epochs, and epochs lost far outside are left out.
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
        return np.int64(0)
    none = np.int64(0)
    low, high = select(work, none, count, int(0.1 * count)), select(work, none, count, int(0.9 * count))
    margin = isolation * (high - low)
    start, end = np.inf, -np.inf
    for i in range(count):
        if low - margin <= work[i] <= high + margin:
            start, end = work[i] if work[i] < start else start, work[i] if work[i] > end else end
    baseline[0] = end - start
    if not end - start > 0.0:
        return np.int64(0)
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
    return found
