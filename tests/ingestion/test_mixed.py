"""Cases that once went wrong: layouts, names, kills at an awkward moment, growing and relabelled surveys."""

import io
import os
import tarfile
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.raw_files import write_eros, write_macho

import lcdvt
from lcdvt.errors import LcdvtError, SurveyError
from lcdvt.workspace.journal import Journal

ROWS = [(300.0 + day, 15.0 + day / 100, 0.02, 16.0, 0.03) for day in range(12)]
HEAD = 'name = "mine"\nbands = ["g", "r"]\nclean = "none"\n'


def describe(folder: Path, formats: str, top: str = HEAD) -> Path:
    (folder / "mine.toml").write_text(top + formats)
    return folder / "mine.toml"


def ingest(path: Path, survey: Path, **more):
    return lcdvt.ingest(path, survey=survey, jobs=1, features="none", **more)


def test_a_kill_between_part_and_journal_loses_nothing(tmp_path, workspace, monkeypatch):
    for star in range(40):
        write_eros(tmp_path / "eros", f"lm0010k{star:02d}", ROWS)
    add, calls = Journal.add, []

    def die_the_second_time(self, record):
        calls.append(record)
        if len(calls) == 2:
            raise KeyboardInterrupt  # the part is in place, its line is not written
        add(self, record)

    monkeypatch.setattr(Journal, "add", die_the_second_time)
    with pytest.raises(KeyboardInterrupt):
        lcdvt.ingest(tmp_path / "eros", jobs=1, features="none")
    monkeypatch.undo()
    monkeypatch.setenv("LCDVT_DATA", str(workspace))
    result = lcdvt.ingest(tmp_path / "eros", jobs=1, features="none")
    assert (result.totals["objects"], result.problems) == (40, [])


def test_two_bands_may_share_an_error_column(tmp_path, workspace):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("t,g,r,e\n53000,15,14,0.1\n53001,15.5,14.5,0.2\n")
    formats = '[[formats]]\nseparator = ","\nheader = true\nid = "{s}"\nfile_name = "(?P<s>.+)[.]csv"\ntime = "t"\n'
    survey = describe(tmp_path, formats + 'wide.g = { mag = "g", err = "e" }\nwide.r = { mag = "r", err = "e" }\n')
    ingest(tmp_path / "in", survey)
    curve = lcdvt.open_survey("mine").light_curve("a").epochs
    assert curve.groupby("band")["mag_err"].apply(list).to_dict() == {"g": [0.1, 0.2], "r": [0.1, 0.2]}


@pytest.mark.parametrize("kind", ["parquet", "fits"])
def test_sentinels_in_single_precision_are_recognised(tmp_path, workspace, kind):
    from astropy.table import Table

    (tmp_path / "in").mkdir()
    columns = {
        "t": np.array([53000.0, 53001.0]),
        "m": np.array([15.0, 99.99], dtype="f4"),
        "e": np.array([0.1, 0.1], dtype="f4"),
    }
    path = tmp_path / "in" / f"a.{kind}"
    pq.write_table(pa.table(columns), path) if kind == "parquet" else Table(columns).write(path, format="fits")
    formats = f'[sentinels]\nmag = [99.99]\n[[formats]]\ntype = "{kind}"\nid = "{{s}}"\nfile_name = "(?P<s>.+)[.]"\n'
    result = ingest(tmp_path / "in", describe(tmp_path, formats + 'time = "t"\nmag = "m"\nerr = "e"\nband = "g"\n'))
    assert result.totals["epochs"] == 1


def test_one_format_per_band_makes_one_star(tmp_path, workspace):
    for band in "gr":
        for star in range(40):
            path = tmp_path / "in" / band / f"s{star}.{band}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("53000 15 0.1\n53001 15 0.1\n")
    formats = "".join(
        f'[[formats]]\nid = "{{s}}"\nfile_name = "(?P<s>.+)[.]{band}$"\nband = "{band}"\nmag = 2\nerr = 3\nhead = ""\n'
        for band in "gr"
    )
    result = ingest(tmp_path / "in", describe(tmp_path, formats))
    assert result.totals["objects"] == 40


