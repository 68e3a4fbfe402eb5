"""`lcdvt surveys new`: what it writes reads the file it was written from."""

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.raw_files import eros_text, hits_text, macho_csv_text

from lcdvt.catalogs.describing.describe import describe
from lcdvt.catalogs.describing.look import BYTES_LOOKED_AT, look_at
from lcdvt.catalogs.reading.reader import read_file
from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.survey_toml import survey_from_toml
from lcdvt.epochs.block import EpochBlock, block_from_raw
from lcdvt.errors import LcdvtError, SurveyError

LONG = "oid,hjd,filter,mag,magerr,ra,dec\n" + "".join(
    f"{star},{2450000 + day},{band},{15 + day / 10},0.02,10.5,-20.25\n"
    for star in ("007", "x")
    for day in range(3)
    for band in "gr"
)
BARE = "".join(f"{53000 + day}.5 {15 + day / 10} 0.02\n" for day in range(5))

CASES = {
    "long.csv": (LONG, 2, 12, ["g", "r"], 50000 - 0.5),
    "bare.txt": (BARE, 1, 5, ["V"], 53000.5),
    "wide.csv": (
        macho_csv_text("1.2.3", [(49000 + i, -5 - i / 10, 0.1, -4, 0.1) for i in range(4)]),
        1,
        8,
        ["b", "r"],
        49000,
    ),
    "eros.time": (
        eros_text("lm1", [(300.0 + i, 15, 0.1, 99.999 if i else 16, 9.999 if i else 0.1) for i in range(4)]),
        1,
        5,
        ["B", "R"],
        300,
    ),
    "hits.dat": (hits_text([(57070 + i, 20, 0.1) for i in range(4)]), 1, 4, ["V"], 57070),
}


def described(path: Path) -> tuple[Survey, EpochBlock]:
    """Describe a file, and read it by its description."""
    sample = look_at(path)
    survey = survey_from_toml(describe("mine", sample), "mine.toml")
    return survey, block_from_raw(survey, read_file(survey, sample.content, str(path)))


