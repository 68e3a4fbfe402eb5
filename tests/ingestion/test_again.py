"""Files that come again: mended, grown, in another archive, of another release, or only touched."""

import json
import os
import tarfile
from pathlib import Path

import pandas as pd
import pytest
from helpers.raw_files import macho_bulk_line, macho_text, write_eros, write_macho
from typer.testing import CliRunner

import lcdvt
from lcdvt.cli.main import app
from lcdvt.ingestion import batches
from lcdvt.ingestion import ingest as ingest_module
from lcdvt.ingestion import part as part_module

STARS = ("1.2.3", "1.2.4", "1.2.5")
FEATURES = ["Mean", "Std", "Color"]


def macho_rows(star: str, band: str, epochs: int = 40) -> list[tuple[float, float, float]]:
    shift = sum(map(ord, star + band)) % 17
    return [(48823.0 + day, -5.0 + ((day * shift) % 11) / 10, 0.1) for day in range(epochs)]


def write_stars(folder: Path, stars=STARS, bands=("B", "R")) -> Path:
    for star in stars:
        for band in bands:
            write_macho(folder, star, band, macho_rows(star, band))
    return folder


def check_same_stars(one: str, other: str) -> None:
    """Compare two surveys star by star, in whatever part each lies; objects, epochs and features."""
    for table in ("objects", "epochs", "limits", "features"):
        frames = []
        for name in (one, other):
            stored = lcdvt.open_survey(name)
            rows = getattr(stored, table)
            frame = rows.to_table().to_pandas() if table in ("epochs", "limits") else rows()
            keys = [key for key in ("object_id", "band", "mjd") if key in frame]
            frames.append(frame.drop(columns=["source", "part"], errors="ignore").sort_values(keys, ignore_index=True))
        pd.testing.assert_frame_equal(*frames)
    assert all(check.is_sound for check in lcdvt.verify(one)), [str(each) for each in lcdvt.verify(one)[0].findings]


@pytest.mark.parametrize("damage", ["a broken line", "no text at all"])
def test_a_star_with_a_broken_band_is_stored_named_and_completed_by_the_mended_file(tmp_path, workspace, damage):
    folder = write_stars(tmp_path / "macho")
    whole = (folder / "lc_1.2.4.R.mjd").read_text()
    broken = whole.replace("48830.000000 ", "48830.0O0000 ") if damage == "a broken line" else "\0\1\2" * 50
    (folder / "lc_1.2.4.R.mjd").write_text(broken)
    result = lcdvt.ingest(folder, jobs=1, features=FEATURES)
    assert result.totals["objects"] == 3
    assert list(result.incomplete) == ["1.2.4"]
    (file,) = result.incomplete["1.2.4"]
    assert file == str(folder / "lc_1.2.4.R.mjd")
    assert "a broken line" not in result.totals["dropped_objects"], "the star is there"
    assert json.loads((result.folder / "ingest.json").read_text())["incomplete"] == result.incomplete
    assert lcdvt.verify("macho")[0].incomplete == result.incomplete
    assert lcdvt.verify("macho")[0].is_sound, "nothing is wrong on the disk"
    shown = CliRunner().invoke(app, ["surveys", "show", "macho"])
    assert "1.2.4" in shown.output
    assert "incomplete: 1 stars" in shown.output

    (folder / "lc_1.2.4.R.mjd").write_text(whole)
    mended = lcdvt.ingest(folder, jobs=1, features=FEATURES)
    assert (mended.incomplete, mended.problems) == ({}, [])
    assert mended.totals["files_skipped"] == 0
    assert mended.totals["files"] == 6
    assert json.loads((result.folder / "ingest.json").read_text())["problems"] == []
    lcdvt.ingest(folder, jobs=1, features=FEATURES, name="fresh")
    check_same_stars("macho", "fresh")
    assert lcdvt.ingest(folder, jobs=1, features=FEATURES).nothing_new


def test_a_file_that_is_still_broken_stays_named(tmp_path, workspace):
    folder = write_stars(tmp_path / "macho")
    path = folder / "lc_1.2.4.R.mjd"
    path.write_text(path.read_text() + "nonsense\n")
    lcdvt.ingest(folder, jobs=1, features="none")
    path.write_text(path.read_text() + "more nonsense\n")
    assert list(lcdvt.ingest(folder, jobs=1, features="none").incomplete) == ["1.2.4"]


