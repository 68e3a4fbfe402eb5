"""One period from many bands: sparse stars by templates, well-sampled ones by the joined curve."""

import math
import os
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lcdvt.features.extraction import extract
from lcdvt.features.period.search import find_period
from lcdvt.features.period.sparse import compare_periods, find_sparse_period, load_templates

BANDS = {"g": 481.0, "r": 617.0, "i": 752.0, "z": 866.0, "y": 962.0}
WAVELENGTHS = np.array(list(BANDS.values()))
PERIOD_COLUMNS = ["Period", "Period_fap", "Period_power"]
RANGE = (0.1, 1500.0)


def sawtooth(phase):
    """Return a star that rises in a sixth of its period and fades in the rest: magnitudes, range one."""
    phase = phase % 1.0
    return np.where(phase < 1 / 6, 0.5 - 6.0 * phase, 0.6 * (phase - 1 / 6) * 2.0 - 0.5)


def pulsator(period, per_band, seed, noise=0.01, amplitude=0.7, cadence=None):
    generator = np.random.default_rng(seed)
    parts, bounds = [], [0]
    for wavelength in WAVELENGTHS:
        t = np.sort(generator.uniform(0.0, 1500.0, per_band)) if cadence is None else cadence(generator, per_band)
        mag = 17.0 + amplitude * (wavelength / 600.0) ** -1.1 * sawtooth(t / period)
        parts.append((t, mag + noise * generator.standard_normal(t.size)))
        bounds.append(bounds[-1] + t.size)
    t, mag = (np.concatenate(column) for column in zip(*parts, strict=True))
    return t, mag, np.full(t.size, noise), np.array(bounds)


def sparse(t, mag, err, bounds):
    return find_sparse_period(t, mag, np.hypot(err, 0.015), bounds, WAVELENGTHS, RANGE)


def test_five_bands_of_six_epochs_give_the_period():
    periods = np.random.default_rng(5).uniform(0.45, 0.7, 12)
    found = [sparse(*pulsator(period, 6, seed)) for seed, period in enumerate(periods)]
    exact = [abs(each.period / period - 1.0) < 0.01 for each, period in zip(found, periods, strict=True)]
    assert np.mean(exact) >= 0.75
    sure = [right for each, right in zip(found, exact, strict=True) if each.fap < 0.01]
    assert len(sure) >= 3
    assert all(sure)


def test_a_star_without_a_period_says_so():
    generator = np.random.default_rng(2)
    alarms = []
    for seed in range(6):
        t, mag, err, bounds = pulsator(0.55, 6, seed, amplitude=0.0)
        alarms.append(sparse(t, mag + 0.2 * generator.standard_normal(t.size), err, bounds).fap)
    assert min(alarms) > 0.3
    assert np.median(alarms) > 0.9


def test_equally_good_periods_are_told():
    """Observed every fifth day only, a frequency and that frequency plus a fifth of a cycle a day are the same."""
    t, mag, err, bounds = pulsator(
        0.55, 6, 3, cadence=lambda generator, n: np.sort(5.0 * generator.choice(300, n, replace=False))
    )
    assert sparse(t, mag, err, bounds).fap > 0.4
    assert sparse(*pulsator(0.55, 9, 3)).fap < 0.05


def test_too_few_epochs_and_constant_stars_have_no_period():
    t, mag, err, bounds = pulsator(0.55, 1, 0)
    assert sparse(t, mag, err, bounds) is None
    t, mag, err, bounds = pulsator(0.55, 6, 0)
    assert sparse(t, np.full(t.size, 17.0), err, bounds) is None
    assert sparse(np.zeros(t.size), mag, err, bounds) is None


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1000), st.floats(-3.0, 3.0), st.floats(-1e4, 1e4))
def test_offsets_and_the_origin_of_time_do_not_matter(seed, shift, days):
    t, mag, err, bounds = pulsator(0.55, 7, seed)
    before = sparse(t, mag, err, bounds)
    moved = mag.copy()
    moved[bounds[1] : bounds[2]] += shift
    after = sparse(t + days, moved, err, bounds)
    assert 0.0 <= before.fap <= 1.0
    if before.fap < 0.1:
        assert after.period == pytest.approx(before.period, rel=1e-3)


