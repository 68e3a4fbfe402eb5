"""What an ingested survey offers: lazily, with units, as astropy and nested-pandas."""

import json

import pyarrow.parquet as pq
import pytest
from helpers.raw_files import write_eros

import lcdvt
from lcdvt.disk.atomic import write_atomically
from lcdvt.epochs.block import EPOCHS_SCHEMA, check_epochs
from lcdvt.errors import WorkspaceError

ROWS = [(300.0 + day, 15.0 + day / 100, 0.02, 16.0, 0.03) for day in range(8)]


@pytest.fixture
def survey(tmp_path, workspace):
    for star in ("lm001", "lm002"):
        write_eros(tmp_path / "eros", star, ROWS)
    lcdvt.ingest(tmp_path / "eros", jobs=1, features="none")
    return lcdvt.open_survey("eros")


def test_epochs_have_the_one_schema_and_say_what_they_are(survey):
    part = next(survey.folder.epochs.glob("*.parquet"))
    schema = pq.read_schema(part)
    assert schema.remove_metadata() == EPOCHS_SCHEMA
    assert b"Tisserand" in schema.metadata[b"lcdvt.citation"]
    assert json.loads(schema.metadata[b"lcdvt.units"])["mjd"] == "d"
    assert "HJD" in json.loads(schema.metadata[b"lcdvt.time"])["from"]


def test_astropy_finds_the_units_in_the_parquet(survey):
    from astropy.table import Table

    table = Table.read(next(survey.folder.epochs.glob("*.parquet")), format="parquet.votable")
    assert (str(table["mjd"].unit), str(table["mag"].unit)) == ("d", "mag")


def test_a_curve_as_table_time_series_and_nested_frame(survey):
    curve = survey.light_curve("lm002")
    assert len(curve) == 16
    assert set(curve.epochs.columns) == {"band", "mjd", "mag", "mag_err"}
    series = survey.to_timeseries("lm002")
    assert series.time.mjd[0] == pytest.approx(300.0 + 2450000 - 2400000.5)
    assert str(series["mag"].unit) == "mag"
    assert series.time.scale == "utc"
    nested = survey.to_nested()
    assert nested.loc["lm002", "lightcurve"]["mag"].tolist() == curve.epochs["mag"].tolist()


def test_parts_come_one_by_one(survey):
    frames = list(survey.iter_epochs())
    assert sum(map(len, frames)) == 32
    assert survey.epochs.count_rows() == 32


def test_an_open_survey_stays_open_where_the_notebook_changes_its_folder(survey, workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(workspace.parent)
    opened = lcdvt.open_survey("eros", workspace.name)
    monkeypatch.chdir(tmp_path / "eros")
    assert opened.objects().equals(survey.objects())
    assert len(list(opened.iter_epochs())) == len(list(survey.iter_epochs())) > 0


def test_what_is_not_there_is_said(survey, workspace):
    with pytest.raises(WorkspaceError, match="there: eros"):
        lcdvt.open_survey("macho")
    with pytest.raises(WorkspaceError, match="no object 'x'"):
        survey.light_curve("x")
    with pytest.raises(WorkspaceError, match="no object '3'"):
        survey.light_curve(3)
    with pytest.raises(WorkspaceError, match="lcdvt extract eros"):
        survey.features()


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("mag", float("nan"), "not finite"),
        ("mag_err", 0.0, "not positive"),
        ("mjd", -1.0, "out of order"),
        ("band", None, "lacks the column"),
    ],
)
def test_a_table_that_is_no_epochs_table_is_refused(survey, column, value, said):
    frame = survey.epochs.to_table().to_pandas()
    if value is None:
        frame = frame.drop(columns=column)
    else:
        frame.loc[3, column] = value
    import pyarrow as pa

    with pytest.raises(WorkspaceError, match=said):
        check_epochs(pa.Table.from_pandas(frame), "test")


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")

    def half(unfinished):
        unfinished.write_text("ne")
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError):
        write_atomically(path, half)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
