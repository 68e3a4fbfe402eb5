"""No input makes the extraction crash or hang, and the columns never change."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcdvt.features import FeatureConfig, extract, extraction_report

CONFIG = FeatureConfig(bands=("B", "R"))
COLUMNS = ["object_id", *CONFIG.columns()]

TROUBLES = ("none", "repeated", "sorted", "rounded", "huge errors", "zero errors", "two values")

any_float = st.floats(allow_nan=True, allow_infinity=True, width=64)
awkward_float = st.one_of(st.sampled_from([0.0, -0.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300, 1e17]), any_float)


@st.composite
def awkward_epochs(draw: st.DrawFn) -> pd.DataFrame:
    """Curves of 0 to 2000 epochs, most of them sane, with a chosen kind of trouble and a few arbitrary values."""
    count = draw(st.one_of(st.integers(0, 40), st.integers(41, 2000)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    span = draw(st.sampled_from([1e-9, 1e-3, 1.0, 30.0, 3000.0, 1e6, 1e12]))
    time = 50000 + span * rng.random(count)
    mag = draw(st.sampled_from([0.0, 15.0, -7.0])) + draw(st.sampled_from([0.0, 1e-12, 0.1, 5.0])) * rng.normal(
        size=count
    )
    err = np.full(count, 0.05) * rng.lognormal(0, 1, count)
    trouble = draw(
        st.sampled_from(["none", "repeated", "sorted", "rounded", "huge errors", "zero errors", "two values"])
    )
    if trouble == "repeated":
        time = np.floor(time / max(span / 20, 1e-6)) * max(span / 20, 1e-6)
    elif trouble == "sorted":
        time = np.sort(time)
    elif trouble == "rounded":
        mag = np.round(mag)
    elif trouble == "huge errors":
        err *= draw(st.sampled_from([1e10, 1e160, 1e300]))
    elif trouble == "zero errors":
        err[rng.random(count) < 0.5] = 0.0
    elif trouble == "two values":
        mag = np.where(rng.random(count) < 0.5, 14.0, 15.0)
    for values in (time, mag, err):
        for place, value in draw(st.lists(st.tuples(st.integers(0, 1999), awkward_float), max_size=4)):
            if place < count:
                values[place] = value
    band = np.where(rng.random(count) < draw(st.sampled_from([0.0, 0.5, 1.0])), "B", "R")
    return pd.DataFrame({"object_id": "star", "band": band, "mjd": time, "mag": mag, "mag_err": err})


@given(awkward_epochs())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_curve_gives_the_same_columns_of_finite_numbers_or_nan(epochs: pd.DataFrame) -> None:
    features = extract(epochs, bands=CONFIG.bands)
    assert list(features.columns) == COLUMNS
    assert len(features) == min(len(epochs), 1)
    values = features.drop(columns="object_id").to_numpy()
    assert values.dtype == np.float64
    assert not np.isinf(values).any()


@given(awkward_epochs(), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_the_order_of_rows_does_not_matter(epochs: pd.DataFrame, seed: int) -> None:
    epochs = epochs.drop_duplicates(["band", "mjd"])
    shuffled = epochs.sample(frac=1.0, random_state=seed % 2**31)
    names = ["Mean", "Eta_e", "Rcs", "PairSlopeTrend", "CAR_tau", "PeriodLS", "StetsonK_AC"]
    pd.testing.assert_frame_equal(
        extract(epochs, names, bands=CONFIG.bands), extract(shuffled, names, bands=CONFIG.bands), check_exact=True
    )


def _curve(mag: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(
        {"object_id": "star", "band": "B", "mjd": np.arange(len(mag), dtype=float), "mag": mag, "mag_err": 0.1}
    )


@pytest.mark.parametrize("length", [0, 1, 2, 9])
def test_too_short_a_curve_is_nan_with_a_reason(length: int) -> None:
    features = extract(_curve(np.sin(np.arange(length, dtype=float))), bands=("B",))
    assert features.drop(columns="object_id").isna().all(axis=None)
    expected = {"B: too few usable epochs": 1} if length else {}
    assert extraction_report(features).curves == expected


def test_a_flat_curve_keeps_its_location_and_has_no_shape() -> None:
    features = extract(_curve(np.full(50, 15.0)), bands=("B",)).iloc[0]
    assert features["Mean_B"] == 15.0
    assert features["Std_B"] == 0.0
    assert np.isnan(
        features[["Skew_B", "Autocor_length_B", "PeriodLS_B", "Freq1_harmonics_amplitude_0_B"]].astype(float)
    ).all()