def written(folder: Path, text: str, name: str = "star.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("packed", [False, True])
def test_the_description_reads_the_file(name, packed, tmp_path):
    text, objects, epochs, bands, first_mjd = CASES[name]
    path = tmp_path / (name + (".gz" if packed else ""))
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    survey, block = described(path)
    assert (len(block.objects), block.mjd.size, list(survey.bands)) == (objects, epochs, bands)
    assert block.mjd.min() == pytest.approx(first_mjd)
    assert "# guess" in survey.toml


@pytest.mark.parametrize("kind", ["parquet", "fits", "votable"])
def test_binary_tables_are_described_too(kind, tmp_path):
    from astropy.table import Table

    frame = pd.DataFrame(
        {
            "objectid": ["a", "b"],
            "mjd": [53000.0, 53001.0],
            "psfflux": [10.0, 20.0],
            "psffluxerr": [0.5, 0.5],
            "band": ["g", "r"],
        }
    )
    path = tmp_path / f"x.{kind}"
    if kind == "parquet":
        frame.to_parquet(path)
    else:
        Table(
            {
                column: frame[column].to_numpy().astype("U1" if frame[column].dtype.kind in "OT" else float)
                for column in frame
            }
        ).write(path, format=kind)
    survey, block = described(path)
    assert survey.magnitude_kind == "flux"
    assert [found.object_id for found in block.objects] == ["a", "b"]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# only\n# comments\n", b"\0\1\2binary", b"word\nword\n"])
def test_what_cannot_be_described_is_refused_in_a_sentence(content, tmp_path):
    path = tmp_path / "odd.dat"
    path.write_bytes(content)
    with pytest.raises(SurveyError, match=r"odd\.dat"):
        described(path)


@pytest.mark.parametrize(
    "bands",
    [
        {"g": ("g_mag", "g_magerr"), "r": ("r_mag", "r_magerr")},
        {"g": ("mag_g", "err_g"), "r": ("mag_r", "err_r")},
        {"b": ("bmag", "berr"), "r": ("rmag", "rerr")},
        {"B": ("MagB", "ErMagB"), "R": ("MagR", "ErMagR")},
        {"B": ("mag_B", "err_B"), "R": ("mag_R", "err_R")},
        {"g": ("gmag", "e_gmag"), "r": ("rmag", "e_rmag")},
        {"g": ("g_mag", "sigma_g"), "r": ("r_mag", "sigma_r")},
        {"r": ("r_mag", "r_mag_error"), "R": ("R_mag", "R_mag_error")},
    ],
)
@pytest.mark.parametrize("errors_first", [False, True])
def test_each_band_has_its_own_error_column(bands, errors_first, tmp_path):
    pairs = [pair[::-1] if errors_first else pair for pair in bands.values()]
    value = {name: 15 for name, _ in bands.values()} | {name: 0.1 for _, name in bands.values()}
    names = [name for pair in pairs for name in pair]
    text = ",".join(["mjd", *names]) + "\n" + f"53000,{','.join(str(value[name]) for name in names)}\n" * 2
    survey, _ = described(written(tmp_path, text))
    assert {columns.band: (columns.mag, columns.err) for columns in survey.formats[0].wide} == bands
    assert list(survey.bands) == list(bands)


@pytest.mark.parametrize("header", ["mjd,I_mag,I_magerr", "mjd,mag_I,err_I", "hmjd,Imag,Ierr"])
def test_a_lone_band_keeps_its_name(header, tmp_path):
    survey, block = described(written(tmp_path, header + "\n53000,15.5,0.02\n53001,15.6,0.02\n"))
    assert survey.bands == ("I",)
    assert (block.mag.tolist(), block.err.tolist()) == ([15.5, 15.6], [0.02, 0.02])


def test_the_band_column_of_ztf_is_known_and_its_bands_run_from_blue_to_red(tmp_path):
    rows = "".join(f"7,{58000 + day},15.{day},0.02,{band}\n" for day in range(3) for band in ("zr", "zg", "zi"))
    survey, block = described(written(tmp_path, "oid,mjd,mag,magerr,filtercode\n" + rows))
    assert (survey.bands, block.mjd.size) == (("zg", "zr", "zi"), 9)


ODD_TEXTS = {
    "trailing commas": "mjd,mag,err,\n53000,15,0.1,\n53001,15.5,0.1,\n",
    "trailing commas below the header": "mjd,mag,err\n53000,15,0.1,\n53001,15.5,0.1,\n",
    "trailing comma in the header": "mjd,mag,err,\n53000,15,0.1\n53001,15.5,0.1\n",
    "units": "mjd,mag,err\nd,mag,mag\n53000,15,0.1\n53001,15.5,0.1\n",
    "units and dashes below comments": "#made\n#\nmjd;mag;err\nd;mag;mag\n--;--;--\n53000;15;0.1\n53001;15.5;0.1\n",
    "units, other columns first": "err,name,mag,mjd\nmag,,mag,d\n0.1,x,15,53000\n0.1,x,15.5,53001\n",
    "bars around": "|mjd|mag|err|\n|53000|15|0.1|\n|53001|15.5|0.1|\n",
    "a name twice": "mjd,mag,mag,err\n53000,15,3,0.1\n53001,15.5,3,0.1\n",
    "quotes in a name": 'mjd,g"x,err\n53000,15,0.1\n53001,15.5,0.1\n',
    "gaps": "mjd,mag,err\n53000,15,0.1\n53000.5,,\n53000.6,nan,null\n53001,15.5,0.1\n",
}


@pytest.mark.parametrize("what", ODD_TEXTS)
def test_odd_texts_are_described(what, tmp_path):
    _, block = described(written(tmp_path, ODD_TEXTS[what]))
    assert block.mjd.tolist() == [53000, 53001]
    assert (block.mag.tolist(), block.err.tolist()) == ([15, 15.5], [0.1, 0.1])


@pytest.mark.parametrize("name", ['a"b.csv', "a\nb.c'v", "a\\b.t\tx"])
def test_a_file_name_is_escaped(name, tmp_path):
    _, block = described(written(tmp_path, "mjd,mag,err\n53000,15,0.1\n53001,15,0.1\n", name))
    assert [found.object_id for found in block.objects] == [name.rsplit(".", 1)[0]]


def test_a_survey_name_with_a_quote_is_refused_in_a_sentence(tmp_path):
    sample = look_at(written(tmp_path, BARE))
    with pytest.raises(SurveyError, match="survey name"):
        survey_from_toml(describe('my"own', sample), "mine.toml")


def _saved(kind: str) -> bytes:
    from astropy.table import Table

    stream = io.BytesIO()
    columns = {"mjd": 53000.0 + np.arange(500), "mag": np.full(500, 15.0), "err": np.full(500, 0.1)}
    if kind == "parquet":
        pd.DataFrame(columns).to_parquet(stream)
    else:
        Table(columns).write(stream, format=kind)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["parquet", "fits", "votable"])