def as_epochs(t, mag, err, bounds):
    band = np.repeat(list(BANDS), np.diff(bounds))
    return pd.DataFrame({"object_id": "s", "band": band, "mjd": t, "mag": mag, "mag_err": err})


def test_well_sampled_stars_of_many_bands_keep_free_harmonics():
    epochs = as_epochs(*pulsator(0.5678, 50, 0))
    found = extract(epochs, PERIOD_COLUMNS, period_range=RANGE, wavelengths=BANDS).iloc[0]
    assert found["Period"] == pytest.approx(0.5678, rel=1e-3)
    assert found["Period_fap"] < 1e-6


def test_two_bands_take_the_search_that_they_always_took():
    t, mag, err, bounds = pulsator(0.5678, 40, 0)
    epochs = as_epochs(t, mag, err, bounds)
    found = extract(epochs[epochs["band"].isin(["g", "r"])], PERIOD_COLUMNS, period_range=RANGE).iloc[0]
    parts = [slice(bounds[b], bounds[b + 1]) for b in range(2)]
    expected = find_period(*(tuple(column[part] for part in parts) for column in (t, mag, err)), RANGE)
    assert tuple(found[PERIOD_COLUMNS]) == (expected.period, expected.fap, expected.power)


def test_templates_are_shapes_of_range_one():
    templates = load_templates()
    for table in (templates.coarse, templates.middle, templates.fine):
        np.testing.assert_allclose(np.ptp(table, axis=(1, 2)), 1.0, atol=0.02)
        np.testing.assert_allclose(table.mean(axis=(1, 2)), 0.0, atol=1e-9)
    np.testing.assert_array_equal(templates.coarse[:, 4, 3:7], templates.fine[:, 0, 13:29:4])
    assert math.isclose(templates.prior.sum(), 1.0)
    assert np.isinf(templates.log_period_width[-1])  # the sine


@pytest.mark.skipif("LCDVT_REAL_DATA" not in os.environ, reason="LCDVT_REAL_DATA is not set")
def test_real_sparse_stars():
    """Forty RR Lyrae of Pan-STARRS; astropy's LombScargleMultiband finds a tenth of them."""
    folder = Path(os.environ["LCDVT_REAL_DATA"]) / "surveys" / "ps1_s82"
    labels = pd.read_csv(folder / "labels.csv", dtype={"id": str}).set_index("id")
    seen = [each for each in labels.index[labels["label"] == "RRLYR"] if zlib.crc32(each.encode()) % 2 == 0][:40]
    epochs = pd.read_csv(folder / "lightcurves.csv.gz", dtype={"id": str})
    epochs = epochs[epochs["id"].isin(seen)].set_axis(["object_id", "band", "mjd", "mag", "mag_err"], axis=1)
    found = extract(epochs, PERIOD_COLUMNS, period_range=RANGE, wavelengths=BANDS).set_index("object_id")
    exact = (found["Period"] / labels.loc[found.index, "period"] - 1.0).abs() < 0.01
    assert exact.mean() > 0.35
    assert exact[found["Period_fap"] < 0.01].mean() > 0.9


def test_an_epoch_a_hair_before_a_whole_turn_counts_like_one_after_it() -> None:
    rng = np.random.default_rng(4)
    half = np.sort(rng.uniform(1.0, 200.0, 60))
    frequencies, error = np.array((1.0 / 0.61, 1.0 / 0.55)), np.full(121, 0.02)
    found = []
    for hair in (-1e-20, 1e-20):  # less a whole turn it is 1 when rounded, and not just below
        time = np.concatenate((-half[::-1], (hair,), half))
        mag = 15.0 + 0.7 * sawtooth(time / 0.61)
        found.append(compare_periods(time, mag, error, frequencies, 0.0))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    best, evidence = found[0]
    assert evidence[0] > evidence[1] + 10.0
    np.testing.assert_allclose(best[0], 1.0 / 0.61, rtol=1e-3)
