"""Upper limits: kept apart from the epochs, and true whatever happens to their part."""

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from astropy.time import Time
from helpers.fault_runs import same_tables
from helpers.forked_kills import in_fork
from typer.testing import CliRunner

import lcdvt
from lcdvt.cli.main import app
from lcdvt.epochs.limits import LIMITS_SCHEMA
from lcdvt.ingestion import batches
from lcdvt.results.predict import _left_out as left_out_of

HEADER = "HJD,UT Date,Camera,FWHM,Limit,mag,mag_err,flux(mJy),flux_err,Filter"
FIRST_DAY = 2458000.0
FEATURES = ["Mean", "Std"]
Limits = dict[tuple[str, str], list[tuple[float, float]]]


def write_star(folder: Path, name: str, *, epochs: int = 40, limits: int = 5, shift: float = 0.0, band="g") -> Path:
    """Write a file of Sky Patrol 1 (the camera gives no offset: there is one); every eighth day nothing was seen."""
    seed = sum(map(ord, name))
    seen = [(FIRST_DAY + day, f"{14.0 + shift + (day * 7 + seed) % 10 / 20:.3f}", "0.020") for day in range(epochs)]
    not_seen = [
        (FIRST_DAY + 0.25 + 8 * number, f">{16.0 + (number * seed) % 7 / 10:.3f}", "99.990") for number in range(limits)
    ]
    lines = [
        f"{date:.5f},2017-09-04.5,b{'a' if band == 'V' else 'i'},1.5,16.0,{mag},{err},1.0,0.1,{band}"
        for date, mag, err in sorted(seen + not_seen)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.csv"
    path.write_text("\n".join([HEADER, *lines, ""]))
    return path


def tdb(utc: float) -> float:
    return float(Time(utc, format="mjd", scale="utc").tdb.mjd)


def counted(*files: Path) -> Limits:
    """Return the limits of files of Sky Patrol 1, read by plain Python; the dates are heliocentric TDB by astropy."""
    found: Limits = {}
    for file in files:
        for line in file.read_text().splitlines()[1:]:
            date, _, _, _, _, mag, *_, band = line.split(",")
            if mag.startswith(">"):
                found.setdefault((file.stem, band), []).append((tdb(float(date) - 2400000.5), float(mag[1:])))
    return {key: sorted(limits) for key, limits in found.items()}


def stored(name: str = "asassn", data: Path | None = None) -> Limits:
    found: Limits = {}
    for row in lcdvt.open_survey(name, data).limits.to_table().to_pandas().itertuples():
        found.setdefault((row.object_id, row.band), []).append((row.mjd, row.mag_limit))
    return found


def same_limits(found: Limits, expected: Limits) -> None:
    assert found.keys() == expected.keys()
    for key, limits in expected.items():
        np.testing.assert_allclose(found[key], limits, rtol=0, atol=1e-9)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    for star in range(30):
        write_star(tmp_path / "raw", f"star{star:02d}", limits=star % 4)
    return tmp_path / "raw"


ingest = partial(lcdvt.ingest, jobs=1, features=FEATURES, clean="none")


def test_limits_are_kept_apart_counted_and_shown(raw, workspace, tmp_path):
    result = ingest(raw)
    expected = counted(*raw.iterdir())
    limits = sum(map(len, expected.values()))
    assert limits > 30
    same_limits(stored(), expected)
    assert result.totals["limits"] == limits
    assert result.totals["dropped_epochs"] == {}
    assert result.totals["epochs_read"] == result.totals["epochs"] + limits
    assert json.loads((workspace / "asassn" / "ingest.json").read_text())["totals"]["limits"] == limits
    assert [check.findings for check in lcdvt.verify("asassn")] == [[]]
    shown = CliRunner().invoke(app, ["surveys", "show", "asassn"])
    assert f"30 objects, 1200 epochs, {limits} upper limits" in shown.output
    told = CliRunner().invoke(app, ["ingest", str(raw), "--name", "told", "--features", "none", "--jobs", "1"])
    assert any(line.split() == ["upper", "limits", "kept", "apart", str(limits)] for line in told.output.splitlines())

    # Neither the epochs nor what is computed from them know of the limits.
    for file in raw.iterdir():
        text = "".join(line for line in file.read_text().splitlines(keepends=True) if ">" not in line)
        (tmp_path / "without").mkdir(exist_ok=True)
        (tmp_path / "without" / file.name).write_text(text)
    ingest(tmp_path / "without", name="without")
    one, other = (lcdvt.open_survey(name) for name in ("asassn", "without"))
    pd.testing.assert_frame_equal(one.features(), other.features())
    assert one.epochs.to_table().equals(other.epochs.to_table())
    assert not other.folder.limits.exists()
    assert other.limits.count_rows() == 0
    assert other.light_curve("star03").limits.empty


def test_a_light_curve_has_its_limits_and_draws_them(raw, workspace):
    ingest(raw)
    star = lcdvt.open_survey("asassn").light_curve("star03")
    assert list(star.limits.columns) == ["band", "mjd", "mag_limit"]
    (expected,) = counted(raw / "star03.csv").values()
    np.testing.assert_allclose(star.limits[["mjd", "mag_limit"]], expected, rtol=0, atol=1e-9)
    assert len(star) == 40
    drawn = [line for line in star.plot().axes[0].lines if line.get_marker() == "v"]
    np.testing.assert_allclose(np.concatenate([line.get_xydata() for line in drawn]), expected, rtol=0, atol=1e-9)
    assert not [line for line in star.fold(3.0).plot().axes[0].lines if line.get_marker() == "v"]
    without = lcdvt.open_survey("asassn").light_curve("star04")
    assert without.limits.empty
    assert not [line for line in without.plot().axes[0].lines if line.get_marker() == "v"]


def test_a_star_that_was_never_seen_is_no_star(raw, workspace):
    write_star(raw, "never", epochs=0, limits=7)
    result = ingest(raw)
    assert result.totals["dropped_epochs"] == {"upper limit of a dropped object": 7}
    assert "never" not in {star for star, _ in stored()}


def test_parts_without_limits_have_no_file_and_the_same_data_give_the_same_bytes(raw, workspace, monkeypatch):
    monkeypatch.setattr(batches, "SMALLEST_BATCH", 2)
    for star in range(30):
        write_star(raw, f"star{star:02d}", limits=star % 4 if star < 8 else 0)
    ingest(raw)
    ingest(raw, name="again")
    ingest(raw, name="two", jobs=2)
    parts = {path.name for path in (workspace / "asassn" / "limits").iterdir()}
    assert 0 < len(parts) < len(list((workspace / "asassn" / "epochs").iterdir()))
    for name in ("again", "two"):
        for path in (workspace / "asassn" / "limits").iterdir():
            assert path.read_bytes() == (workspace / name / "limits" / path.name).read_bytes()
    schema = pq.read_schema(next((workspace / "asassn" / "limits").iterdir()))
    assert schema.remove_metadata() == LIMITS_SCHEMA
    assert json.loads(schema.metadata[b"lcdvt.units"]) == {"mjd": "d", "mag_limit": "mag"}
    shutil.rmtree(workspace / "two")
    ingest(raw, name="again", force=True)
    same_limits(stored("again"), stored())


@pytest.mark.parametrize("grown", [False, True])
def test_killed_at_any_step_the_limits_end_the_same(raw, tmp_path, grown):
    before, data, whole = (tmp_path / name for name in ("before", "data", "whole"))
    work = partial(ingest, raw, data=data)
    before.mkdir()
    if grown:
        ingest(raw, data=before)
        write_star(raw, "star01", limits=6)
        write_star(raw, "star29", limits=0)
    shutil.copytree(before, data)
    steps = in_fork(data, work).steps
    data.rename(whole)
    same_limits(stored(data=whole), counted(*raw.iterdir()))
    for step in range(2, steps, 3):
        shutil.copytree(before, data)
        assert in_fork(data, work, kill_at=step).was_killed
        in_fork(data, work)
        same_tables(data, whole)
        assert not list(data.rglob("*.unfinished")), step
        assert all(check.is_sound for check in lcdvt.verify(data=data)), step
        shutil.rmtree(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0x10
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
def test_damage_is_found_and_repaired(raw, workspace, damage):
    ingest(raw)
    part = sorted((workspace / "asassn" / "limits").iterdir())[0]
    whole = part.read_bytes()
    damage(part)
    (check,) = lcdvt.verify("asassn")
    assert [Path(finding.where) for finding in check.findings] == [part]
    assert "--repair" in check.findings[0].cure
    assert ingest(raw, repair=True).repaired == [part.name]
    assert part.read_bytes() == whole
    assert lcdvt.verify("asassn")[0].is_sound


def test_what_was_written_wrongly_is_found(raw, workspace, monkeypatch):
    """Bytes that are as they were written, but that cannot be limits of the survey's stars."""
    wrong = {"a star that is not there": 0, "a limit that is none": 1, "the order": 2}
    for number, what in enumerate(wrong):
        name = f"wrong{number}"
        ingest(raw, name=name)
        part = sorted((workspace / name / "limits").iterdir())[0]
        table = pq.read_table(part)
        frame = table.to_pandas()
        if what == "the order":
            frame = frame.iloc[::-1]
        elif what == "a limit that is none":
            frame.loc[0, "mag_limit"] = np.nan
        else:
            frame.loc[len(frame) - 1, "object_id"] = "zz"
        pq.write_table(table.from_pandas(frame, schema=table.schema, preserve_index=False), part)
        monkeypatch.setattr("lcdvt.workspace.journal.WrittenFile.is_whole", lambda *_: True)
        monkeypatch.setattr("lcdvt.workspace.journal.WrittenFile.has_its_size", lambda *_: True)
        (check,) = lcdvt.verify(name)
        assert [Path(finding.where) for finding in check.findings] == [part], what
        monkeypatch.undo()
        monkeypatch.setenv("LCDVT_DATA", str(workspace))


def same_survey(one: str, other: str) -> None:
    same_limits(stored(one), stored(other))
    epochs = [
        lcdvt.open_survey(name).epochs.to_table().to_pandas().sort_values(["object_id", "band", "mjd"])
        for name in (one, other)
    ]
    pd.testing.assert_frame_equal(*(frame.reset_index(drop=True) for frame in epochs))
    totals = [lcdvt.open_survey(name).ingested["totals"] for name in (one, other)]
    assert totals[0]["limits"] == totals[1]["limits"] == lcdvt.open_survey(one).limits.count_rows()
    assert lcdvt.verify(one)[0].is_sound, [str(finding) for finding in lcdvt.verify(one)[0].findings]


def test_a_file_that_grew_by_a_limit_alone_brings_it(raw, workspace):
    ingest(raw)
    where = lcdvt.open_survey("asassn").objects().set_index("object_id")["part"]
    write_star(raw, "star01", limits=3)  # of 1
    write_star(raw, "star02", limits=0)  # of 2: it was a mistake
    write_star(raw, "star04", limits=2, epochs=60)  # of 0
    grown = ingest(raw)
    assert grown.problems == []
    same_limits(stored(), counted(*raw.iterdir()))
    moved = lcdvt.open_survey("asassn").objects().set_index("object_id")["part"].sort_index() != where
    assert list(moved[moved].index) == ["star01", "star02", "star04"]
    ingest(raw, name="fresh")
    same_survey("asassn", "fresh")
    totals = grown.totals
    assert totals["epochs_read"] == totals["epochs"] + totals["limits"] + sum(totals["dropped_epochs"].values())
    assert ingest(raw).nothing_new


def test_another_band_and_a_later_release_add_their_limits(raw, workspace, tmp_path):
    ingest(raw)
    write_star(tmp_path / "v", "star01", band="V", limits=4)
    ingest(tmp_path / "v")
    expected = counted(*raw.iterdir()) | counted(tmp_path / "v" / "star01.csv")
    same_limits(stored(), expected)
    later = write_star(tmp_path / "later", "star03", epochs=70, limits=9)
    refused = ingest(tmp_path / "later")
    assert "was already read" in refused.problems[0]
    same_limits(stored(), expected)
    shutil.copy(later, tmp_path / "later.csv")
    (tmp_path / "release").mkdir()
    shutil.copy(later, tmp_path / "release" / later.name)
    ingest(tmp_path / "release", update=True)
    same_limits(stored(), expected | counted(later))
    totals = lcdvt.open_survey("asassn").ingested["totals"]
    assert totals["limits"] == lcdvt.open_survey("asassn").limits.count_rows()
    assert lcdvt.verify("asassn")[0].is_sound


def test_repair_of_a_part_that_stars_have_left(raw, workspace):
    ingest(raw)
    write_star(raw, "star01", limits=3)
    ingest(raw)
    expected = stored()
    for part in (workspace / "asassn" / "limits").iterdir():
        if "star03" in pq.read_table(part)["object_id"].to_pylist():
            flip(part)
    with pytest.raises(lcdvt.LcdvtError, match="has changed since"):
        ingest(raw, repair=True)  # as of any part: star01's file is another
    write_star(raw, "star01", limits=1)
    assert len(ingest(raw, repair=True).repaired) == 1
    assert stored()["star03", "g"] == expected["star03", "g"]


def test_joined_light_curves_bring_their_limits_to_the_star(raw, workspace, tmp_path):
    write_star(raw, "long", epochs=60, limits=4)
    write_star(raw, "short", epochs=30, limits=6, shift=0.5)
    write_star(raw, "blue", epochs=30, limits=2, band="V")
    names = "".join(f"{piece},one star\n" for piece in ("long", "short", "blue"))
    (tmp_path / "names.csv").write_text("id,star\n" + names)
    result = ingest(raw, join_ids=tmp_path / "names.csv")
    offset = pq.read_table(workspace / "asassn" / "pieces.parquet").to_pandas().set_index("piece")["offset"]
    assert abs(offset["short"]) > 0.3
    files = counted(*raw.iterdir())
    pieces = {name: files.pop((name, band)) for name, band in (("long", "g"), ("short", "g"), ("blue", "V"))}
    moved = [(mjd, limit + offset["short"]) for mjd, limit in pieces["short"]]
    together = {("one star", "g"): sorted(pieces["long"] + moved), ("one star", "V"): pieces["blue"]}
    same_limits(stored(), files | together)
    assert result.totals["limits"] == lcdvt.open_survey("asassn").limits.count_rows()
    assert lcdvt.verify("asassn")[0].is_sound
    part = sorted((workspace / "asassn" / "limits").iterdir())[0]
    whole = part.read_bytes()
    flip(part)
    assert not lcdvt.verify("asassn")[0].is_sound
    assert part.name in ingest(raw, repair=True).repaired
    assert part.read_bytes() == whole
    of_pieces = sorted((workspace / "asassn" / ".ingest" / "pieces" / "limits").iterdir())[0]
    flip(of_pieces)
    assert not lcdvt.verify("asassn")[0].is_sound
    ingest(raw, repair=True)
    assert lcdvt.verify("asassn")[0].is_sound
    same_limits(stored(), files | together)


def as_an_early_version_wrote_it(root: Path) -> None:
    """Take every trace of limits from a survey and its journal, as it was before they were kept."""
    shutil.rmtree(root / "limits")
    lines = []
    for line in (root / ".ingest" / "journal.jsonl").read_text().splitlines():
        content = json.loads(line)
        content.pop("sum", None)
        content.pop("sums", None)
        if batch := content.get("batch"):
            batch["dropped_epochs"]["upper limit"] = batch.pop("limits")
            for key in ("sizes", "checksums"):
                batch[key] = {name: value for name, value in batch[key].items() if not name.startswith("limits/")}
        lines.append(json.dumps(content))
    (root / ".ingest" / "journal.jsonl").write_text("\n".join([*lines, ""]))


def test_a_survey_of_an_early_version_goes_on(raw, workspace, tmp_path):
    ingest(raw)
    root = workspace / "asassn"
    as_an_early_version_wrote_it(root)
    assert lcdvt.open_survey("asassn").light_curve("star03").limits.empty
    assert lcdvt.verify("asassn")[0].is_sound
    flip(sorted((root / "epochs").iterdir())[0])
    assert ingest(raw, repair=True).repaired == ["part-00000.parquet"]
    assert not list((root / "limits").glob("*.parquet")), "it is rebuilt as it was"
    assert lcdvt.verify("asassn")[0].is_sound
    write_star(raw, "star01", limits=3)
    write_star(raw, "zz", limits=2)
    ingest(raw)
    same_limits(stored(), counted(raw / "star01.csv", raw / "zz.csv"))
    assert lcdvt.verify("asassn")[0].is_sound


def test_limits_are_shifted_with_their_camera(tmp_path, workspace):
    """Two cameras that see the star half a magnitude apart: what one could not see is brought to the other's zero."""
    lines = [f"{FIRST_DAY + night:.5f},x,bi,1.5,16,{14 + night % 3 / 10:.3f},0.020,1,1,g" for night in range(40)]
    lines += [
        f"{FIRST_DAY + night + 0.1:.5f},x,bj,1.5,16,{14.5 + night % 3 / 10:.3f},0.020,1,1,g" for night in range(30)
    ]
    lines += [f"{FIRST_DAY + 50:.5f},x,{camera},1.5,16,>16.000,99.990,1,1,g" for camera in ("bi", "bj")]
    (tmp_path / "star.csv").write_text("\n".join([HEADER, *lines, ""]))
    ingest(tmp_path / "star.csv")
    star = lcdvt.open_survey("asassn").light_curve("star")
    assert star.limits["mag_limit"].tolist() == pytest.approx([15.5, 16.0])
    assert star.epochs["mag"].max() == pytest.approx(14.2)


FLUX_SURVEY = """
name = "fluxes"
bands = ["g"]
[magnitude]
kind = "flux"
flux_zero_point = 23.9
[[formats]]
name = "rows"
type = "{kind}"
separator = "comma"
header = true
file_name = '(?P<star>[^/]+)\\.[a-z]+$'
id = "{{star}}"
time = "mjd"
mag = "flux"
err = "err"
{limit}
band = "g"
"""


def test_a_limiting_flux_becomes_a_limiting_magnitude(tmp_path, workspace):
    (tmp_path / "fluxes.toml").write_text(FLUX_SURVEY.format(kind="text", limit=""))
    rows = [f"{58000 + day},{100 + day},1" for day in range(10)]
    limits = ["58020,<100,1", "58021,<0,1", "58022,<-5,1", "58023,>nothing,1"]
    (tmp_path / "star.csv").write_text("\n".join(["mjd,flux,err", *rows, *limits, ""]))
    result = ingest(tmp_path / "star.csv", survey=tmp_path / "fluxes.toml")
    assert stored("fluxes") == {("star", "g"): [(58020.0, pytest.approx(23.9 - 5.0))]}
    assert result.totals["dropped_epochs"] == {"missing value or sentinel": 3}


def test_a_column_of_limits_in_a_table(tmp_path, workspace):
    limit = 'limit = "maglim"'
    text = FLUX_SURVEY.format(kind="parquet", limit=limit).replace("separator", "# separator")
    text = text.replace("header", "# header").replace('kind = "flux"', 'kind = "calibrated"')
    (tmp_path / "fluxes.toml").write_text(text.replace("flux_zero_point", "# "))
    days = np.arange(12)
    pd.DataFrame(
        {
            "mjd": 58000.0 + days,
            "flux": np.where(days < 10, 15.0 + days / 10, np.nan),
            "err": 0.1,
            "maglim": np.where(days == 10, np.nan, 18.0),
        }
    ).to_parquet(tmp_path / "star.parquet")
    result = ingest(tmp_path / "star.parquet", survey=tmp_path / "fluxes.toml")
    assert stored("fluxes") == {("star", "g"): [(58011.0, 18.0)]}
    assert (result.totals["epochs"], result.totals["dropped_epochs"]) == (10, {"missing value or sentinel": 1})


def write_unseen(folder: Path, name: str, limits: int = 4, band: str = "g") -> Path:
    """Write a star's file that has nothing but limits, on days that no other file has."""
    path = write_star(folder, name, epochs=0, limits=limits, band=band)
    path.write_text(path.read_text().replace(f"{FIRST_DAY:.0f}"[:4], "2459"))
    return path


def with_unseen(seen: Limits, *files: Path) -> Limits:
    """Return the limits of both."""
    for key, limits in counted(*files).items():
        seen = seen | {key: sorted(seen.get(key, []) + limits)}
    return seen


@pytest.mark.parametrize("smallest_batch", [2, 1000])
def test_limits_in_a_file_of_their_own_go_to_the_star(raw, workspace, tmp_path, monkeypatch, smallest_batch):
    """Before or after the star's epochs in the same ingest, in one batch or in several, or of a star known already."""
    monkeypatch.setattr(batches, "SMALLEST_BATCH", smallest_batch)
    files = [write_unseen(tmp_path / where / "alone", name) for where, name in (("a", "star01"), ("z", "star04"))]
    write_unseen(tmp_path / "z", "never")
    result = ingest(tmp_path / "a", raw, tmp_path / "z")
    assert result.problems == []
    expected = with_unseen(counted(*raw.iterdir()), *files)
    same_limits(stored(), expected)
    assert result.totals["limits"] == sum(map(len, expected.values()))
    assert result.totals["dropped_epochs"] == {"upper limit of a dropped object": 4}, "nobody has seen that star"
    later = write_unseen(tmp_path / "later", "star05")
    assert ingest(tmp_path / "later").totals["limits"] == result.totals["limits"] + 4
    expected = with_unseen(expected, later)
    same_limits(stored(), expected)
    assert lcdvt.verify("asassn")[0].is_sound, lcdvt.verify("asassn")[0].findings

    write_star(raw, "star01", epochs=50, limits=1)  # its epochs are read again, and it moves to another part
    write_star(raw, "never", epochs=50, limits=0)  # it is seen at last
    totals = ingest(raw).totals
    same_limits(stored(), with_unseen(counted(*raw.iterdir()), *files, later, tmp_path / "z" / "never.csv"))
    assert totals["limits"] == lcdvt.open_survey("asassn").limits.count_rows()
    assert totals["epochs_read"] == totals["epochs"] + totals["limits"] + sum(totals["dropped_epochs"].values())
    assert lcdvt.verify("asassn")[0].is_sound, lcdvt.verify("asassn")[0].findings
    assert ingest(raw).nothing_new


def test_a_file_of_limits_alone_says_what_it_lacks(workspace, tmp_path):
    file = write_unseen(tmp_path / "alone", "star01")
    with pytest.raises(lcdvt.LcdvtError, match="4 upper limits of 1 stars and no epoch: give it together with"):
        ingest(file)


@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
def test_limits_that_another_file_brought_are_repaired(raw, workspace, tmp_path, damage):
    for star in range(30):
        write_star(raw, f"star{star:02d}", limits=0)
    file = write_unseen(tmp_path / "alone", "star01")
    totals = ingest(raw, tmp_path / "alone").totals
    for place in (workspace / "asassn" / "limits", workspace / "asassn" / ".ingest" / "unseen"):
        (part,) = place.glob("*.parquet")
        damage(part)
        assert not lcdvt.verify("asassn")[0].is_sound
        assert ingest(raw, tmp_path / "alone", repair=True).totals == totals
        same_limits(stored(), counted(file))
        assert lcdvt.verify("asassn")[0].is_sound, lcdvt.verify("asassn")[0].findings


def test_killed_at_any_step_limits_of_another_file_are_brought(raw, tmp_path):
    data, whole = tmp_path / "data", tmp_path / "whole"
    file = write_unseen(tmp_path / "alone", "star01")
    work = partial(ingest, tmp_path / "alone", raw, data=data)
    steps = in_fork(data, work).steps
    data.rename(whole)
    same_limits(stored(data=whole), with_unseen(counted(*raw.iterdir()), file))
    for step in range(steps - 12, steps):
        assert in_fork(data, work, kill_at=step).was_killed
        in_fork(data, work)
        same_tables(data, whole)
        assert all(check.is_sound for check in lcdvt.verify(data=data)), step
        shutil.rmtree(data)


def test_joined_stars_get_the_limits_of_files_without_epochs(raw, workspace, tmp_path):
    (tmp_path / "names.csv").write_text("id,star\nstar01,one star\nstar02,one star\n")
    ingest(raw, join_ids=tmp_path / "names.csv")
    file = write_unseen(tmp_path / "alone", "star02")
    ingest(tmp_path / "alone")
    (limits,) = counted(file).values()
    shift = pq.read_table(workspace / "asassn" / "pieces.parquet").to_pandas().set_index("piece")["offset"]["star02"]
    of_star = stored()["one star", "g"]
    for mjd, limit in limits:
        assert any(abs(mjd - a) < 1e-9 and abs(limit + shift - b) < 1e-9 for a, b in of_star)
    assert lcdvt.verify("asassn")[0].is_sound, lcdvt.verify("asassn")[0].findings


def test_a_star_that_another_file_has_epochs_of_is_not_called_left_out(raw, workspace, tmp_path):
    ingest(raw)
    write_unseen(tmp_path / "alone", "star01")
    write_unseen(tmp_path / "alone", "never")
    ingest(tmp_path / "alone")
    assert list(left_out_of(lcdvt.open_survey("asassn"))) == [{"never": "no valid epoch"}]