@pytest.mark.parametrize("dates", ["new", "kept"])
def test_a_file_that_is_put_back_as_it_was_is_whole_again(tmp_path, workspace, dates):
    folder = write_stars(tmp_path / "macho")
    lcdvt.ingest(folder, jobs=1, features=FEATURES)
    path = folder / "lc_1.2.4.R.mjd"
    whole, times = path.read_bytes(), path.stat()
    path.write_bytes(whole + b"nonsense\n")
    assert list(lcdvt.ingest(folder, jobs=1, features=FEATURES).incomplete) == ["1.2.4"]
    path.write_bytes(whole)
    if dates == "kept":
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    mended = lcdvt.ingest(folder, jobs=1, features=FEATURES)
    assert (mended.incomplete, mended.problems) == ({}, [])
    assert lcdvt.ingest(folder, jobs=1, features=FEATURES).nothing_new
    lcdvt.ingest(folder, jobs=1, features=FEATURES, name="fresh")
    check_same_stars("macho", "fresh")


@pytest.mark.parametrize("place", ["a-copy", "z-copy"])  # before and after the folder's other files
@pytest.mark.parametrize("mended", [False, True])
def test_a_copy_of_one_band_takes_nothing_from_the_star(tmp_path, workspace, place, mended):
    folder = write_stars(tmp_path / "macho" / "m")
    lcdvt.ingest(tmp_path / "macho", jobs=1, features=FEATURES)
    (tmp_path / "macho" / place).mkdir()
    write_macho(tmp_path / "macho" / place, "1.2.4", "R", macho_rows("1.2.4", "R", 25))
    refused = lcdvt.ingest(tmp_path / "macho", jobs=1, features=FEATURES)
    (problem,) = refused.problems
    assert f"{place}/lc_1.2.4.R.mjd: object 1.2.4 was already read from" in problem
    assert "update=True" in problem
    if mended:  # a further file of the star that changes does not let the copy in
        write_macho(folder, "1.2.4", "B", macho_rows("1.2.4", "B", 50))
        lcdvt.ingest(tmp_path / "macho", jobs=1, features=FEATURES)
    lcdvt.ingest(folder, jobs=1, features=FEATURES, name="fresh")
    check_same_stars("macho", "fresh")


def test_what_was_refused_is_added_by_update_afterwards(tmp_path, workspace):
    folder = write_stars(tmp_path / "macho" / "m")
    lcdvt.ingest(tmp_path / "macho", jobs=1, features=FEATURES)
    release = tmp_path / "macho" / "second"
    release.mkdir()
    new = [(mjd + 1000.0, mag, err) for mjd, mag, err in macho_rows("1.2.4", "R", 30)]
    write_macho(release, "1.2.4", "R", new)
    assert len(lcdvt.ingest(tmp_path / "macho", jobs=1, features=FEATURES).problems) == 1
    assert lcdvt.ingest(tmp_path / "macho", jobs=1, features=FEATURES).nothing_new
    added = lcdvt.ingest(tmp_path / "macho", jobs=1, features=FEATURES, update=True)
    assert (added.problems, added.totals["epochs"]) == ([], 6 * 40 + 30)
    assert lcdvt.ingest(tmp_path / "macho", jobs=1, features=FEATURES, update=True).nothing_new
    write_macho(folder, "1.2.4", "R", macho_rows("1.2.4", "R") + new)
    write_macho(release, "1.2.4", "R", new)
    lcdvt.ingest(folder, jobs=1, features=FEATURES, name="fresh")
    check_same_stars("macho", "fresh")


def archive(path: Path, band: str, stars=STARS) -> Path:
    members = write_stars(path.parent / f"only-{band}", stars, (band,))
    with tarfile.open(path, "w") as tar:
        for member in sorted(members.iterdir()):
            tar.add(member, member.name)
    return path


@pytest.mark.parametrize("at_once", [True, False])
def test_bands_in_two_archives_become_one_star(tmp_path, workspace, at_once):
    blue, red = archive(tmp_path / "blue.tar", "B"), archive(tmp_path / "red.tar", "R", STARS[:2])
    if at_once:
        result = lcdvt.ingest(blue, red, jobs=1, features=FEATURES)
    else:
        lcdvt.ingest(blue, jobs=1, features=FEATURES)
        result = lcdvt.ingest(red, jobs=1, features=FEATURES)
    assert (result.problems, result.totals["objects"]) == ([], 3)
    folder = write_stars(tmp_path / "plain", STARS[:2])
    write_stars(folder, STARS[2:], ("B",))
    lcdvt.ingest(folder, jobs=1, features=FEATURES, name="fresh")
    check_same_stars("macho", "fresh")
    sources = lcdvt.open_survey("macho").objects().set_index("object_id")["source"]
    assert "blue.tar" in sources["1.2.3"]
    assert "red.tar" in sources["1.2.3"]


