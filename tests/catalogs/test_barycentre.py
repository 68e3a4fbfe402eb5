"""Dates in the stored system, against astropy's own times."""

import contextlib
from dataclasses import replace

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import EarthLocation, SkyCoord
from astropy.time import Time
from astropy.utils import iers

from lcdvt.catalogs.reading.barycentre import in_stored_time
from lcdvt.catalogs.reading.curves import RawEpochs, RawObject
from lcdvt.catalogs.registry import builtin_surveys, find_survey
from lcdvt.catalogs.survey_toml import survey_from_toml
from lcdvt.catalogs.time_system import TimeSystem
from lcdvt.errors import SurveyError

TEN_MILLISECONDS = 0.01 / 86400
STARS = 200
DAYS_OF_LEAP_SECONDS = (53735, 54831, 56108, 57203, 57753)  # an MJD in UTC is stretched on such a day
TOML = """
name = "mine"
bands = ["V"]
[time]
system = "{system}"
scale = "{scale}"
convert = true
[[formats]]
id = "{{star}}"
file_name = '(?P<star>.+)'
band = "V"
mag = 2
err = 3
"""


@pytest.fixture
def no_network():
    """Astropy with the tables that it brings along, however old they are."""
    with contextlib.ExitStack() as stack:
        for name, value in (("auto_download", False), ("auto_max_age", None), ("iers_degraded_accuracy", "ignore")):
            stack.enter_context(iers.conf.set_temp(name, value))
        yield


def moved(mjd: np.ndarray, places: list[tuple[float, float]], system: str, scale: str) -> tuple[np.ndarray, dict]:
    survey = survey_from_toml(TOML.format(system=system, scale=scale), "mine.toml")
    objects = [RawObject(str(number), "file", ra, dec) for number, (ra, dec) in enumerate(places)]
    whose = np.arange(mjd.size, dtype=np.int32)
    raw = mjd - survey.time.offset_to_mjd
    epochs = RawEpochs(whose, np.zeros(mjd.size, dtype=np.int8), raw, raw, raw)
    stored, notes = in_stored_time(survey, survey.formats[0], objects, epochs)
    return stored.time + survey.time.offset_to_mjd, dict(notes)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("scale", ["utc", "tai", "tt"])
@pytest.mark.parametrize("system", ["MJD", "HMJD", "JD"])
def test_dates_at_the_earth_and_at_the_sun_become_those_of_astropy(system, scale):
    rng = np.random.default_rng(16)
    mjd = rng.uniform(51_200, 62_000, STARS)
    ra, dec = rng.uniform(0, 360, STARS), np.degrees(np.arcsin(rng.uniform(-1, 1, STARS)))
    star = SkyCoord(ra * u.deg, dec * u.deg)
    at_earth = Time(mjd, format="mjd", scale=scale, location=EarthLocation.from_geocentric(0, 0, 0, u.m))
    wanted = (at_earth.tdb + at_earth.light_travel_time(star, "barycentric")).mjd
    written = at_earth + at_earth.light_travel_time(star, "heliocentric") if system == "HMJD" else at_earth
    found, notes = moved(getattr(written, scale).mjd, list(zip(ra, dec, strict=True)), system, scale)
    # An MJD in UTC is stretched on the day of a leap second.
    plain = (
        np.ones(STARS, bool) if scale != "utc" else ~np.isin(np.floor(mjd), [51178, 53735, 54831, 56108, 57203, 57753])
    )
    assert np.abs(found - wanted)[plain].max() < TEN_MILLISECONDS
    assert notes == {}


@pytest.mark.parametrize("scale", ["tcb", "tdb"])
def test_barycentric_dates_change_their_scale_alone(scale):
    mjd = np.linspace(45_000, 62_000, 50)
    found, notes = moved(mjd, [(np.nan, np.nan)] * 50, "BJD", scale)
    assert np.abs(found - Time(mjd, format="mjd", scale=scale).tdb.mjd).max() < TEN_MILLISECONDS
    assert notes == {}


def test_without_a_position_dates_stay_where_they_are_and_it_is_said():
    mjd = np.array([55_000.25, 55_000.25, 55_000.25])
    found, notes = moved(mjd, [(10.0, 20.0), (np.nan, 20.0), (10.0, 95.0)], "MJD", "tai")
    assert (found[1:] - mjd[1:]) * 86400 == pytest.approx([32.184, 32.184], abs=0.003)
    assert abs(found[0] - found[1]) * 86400 > 60
    assert notes == {"light curves without a position: dates at the Earth, not barycentric": 2}


def test_dates_beyond_the_ephemeris_and_missing_ones_do_no_harm():
    mjd = np.array([np.nan, 10.0, 199_000.0, 15_020.5, 88_068.9])
    found, _ = moved(mjd, [(10.0, 20.0)] * 5, "MJD", "tdb")
    assert np.isnan(found[0])
    assert found[1:3].tolist() == mjd[1:3].tolist()
    assert np.abs(found[3:] - mjd[3:]).min() > 0
    assert np.abs(found[3:] - mjd[3:]).max() < 0.0059


def test_the_start_of_an_exposure_is_moved_to_its_middle():
    start = find_survey("atlas").time
    assert (start.exposure, start.exposure_seconds) == ("start", 30)
    assert "start of the exposure of 30 s" in start.describe()
    assert "barycentric, TDB, middle of the exposure; at the Earth for stars" in start.stored


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"system": "days", "convert": True}, "cannot be converted"),
        ({"scale": "local", "convert": True}, "cannot be converted"),
        ({"exposure_seconds": -1.0}, "zero or more seconds"),
    ],
)
def test_what_cannot_be_converted_is_refused(settings, sentence):
    with pytest.raises(SurveyError, match=sentence):
        TimeSystem(**settings)


def test_every_survey_says_who_tells_its_time_system():
    assert [survey.name for survey in builtin_surveys() if not survey.time.source] == []


def test_a_survey_of_earlier_dates_is_not_mixed_with_converted_ones():
    ztf = find_survey("ztf")
    assert replace(ztf, time=replace(ztf.time, convert=False)) != ztf
