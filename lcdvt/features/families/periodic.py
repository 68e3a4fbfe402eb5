"""FATS' period, the curve folded on it, and the harmonics of three frequencies found by whitening."""

import math
from typing import Final

import numpy as np
from numba import njit

from lcdvt.features.families.indices import cumulative_range
from lcdvt.features.families.moments import REORDERED_SUMS, mean_and_variance
from lcdvt.features.gate import Curves
from lcdvt.features.lomb_scargle import (
    LONGEST_DIRECT,
    FourierSums,
    Grid,
    direct_signal,
    direct_window,
    fats_grid,
    highest_of_all,
    highest_of_coarse,
)
from lcdvt.features.table import HARMONIC_FREQUENCIES, HARMONICS

FEATURES: Final = (
    "PeriodLS",
    "Period_fit",
    "Psi_CS",
    "Psi_eta",
    *(
        f"Freq{frequency}_harmonics_{what}_{harmonic}"
        for frequency in HARMONIC_FREQUENCIES
        for what in ("amplitude", "rel_phase")
        for harmonic in HARMONICS
    ),
)
FOLD_COLUMNS: Final = 4
NUMBER_OF_HARMONICS: Final = len(HARMONICS)
WHITENINGS: Final = len(HARMONIC_FREQUENCIES)
FREQUENCIES_OUT: Final = WHITENINGS


def compute(curves: Curves) -> np.ndarray:
    """Return one row per curve, columns as in FEATURES."""
    return compute_with_frequencies(curves)[0]


def compute_with_frequencies(curves: Curves) -> tuple[np.ndarray, np.ndarray]:
    """Return the features, and the three frequencies that each curve was whitened with."""
    number = len(curves.offsets) - 1
    out = np.full((number, len(FEATURES)), np.nan)
    frequencies = np.full((number, FREQUENCIES_OUT), np.nan)
    _compute_short(curves.time, curves.mag, curves.offsets, out, frequencies)
    for curve in np.flatnonzero(np.diff(curves.offsets) > LONGEST_DIRECT):
        part = slice(curves.offsets[curve], curves.offsets[curve + 1])
        _compute_long(curves.time[part], curves.mag[part], out[curve], frequencies[curve])
    return out, frequencies


@njit(cache=True, error_model="numpy")
def _compute_short(
    time: np.ndarray, mag: np.ndarray, offsets: np.ndarray, out: np.ndarray, frequencies: np.ndarray
) -> None:
    for curve in range(len(offsets) - 1):
        start, stop = offsets[curve], offsets[curve + 1]
        if not 1 < stop - start <= LONGEST_DIRECT:
            continue
        since = time[start:stop] - time[start]
        mean, variance = mean_and_variance(mag[start:stop])
        grid = fats_grid(since[-1], stop - start)
        if grid.size == 0 or not variance > 0.0:
            continue
        signal = mag[start:stop] - mean
        window = direct_window(since, grid)
        for whitening in range(WHITENINGS):
            signal_cos, signal_sin = direct_signal(since, signal, grid)
            index, power = highest_of_all(window, signal_cos, signal_sin)
            if index < 0:
                break
            if whitening == 0:
                _describe_period(time[start:stop], mag[start:stop], grid, index, power, out[curve])
            frequencies[curve, whitening] = grid.lowest + grid.step * index
            _whiten(since, signal, frequencies[curve, whitening], whitening, out[curve])


def _compute_long(time: np.ndarray, mag: np.ndarray, out: np.ndarray, frequencies: np.ndarray) -> None:
    since = time - time[0]
    mean, variance = mean_and_variance(mag)
    grid = Grid(*fats_grid(since[-1], len(time)))
    if grid.size == 0 or not variance > 0.0:
        return
    signal = mag - mean
    sums = FourierSums(since, grid)
    window = sums.window()
    for whitening in range(WHITENINGS):
        index, power = highest_of_coarse(since, signal, grid, window, *sums.signal(signal))
        if index < 0:
            return
        if whitening == 0:
            _describe_period(time, mag, grid, index, power, out)
        frequencies[whitening] = grid.lowest + grid.step * index
        _whiten(since, signal, frequencies[whitening], whitening, out)