def test_what_was_refused_of_an_archive_is_added_by_update_afterwards(tmp_path, workspace):
    lcdvt.ingest(write_stars(tmp_path / "macho"), jobs=1, features=FEATURES)
    new = [(mjd + 1000.0, mag, err) for mjd, mag, err in macho_rows("1.2.4", "R", 30)]
    write_macho(tmp_path / "more", "1.2.4", "R", new)
    with tarfile.open(tmp_path / "more.tar", "w") as tar:
        tar.add(tmp_path / "more" / "lc_1.2.4.R.mjd", "lc_1.2.4.R.mjd")
    assert len(lcdvt.ingest(tmp_path / "more.tar", jobs=1, features=FEATURES).problems) == 1
    added = lcdvt.ingest(tmp_path / "more.tar", jobs=1, features=FEATURES, update=True)
    assert (added.problems, added.totals["epochs"]) == ([], 6 * 40 + 30)
    assert lcdvt.ingest(tmp_path / "more.tar", jobs=1, features=FEATURES, update=True).nothing_new


def eros_rows(star: int, epochs: int) -> list[tuple[float, float, float, float, float]]:
    return [
        (300.0 + day, 15.0 + ((star + day * 13) % 50) / 100, 0.02, 16.0 + day % 7 / 10, 0.03) for day in range(epochs)
    ]


def test_a_file_that_grew_brings_its_new_epochs_and_leaves_the_others_alone(tmp_path, workspace):
    for star in range(20):
        write_eros(tmp_path / "eros", f"lm0010k{star:02d}", eros_rows(star, 60))
    before = lcdvt.ingest(tmp_path / "eros", jobs=1, features=FEATURES)
    for star in (3, 17):
        write_eros(tmp_path / "eros", f"lm0010k{star:02d}", eros_rows(star, 90))
    grown = lcdvt.ingest(tmp_path / "eros", jobs=1, features=FEATURES)
    assert (grown.problems, grown.totals["objects"]) == ([], 20)
    assert grown.totals["epochs"] == before.totals["epochs"] + 2 * 2 * 30
    assert grown.totals["dropped_epochs"]["replaced by a newer reading"] == 2 * 2 * 60
    lcdvt.ingest(tmp_path / "eros", jobs=1, features=FEATURES, name="fresh")
    check_same_stars("eros", "fresh")


def test_a_large_table_that_grew_changes_only_the_stars_that_did(tmp_path, workspace, monkeypatch):
    monkeypatch.setattr(batches, "STREAMED_FROM_BYTES", 1000)
    monkeypatch.setattr(batches, "SMALLEST_BATCH", 4)
    folder = tmp_path / "macho" / "F_1"
    folder.mkdir(parents=True)

    def write(longer: int) -> None:
        rows = [
            macho_bulk_line(f"1.2.{star}", (100.0 + day, -5 + (star * day) % 9 / 9, 0.1, -4.0 + day % 3 / 10, 0.1))
            for star in range(20)
            for day in range(40 if star == longer else 30)
        ]
        (folder / "F_1.2").write_text("\n".join(rows) + "\n")

    write(longer=-1)
    first = lcdvt.ingest(tmp_path / "macho", jobs=1, features=FEATURES)
    parts = sorted((first.folder / "epochs").iterdir())
    assert len(parts) > 2
    untouched = {path: path.stat().st_mtime_ns for path in parts}
    write(longer=9)
    grown = lcdvt.ingest(tmp_path / "macho", jobs=1, features=FEATURES)
    assert (grown.problems, grown.totals["objects"], grown.totals["files"]) == ([], 20, 1)
    assert sum(path.stat().st_mtime_ns != written for path, written in untouched.items()) == 1
    lcdvt.ingest(tmp_path / "macho", jobs=1, features=FEATURES, name="fresh")
    check_same_stars("macho", "fresh")


