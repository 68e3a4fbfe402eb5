import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from astropy import units
from astropy.table import QTable, Table

from lcdvt.errors import SettingsError
from lcdvt.features import FATS_FEATURES, FeatureConfig, extract, extract_table
from lcdvt.features.config import order_bands
from lcdvt.features.families.two_band import FEATURES as TWO_BAND_COLUMNS
from lcdvt.features.fast import SINGLE_BAND_FAMILIES
from lcdvt.features.table import FEATURES, SINGLE_BAND, TWO_BANDS


def test_table_and_kernels_name_the_same_features() -> None:
    for family, (names, _) in SINGLE_BAND_FAMILIES.items():
        assert set(names) == {spec.name for spec in FEATURES.values() if spec.family == family}
    assert set(TWO_BAND_COLUMNS) == {spec.name for spec in FEATURES.values() if spec.bands_needed == TWO_BANDS}
    assert sum(spec.bands_needed == SINGLE_BAND for spec in FEATURES.values()) == 63


def test_columns_depend_on_the_request_only(two_band_epochs: pd.DataFrame) -> None:
    config = FeatureConfig(bands=("B", "R"))
    table = pa.Table.from_pandas(two_band_epochs, preserve_index=False)
    full = extract_table(table, config)
    empty = extract_table(table.slice(0, 0), config)
    assert empty.column_names == full.column_names == ["object_id", *config.columns()]
    assert len(config.columns()) == 2 * 63 + 5 + len(config.all_bands_names())
    assert empty.schema.types == full.schema.types
    assert len(empty) == 0


def test_one_band_has_no_colours() -> None:
    assert not set(TWO_BAND_COLUMNS) & set(FeatureConfig(bands=("g",)).columns())


def test_features_asked_for_come_in_the_tables_order(two_band_epochs: pd.DataFrame) -> None:
    features = extract(two_band_epochs, ["Std", "Color", "Mean"])
    assert list(features.columns) == ["object_id", "Mean_B", "Std_B", "Mean_R", "Std_R", "Color"]
    assert features["Color"].to_numpy() == pytest.approx(features["Mean_B"] - features["Mean_R"])


def test_arrow_and_pandas_and_any_row_order_give_the_same(two_band_epochs: pd.DataFrame) -> None:
    expected = extract(two_band_epochs)
    shuffled = two_band_epochs.sample(frac=1.0, random_state=1)
    pd.testing.assert_frame_equal(extract(pa.Table.from_pandas(shuffled)), expected)


def test_bands_exposed_one_after_the_other_can_be_paired(two_band_epochs: pd.DataFrame) -> None:
    later = two_band_epochs.assign(mjd=two_band_epochs["mjd"] + 0.001 * (two_band_epochs["band"] == "R"))
    names = ["Color", "Eta_color", "Q31_color", "StetsonJ", "StetsonL"]
    apart = extract(later, names)
    assert apart.drop(columns=["object_id", "Color"]).isna().all(axis=None)
    pd.testing.assert_frame_equal(extract(later, names, pairing_days=0.0015), extract(two_band_epochs, names))


def test_a_subset_has_the_numbers_of_the_whole(two_band_epochs: pd.DataFrame) -> None:
    whole = extract(two_band_epochs)
    for name in FATS_FEATURES[::7]:
        part = extract(two_band_epochs, name)
        pd.testing.assert_frame_equal(part, whole[part.columns])


def test_a_period_range_adds_the_period(two_band_epochs: pd.DataFrame) -> None:
    features = extract(two_band_epochs, period_range=(0.2, 20.0))
    fourier = [f"Period_{name}" for name in ("amplitude", "R21", "phi21", "R31", "phi31")]
    joint = [name for name, spec in FEATURES.items() if spec.family == "all_bands"]
    before = len(features.columns) - len(joint)
    assert list(features.columns[before:]) == joint
    assert list(features.columns[before - 8 : before]) == ["Period", "Period_fap", "Period_power", *fourier]
    fats = extract(two_band_epochs, "fats", period_range=(0.1, 10.0))
    assert list(fats.columns) == list(features.columns[: before - 5])
    truth = 0.5 + np.arange(6)
    assert (np.abs(features["Period"] / truth - 1) < 0.01).sum() >= 5


def test_the_pool_gives_the_same_values(two_band_epochs: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lcdvt.features.extraction.OBJECTS_PER_BATCH", 2)
    names = ["Mean", "CAR_tau", "PeriodLS", "StetsonJ"]
    pd.testing.assert_frame_equal(extract(two_band_epochs, names, jobs=2), extract(two_band_epochs, names))


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_values(two_band_epochs: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("lcdvt.features.extraction.OBJECTS_PER_BATCH", 2)
    expected = extract(two_band_epochs, jobs=2)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        found = extract(two_band_epochs, dask=cluster.scheduler_address)
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"features": ["Eta"]}, "did you mean Eta_e"),
        ({"features": "Period"}, "period_range"),
        ({"engine": "slow"}, "no feature engine is called 'slow'"),
        ({"bands": ("B", "B")}, "name each of the survey's bands once"),
        ({"period_range": (5.0, 1.0)}, "0 < a < b"),
        ({"period_range": 5.0}, "0 < a < b"),
        ({"period_range": (1.0, 2.0, 3.0)}, "0 < a < b"),
        ({"bands": ("v",)}, "bands=v: the epochs are of B, R"),
        ({"bands": ()}, "bands=none: the epochs are of B, R"),
        (
            {"engine": "feets", "features": ("Freq2_harmonics_amplitude_1", "Mean")},
            "Freq2_harmonics_amplitude_1: feets",
        ),
    ],
)
def test_a_request_that_cannot_be_met_says_why(request_: dict, message: str, two_band_epochs: pd.DataFrame) -> None:
    with pytest.raises(SettingsError, match=message):
        extract(two_band_epochs, **request_)


