"""The light curve that all bands make together, and colour by wavelength."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lcdvt.errors import SettingsError
from lcdvt.features.config import FeatureConfig, order_bands
from lcdvt.features.extraction import extract
from lcdvt.features.families.joint_curve import fit_joint_curves
from lcdvt.features.gate import Curves
from lcdvt.features.table import FEATURES

JOINT = tuple(name for name, spec in FEATURES.items() if spec.family == "all_bands")
COLOURS = ("SED_slope", "SED_curvature", "Amplitude_slope", "Colour_change")
WAVELENGTHS = {"g": 481.0, "r": 617.0, "i": 752.0, "z": 866.0, "y": 962.0}


def sparse_star(signal, *, bands="grizy", per_band=6, noise=0.01, seed=0, offsets=None, slope=0.0):
    """Return the epochs of a star with few epochs in each band; amplitudes go with wavelength to the power `slope`."""
    generator = np.random.default_rng(seed)
    parts = []
    for number, band in enumerate(bands):
        t = np.sort(generator.uniform(0.0, 1500.0, per_band))
        amplitude = (WAVELENGTHS[band] / 600.0) ** slope
        offset = 18.0 + 0.3 * number if offsets is None else offsets[number]
        mag = offset + amplitude * signal(t) + noise * generator.standard_normal(per_band)
        parts.append(pd.DataFrame({"object_id": "s", "band": band, "mjd": t, "mag": mag, "mag_err": noise}))
    return pd.concat(parts, ignore_index=True)


def features_of(epochs, **options):
    return extract(epochs, JOINT, wavelengths=WAVELENGTHS, **options).iloc[0]


def pulsation(t):
    return 0.4 * np.sin(2.0 * np.pi * t / 0.5432)


def drift(t):
    return 0.3 * np.sin(2.0 * np.pi * t / 2500.0)


def test_few_epochs_in_each_band_add_up():
    found = features_of(sparse_star(pulsation, per_band=3))
    assert np.isfinite(
        found[["Joint_spread", "Joint_Skew", "DRW_tau", "SED_slope", "Amplitude_slope"]].astype(float)
    ).all()
    too_few = features_of(sparse_star(pulsation, bands="gri", per_band=3))
    assert too_few[list(JOINT)].isna().all()


def test_offsets_leave_slow_variability_in_place():
    """Each band saw another part of a slow drift: offsets by band means would take the drift away."""
    epochs = sparse_star(lambda t: 4e-4 * t, bands="gr", per_band=30)
    early = (epochs["band"] == "g") & (epochs["mjd"] < 900.0)
    late = (epochs["band"] == "r") & (epochs["mjd"] > 600.0)
    epochs = epochs[early | late].sort_values(["band", "mjd"])
    bounds = np.array([0, early.sum(), early.sum() + late.sum()])
    curves = Curves(*(epochs[name].to_numpy() for name in ("mjd", "mag", "mag_err")), bounds)
    curve = fit_joint_curves(curves, 2, 1.0, 0.01)
    by_means = epochs.groupby("band")["mag"].mean()
    assert abs((curve.offset[0, 1] - curve.offset[0, 0]) - 0.3) < 0.1
    assert abs((by_means["r"] - by_means["g"]) - 0.3) > 0.15


def test_the_filter_is_the_gaussian_process_it_stands_for():
    """The likelihood's differences and the offsets are those of the dense covariance matrix."""
    from lcdvt.features.families.joint_curve import _Walks

    generator = np.random.default_rng(1)
    t, y = np.sort(generator.uniform(0, 100, 25)), generator.standard_normal(25)
    column = generator.integers(0, 3, 25)
    e2 = generator.uniform(0.01, 0.1, 25)
    design = np.eye(3)[column]
    expected, found = [], []
    for tau, sigma in ((5.0, 0.5), (40.0, 1.5), (0.0, 0.7)):
        lag = np.abs(t[:, None] - t[None, :])
        covariance = sigma**2 * (np.exp(-lag / tau) if tau else (lag == 0)) + np.diag(e2)
        inverse = np.linalg.inv(covariance)
        normal = design.T @ inverse @ design
        offsets = np.linalg.solve(normal, design.T @ inverse @ y)
        rest = y - design @ offsets
        logs = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(normal)[1]
        expected.append(-0.5 * (rest @ inverse @ rest + logs))
        walks = _Walks(t, y, e2, column, np.array([0, 25]), 3)
        found.append(walks.likelihoods(np.array([[tau]]), np.array([[sigma]]))[0, 0])
        np.testing.assert_allclose(walks.solution[0], offsets, rtol=1e-9)
        np.testing.assert_allclose(walks.variance[0], np.diag(np.linalg.inv(normal)), rtol=1e-9)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_quasar_remembers_and_a_pulsator_does_not():
    slow, fast = features_of(sparse_star(drift)), features_of(sparse_star(pulsation))
    assert slow["DRW_tau"] > 2.0 > fast["DRW_tau"]
    assert slow["Joint_SF_years"] > 1.0 > 0.5 > slow["Joint_SF_month"]
    assert fast["Joint_SF_month"] > 0.5


