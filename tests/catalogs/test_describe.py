"""`lcdvt surveys new`: what it writes reads the file it was written from."""

import gzip

import pandas as pd
import pytest

from lcdvt.catalogs.describe import describe_file
from lcdvt.catalogs.files import open_stream
from lcdvt.catalogs.reader import read_file
from lcdvt.catalogs.survey_toml import survey_from_toml
from lcdvt.epochs import block_from_raw
from lcdvt.errors import SurveyError
from raw_files import eros_text, hits_text, macho_csv_text

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


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("packed", [False, True])
def test_the_description_reads_the_file(name, packed, tmp_path):
    text, objects, epochs, bands, first_mjd = CASES[name]
    path = tmp_path / (name + (".gz" if packed else ""))
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    toml = describe_file("mine", path)
    survey = survey_from_toml(toml, "mine.toml")
    with open_stream(path) as stream:
        block = block_from_raw(survey, read_file(survey, stream.read(), str(path)))
    assert (len(block.objects), block.mjd.size, list(survey.bands)) == (objects, epochs, bands)
    assert block.mjd.min() == pytest.approx(first_mjd)
    assert "# guess" in toml


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
    toml = describe_file("mine", path)
    survey = survey_from_toml(toml, "mine.toml")
    assert survey.magnitude_kind == "flux"
    block = block_from_raw(survey, read_file(survey, path.read_bytes(), str(path)))
    assert [found.object_id for found in block.objects] == ["a", "b"]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# only\n# comments\n", b"\0\1\2binary", b"word\nword\n"])
def test_what_cannot_be_described_is_refused_in_a_sentence(content, tmp_path):
    path = tmp_path / "odd.dat"
    path.write_bytes(content)
    with pytest.raises(SurveyError, match=r"odd\.dat"):
        describe_file("mine", path)
