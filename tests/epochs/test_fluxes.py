"""Asinh magnitudes: what they are far from zero and about it, and that the fluxes come back."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lcdvt
from lcdvt.epochs.fluxes import asinh_magnitudes, fluxes, softenings

TEXT = """
name = "mine"
bands = ["V"]
clean = "none"
[magnitude]
kind = "flux"
flux_zero_point = 23.9
flux_unit = "uJy"
[[formats]]
separator = ","
header = true
id = "{star}"
band = "V"
time = "mjd"
mag = "flux"
err = "err"
"""


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3)), min_size=1, max_size=20),
    st.floats(1e-3, 1e3),
    st.floats(0, 40),
)
def test_fluxes_come_back(pairs, soft, zero_point):
    flux, err = np.array(pairs).T
    mag, mag_err = asinh_magnitudes(flux, err, np.full(flux.size, soft), zero_point)
    assert np.isfinite(mag).all() and (mag_err > 0).all()
    back, back_err = fluxes(mag, mag_err, np.full(flux.size, soft), zero_point)
    assert back == pytest.approx(flux, rel=1e-9, abs=1e-9 * soft)
    assert back_err == pytest.approx(err, rel=1e-9)
    assert fluxes(*asinh_magnitudes(0 * flux, err, err, zero_point), err, zero_point)[0].tolist() == [0.0] * flux.size


def test_bright_stars_have_the_usual_magnitude_and_brighter_is_smaller():
    flux = np.array([-50.0, -1.0, 0.0, 1.0, 50.0, 1e4])
    mag, err = asinh_magnitudes(flux, np.ones(6), np.ones(6), 25.0)
    assert (np.diff(mag) < 0).all()
    assert mag[-1] == pytest.approx(15.0, abs=1e-7)
    assert err[-1] == pytest.approx(1.0857e-4, rel=1e-4)
    assert 25.0 - 2.5 * math.log10(50.0) - mag[4] == pytest.approx(0.0004, abs=5e-5)


def test_the_softening_is_the_median_error_of_each_segment():
    assert softenings(np.array([1.0, 3.0, 2.0, 7.0]), np.array([0, 3, 3, 4])).tolist() == pytest.approx(
        [2.0, np.nan, 7.0], nan_ok=True
    )


def test_the_variation_about_zero_is_found_and_a_join_keeps_the_fluxes(tmp_path, workspace):
    """A star on a difference image: half of its fluxes are negative, and its period comes from all of them."""
    rng = np.random.default_rng(3)
    mjd = np.sort(rng.uniform(58000, 58400, 300))
    flux = 30 * np.sin(2 * np.pi * mjd / 0.567) + rng.normal(0, 10, 300)
    (tmp_path / "mine.toml").write_text(TEXT)
    (tmp_path / "in").mkdir()
    for half in (0, 1):
        rows = "".join(f"s{half},{t},{f},10.0\n" for t, f in zip(mjd[half::2], flux[half::2], strict=True))
        (tmp_path / "in" / f"{half}.csv").write_text(f"star,mjd,flux,err\n{rows}")
    (tmp_path / "stars.csv").write_text("id,star\ns0,one\ns1,one\n")
    options = {"survey": tmp_path / "mine.toml", "join_ids": tmp_path / "stars.csv", "jobs": 1}
    result = lcdvt.ingest(tmp_path / "in", **options)
    assert result.totals["notes"] == {"fluxes of zero or below, kept": int((flux <= 0).sum())}
    stored = lcdvt.open_survey("mine")
    epochs = stored.light_curve("one").epochs
    assert epochs["flux"].tolist() == pytest.approx(flux.tolist())
    assert epochs["flux_err"].tolist() == pytest.approx([10.0] * 300)
    wanted = asinh_magnitudes(flux, np.full(300, 10.0), np.full(300, 10.0), 23.9)[0]
    assert epochs["mag"].tolist() == pytest.approx(wanted.tolist())
    series = stored.to_timeseries("one")
    assert str(series["flux"].unit) == "uJy"
    assert series["flux"].value.tolist() == pytest.approx(flux.tolist())
    assert stored.features()["Period"].tolist() == pytest.approx([0.567], rel=1e-3)
    assert [one.findings for one in lcdvt.verify("mine")] == [[]]


def test_a_further_release_of_fluxes_is_added_with_one_softening(tmp_path, workspace):
    (tmp_path / "mine.toml").write_text(TEXT)
    for folder, err, first in (("a", 10.0, 58000), ("b", 30.0, 59000)):
        (tmp_path / folder).mkdir()
        rows = "".join(f"s,{first + day},{day - 20},{err}\n" for day in range(40))
        (tmp_path / folder / f"{folder}.csv").write_text(f"star,mjd,flux,err\n{rows}")
        lcdvt.ingest(tmp_path / folder, survey=tmp_path / "mine.toml", features="none", jobs=1, update=True)
    epochs = lcdvt.open_survey("mine").light_curve("s").epochs
    flux = np.tile(np.arange(-20.0, 20.0), 2)
    assert epochs["flux"].tolist() == pytest.approx(flux.tolist())
    wanted, _ = asinh_magnitudes(flux, flux, np.full(80, 20.0), 23.9)  # the median of all errors
    assert epochs["mag"].tolist() == pytest.approx(wanted.tolist())
