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

from lcdvt.features.gate import Curves
from lcdvt.features.period.choice import ChoiceConfig, choose_frequencies
from lcdvt.features.period.fit import NO_MODEL
from lcdvt.features.period.normal import MODEL_HARMONICS, Floats
from lcdvt.features.period.scan import Candidates, candidate_frequencies, scan_score
from lcdvt.features.period.stars import HIGHEST, LOWEST, STEP, prepare_stars


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

    def rules(self, period_range: tuple[float, float]) -> Floats:
        """Return what `prepare_stars` has to know."""
        return np.array(
            (
                self.isolation,
                self.error_floor,
                self.epochs_per_coefficient,
                *period_range,
                self.samples_per_peak,
                self.min_cycles,
                self.max_frequencies,
            )
        )


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
N_HARMONICS = PeriodResult._fields.index("n_harmonics")
# What the choice tells of a period: all but the period itself and its number of harmonics.
DESCRIBED_FIELDS = [place for place in range(1, len(PeriodResult._fields)) if place != N_HARMONICS]


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
    curves = _one_after_the_other(times, mags, errs)
    found = search_curves(curves, len(curves.offsets) - 1, period_range, config=config, near=near)
    return PeriodResult(*found[0].tolist())._replace(n_harmonics=int(found[0, N_HARMONICS]))


def search_curves(
    curves: Curves,
    bands: int,
    period_range: tuple[float, float],
    *,
    config: PeriodConfig = DEFAULT_CONFIG,
    near: float | None = None,
) -> Floats:
    """Return what `find_period` does of many stars, a row for each, its columns the fields of `PeriodResult`.

    Parameters
    ----------
    curves
        A star's bands follow each other.
    bands
        How many bands each star has; they may be empty.
    period_range, config, near
        As in `find_period`.
    """
    stars = prepare_stars(*curves, bands, config.rules(period_range))
    if near is None:
        candidates = candidate_frequencies(stars, config.samples_per_peak, config.n_peaks, config.n_harmonic_peaks)
    else:
        step = stars.numbers[:, STEP : STEP + 1].copy()
        candidates = Candidates(np.full(step.shape, near), step, np.ones(len(step), dtype=np.int64))
        stars.numbers[:, LOWEST], stars.numbers[:, HIGHEST] = (near - 2.0 * step[:, 0], near + 2.0 * step[:, 0])
    chosen = choose_frequencies(stars, candidates, config.choice)
    found = np.full((len(chosen.model), len(PeriodResult._fields)), math.nan)
    found[:, N_HARMONICS] = NO_PERIOD.n_harmonics
    has_period = chosen.model != NO_MODEL
    found[has_period, 0] = 1.0 / chosen.frequency[has_period]
    found[has_period, N_HARMONICS] = MODEL_HARMONICS[chosen.model[has_period]]
    found[np.ix_(has_period, DESCRIBED_FIELDS)] = chosen.described[has_period]
    return found


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
    curves = _one_after_the_other(times, mags, errs)
    stars = prepare_stars(*curves, len(curves.offsets) - 1, config.rules(period_range))
    if stars.n_bands[0] == 0:
        return None
    first, last = stars.grid[0].tolist()
    frequencies = np.arange(first, last + 1) * stars.numbers[0, STEP]
    return Periodogram(frequencies, scan_score(stars).astype(np.float64)[first:], config.samples_per_peak)


def _one_after_the_other(times: Sequence[Floats], mags: Sequence[Floats], errs: Sequence[Floats]) -> Curves:
    """Return a star's bands as curves; one without bands has an empty one."""
    offsets = np.cumsum([0, *(len(each) for each in times)]) if len(times) else np.zeros(2, dtype=np.int64)
    time, mag, err = (np.concatenate((*each, ())).astype(np.float64) for each in (times, mags, errs))
    return Curves(time, mag, err, offsets)