@njit(cache=True, error_model="numpy")
def _describe_period(time: np.ndarray, mag: np.ndarray, grid: Grid, index: int, power: float, out: np.ndarray) -> None:
    """Fill the period, its false-alarm value, and the two features of the folded curve."""
    period = 1.0 / (grid.lowest + grid.step * index)
    epochs = len(time)
    mean, variance = mean_and_variance(mag)
    phase = np.mod(time, 2.0 * period) / (2.0 * period)
    folded = mag[np.argsort(phase)]
    steps = 0.0
    for i in range(epochs - 1):
        steps += (folded[i + 1] - folded[i]) ** 2
    single = 1.0 - (1.0 - min(power / variance, 1.0)) ** (0.5 * (epochs - 3))
    out[0] = period
    # The index stands where a frequency should: so it is in FATS, and so the value compares with published ones.
    out[1] = 1.0 - single ** (index * (time[-1] - time[0]))
    out[2] = cumulative_range(folded, mean, math.sqrt(variance))
    out[3] = steps / ((epochs - 1) * variance)


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def _fit_sinusoid(cosine: np.ndarray, sine: np.ndarray, signal: np.ndarray) -> tuple[float, float, float]:
    """Return (a, b, c) of the least-squares a·sin + b·cos + c."""
    epochs = len(signal)
    c = s = y = 0.0
    for i in range(epochs):
        c += cosine[i]
        s += sine[i]
        y += signal[i]
    c, s, y = c / epochs, s / epochs, y / epochs
    cc = ss = cs = yc = ys = 0.0
    for i in range(epochs):
        from_c, from_s, from_y = cosine[i] - c, sine[i] - s, signal[i] - y
        cc += from_c * from_c
        ss += from_s * from_s
        cs += from_c * from_s
        yc += from_y * from_c
        ys += from_y * from_s
    determinant = cc * ss - cs * cs
    a = (ys * cc - yc * cs) / determinant
    b = (yc * ss - ys * cs) / determinant
    return a, b, y - a * s - b * c


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def _whiten(since: np.ndarray, signal: np.ndarray, frequency: float, whitening: int, out: np.ndarray) -> None:
    """Fit four harmonics, each to the same signal, describe them, and take all of them out of the signal."""
    epochs = len(since)
    phase = 2.0 * math.pi * frequency * since
    cosine, sine = np.cos(phase), np.sin(phase)
    harmonic_cos, harmonic_sin = cosine.copy(), sine.copy()
    model = np.zeros(epochs)
    first_column = FOLD_COLUMNS + whitening * 2 * NUMBER_OF_HARMONICS
    first_phase = 0.0
    for harmonic in range(NUMBER_OF_HARMONICS):
        a, b, c = _fit_sinusoid(harmonic_cos, harmonic_sin, signal)
        angle = math.atan(b / a)
        if harmonic == 0:
            first_phase = angle
        out[first_column + harmonic] = math.sqrt(a * a + b * b)
        out[first_column + NUMBER_OF_HARMONICS + harmonic] = angle - first_phase
        for i in range(epochs):
            here_cos, here_sin = harmonic_cos[i], harmonic_sin[i]
            model[i] += a * here_sin + b * here_cos + c
            harmonic_cos[i] = here_cos * cosine[i] - here_sin * sine[i]
            harmonic_sin[i] = here_sin * cosine[i] + here_cos * sine[i]
    remaining = 0.0
    for i in range(epochs):
        signal[i] -= model[i]
        remaining += signal[i]
    # The periodogram of the next step takes a signal of zero mean.
    for i in range(epochs):
        signal[i] -= remaining / epochs
