"""Odd but valid input, and bad input in odd places: right values, or one sentence."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.raw_files import write_eros

import lcdvt
from lcdvt.catalogs.reading.files import archive_members
from lcdvt.catalogs.reading.hats_folder import hats_partitions
from lcdvt.ingestion.labels import lies_in_simulation, load_catalogue

ROWS = [(300.0 + day, 15.0 + day / 100, 0.02, 16.0, 0.03) for day in range(12)]
HEAD = 'name = "mine"\nbands = ["g"]\nclean = "none"\n[[formats]]\n'
CSV = 'separator = ","\nheader = true\n'
MANY = 'id = "{star}"\ntime = "t"\nmag = "m"\nerr = "e"\nband = "g"\n'


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def ingest(path: Path, description: str) -> "lcdvt.IngestResult":
    toml = path.parent / "mine.toml"
    toml.write_text(HEAD + description)
    return lcdvt.ingest(path, survey=toml, jobs=1, features="none")


def test_the_folder_one_stands_in_gives_no_class(tmp_path, workspace, monkeypatch):
    write_eros(tmp_path / "raw" / "eros", "lm0010k01", ROWS)
    here = tmp_path / "RRLYR" / "work"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    lcdvt.ingest("../../raw/eros", jobs=1, features="none")
    assert lcdvt.open_survey("eros").objects()["label"].isna().all()
    (here / "truth.csv").touch()
    assert not lies_in_simulation([Path("../../raw/eros")])


def test_an_archive_member_of_any_bytes_is_told(tmp_path, workspace):
    good = write_eros(tmp_path / "one", "lm0010k01", ROWS).read_bytes()
    (tmp_path / "in").mkdir()
    with tarfile.open(tmp_path / "in" / "a.tar", "w") as archive:
        link = tarfile.TarInfo("caf\udce9.lnk")
        link.type, link.linkname = tarfile.SYMTYPE, "x"
        archive.addfile(link)
        member = tarfile.TarInfo("lm0010k01.time")
        member.size = len(good)
        archive.addfile(member, io.BytesIO(good))
    result = lcdvt.ingest(tmp_path / "in", survey="eros", jobs=1, features="none")
    assert result.totals["objects"] == 1
    assert "is a link or device" in result.problems[0]


def test_a_zip_with_an_ill_encoded_name_is_one_sentence(tmp_path, workspace):
    write_eros(tmp_path / "in", "lm0010k01", ROWS)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("é.time", "x")
    (tmp_path / "in" / "bad.zip").write_bytes(packed.getvalue().replace("é".encode(), b"\xff\xfe"))
    result = lcdvt.ingest(tmp_path / "in", survey="eros", jobs=1, features="none")
    assert (result.totals["objects"], len(result.problems)) == (1, 1)
    assert "bad.zip" in result.problems[0]


def test_an_impossible_declination_matches_nothing(tmp_path):
    (tmp_path / "c.csv").write_text("class,ra,dec\nQSO,80,-69\n")
    stars = pd.DataFrame({"object_id": ["a", "b"], "ra": [80.0, 80.0], "dec": [-999.0, -69.0]})
    labels = load_catalogue(tmp_path / "c.csv", match_radius="1arcsec").join(stars)["survey_label"]
    assert labels.isna().tolist() == [True, False]


def test_a_column_may_be_wanted_by_name_and_by_number(raw, workspace):
    (raw / "all.csv").write_text("star,t,m,e\na,53000,15.5,0.1\na,53001,16.5,0.1\n")
    ingest(raw, CSV + MANY.replace('mag = "m"', "mag = 3") + 'ra = "m"\ndec = 4\nlabel = "star"\n')
    assert lcdvt.open_survey("mine").light_curve("a").epochs["mag"].tolist() == [15.5, 16.5]
    found = lcdvt.open_survey("mine").objects().iloc[0]
    assert (found["ra"], found["dec"], found["label"]) == (15.5, 0.1, "a")


def test_quotes_after_a_blank_and_signed_nan(raw, workspace):
    (raw / "all.csv").write_text('star, t, m, e\n "V 1",\t53000 , "15.5", .1\n "V 1", 53001,-nan,.1\n')
    result = ingest(raw, CSV + MANY)
    assert result.problems == []
    assert lcdvt.open_survey("mine").light_curve("V 1").epochs["mag"].tolist() == [15.5]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_without_an_id_are_counted_once(raw, workspace, suffix):
    for name in ("f", "g"):
        table = pd.DataFrame({"star": [None, name], "t": 53000.0, "m": 15.0, "e": 0.1})
        write = table.to_csv if suffix == "csv" else table.to_parquet
        write(raw / f"{name}.{suffix}", index=False)
    result = ingest(raw, (CSV if suffix == "csv" else 'type = "parquet"\n') + MANY)
    assert result.totals["dropped_objects"] == {"no id": 2}
    assert all("have no id" in problem for problem in result.problems)
    assert sorted(lcdvt.open_survey("mine").objects()["object_id"]) == ["f", "g"]


def test_a_linked_catalogue_is_no_light_curve(tmp_path, workspace):
    write_eros(tmp_path / "in", "lm0010k01", ROWS)
    (tmp_path / "real.csv").write_text("id,class\nlm0010k01,EB\n")
    (tmp_path / "in" / "labels.csv").symlink_to(tmp_path / "real.csv")
    result = lcdvt.ingest(tmp_path / "in", jobs=1, features="none")
    assert (result.problems, result.labels["classes"]) == ([], {"EB": 1})


def large_table(ids: pa.Array) -> pa.Table:
    noise = np.random.default_rng(0).normal(size=(3, len(ids)))
    return pa.table({"star": ids, "t": 53000 + noise[0], "m": 15 + noise[1], "e": 0.1 + 0 * noise[2]})


def test_a_large_parquet_file_that_is_compressed_once_more(raw, workspace):
    stars = [f"s{row // 1000:03d}" for row in range(120_000)]
    packed = io.BytesIO()
    pq.write_table(large_table(pa.array(stars)), packed)
    (raw / "all.parquet.gz").write_bytes(gzip.compress(packed.getvalue(), 1))
    assert (raw / "all.parquet.gz").stat().st_size > 1 << 20
    assert ingest(raw, 'type = "parquet"\n' + MANY).totals["objects"] == 120


def test_ids_that_are_no_text_are_one_sentence(raw, workspace):
    pq.write_table(large_table(pa.array([b"\xff\xfe"] * 120_000)), raw / "all.parquet")
    with pytest.raises(lcdvt.LcdvtError, match=r"all\.parquet: the ids cannot be read as text"):
        ingest(raw, 'type = "parquet"\n' + MANY)


def test_a_zip_member_without_a_name_is_left_out(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a", "x")
    # the name's length in the directory at the end: the name becomes a part of the extra field
    content = bytearray(packed.getvalue())
    entry = content.index(b"PK\x01\x02")
    content[entry + 28], content[entry + 30] = 0, 1
    (tmp_path / "a.zip").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.namelist() == [""]
    assert list(archive_members(tmp_path / "a.zip")) == []


def test_a_collection_whose_table_no_folder_can_be_is_one_sentence(tmp_path):
    (tmp_path / "collection.properties").write_bytes(b"hats_primary_table_url=a\0b\n")
    with pytest.raises(lcdvt.LcdvtError, match="names no folder in this collection"):
        hats_partitions(tmp_path)


def test_a_long_comment_below_the_header_is_named_not_read_as_data(raw, workspace):
    header, rows = "star,t,m,e\n", "".join(f"s1,{300 + day},15.0,0.02\n" for day in range(12))
    (raw / "short.csv").write_text(header + "# a word on calibration\n" + rows)
    (raw / "long.csv").write_text(header + "# a word on calibration\n" * 500 + rows.replace("s1", "s2"))
    result = ingest(raw, CSV + 'comment = "#"\n' + MANY)
    assert result.totals["objects"] == 1
    assert len(result.problems) == 1
    assert "long.csv" in result.problems[0]
    assert "no data line in its first 8 KiB" in result.problems[0]