def test_a_cut_table_is_refused_in_a_sentence(kind, tmp_path):
    path = tmp_path / f"star.{kind}"
    path.write_bytes(_saved(kind)[:-4000])
    with pytest.raises(SurveyError, match=rf"star\.{kind} is a damaged {kind} file: .+"):
        described(path)


@pytest.mark.parametrize("kind", ["parquet", "fits", "votable"])
def test_a_packed_table_is_described(kind, tmp_path):
    path = tmp_path / f"star.{kind}.gz"
    path.write_bytes(gzip.compress(_saved(kind)))
    _, block = described(path)
    assert ([found.object_id for found in block.objects], block.mjd.size) == (["star"], 500)


def test_columns_with_gaps_or_many_values_per_row_do_no_harm(tmp_path):
    from astropy.table import MaskedColumn, Table

    columns = {
        "mjd": [53000.0, 53001.0, 53002.0],
        "mag": MaskedColumn([15, 99, 16], mask=[False, True, False]),
        "magerr": [0.1, 0.1, 0.1],
        "cutout": np.zeros((3, 2)),
        "good": [True, False, True],
    }
    Table(columns).write(tmp_path / "star.fits")
    assert look_at(tmp_path / "star.fits").table.columns.tolist() == ["mjd", "mag", "magerr", "good"]
    survey = survey_from_toml(describe("mine", look_at(tmp_path / "star.fits")), "mine.toml")
    assert (survey.formats[0].mag, survey.formats[0].err) == ("mag", "magerr")


@pytest.mark.parametrize(
    "text",
    ["date,mag,err\n2010-01-01,15,0.1\n2010-01-02,15,0.1\n", "2010-01-01T00:00 15 0.1\n2010-01-02T00:00 15 0.1\n"],
)
def test_dates_of_the_calendar_are_refused_in_a_sentence(text, tmp_path):
    with pytest.raises(SurveyError, match=r"are text .'2010-01-01.*MJD or JD"):
        described(written(tmp_path, text))


def test_a_numeric_date_beside_one_of_the_calendar_is_taken(tmp_path):
    rows = "".join(f"2010-01-0{day} {55196 + day}.5 15 0.1\n" for day in range(1, 4))
    survey, block = described(written(tmp_path, rows))
    assert (survey.formats[0].time, block.mjd[0]) == (2, 55197.5)


LIMITS = "mjd,mag,err\n53000,15,0.1\n53001,>18.2,\n53002,>18.3,\n53003,15.5,0.1\n"


def test_upper_limits_do_not_hide_the_magnitudes(tmp_path, lcdvt):
    written(tmp_path, LIMITS)
    result = lcdvt("surveys", "new", "mine", "star.csv")
    assert (result.returncode, "2 epochs" in result.stdout) == (0, True), result.stderr
    assert 'mag = "mag"' in (tmp_path / "mine.toml").read_text()