def test_a_band_only_in_the_first_lines_is_refused_without_a_name_pattern(tmp_path):
    from lcdvt.catalogs.survey_toml import survey_from_toml

    with pytest.raises(SurveyError, match="needs a file_name"):
        survey_from_toml(
            HEAD + "[[formats]]\nid = \"{star}\"\nhead = '# (?P<star>.+) (?P<band>[gr])'\nmag = 2\nerr = 3\n", "x.toml"
        )


def test_labels_stay_when_the_survey_grows(tmp_path, workspace):
    write_eros(tmp_path / "eros", "lm001", ROWS)
    (tmp_path / "c.csv").write_text("id,class\nlm001,QSO\nlm002,CEP\n")
    lcdvt.ingest(tmp_path / "eros", catalog=tmp_path / "c.csv", jobs=1, features="none")
    write_eros(tmp_path / "eros", "lm002", ROWS)
    lcdvt.ingest(tmp_path / "eros", jobs=1, features="none")
    objects = lcdvt.open_survey("eros").objects()
    assert dict(zip(objects["object_id"], objects["label"], strict=True)) == {"lm001": "QSO", "lm002": "CEP"}
    (tmp_path / "c.csv").unlink()
    with pytest.raises(LcdvtError, match="which is gone"):
        lcdvt.ingest(tmp_path / "eros", jobs=1, features="none")
    lcdvt.ingest(tmp_path / "eros", jobs=1, features="none", catalog="none")
    assert lcdvt.open_survey("eros").objects()["label"].isna().all()


def test_new_stars_get_the_features_that_were_extracted_last(tmp_path, workspace):
    write_eros(tmp_path / "eros", "lm001", ROWS)
    lcdvt.ingest(tmp_path / "eros", jobs=1, features="none")
    lcdvt.extract("eros", features=["Mean", "Std"], jobs=1)
    write_eros(tmp_path / "eros", "lm002", ROWS)
    lcdvt.ingest(tmp_path / "eros", jobs=1)
    features = lcdvt.open_survey("eros").features()
    assert list(features.columns) == ["object_id", "Mean_B", "Std_B", "Mean_R", "Std_R"]
    assert features["Std_R"].notna().all()
    assert len(features) == 2


def test_force_forgets_a_half_finished_extraction(tmp_path, workspace):
    write_eros(tmp_path / "eros", "lm001", ROWS)
    lcdvt.ingest(tmp_path / "eros", jobs=1, features=["Mean"])

    def stop(done, total, note=""):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        lcdvt.extract("eros", features=["Mean"], jobs=1, progress=stop)
    brighter = [(t, r - 3, re, b, be) for t, r, re, b, be in ROWS]
    write_eros(tmp_path / "eros", "lm001", brighter)
    lcdvt.ingest(tmp_path / "eros", jobs=1, features="none", force=True)
    lcdvt.extract("eros", features=["Mean"], jobs=1)
    assert lcdvt.open_survey("eros").features()["Mean_R"][0] == pytest.approx(np.mean([row[1] for row in brighter]))


def test_quoted_names_with_commas_and_quotes_stay_apart(tmp_path, workspace):
    (tmp_path / "in").mkdir()
    lines = [
        "star,t,m,e,b",
        '"V1, Cyg",53000,15,0.1,g',
        '"V2 ""x"" Cyg",53000,15,0.1,g',
        '"V2 ""y"" Cyg",53000,15,0.1,g',
    ]
    (tmp_path / "in" / "all.csv").write_text("\n".join(lines) + "\n")
    formats = '[[formats]]\nseparator = ","\nheader = true\nid = "{star}"\ntime = "t"\nmag = "m"\nerr = "e"\n'
    formats += 'band_column = "b"\n'
    ingest(tmp_path / "in", describe(tmp_path, formats))
    assert lcdvt.open_survey("mine").objects()["object_id"].tolist() == ["V1, Cyg", 'V2 "x" Cyg', 'V2 "y" Cyg']