def test_missing_columns_are_named(two_band_epochs: pd.DataFrame) -> None:
    with pytest.raises(SettingsError, match="lack the columns band, mag_err"):
        extract(two_band_epochs.drop(columns=["band", "mag_err"]))


def test_epochs_without_an_object_are_refused(two_band_epochs: pd.DataFrame) -> None:
    with pytest.raises(SettingsError, match="3 epochs have no object_id"):
        extract(two_band_epochs.assign(object_id=two_band_epochs["object_id"].where(two_band_epochs.index > 2, None)))


def test_numbers_and_categories_are_identifiers_too(two_band_epochs: pd.DataFrame) -> None:
    epochs = two_band_epochs[two_band_epochs["object_id"] > "star3"].copy()
    epochs["object_id"] = epochs["object_id"].astype("category")
    assert extract(epochs, "Mean")["object_id"].tolist() == ["star4", "star5"]
    epochs["object_id"] = epochs["object_id"].str[4:].astype(int)
    assert extract(epochs, "Mean")["object_id"].tolist() == ["4", "5"]


@pytest.mark.parametrize("form", ["bytes", "category", "astropy", "fits"])
def test_text_and_numbers_come_as_other_programs_keep_them(form: str, two_band_epochs: pd.DataFrame) -> None:
    expected = extract(two_band_epochs, ["Mean", "Color"])
    given = two_band_epochs.copy()
    if form == "bytes":
        given["band"], given["object_id"] = given["band"].str.encode("ascii"), given["object_id"].str.encode("ascii")
    elif form == "category":
        given["band"] = given["band"].astype("category")
    elif form == "astropy":
        given = Table.from_pandas(given)
    else:  # the high byte first
        for name in ("mjd", "mag", "mag_err"):
            given[name] = given[name].astype(">f8")
    pd.testing.assert_frame_equal(extract(given, ["Mean", "Color"]), expected)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mag": "faint"}, "column mag is of type .*: give magnitudes"),
        ({"mjd": pd.Timestamp("2020-01-01")}, "column mjd is of type timestamp.*: give days"),
        ({"object_id": b"\xff"}, "column object_id is of type binary.*: give text"),
        ({"object_id": [1, "1"] * 100}, "a column of several kinds"),
    ],
)
def test_a_column_that_is_neither_text_nor_numbers_is_named(change: dict, said: str, two_band_epochs) -> None:
    epochs = two_band_epochs.head(200).assign(**change)
    with pytest.raises(SettingsError, match=said):
        extract(epochs, ["Mean"])


def test_what_is_no_table_is_refused(two_band_epochs: pd.DataFrame) -> None:
    for given in (two_band_epochs.to_dict("list"), two_band_epochs.to_numpy(), None):
        with pytest.raises(SettingsError, match="give a table of pandas, Arrow or astropy"):
            extract(given, ["Mean"])
    with pytest.raises(SettingsError, match="two columns named mag"):
        extract(pd.concat([two_band_epochs, two_band_epochs[["mag"]]], axis=1), ["Mean"])


def test_units_of_astropy_columns_are_kept_to(two_band_epochs: pd.DataFrame) -> None:
    chosen = ["Mean", "MaxSlope", "StetsonK"]
    table = QTable.from_pandas(two_band_epochs)
    table["mjd"] = (table["mjd"] * 24) * units.hour
    table["mag"] = (table["mag"] * 1000) * units.mmag
    table["mag_err"] = table["mag_err"] * units.mag
    pd.testing.assert_frame_equal(extract(table, chosen), extract(two_band_epochs, chosen), rtol=1e-9)
    table["mag"] = table["mag"].value * units.Jy
    with pytest.raises(SettingsError, match="column mag is in Jy: give magnitudes"):
        extract(table, chosen)


def test_bands_are_ordered_blue_to_red() -> None:
    assert order_bands(["R", "B"]) == ("B", "R")
    assert order_bands({"z", "g", "r", "u", "i"}) == ("u", "g", "r", "i", "z")
    assert order_bands(["V_CSS", "9"]) == ("V_CSS", "9")


def test_leaving_a_set_incomplete_is_said_aloud(two_band_epochs: pd.DataFrame) -> None:
    pytest.importorskip("feets")
    few = two_band_epochs[two_band_epochs["object_id"] == "star0"]
    with pytest.warns(UserWarning, match="Period_fit: feets gives Baluev"):
        features = extract(few, engine="feets")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(features.columns) < set(extract(few).columns)


def test_the_example_in_the_docstring_is_true() -> None:
    import doctest

    from lcdvt.features import extraction

    outcome = doctest.testmod(extraction)
    assert outcome.attempted > 0
    assert outcome.failed == 0