def test_only_the_beginning_of_a_large_file_is_read(tmp_path, lcdvt):
    digits = np.random.default_rng(1).integers(0, 10**9, size=200_000)
    text = "mjd,mag,err\n" + "".join(f"{53000 + row / 100},15.{digit:09d},0.1\n" for row, digit in enumerate(digits))
    assert len(text) > 3 * BYTES_LOOKED_AT
    packed = gzip.compress(text.encode(), compresslevel=1)
    (tmp_path / "star.csv.gz").write_bytes(packed[: len(packed) // 2])  # whoever reads on finds the damage
    result = lcdvt("surveys", "new", "mine", "star.csv.gz")
    assert (result.returncode, "the beginning of star.csv.gz: 1 objects" in result.stdout) == (0, True), result.stderr


def test_a_bomb_is_refused_before_it_fills_the_memory(tmp_path):
    path = tmp_path / "star.vot.gz"
    path.write_bytes(gzip.compress(b"<?xml" + b" " * (65 << 20)))
    with pytest.raises(LcdvtError, match=r"star\.vot\.gz grows"):
        look_at(path)


def test_an_ipac_table_is_described_by_its_names(tmp_path):
    names = ["hjd", "oid", "mag", "magerr", "limitmag"]
    rows = [
        (f"{2458000 + day}.5", "77", "null" if day == 2 else f"{15 + day / 10}", "0.02", "20.5") for day in range(6)
    ]
    head = [
        "\\fixlen = T",
        *("|" + "|".join(value.rjust(12) for value in line) + "|" for line in (names, ["char"] * 5)),
    ]
    body = [" " + " ".join(value.rjust(12) for value in row) for row in rows]
    survey, block = described(written(tmp_path, "\n".join([*head, *body, ""]), "star.tbl"))
    assert (survey.formats[0].header, survey.formats[0].limit) == ("ipac", "limitmag")
    assert block.mag.tolist() == pytest.approx([15.0, 15.1, 15.3, 15.4, 15.5])
    assert [one.object_id for one in block.objects] == ["77"]
    assert block.limits.mag_limit.tolist() == [20.5]
    assert block.limits.mjd.tolist() == [58002.0]


def test_a_limit_that_every_row_has_beside_its_magnitude_is_none(tmp_path):
    text = "mjd,mag,magerr,limit\n" + "".join(f"{58000 + day},15.{day},0.02,18.5\n" for day in range(5))
    survey, block = described(written(tmp_path, text))
    assert survey.formats[0].limit is None
    assert (block.mjd.size, len(block.limits)) == (5, 0)


def test_names_in_a_comment_below_a_title_are_found(tmp_path):
    text = "Nova 7\n#Date,JD(TCB),averagemag\n" + "".join(
        f"2014-08-0{day},{2456870 + day}.25,{'untrusted' if day == 3 else f'17.{day}'}\n" for day in range(1, 8)
    )
    survey, block = described(written(tmp_path, text))
    assert (survey.formats[0].time, survey.formats[0].mag) == ("JD(TCB)", "averagemag")
    assert block.mag.tolist() == pytest.approx([17.1, 17.2, 17.4, 17.5, 17.6, 17.7])
    assert block.mjd[0] == 56870.75


def test_each_row_s_own_zero_point_is_used(tmp_path):
    text = "mjd,flux,fluxerr,zp\n" + "".join(
        f"{58000 + day},{100 * 10 ** (0.4 * day)},1.0,{23.9 + day}\n" for day in range(5)
    )
    _, block = described(written(tmp_path, text))
    assert block.fluxes()[0].tolist() == pytest.approx([100.0] * 5)


@pytest.mark.parametrize(
    ("flux", "error", "zero_point"),
    [
        ("flux_ujy", "flux_err_ujy", 23.9),
        ("flux_ujy", "flux_ujy_err", 23.9),
        ("flux_jy", "e_flux_jy", 8.9),
        ("flux_mJy", "dflux_mJy", 16.4),
        ("flux (µJy)", "fluxerr (µJy)", 23.9),
        ("diff_flux", "diff_flux_err", 25.0),
        ("apflux", "apfluxunc", 25.0),
    ],
)
def test_a_flux_with_its_unit_or_kind_in_its_name_is_a_flux(flux, error, zero_point, tmp_path):
    # The reference's flux stands first, and is not the star's.
    text = f"mjd,ref_flux,{error},{flux}\n" + "".join(f"{58000 + day},900,3.5,{120 + day}\n" for day in range(5))
    survey, block = described(written(tmp_path, text))
    assert (survey.formats[0].mag, survey.formats[0].err) == (flux, error)
    assert survey.flux_zero_point == zero_point
    assert 'kind = "flux"  # guess' in survey.toml and "constant_error" not in survey.toml
    values, errors = block.fluxes()
    assert values.tolist() == pytest.approx([120, 121, 122, 123, 124])
    assert errors.tolist() == pytest.approx([3.5] * 5)


def test_of_several_fluxes_the_one_with_an_error_is_taken(tmp_path):
    text = "mjd,flux_aper,flux_auto,flux_auto_err\n58000,9,120,3\n58001,9,121,3\n"
    survey, _ = described(written(tmp_path, text))
    assert (survey.formats[0].mag, survey.formats[0].err) == ("flux_auto", "flux_auto_err")


@pytest.mark.parametrize(
    ("ra", "dec"),
    [
        ("RA", "DE"),
        ("RA_ICRS", "DE_ICRS"),
        ("_RA", "_DE"),
        ("RAdeg", "DEdeg"),
        ("ra_j2000", "dec_j2000"),
        ("RAJ2000", "DEJ2000"),
        ("_RAJ2000", "_DEJ2000"),
    ],
)
def test_vizier_s_names_of_positions_are_known(ra, dec, tmp_path):
    text = f"name,{ra},{dec},mjd,mag,err\n" + "".join(
        f"a,10.5,-20.25,{58000 + day},15.{day},0.02\n" for day in range(3)
    )
    survey, block = described(written(tmp_path, text))
    assert (survey.formats[0].ra, survey.formats[0].dec) == (ra, dec)
    assert [(one.ra, one.dec) for one in block.objects] == [(10.5, -20.25)]


EPOCHS = [{"jd": 2458000.5 + day, "band": "g", "mag": 15 + day / 10, "magerr": 0.02} for day in range(4)]
JSON_TEXTS = {
    "a list of epochs in each star": [
        {"star": {"id": name, "ra": 1.5, "dec": 2.5}, "epochs": EPOCHS, "others": EPOCHS[:1], "tags": ["a"]}
        for name in ("v1", "v2")
    ],
    "a list of epochs alone": [epoch | {"id": name} for name in ("v1", "v2") for epoch in EPOCHS],
    "columns side by side": [
        {"id": name, "tags": ["a"], **{key: [epoch[key] for epoch in EPOCHS] for key in EPOCHS[0]}}
        for name in ("v1", "v2")
    ],
}


@pytest.mark.parametrize("what", JSON_TEXTS)
def test_json_is_described(what, tmp_path):
    survey, block = described(written(tmp_path, json.dumps(JSON_TEXTS[what]), "stars.json"))
    assert survey.formats[0].type == "json"
    assert [one.object_id for one in block.objects] == ["v1", "v2"]
    assert block.mag.tolist() == pytest.approx([15.0, 15.1, 15.2, 15.3] * 2)
    assert block.mjd[0] == 58000.0


@pytest.mark.parametrize("text", ['{"mjd": [1, 2', "[1, 2, 3]", '{"a": "b"}'])
def test_json_that_is_no_light_curve_is_refused_in_a_sentence(text, tmp_path):
    with pytest.raises(LcdvtError) as refusal:
        described(written(tmp_path, text, "x.json"))
    assert "x.json" in str(refusal.value)
