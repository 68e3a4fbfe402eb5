"""Bands know their wavelength: from the description, from a well-known name, or by asking for it."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcdvt.catalogs.describing.describe import describe
from lcdvt.catalogs.describing.look import look_at
from lcdvt.catalogs.registry import builtin_surveys, find_survey
from lcdvt.catalogs.survey_toml import survey_from_toml
from lcdvt.catalogs.vocabulary import BAND_WAVELENGTHS, known_wavelength
from lcdvt.errors import SurveyError


def description(bands, extra=""):
    listed = ", ".join(f'"{band}"' for band in bands)
    form = '[[formats]]\nheader = true\nid = "{id}"\nband_column = "band"\ntime = "t"\nmag = "m"\nerr = "e"\n'
    return f'name = "mine"\nbands = [{listed}]\n{extra}\n{form}'


def test_every_built_in_survey_has_wavelengths_from_blue_to_red():
    for survey in builtin_surveys():
        assert not survey.wavelength_question
        assert list(survey.wavelengths) == sorted(survey.wavelengths)


def test_the_same_letter_may_be_another_filter():
    assert find_survey("macho").wavelengths != find_survey("eros1-csv").wavelengths
    assert find_survey("sdss_s82-csv").bands == ("u", "g", "r", "i", "z")
    assert find_survey("ps1_s82-csv").wavelengths[0] == pytest.approx(481.0)


def test_order_follows_wavelength_and_not_place():
    assert survey_from_toml(description("zug"), "mine.toml").bands == ("u", "g", "z")
    given = survey_from_toml(description("ab", "[wavelengths]\na = 700\nb = 400"), "mine.toml")
    assert (given.bands, given.wavelengths) == (("b", "a"), (400.0, 700.0))


def test_a_description_without_wavelengths_keeps_its_order_and_the_question_is_one_sentence():
    survey = survey_from_toml(description(["red", "blue"]), "mine.toml")
    assert survey.bands == ("red", "blue")
    assert all(math.isnan(wavelength) for wavelength in survey.wavelengths)
    assert "red, blue" in survey.wavelength_question
    assert "[wavelengths]" in survey.wavelength_question


@pytest.mark.parametrize(
    ("bands", "table", "said"),
    [
        (["g"], "g = -3", "above zero"),
        (["g"], "h = 500", "not among bands"),
        (["g"], 'g = "green"', "a number is needed"),
        (["red", "blue"], "red = 700", "band blue is not known"),
    ],
)
def test_wrong_wavelengths_are_refused_by_name(bands, table, said):
    with pytest.raises(SurveyError, match=r"mine\.toml") as refusal:
        survey_from_toml(description(bands, f"[wavelengths]\n{table}"), "mine.toml")
    assert said in str(refusal.value)


@given(st.permutations(["u", "B", "g", "V", "r", "i", "z", "y", "J"]), st.integers(1, 9))
def test_any_order_of_known_bands_gives_the_same_survey(bands, count):
    survey = survey_from_toml(description(bands[:count]), "mine.toml")
    assert set(survey.bands) == set(bands[:count])
    assert list(survey.wavelengths) == sorted(BAND_WAVELENGTHS[band][0] for band in bands[:count])


@pytest.mark.parametrize(("band", "like"), [("g_PS1", "g"), ("V_CSS", "V"), ("r'", "r"), ("clear", None), ("", None)])
def test_names_with_an_instrument_are_known_by_their_beginning(band, like):
    assert known_wavelength(band) == (None if like is None else BAND_WAVELENGTHS[like][0])


def test_new_descriptions_guess_wavelengths_from_names(tmp_path: Path):
    for bands, is_guessed in (("rg", True), (("7", "8"), False)):
        path = tmp_path / f"{''.join(bands)}.csv"
        rows = "".join(f"1,{band},5300{i},15.{i},0.1\n" for i in range(5) for band in bands)
        path.write_text("id,band,mjd,mag,err\n" + rows)
        text = describe("mine", look_at(path))
        survey = survey_from_toml(text, "mine.toml")
        assert ("\n[wavelengths]" in text) is is_guessed
        assert survey.bands == (("g", "r") if is_guessed else ("7", "8"))
