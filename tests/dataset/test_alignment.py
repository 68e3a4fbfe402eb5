"""Surveys of different bands under common names."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcdvt.catalogs.registry import find_survey
from lcdvt.catalogs.survey_toml import survey_from_toml
from lcdvt.dataset.alignment import (
    WAVELENGTH_TOLERANCE,
    align_features,
    aligned_surveys,
    band_places,
    own_features,
    place_names,
    places_of,
    with_replicates,
)
from lcdvt.dataset.dataset import build_dataset
from lcdvt.errors import DatasetError


def stored(survey, columns, stars=8, seed=0):
    """Return what `aligned_surveys` needs of an ingested survey."""
    generator = np.random.default_rng(seed)
    ids = [f"{survey.name}-{number}" for number in range(stars)]
    features = pd.DataFrame({"object_id": ids} | {column: generator.random(stars) for column in columns})
    objects = pd.DataFrame({"object_id": ids, "label": ["EB", "QSO"] * (stars // 2)})
    return SimpleNamespace(name=survey.name, survey=survey, features=lambda: features, objects=lambda: objects)


SDSS, PS1, CATALINA, EROS = (find_survey(name) for name in ("sdss_s82-csv", "ps1_s82-csv", "catalina-csv", "eros1-csv"))


def test_bands_meet_by_wavelength_and_not_by_place():
    assert band_places(SDSS.bands, SDSS.wavelengths, place_names(PS1.wavelengths)) == {
        "g": "481nm",
        "r": "617nm",
        "i": "752nm",
        "z": "866nm",
    }
    assert band_places(["K"], [2190.0], place_names(PS1.wavelengths)) == {}


def test_a_survey_of_one_band_meets_the_bluest_band_within_reach():
    assert band_places(CATALINA.bands, CATALINA.wavelengths, place_names(EROS.wavelengths)) == {"V_CSS": "450nm"}
    assert band_places(EROS.bands, EROS.wavelengths, place_names(CATALINA.wavelengths)) == {"B": "600nm"}


def test_unknown_wavelengths_are_matched_by_order():
    assert place_names((math.nan, 500.0)) == ("1", "2")
    assert band_places(["b", "r"], [math.nan, 500.0], ["481nm", "617nm"]) == {"b": "481nm", "r": "617nm"}


wavelengths = st.lists(st.floats(300.0, 2500.0), min_size=1, max_size=6, unique=True).map(sorted)


@given(wavelengths, wavelengths)
def test_no_place_is_taken_twice_or_from_afar(own, target):
    names = place_names(target)
    bands = [f"band{number}" for number in range(len(own))]
    places = band_places(bands, own, names)
    assert len(set(places.values())) == len(places)
    if names[0].endswith("nm"):
        of = dict(zip(bands, own, strict=True))
        for band, place in places.items():
            assert abs(math.log(of[band] / float(place.removesuffix("nm")))) <= WAVELENGTH_TOLERANCE


def test_names_tell_their_places():
    names = ["Std_481nm", "Freq1_harmonics_amplitude_0_866nm", "StructureFunction_index_21_481nm", "Period", "DRW_tau"]
    assert places_of(names) == ("481nm", "866nm")
    assert places_of(["Std_2", "Std_1", "Period"]) == ("1", "2")


def test_what_the_target_and_any_source_have_is_used_and_missing_elsewhere():
    poor = stored(CATALINA, ["Std_V_CSS", "Mean_V_CSS", "Period", "DRW_tau"])
    rich = stored(SDSS, ["Std_u", "Std_r", "Period", "DRW_tau", "SED_slope"])
    target = stored(PS1, ["Std_g", "Std_r", "Std_y", "Mean_r", "Period", "DRW_tau", "SED_slope"])
    tables = aligned_surveys([poor, rich, target])
    expected = ["object_id", "Std_481nm", "Std_617nm", "Period", "DRW_tau", "SED_slope"]
    assert all(list(table.features.columns) == expected for table in tables)
    assert tables[0].features["Std_617nm"].isna().all()
    assert tables[0].features["SED_slope"].isna().all()
    assert tables[1].features["Std_481nm"].isna().all()
    np.testing.assert_array_equal(tables[0].features["Std_481nm"], poor.features()["Std_V_CSS"])
    np.testing.assert_array_equal(tables[1].features["Std_617nm"], rich.features()["Std_r"])
    dataset = build_dataset(tables)
    assert dataset.missing[dataset.rows_of(0)].sum() == 2 * 8


def test_two_band_features_compare_the_same_pair_or_none():
    target = stored(PS1, ["Std_g", "Std_r", "StetsonJ", "Period"])
    one, two = aligned_surveys([stored(SDSS, ["Std_u", "Std_g", "StetsonJ", "Period"]), target])
    assert "StetsonJ" not in one.features  # u with g is another question than g with r
    one, two = aligned_surveys([stored(EROS, ["Std_B", "Std_R", "StetsonJ", "Period"]), target])
    assert one.features["StetsonJ"].notna().all()
    assert two.features["StetsonJ"].notna().all()


def test_what_few_target_stars_have_is_left_out():
    target = stored(PS1, ["Std_g", "Period"])
    target.features()["Std_g"] = [1.0, *[np.nan] * 7]
    _, two = aligned_surveys([stored(SDSS, ["Std_g", "Period"]), target])
    assert list(two.features.columns) == ["object_id", "Period"]


def test_surveys_without_wavelengths_are_matched_by_order_as_before():
    text = 'name = "x"\nbands = ["blue", "red"]\n[[formats]]\nid = "{1}"\ntime = 2\nmag = 3\nerr = 4\nband_column = 5\n'
    unknown = survey_from_toml(text, "x.toml")
    one, two = aligned_surveys(
        [stored(unknown, ["Std_blue", "Std_red", "Period"]), stored(PS1, ["Std_g", "Std_r", "Std_i", "Period"])]
    )
    assert list(one.features.columns) == list(two.features.columns) == ["object_id", "Std_1", "Std_2", "Period"]


def test_nothing_in_common_is_refused():
    with pytest.raises(DatasetError, match="no feature in common"):
        aligned_surveys([stored(CATALINA, ["Std_V_CSS"]), stored(PS1, ["SED_slope"])])
    with pytest.raises(DatasetError, match="catalina-csv has no feature to learn from: run `lcdvt extract"):
        aligned_surveys([stored(CATALINA, ["Mean_V_CSS"])])


def test_zero_points_stay_out():
    features = pd.DataFrame({"object_id": ["a"], "Mean_g": [1.0], "Color": [2.0], "Std_g": [3.0]})
    assert list(align_features(features, ("g", "r"), {"g": "481nm"}).columns) == ["object_id", "Std_481nm"]


def test_a_survey_shows_its_colour_and_its_brightness_where_stars_are_equally_far():
    near = stored(EROS, ["Mean_B", "Std_B", "Mean_R", "Color", "CAR_mean_B", "Period"])
    backwards = near.features()["object_id"].to_numpy()[::-1]
    expected = near.features()[["Color", "Mean_B", "Mean_R"]].to_numpy()[::-1]
    np.testing.assert_array_equal(own_features(near, backwards), expected)
    lacking = own_features(near, np.array(["nobody", backwards[0]], dtype=object))
    assert np.isnan(lacking[0]).all()
    np.testing.assert_array_equal(lacking[1], expected[0])


def test_magnitudes_stay_out_where_they_tell_how_stars_were_chosen():
    target = stored(PS1, ["Mean_g", "Mean_r", "Color", "Period"])
    ids = target.features()["object_id"].to_numpy()
    np.testing.assert_array_equal(own_features(target, ids), target.features()[["Color"]])
    target.features()["Color"] = [1.0, *[np.nan] * 7]
    assert own_features(target, ids) is None, "too few stars have it"
    assert own_features(stored(CATALINA, ["Mean_V_CSS", "Period"]), ids) is None


def test_replicates_come_under_the_same_names_star_by_star():
    surveys = [stored(CATALINA, ["Std_V_CSS", "Period"]), stored(EROS, ["Std_B", "Std_R", "Period"], seed=1)]
    dataset = build_dataset(aligned_surveys(surveys))
    first, last = (survey.features() for survey in surveys)
    shuffled = first.sample(frac=1, random_state=0).iloc[1:]
    shuffled.loc[shuffled.index[0], "Period"] = np.inf
    lacking, infinite = set(first["object_id"]) - set(shuffled["object_id"]), shuffled["object_id"].iloc[0]
    again = with_replicates(dataset, surveys, [[shuffled, last.assign(Std_B=last["Std_B"] + 1)]]).replicates[0]
    target, blue = dataset.rows_of(1), dataset.features.index("Std_450nm")
    assert np.allclose(again[target, blue], dataset.X[target, blue] + 1)
    assert np.isnan(again[dataset.object_ids == lacking.pop()]).all()
    changed = np.flatnonzero(dataset.object_ids == infinite)[0]
    assert np.isnan(again[changed, dataset.features.index("Period")])
    same = ~target & ~np.isnan(again).any(axis=1)
    assert same.sum() == 6
    np.testing.assert_array_equal(again[same], dataset.X[same])
