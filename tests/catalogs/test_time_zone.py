"""Dates by the clocks of a time zone: checked with the standard library and with exposures that two formats hold."""

import csv
import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import lcdvt
from lcdvt.catalogs.registry import find_survey
from lcdvt.catalogs.survey_toml import survey_from_toml
from lcdvt.catalogs.time_zone import local_from_utc, utc_from_local
from lcdvt.errors import SurveyError

ZERO = dt.datetime(1858, 11, 17)
ROUNDING_SECONDS = 86400 * 0.5e-4 + 0.1
"""The archive gives four decimals of a day."""
STROMLO = (149.0078, -35.3206, 770.0)


@pytest.mark.parametrize("zone", ["America/New_York", "Australia/Sydney", "Europe/Paris", "Asia/Kolkata"])
def test_clocks_are_those_of_the_standard_library(zone):
    utc = np.random.default_rng(1).uniform(47000, 60000, 300)
    local = local_from_utc(utc, zone)
    for moment, shown in zip(utc, local, strict=True):
        exact = (ZERO + dt.timedelta(days=float(moment))).replace(tzinfo=dt.UTC)
        by_the_clock = exact.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        assert abs((by_the_clock - ZERO) / dt.timedelta(days=1) - shown) < 1e-8
    twice = local_from_utc(utc + 1 / 24, zone) - local < 0.5 / 24  # the hour that came twice
    assert np.allclose(utc_from_local(local, zone)[~twice], utc[~twice], atol=1e-8)
    assert not twice.all()


def test_an_unknown_time_zone_is_refused():
    text = find_survey("macho").toml.replace("America/New_York", "America/Atlantis")
    with pytest.raises(SurveyError, match=r"time_zone = 'America/Atlantis' is not known"):
        survey_from_toml(text, "mine.toml")


def test_both_formats_of_macho_have_the_same_dates_and_all_are_of_the_night(real_data, workspace):
    import astropy.units as u
    from astropy.coordinates import AltAz, EarthLocation, get_sun
    from astropy.time import Time

    lcdvt.ingest(real_data / "raw" / "macho_mjd", clean="none", jobs=1, features="none")
    epochs = lcdvt.open_survey("macho").epochs.to_table().to_pandas()
    ours = np.unique(epochs.loc[epochs["object_id"].str.startswith("1."), "mjd"])
    archive = set()
    for path in (real_data / "raw" / "macho_tap").glob("LC_1.*.csv"):
        with path.open() as lines:
            archive |= {float(row["dateobs"]) for row in csv.DictReader(lines)}
    known = np.concatenate(([-np.inf], sorted(archive), [np.inf]))
    after = np.searchsorted(known, ours)
    seconds = 86400 * np.minimum(ours - known[after - 1], known[after] - ours)
    assert np.mean(seconds < ROUNDING_SECONDS) > 0.985, "the others are not in the archive's light curves"

    dates = Time(np.unique(epochs["mjd"]), format="mjd", scale="utc")
    longitude, latitude, height = STROMLO
    place = EarthLocation.from_geodetic(longitude * u.deg, latitude * u.deg, height * u.m)
    sun = get_sun(dates).transform_to(AltAz(obstime=dates, location=place)).alt.deg
    assert np.mean(sun < -6) > 0.995