def test_colour_features_have_their_meaning():
    log = np.log10(np.array(list(WAVELENGTHS.values())) / 600.0)
    red = features_of(sparse_star(drift, offsets=18.0 - 2.0 * log + 5.0 * log**2, per_band=20, noise=0.003))
    assert red["SED_curvature"] == pytest.approx(5.0, abs=1.5)
    straight = features_of(sparse_star(drift, offsets=18.0 - 2.0 * log, per_band=20, noise=0.003))
    assert straight["SED_slope"] == pytest.approx(-2.0, abs=0.3)
    steep, grey = (features_of(sparse_star(pulsation, slope=s, per_band=40))["Amplitude_slope"] for s in (-1.5, 0.0))
    assert steep == pytest.approx(-1.5, abs=0.4)
    assert grey == pytest.approx(0.0, abs=0.4)


def test_slope_is_the_same_whatever_the_bands():
    log = {band: np.log10(wavelength / 600.0) for band, wavelength in WAVELENGTHS.items()}
    slopes = [
        features_of(
            sparse_star(
                drift, bands=bands, offsets=[18.0 - 1.5 * log[band] for band in bands], per_band=20, noise=0.003
            )
        )["SED_slope"]
        for bands in ("grizy", "gi", "riz")
    ]
    assert np.ptp(slopes) < 0.4


def test_one_band_has_no_colour():
    found = features_of(sparse_star(pulsation, bands="r", per_band=30))
    assert found[list(COLOURS)].isna().all()
    assert np.isfinite(found["DRW_tau"])


def test_instrumental_magnitudes_have_no_spectrum_but_an_amplitude():
    config = FeatureConfig(("g", "r"), JOINT, calibrated=False)
    import pyarrow as pa

    from lcdvt.features.extraction import extract_table

    found = extract_table(pa.Table.from_pandas(sparse_star(pulsation, bands="gr", per_band=20)), config).to_pandas()
    assert np.isnan(found["SED_slope"]).all()
    assert np.isfinite(found["Amplitude_slope"]).all()


def test_old_columns_do_not_change_when_the_new_ones_are_asked_for():
    epochs = sparse_star(pulsation, bands="gr", per_band=25)
    old = extract(epochs, "fats", period_range=(0.2, 100.0))
    new = extract(epochs, "all", period_range=(0.2, 100.0))
    assert set(JOINT) <= set(new.columns)
    assert not set(JOINT) & set(old.columns)
    pd.testing.assert_frame_equal(old, new[list(old.columns)])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(-5.0, 5.0), st.floats(-1000.0, 1000.0))
def test_shifting_bands_or_time_changes_no_feature_but_the_spectrum(seed, shift, days):
    epochs = sparse_star(pulsation, seed=seed)
    moved = epochs.assign(mjd=epochs["mjd"] + days, mag=epochs["mag"] + shift * (epochs["band"] == "r"))
    before, after = features_of(epochs), features_of(moved)
    kept = [name for name in JOINT if not name.startswith("SED")]
    np.testing.assert_allclose(before[kept].astype(float), after[kept].astype(float), rtol=1e-3, atol=1e-3)


@given(st.permutations(range(30)))
@settings(max_examples=10, deadline=None)
def test_the_order_of_rows_does_not_matter(order):
    epochs = sparse_star(pulsation)
    pd.testing.assert_series_equal(features_of(epochs), features_of(epochs.iloc[list(order)]))


def test_bands_are_ordered_by_wavelength():
    assert order_bands("zgr") == ("g", "r", "z")
    assert order_bands(["a", "b"], {"a": 900.0, "b": 400.0}) == ("b", "a")
    assert order_bands(["g", "first"]) == ("g", "first")
    with pytest.raises(SettingsError, match="nanometres for each of g, r"):
        FeatureConfig(("g", "r"), wavelengths=(500.0,))