@pytest.mark.parametrize("kind", ["text", "parquet"])
def test_rows_without_an_id_are_named_not_merged(tmp_path, workspace, kind):
    (tmp_path / "in").mkdir()
    if kind == "text":
        (tmp_path / "in" / "all.csv").write_bytes(
            "star,t,m,e\n,53000,15,0.1\né1,53000,15,0.1\nè1,53000,16,0.1\n".encode("latin-1")
        )
        shape = 'separator = ","\nheader = true\n'
    else:
        columns = {"star": [None, "é1", "è1"], "t": [53000.0] * 3, "m": [15.0, 15.0, 16.0], "e": [0.1] * 3}
        pq.write_table(pa.table(columns), tmp_path / "in" / "all.parquet")
        shape = 'type = "parquet"\n'
    formats = f'[[formats]]\n{shape}id = "{{star}}"\ntime = "t"\nmag = "m"\nerr = "e"\nband = "g"\n'
    result = ingest(tmp_path / "in", describe(tmp_path, formats))
    assert sorted(lcdvt.open_survey("mine").objects()["object_id"]) == ["è1", "é1"]
    assert "have no id" in result.problems[0]


def test_label_and_position_columns_of_single_star_files(tmp_path, workspace):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text(
        "t,m,e,class,ra,dec\n53000,15,0.1,RRab,10.5,-20\n53001,15,0.1,RRab,10.5,-20\n"
    )
    formats = (
        '[classes]\nRRLYR = ["RRab"]\n[[formats]]\nseparator = ","\nheader = true\nid = "{s}"\n'
        'file_name = "(?P<s>.+)[.]csv"\n'
        'time = "t"\nmag = "m"\nerr = "e"\nband = "g"\nlabel = "class"\nra = "ra"\ndec = "dec"\n'
    )
    ingest(tmp_path / "in", describe(tmp_path, formats))
    star = lcdvt.open_survey("mine").objects().iloc[0]
    assert (star["label"], star["ra"], star["dec"]) == ("RRLYR", 10.5, -20.0)


def test_class_folders_count_from_the_input_downwards(tmp_path, workspace, monkeypatch):
    write_macho(tmp_path / "LPV" / "data", "1.2.3", "R", [(48823.0, -5.0, 0.1)])
    lcdvt.ingest(tmp_path / "LPV" / "data", jobs=1, features="none", name="inside")
    lcdvt.ingest(tmp_path / "LPV", jobs=1, features="none", name="whole")
    monkeypatch.chdir(tmp_path / "LPV")
    lcdvt.ingest("data", jobs=1, features="none", name="relative")
    labels = {name: lcdvt.open_survey(name).objects()["label"][0] for name in ("inside", "whole", "relative")}
    assert labels["whole"] == "LPV"
    assert not any(isinstance(labels[name], str) for name in ("inside", "relative"))


def test_names_of_any_bytes_and_pipes_do_not_stop_an_ingest(tmp_path, workspace):
    write_eros(tmp_path / "eros", "lm001", ROWS)
    good = next((tmp_path / "eros").rglob("*.time"))
    Path(os.fsdecode(os.fsencode(tmp_path / "eros") + b"/caf\xe9.time")).write_bytes(good.read_bytes())
    os.mkfifo(tmp_path / "eros" / "pipe.time")
    done = []
    worker = threading.Thread(
        target=lambda: done.append(lcdvt.ingest(tmp_path / "eros", jobs=1, features="none")), daemon=True
    )
    worker.start()
    worker.join(60)
    assert done and done[0].totals["objects"] == 2
    assert lcdvt.ingest(tmp_path / "eros", jobs=1, features="none").nothing_new


def test_the_documented_example_and_a_file_of_another_band(tmp_path, workspace):
    manual = (Path(__file__).parents[2] / "docs" / "surveys.md").read_text(encoding="utf-8")
    example = manual.split("## An example")[1].split("```toml\n")[1].split("```")[0]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a_g.csv").write_text("hjd,mag,magerr\n3000.5,15,0.1\n3001.5,15.5,0.1\n")
    (tmp_path / "in" / "a_i.csv").write_text("hjd,mag,magerr\n3000.5,15,0.1\n")
    (tmp_path / "mine.toml").write_text(example)
    result = lcdvt.ingest(tmp_path / "in", survey=tmp_path / "mine.toml", clean="none", jobs=1, features="none")
    assert result.totals["objects"] == 1
    assert "do not tell the band" in result.problems[0]


