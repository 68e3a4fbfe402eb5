"""FATS' period, the curve folded on it, and the harmonics of three frequencies found by whitening."""

import math
from typing import Final

import numpy as np

from lcdvt.compiled.kernel import fast_kernel
from lcdvt.features.gate import Curves
from lcdvt.features.lomb_scargle import LONGEST_DIRECT, DirectSums, FourierSums, Highest, fats_grid
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
    peaks = {}
    epochs = np.diff(curves.offsets)
    work = np.empty((5, int(np.max(epochs, initial=0))))
    # Curves of nearly the same length, one after the other, share the plan of their transforms.
    by_length = np.argsort(epochs, kind="stable")
    for curve in by_length[epochs[by_length] > 1].tolist():
        part = slice(curves.offsets[curve], curves.offsets[curve + 1])
        peak = _whiten_curve(curves.time[part], curves.mag[part], work, out[curve], frequencies[curve])
        if peak is not None:
            peaks[curve] = peak
    if peaks:
        _describe_periods(curves, peaks, frequencies[:, 0], out)
    return out, frequencies


def _whiten_curve(
    time: np.ndarray, mag: np.ndarray, work: np.ndarray, out: np.ndarray, frequencies: np.ndarray
) -> Highest | None:
    """Fill the frequencies and their harmonics; return the first periodogram's highest point."""
    since = time - time[0]
    grid = fats_grid(float(since[-1]), len(since))
    signal = mag - mag.sum() / len(mag)
    if grid.size == 0 or not np.dot(signal, signal) > 0.0:
        return None
    sums = DirectSums(since, grid) if len(since) <= LONGEST_DIRECT else FourierSums(since, grid)
    first = None
    for whitening in range(WHITENINGS):
        peak = sums.highest(signal)
        if peak.place < 0:
            break
        first = first or peak
        frequencies[whitening] = grid.lowest + grid.step * peak.place
        first_column = FOLD_COLUMNS + whitening * 2 * NUMBER_OF_HARMONICS
        _whiten(since, signal, frequencies[whitening], *work, out[first_column:])
    return first


def _describe_periods(curves: Curves, peaks: dict[int, Highest], frequency: np.ndarray, out: np.ndarray) -> None:
    """Fill the period, its false-alarm value, and the two features of the folded curve, for all curves at once."""
    chosen = np.array(sorted(peaks))
    epochs = np.diff(curves.offsets)[chosen]
    first = np.concatenate(([0], np.cumsum(epochs)))[:-1]
    rows = np.repeat(curves.offsets[chosen] - first, epochs) + np.arange(int(epochs.sum()))
    time, mag = curves.time[rows], curves.mag[rows]
    period = 1.0 / frequency[chosen]
    of_curve = np.repeat(np.arange(len(chosen)), epochs)
    double = np.repeat(2.0 * period, epochs)
    mag = mag[np.lexsort((np.mod(time, double) / double, of_curve))]
    residual = mag - np.repeat(np.add.reduceat(mag, first) / epochs, epochs)
    variance = np.add.reduceat(residual * residual, first) / epochs
    steps = np.diff(mag, append=0.0) ** 2
    # The step from one curve to the next is none.
    steps[first + epochs - 1] = 0.0
    running = np.cumsum(residual)
    span = np.maximum.reduceat(running, first) - np.minimum.reduceat(running, first)
    index, power = np.array([tuple(peaks[curve]) for curve in chosen]).T
    baseline = curves.time[curves.offsets[chosen + 1] - 1] - curves.time[curves.offsets[chosen]]
    single = 1.0 - (1.0 - np.minimum(power / variance, 1.0)) ** (0.5 * (epochs - 3))
    out[chosen, 0] = period
    # The index stands where a frequency should: so it is in FATS, and so the value compares with published ones.
    out[chosen, 1] = 1.0 - single ** (index * baseline)
    out[chosen, 2] = span / (epochs * np.sqrt(variance))
    out[chosen, 3] = np.add.reduceat(steps, first) / ((epochs - 1) * variance)


@fast_kernel
def _whiten(
    since: np.ndarray,
    signal: np.ndarray,
    frequency: float,
    cosine: np.ndarray,
    sine: np.ndarray,
    harmonic_cos: np.ndarray,
    harmonic_sin: np.ndarray,
    model: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fit four harmonics, each to the same signal, describe them, and take all of them out of the signal.

    `out` holds first the amplitudes, then the phases.
    """
    epochs = since.size
    for i in range(epochs):
        phase = 2.0 * math.pi * frequency * since[i]
        cosine[i] = math.cos(phase)
        sine[i] = math.sin(phase)
        harmonic_cos[i], harmonic_sin[i], model[i] = cosine[i], sine[i], 0.0
    first_phase = 0.0
    for harmonic in range(NUMBER_OF_HARMONICS):
        # The least-squares a·sin + b·cos + d.
        c = s = y = 0.0
        for i in range(epochs):
            c += harmonic_cos[i]
            s += harmonic_sin[i]
            y += signal[i]
        c, s, y = c / epochs, s / epochs, y / epochs
        cc = ss = cs = yc = ys = 0.0
        for i in range(epochs):
            from_c, from_s, from_y = harmonic_cos[i] - c, harmonic_sin[i] - s, signal[i] - y
            cc += from_c * from_c
            ss += from_s * from_s
            cs += from_c * from_s
            yc += from_y * from_c
            ys += from_y * from_s
        determinant = cc * ss - cs * cs
        a = (ys * cc - yc * cs) / determinant
        b = (yc * ss - ys * cs) / determinant
        d = y - a * s - b * c
        angle = math.atan(b / a)
        if harmonic == 0:
            first_phase = angle
        out[harmonic] = math.sqrt(a * a + b * b)
        out[NUMBER_OF_HARMONICS + harmonic] = angle - first_phase
        for i in range(epochs):
            here_cos, here_sin = harmonic_cos[i], harmonic_sin[i]
            model[i] += a * here_sin + b * here_cos + d
            harmonic_cos[i] = here_cos * cosine[i] - here_sin * sine[i]
            harmonic_sin[i] = here_sin * cosine[i] + here_cos * sine[i]
    remaining = 0.0
    for i in range(epochs):
        signal[i] -= model[i]
        remaining += signal[i]
    # The periodogram of the next step takes a signal of zero mean.
    for i in range(epochs):
        signal[i] -= remaining / epochs