def test_a_broken_first_line_at_a_cut_belongs_to_its_own_star(tmp_path, workspace, monkeypatch):
    monkeypatch.setattr(batches, "STREAMED_FROM_BYTES", 1000)
    monkeypatch.setattr(batches, "SMALLEST_BATCH", 1)
    folder = tmp_path / "macho" / "F_1"
    folder.mkdir(parents=True)
    rows = {
        star: [macho_bulk_line(f"1.2.{star}", (100.0 + day, -5 + day % 5 / 9, 0.1, -4.0, 0.1)) for day in range(30)]
        for star in range(32)
    }
    for star in range(1, 32):
        rows[star][0] = rows[star][0].rpartition(";")[0]  # too few columns, but it still says whose it is
    (folder / "F_1.2").write_text("\n".join(line for lines in rows.values() for line in lines) + "\n")
    result = lcdvt.ingest(tmp_path / "macho", jobs=1, features="none")
    assert result.totals["objects"] == 1, "a star without its first line is stored as if it were whole"
    assert result.incomplete == {}
    assert result.totals["dropped_objects"] == {"a broken line": 31}


def test_a_further_release_adds_epochs_only_when_asked(tmp_path, workspace):
    first, second = tmp_path / "dr1", tmp_path / "dr2"
    write_macho(first, "1.2.3", "B", macho_rows("1.2.3", "B", 40))
    write_macho(second, "1.2.3", "B", macho_rows("1.2.3", "B", 60)[30:])
    lcdvt.ingest(first, survey="macho", jobs=1, features=FEATURES, clean="none")
    refused = lcdvt.ingest(second, survey="macho", jobs=1, features=FEATURES, clean="none")
    assert "update=True" in refused.problems[0]
    assert refused.totals["epochs"] == 40
    third = tmp_path / "dr2-again"
    second.rename(third)
    added = lcdvt.ingest(third, survey="macho", jobs=1, features=FEATURES, clean="none", update=True)
    assert added.problems == []
    whole = tmp_path / "all"
    write_macho(whole, "1.2.3", "B", macho_rows("1.2.3", "B", 60))
    lcdvt.ingest(whole, survey="macho", jobs=1, features=FEATURES, clean="none", name="fresh")
    check_same_stars("macho", "fresh")


def test_bytes_that_did_not_change_are_not_read_again(tmp_path, workspace, monkeypatch):
    folder = write_stars(tmp_path / "macho")
    packed = archive(tmp_path / "more.tar", "B", ("7.7.7",))
    lcdvt.ingest(folder, packed, jobs=1, features="none")
    for path in (*folder.iterdir(), packed):
        os.utime(path, ns=(1, 1))
    read = []
    really = part_module.read_pieces
    monkeypatch.setattr(part_module, "read_pieces", lambda *given: read.append(given) or really(*given))
    assert lcdvt.ingest(folder, packed, jobs=1, features="none").nothing_new
    assert not read
    (folder / "lc_1.2.3.B.mjd").write_text(macho_text("1.2.3", "B", macho_rows("1.2.5", "B")))  # as long as before
    assert not lcdvt.ingest(folder, packed, jobs=1, features="none").nothing_new
    assert len(read) == 1


@pytest.mark.parametrize("moment", ["before the journal knows", "before the old parts are exchanged"])
def test_a_kill_while_a_star_moves_loses_nothing(tmp_path, workspace, monkeypatch, moment):
    for star in range(20):
        write_eros(tmp_path / "eros", f"lm0010k{star:02d}", eros_rows(star, 60))
    lcdvt.ingest(tmp_path / "eros", jobs=1, features=FEATURES)
    write_eros(tmp_path / "eros", "lm0010k03", eros_rows(3, 90))

    class KilledError(Exception):
        pass

    def killed(*given, **named):
        if moment.startswith("before the journal") or given[1].waiting:
            raise KilledError

    with monkeypatch.context() as patch:
        if moment.startswith("before the journal"):
            patch.setattr(ingest_module.Journal, "add", killed)
        else:
            patch.setattr(ingest_module, "finish_rewriting", killed)
        with pytest.raises(KilledError):
            lcdvt.ingest(tmp_path / "eros", jobs=1, features=FEATURES)
    lcdvt.ingest(tmp_path / "eros", jobs=1, features=FEATURES)
    lcdvt.ingest(tmp_path / "eros", jobs=1, features=FEATURES, name="fresh")
    check_same_stars("eros", "fresh")
    assert not list((workspace / "eros").rglob("*.unfinished"))
