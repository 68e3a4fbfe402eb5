"""The installed feets against the fast kernels, and the fast kernels inside feets."""

import numpy as np
import pandas as pd
import pytest

feets = pytest.importorskip("feets")

from lcdvt.features import FATS_FEATURES, extract  # noqa: E402
from lcdvt.features.feets.defects import REFUSED  # noqa: E402
from lcdvt.features.feets.engine import NATIVE  # noqa: E402
from lcdvt.features.table import FEATURES  # noqa: E402

CURVES = ("hits-RRLYR-0", "hits-EB-1", "hits-LPV-0", "short-21", "dense-regular", "outliers")
SAME_NUMBER = 1e-6
# feets' LinearTrend sums MJD without centring: the slope loses digits.
LINEAR_TREND = 1e-5
# feets counts epochs exactly on the edge of the buffer, FATS does not.
MEDIAN_BRP = 0.05
# At σ = 0 the likelihood does not depend on τ: either engine's τ is rounding.
UNDEFINED_WITHOUT_SIGMA = ("CAR_tau", "CAR_mean")
# Evenly sampled curves have mirrored frequencies of equal power.
TIED = "dense-regular"


@pytest.fixture(scope="module")
def both_engines(golden_epochs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    epochs = golden_epochs[golden_epochs["object_id"].isin(CURVES)]
    names = tuple(NATIVE)
    by_feets = extract(epochs, names, engine="feets", bands=("b", "r")).set_index("object_id")
    return by_feets, extract(epochs, names, bands=("b", "r")).set_index("object_id")


@pytest.mark.parametrize("feature", sorted(NATIVE))
def test_feets_turned_back_agrees(feature: str, both_engines: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    by_feets, fast = both_engines
    column = feature if feature in fast else f"{feature}_b"
    kept = pd.Series(True, fast.index)
    if feature in UNDEFINED_WITHOUT_SIGMA:
        kept &= fast["CAR_sigma_b"] > 0
    if FEATURES[feature].family == "periodic":
        kept &= fast.index != TIED
    ours, theirs = fast.loc[kept, column].to_numpy(), by_feets.loc[kept, column].to_numpy()
    assert np.isfinite(ours).any()
    if feature == "MedianBRP":
        np.testing.assert_allclose(theirs, ours, atol=MEDIAN_BRP)
    else:
        tolerance = LINEAR_TREND if feature == "LinearTrend" else SAME_NUMBER
        np.testing.assert_allclose(theirs, ours, rtol=tolerance, atol=1e-12)


def test_every_fats_feature_is_given_or_refused() -> None:
    assert set(NATIVE) | set(REFUSED) == set(FATS_FEATURES)
    assert not set(NATIVE) & set(REFUSED)


def test_feets_users_get_the_fast_kernels(two_band_epochs: pd.DataFrame) -> None:
    from lcdvt.features.feets import plugin as feets_plugin

    star = two_band_epochs[two_band_epochs["object_id"] == "star1"]
    expected = extract(star).iloc[0]
    blue, red = (star[star["band"] == band] for band in "BR")
    data = {
        "time": blue["mjd"],
        "magnitude": blue["mag"],
        "error": blue["mag_err"],
        "aligned_time": blue["mjd"],
        "aligned_magnitude": blue["mag"],
        "aligned_magnitude2": red["mag"],
        "aligned_error": blue["mag_err"],
        "aligned_error2": red["mag_err"],
    }
    single = ["Eta_e", "CAR_sigma", "PeriodLS", "Freq2_harmonics_amplitude_1", "FluxPercentileRatioMid50"]
    feets_plugin.register()
    try:
        space = feets.FeatureSpace(only=[*single, "StetsonJ", "Signature"], dask_options={"scheduler": "synchronous"})
        found = space.extract(**{name: values.to_numpy() for name, values in data.items()})
        row = found.as_frame(n_jobs=1).iloc[0]
    finally:
        feets_plugin.unregister()
    for name in single:
        assert row[name] == expected[f"{name}_B"]
    assert row["StetsonJ"] == expected["StetsonJ"]
    assert any(name.startswith("Signature") for name in row.index)
    afterwards = feets.extractor_registry.registered_features
    assert "Eta_e" not in afterwards
    assert {"EtaE", "PeriodLS", "Signature"} <= afterwards
