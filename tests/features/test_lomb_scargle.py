"""The quick search for the highest peak finds what the whole periodogram has."""

import numpy as np
import pytest
from astropy.timeseries import LombScargle

from lcdvt.features.lomb_scargle import DirectSums, FourierSums, Grid, fats_grid


def _curve(seed: int, epochs: int) -> tuple[np.ndarray, np.ndarray]:
    """Nightly epochs with seasons, and a star that may be noise only."""
    rng = np.random.default_rng(seed)
    nights = np.sort(rng.choice(4 * epochs, epochs, replace=False))
    nights = nights[nights % 365 < 250]
    time = nights + rng.normal(0.6, 0.1, len(nights))
    signal = rng.choice([0.0, 0.05, 0.5]) * np.sin(2 * np.pi * time / rng.choice([0.55, 3.3, 80.0]))
    signal = signal + rng.normal(0, 0.1, len(time))
    return np.sort(time) - time.min(), signal - signal.mean()


def _whole_periodogram(since: np.ndarray, signal: np.ndarray, grid: Grid) -> np.ndarray:
    frequencies = grid.lowest + grid.step * np.arange(grid.size)
    # Exact sums, in the closed form of a floating mean with equal weights.
    out = np.empty(grid.size)
    for start in range(0, grid.size, 2000):
        phase = 2 * np.pi * frequencies[start : start + 2000, np.newaxis] * since
        cos, sin = np.cos(phase), np.sin(phase)
        cos -= cos.mean(axis=1, keepdims=True)
        sin -= sin.mean(axis=1, keepdims=True)
        cc, ss, cs = (cos**2).mean(axis=1), (sin**2).mean(axis=1), (cos * sin).mean(axis=1)
        yc, ys = (cos * signal).mean(axis=1), (sin * signal).mean(axis=1)
        out[start : start + 2000] = (ss * yc**2 + cc * ys**2 - 2 * cs * yc * ys) / (cc * ss - cs**2)
    return out


@pytest.mark.parametrize("seed", range(12))
def test_recurrence_and_fourier_transform_find_the_highest_point(seed: int) -> None:
    since, signal = _curve(seed, 150)
    grid = fats_grid(since[-1], len(since))
    power = _whole_periodogram(since, signal, grid)
    direct = DirectSums(since, grid).highest(signal)
    coarse = FourierSums(since, grid).highest(signal)
    assert direct[0] == coarse[0] == np.argmax(power)
    np.testing.assert_allclose([direct[1], coarse[1]], power.max(), rtol=1e-9)


def test_the_power_is_astropys() -> None:
    since, signal = _curve(3, 80)
    grid = fats_grid(since[-1], len(since))
    periodogram = LombScargle(since, signal)
    frequencies = periodogram.autofrequency(samples_per_peak=5, nyquist_factor=100)
    np.testing.assert_array_equal(frequencies, grid.lowest + grid.step * np.arange(grid.size))
    power = periodogram.power(frequencies, method="slow")
    index, explained = DirectSums(since, grid).highest(signal)
    assert index == np.argmax(power)
    assert explained / np.mean(signal**2) == pytest.approx(power.max(), rel=1e-9)
