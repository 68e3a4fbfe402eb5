"""Fourier parameters at the period: equal to an independent fit, whatever the bands and the beginning of time."""

import math

import numpy as np
import pytest

from lcdvt.features.period.search import NO_PERIOD, PeriodConfig, find_period
from lcdvt.features.table import FEATURES

PERIOD = 0.6137
R21, PHI21, R31, PHI31 = 0.45, 4.0, 0.25, 2.2
RANGE = (0.1, 100.0)


def pulsation(t: np.ndarray, amplitude: float, phase: float = 1.0) -> np.ndarray:
    angle = 2.0 * np.pi * t / PERIOD + phase
    return amplitude * (np.cos(angle) + R21 * np.cos(2 * angle + PHI21) + R31 * np.cos(3 * angle + PHI31))


def epochs(seed: int, number: int = 150) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).uniform(0.0, 400.0, number))


def angle_between(a: float, b: float) -> float:
    return abs((a - b + math.pi) % (2.0 * math.pi) - math.pi)


@pytest.mark.parametrize("start", [0.0, 50_000.123])
def test_a_known_shape_is_found_in_two_bands_of_different_amplitude(start):
    blue, red = epochs(1), epochs(2)
    found = find_period(
        (blue + start, red + start),
        (15.0 + pulsation(blue, 0.4), 14.0 + pulsation(red, 0.25)),
        (np.full(150, 0.01), np.full(150, 0.01)),
        RANGE,
    )
    assert found.period == pytest.approx(PERIOD, rel=1e-4)
    assert 0.25 < found.amplitude < 0.4
    # the period found is a little off the true one, which costs the third digit
    assert found.r21 == pytest.approx(R21, abs=0.01) and found.r31 == pytest.approx(R31, abs=0.01)
    assert angle_between(found.phi21, PHI21) < 0.02 and angle_between(found.phi31, PHI31) < 0.03


def test_one_band_equals_a_weighted_fit_of_four_harmonics():
    rng = np.random.default_rng(3)
    t, err = epochs(4), rng.uniform(0.02, 0.1, 150)
    mag = 15.0 + pulsation(t, 0.3) + rng.normal(0.0, err)
    found = find_period((t,), (mag,), (err,), RANGE)
    columns = [np.ones_like(t)]
    for k in range(1, 5):
        columns += [np.cos(2 * np.pi * k * t / found.period), np.sin(2 * np.pi * k * t / found.period)]
    root = 1.0 / np.sqrt(err**2 + PeriodConfig().error_floor ** 2)
    fit = np.linalg.lstsq(np.stack(columns, axis=1) * root[:, None], mag * root, rcond=None)[0]
    series = fit[1::2] - 1j * fit[2::2]
    amplitudes, phases = np.abs(series), np.angle(series)
    assert found.amplitude == pytest.approx(amplitudes[0], rel=1e-6)
    assert found.r21 == pytest.approx(amplitudes[1] / amplitudes[0], rel=1e-6)
    assert found.r31 == pytest.approx(amplitudes[2] / amplitudes[0], rel=1e-6)
    assert angle_between(found.phi21, phases[1] - 2 * phases[0]) < 1e-5
    assert angle_between(found.phi31, phases[2] - 3 * phases[0]) < 1e-5
    assert 0.0 <= found.phi21 < 2.0 * np.pi and 0.0 <= found.phi31 < 2.0 * np.pi


def test_a_harmonic_the_epochs_do_not_determine_has_no_value():
    t = epochs(5, 12)
    found = find_period((t,), (15.0 + pulsation(t, 0.4),), (np.full(12, 0.01),), RANGE)
    assert math.isfinite(found.amplitude)
    assert math.isnan(found.r21) and math.isnan(found.phi21) and math.isnan(found.r31) and math.isnan(found.phi31)
    assert all(math.isnan(value) for value in NO_PERIOD[4:])


@pytest.mark.parametrize("name", ["R21", "R31"])
def test_the_table_tells_how_many_epochs_a_harmonic_needs(name):
    needed = FEATURES[f"Period_{name}"].minimum_epochs
    for number, has_a_value in ((needed - 1, False), (needed, True)):
        t = epochs(9, number)
        found = find_period((t,), (15.0 + pulsation(t, 0.4),), (np.full(number, 0.01),), RANGE)
        assert math.isfinite(getattr(found, name.lower())) == has_a_value


def test_a_band_with_few_epochs_does_not_water_down_the_harmonics_of_the_other():
    blue, red = epochs(6), epochs(7, 14)
    noisy = 15.0 + pulsation(blue, 0.4) + np.random.default_rng(8).normal(0.0, 0.1, 150)
    errs = (np.full(150, 0.1), np.full(14, 0.01))
    alone = find_period((blue,), (noisy,), errs[:1], RANGE)
    both = find_period((blue, red), (noisy, 14.0 + pulsation(red, 0.4)), errs, RANGE)
    assert both.r21 == pytest.approx(alone.r21, rel=0.005) and both.r31 == pytest.approx(alone.r31, rel=0.005)


def test_a_binarys_second_harmonic_is_above_its_first():
    t = epochs(8, 300)
    phase = (t / 1.7) % 1.0
    from_primary = np.minimum(phase, 1.0 - phase)
    mag = 15.0 + 0.6 * np.exp(-0.5 * (from_primary / 0.05) ** 2) + 0.4 * np.exp(-0.5 * ((phase - 0.5) / 0.05) ** 2)
    found = find_period((t,), (mag,), (np.full(300, 0.01),), RANGE)
    assert found.period == pytest.approx(1.7, rel=1e-3)
    assert found.r21 > 1.0
