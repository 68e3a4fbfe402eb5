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

from lcdvt.features.period.choice import ChoiceConfig, choose_frequency
from lcdvt.features.period.fit import HIGHEST_HARMONIC, MODEL_HARMONICS, Bands, Floats
from lcdvt.features.period.fourier import fourier_parameters
from lcdvt.features.period.scan import candidate_frequencies, scan_score
from lcdvt.features.period.significance import false_alarm

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
    grid = _frequency_grid(times, mags, errs, period_range, config)
    if grid is None:
        return NO_PERIOD
    ts, ys, ws, baseline, df, first, n_grid, (lowest, highest) = grid
    limits = (lowest, highest)
    if near is None:
        score = scan_score(ts, ys, ws, df, n_grid)
        candidates, reaches = candidate_frequencies(
            score, df, first, config.samples_per_peak, config.n_peaks, config.n_harmonic_peaks
        )
    else:
        candidates, reaches = np.array((near,)), np.array((df,))
        limits = (near - 2.0 * df, near + 2.0 * df)
    if candidates.size == 0:
        return NO_PERIOD
    bands = _joined(ts, ys, ws, config)
    chosen = choose_frequency(bands, candidates, reaches, baseline, limits, config.choice)
    if chosen is None:
        return NO_PERIOD
    n_independent = (highest - lowest) * baseline
    fap, power = false_alarm(chosen.bands, chosen.frequency, chosen.model, baseline, n_independent)
    shape = fourier_parameters(chosen.bands, chosen.frequency)
    return PeriodResult(1.0 / chosen.frequency, fap, power, int(MODEL_HARMONICS[chosen.model]), *shape)


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
    grid = _frequency_grid(times, mags, errs, period_range, config)
    if grid is None:
        return None
    score = scan_score(grid.times, grid.mags, grid.weights, grid.step, grid.last)
    numbers = np.arange(grid.first, grid.last + 1)
    return Periodogram((numbers * grid.step).astype(np.float64), score[grid.first :], config.samples_per_peak)


class _Grid(NamedTuple):
    """The usable epochs of each band, and the frequencies `step` × (`first` … `last`) to look at."""

    times: list[Floats]
    mags: list[Floats]
    weights: list[Floats]
    baseline: float
    step: float
    first: int
    last: int
    limits: tuple[float, float]


def _frequency_grid(
    times: Sequence[Floats],
    mags: Sequence[Floats],
    errs: Sequence[Floats],
    period_range: tuple[float, float],
    config: PeriodConfig,
) -> _Grid | None:
    start, end = _time_span(times, config.isolation)
    baseline = end - start
    if not baseline > 0.0:
        return None
    parts = _usable_bands(times, mags, errs, start, end, config)
    df = 1.0 / (config.samples_per_peak * baseline)
    n_grid = min(math.ceil(1.0 / (period_range[0] * df)), config.max_frequencies)
    lowest = max(1.0 / period_range[1], config.min_cycles / baseline)
    highest = min(1.0 / period_range[0], n_grid * df)
    first = max(math.ceil(lowest / df), 1)
    if not parts or first + 2 >= n_grid:
        return None
    ts, ys, ws = (list(column) for column in zip(*parts, strict=True))
    return _Grid(ts, ys, ws, baseline, df, first, n_grid, (lowest, highest))


def _time_span(times: Sequence[Floats], isolation: float) -> tuple[float, float]:
    """Return first and last time of the epochs that are not lost far outside."""
    together = np.sort(np.concatenate([np.asarray(t, dtype=np.float64) for t in times])) if len(times) else np.empty(0)
    if together.size < FEWEST_EPOCHS:
        return 0.0, 0.0
    low, high = together[int(0.1 * together.size)], together[int(0.9 * together.size)]
    margin = isolation * (high - low)
    inside = together[(together >= low - margin) & (together <= high + margin)]
    return float(inside[0]), float(inside[-1])


def _usable_bands(
    times: Sequence[Floats],
    mags: Sequence[Floats],
    errs: Sequence[Floats],
    start: float,
    end: float,
    config: PeriodConfig,
) -> list[tuple[Floats, Floats, Floats]]:
    """Return time from the middle, magnitude from the mean and normalised weight of each band worth fitting."""
    usable = []
    for t, mag, err in zip(times, mags, errs, strict=True):
        inside = (t >= start) & (t <= end)
        if np.count_nonzero(inside) < FEWEST_EPOCHS:
            continue
        w = 1.0 / (err[inside] ** 2 + config.error_floor**2)
        w /= w.sum()
        ordered = np.sort(mag[inside])
        # numpy's own median costs a short curve more than all else here.
        y = mag[inside] - 0.5 * (ordered[(ordered.size - 1) // 2] + ordered[ordered.size // 2])
        y -= np.sum(w * y)
        spread = math.sqrt(float(np.sum(w * y * y)))
        # A spread at the last digits of a float is a constant magnitude.
        if math.isfinite(spread) and spread > 1e-10 * max(1.0, abs(float(ordered[0])), abs(float(ordered[-1]))):
            usable.append((t[inside] - 0.5 * (start + end), y, w))
    return usable


def _joined(ts: list[Floats], ys: list[Floats], ws: list[Floats], config: PeriodConfig) -> Bands:
    epochs = np.array([t.size for t in ts])
    max_harmonics = np.clip((epochs / config.epochs_per_coefficient - 1.0) // 2, 1, HIGHEST_HARMONIC).astype(np.int64)
    bounds = np.concatenate(([0], np.cumsum(epochs))).astype(np.int64)
    return Bands(np.concatenate(ts), np.concatenate(ws), np.concatenate(ys), bounds, max_harmonics)