def test_a_workspace_inside_the_input_is_not_read(tmp_path, monkeypatch):
    write_eros(tmp_path, "lm001", ROWS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LCDVT_DATA", raising=False)
    first = lcdvt.ingest(".", jobs=1, features="none")
    second = lcdvt.ingest(tmp_path, jobs=1, features="none")
    assert second.nothing_new
    assert first.totals["files_skipped"] == second.totals["files_skipped"] == 0


@pytest.mark.parametrize("name", ["../out", "a/b", ".", "runs", ".ingest"])
def test_names_that_lead_out_of_the_workspace_are_refused(tmp_path, workspace, name):
    write_eros(tmp_path / "eros", "lm001", ROWS)
    with pytest.raises(LcdvtError, match="name="):
        lcdvt.ingest(tmp_path / "eros", name=name, jobs=1, features="none")


def test_counts_of_an_archive_add_up(tmp_path, workspace):
    write_eros(tmp_path / "eros", "lm001", ROWS)
    good = next((tmp_path / "eros").rglob("*.time")).read_bytes()
    with tarfile.open(tmp_path / "e.tar", "w") as archive:
        for name, content in {"lm001.time": good, "a.time": b"", "b.time": b"x\n", "lm002.time": good[:-20]}.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    totals = lcdvt.ingest(tmp_path / "e.tar", survey="eros", jobs=1, features="none").totals
    assert (totals["files"], totals["files_skipped"]) == (4, 3)
    assert totals["dropped_objects"] == {"a broken line": 1}


def test_everything_dropped_says_why(tmp_path, workspace):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("53000 15 0.1\n53001 15 0.1\n")
    formats = (
        '[time]\nsystem = "JD"\n[[formats]]\nid = "{s}"\nfile_name = "(?P<s>.+)[.]csv"\nmag = 2\nerr = 3\nband = "g"\n'
    )
    with pytest.raises(LcdvtError, match=r"2 epochs were read and none is left \(date out of range: 2 epochs"):
        ingest(tmp_path / "in", describe(tmp_path, formats))


@pytest.mark.parametrize(
    "line",
    [
        '[time]\nzero_point = "2450000"',
        '[time]\nscale = "foo"',
        '[classes]\nRRLYR = "RRab"',
        "[magnitude]\nconstant_error = -1",
        '[magnitude]\nconstant_error = "0.1"',
    ],
)
def test_wrong_kinds_of_values_are_named(line):
    from lcdvt.catalogs.survey_toml import survey_from_toml

    formats = '\n[[formats]]\nid = "{s}"\nfile_name = "(?P<s>.+)"\nmag = 2\nerr = 3\nband = "g"\n'
    key = line.splitlines()[1].split(" =")[0]
    with pytest.raises(SurveyError, match=key):
        survey_from_toml(HEAD + line + formats, "x.toml")


@pytest.mark.parametrize("column", ["star", "when"])
def test_a_large_parquet_file_without_a_needed_column_is_named(tmp_path, workspace, column, monkeypatch):
    monkeypatch.setattr("lcdvt.ingestion.batches.STREAMED_FROM_BYTES", 10)
    (tmp_path / "in").mkdir()
    columns = {"star": ["a", "a", "b"], "when": [53000.0, 53001.0, 53000.0], "m": [15.0] * 3, "e": [0.1] * 3}
    pq.write_table(
        pa.table({name: values for name, values in columns.items() if name != column}), tmp_path / "in" / "x.parquet"
    )
    formats = '[[formats]]\ntype = "parquet"\nid = "{star}"\ntime = "when"\nmag = "m"\nerr = "e"\nband = "g"\n'
    with pytest.raises(LcdvtError, match=f"no column '{column}'"):
        ingest(tmp_path / "in", describe(tmp_path, formats))
