"""Bad input: a clear sentence with file and line, the object skipped and counted, nothing half-written."""

import gzip
import io
import os
import random
import tarfile
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from helpers.raw_files import eros_text, hits_text, write_eros, write_macho

import lcdvt
from lcdvt.errors import LcdvtError

ROWS = [(300.0 + day, 15.0 + day / 100, 0.02, 16.0, 0.03) for day in range(20)]
GOOD = eros_text("lm0010k1", ROWS)
BINARY = random.Random(0).randbytes(512) + b"\0"
BROKEN_FILES = Path(__file__).parents[1] / "data" / "broken"


def with_a_good_star(folder: Path) -> Path:
    write_eros(folder, "lm0010k1", ROWS)
    return folder


def check_one_good_object(result: lcdvt.IngestResult, *said: str) -> None:
    assert result.totals["objects"] == 1
    assert len(result.problems) == 1, result.problems
    for words in said:
        assert words in result.problems[0]
    for part in result.folder.rglob("*.parquet"):
        pq.read_table(part)
    assert not list(result.folder.rglob("*.unfinished"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (BINARY, "binary"),
        (b"{" + BINARY, "binary"),
        (GOOD.encode()[:-20], "lm0010k2.time:24: too few columns"),
        (
            GOOD.replace("  310.00000  15.100", "  310.00000  15.1OO").encode(),
            "lm0010k2.time:15: a value that is not a number",
        ),
        (GOOD.replace("  310.00000", "  310.00000 7 ").encode(), "lm0010k2.time:15: too many columns"),
        (gzip.compress(GOOD.encode(), mtime=0)[:-30], "damaged or cut short"),
        (GOOD.split("   date")[0].encode() + b"\n", "no data line"),
        (b"x,y\n1,2\n", "not a light curve of eros"),
    ],
    ids=[
        "empty",
        "binary",
        "binary like JSON",
        "half a line",
        "letters",
        "extra column",
        "truncated gz",
        "header only",
        "other format",
    ],
)
def test_a_broken_file_is_named_and_the_others_go_on(tmp_path, workspace, content, said):
    folder = with_a_good_star(tmp_path / "eros")
    (folder / "lm0010k2.time").write_bytes(content)
    check_one_good_object(lcdvt.ingest(folder, jobs=1, features="none"), "lm0010k2.time", said)


def test_the_committed_broken_files_are_all_named(workspace, tmp_path):
    folder = with_a_good_star(tmp_path / "eros")
    broken = sorted(BROKEN_FILES.iterdir())
    result = lcdvt.ingest(folder, BROKEN_FILES, survey="eros", jobs=1, features="none")
    assert result.totals["objects"] == 1
    assert result.totals["files_skipped"] == len(broken) > 3
    for path in broken:
        assert any(path.name in problem for problem in result.problems), path.name


def test_sentinels_nan_and_bad_errors_cost_the_epoch_not_the_star(tmp_path, workspace):
    odd = [
        (400.0, 99.999, 9.999, 16.0, 0.03),
        (401.0, 15.0, -0.01, 16.0, 0.0),
        (402.0, float("nan"), 0.02, 16.0, float("nan")),
    ]
    write_eros(tmp_path / "eros", "lm0010k1", ROWS + odd)
    result = lcdvt.ingest(tmp_path / "eros", clean="none", jobs=1, features="none")
    assert result.totals["dropped_epochs"] == {"missing value or sentinel": 2, "error not positive": 3}
    assert result.totals["epochs"] == 2 * len(ROWS) + 1
    assert not result.problems


def test_unsorted_and_repeated_times_are_sorted_and_exact_repetitions_dropped(tmp_path, workspace):
    write_eros(tmp_path / "eros", "lm0010k1", [*reversed(ROWS), ROWS[3], (ROWS[3][0], 15.9, 0.02, 16.9, 0.03)])
    result = lcdvt.ingest(tmp_path / "eros", clean="none", jobs=1, features="none")
    assert result.totals["dropped_epochs"] == {"exact repetition": 2}
    curve = lcdvt.open_survey("eros").light_curve("lm0010k1").epochs
    for _, band in curve.groupby("band"):
        assert band["mjd"].is_monotonic_increasing
        assert len(band) == len(ROWS) + 1


def test_bom_crlf_and_latin1_header_read_normally(tmp_path, workspace):
    folder = tmp_path / "eros"
    folder.mkdir()
    text = GOOD.replace("# star:", "# star: ").replace("#\n", "# éè\n").replace("\n", "\r\n")
    (folder / "lm0010k1.time").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (folder / "lm0010k2.time").write_bytes(text.encode("latin-1"))
    result = lcdvt.ingest(folder, clean="none", jobs=1, features="none")
    assert (result.totals["objects"], result.totals["epochs"], result.problems) == (2, 4 * len(ROWS), [])


def test_a_repeated_id_is_refused_within_a_batch_across_batches_and_across_runs(tmp_path, workspace):
    for number in range(40):
        write_eros(tmp_path / "a", f"lm0010k{number:02d}", ROWS)
    (tmp_path / "a" / "zz_again").mkdir()
    for number in (3, 39):
        write_eros(tmp_path / "a" / "zz_again", f"lm0010k{number:02d}", ROWS[:5])
    result = lcdvt.ingest(tmp_path / "a", clean="none", jobs=1, features="none")
    assert result.totals["objects"] == 40
    assert len([problem for problem in result.problems if "already read from" in problem]) == 2
    write_eros(tmp_path / "b", "lm0010k07", ROWS[:3])
    later = lcdvt.ingest(tmp_path / "b", clean="none", jobs=1, features="none")
    assert "lm0010k07 was already read from" in later.problems[0]
    assert later.totals["objects"] == 40
    counts = lcdvt.open_survey("eros").epochs.to_table(columns=["object_id"])["object_id"].value_counts().to_pylist()
    expected = {f"lm0010k{number:02d}": 2 * len(ROWS) for number in range(40)}
    assert {entry["values"]: entry["counts"] for entry in counts} == expected


def test_a_band_given_twice_is_a_repetition_but_two_bands_are_one_star(tmp_path, workspace):
    rows = [(48823.0 + day, -5.0, 0.1) for day in range(10)]
    write_macho(tmp_path / "m", "1.2.3", "B", rows)
    write_macho(tmp_path / "m", "1.2.3", "R", rows)
    write_macho(tmp_path / "m" / "copy", "1.2.3", "R", rows)
    result = lcdvt.ingest(tmp_path / "m", jobs=1, features="none")
    assert result.totals["objects"] == 1
    assert result.totals["epochs"] == 20
    assert "already read from" in result.problems[0]


def test_an_unreadable_file_is_named(tmp_path, workspace, monkeypatch):
    folder = with_a_good_star(tmp_path / "eros")
    path = write_eros(folder, "lm0010k2", ROWS)
    path.chmod(0)
    if os.geteuid() == 0:  # root reads everything: the system's answer to others is given to root too
        really_open = os.open

        def refuse(name, *arguments, **keywords):
            if str(name) == str(path):
                raise PermissionError(13, "Permission denied")
            return really_open(name, *arguments, **keywords)

        monkeypatch.setattr(os, "open", refuse)
    check_one_good_object(lcdvt.ingest(folder, jobs=1, features="none"), "lm0010k2.time", "permission denied")


def test_a_dangling_link_is_named(tmp_path, workspace):
    folder = with_a_good_star(tmp_path / "eros")
    (folder / "gone.time").symlink_to(tmp_path / "nowhere")
    check_one_good_object(lcdvt.ingest(folder, jobs=1, features="none"), "gone.time", "No such file")


def test_a_gz_bomb_is_refused(tmp_path, workspace, monkeypatch):
    monkeypatch.setattr("lcdvt.catalogs.reading.files.EXPANSION_ALLOWED_BYTES", 1 << 20)
    folder = with_a_good_star(tmp_path / "eros")
    (folder / "bomb.time.gz").write_bytes(gzip.compress(GOOD.encode() + b"\n" * (30 << 20)))
    check_one_good_object(lcdvt.ingest(folder, jobs=1, features="none"), "bomb.time.gz", "when decompressed")


def add(archive: tarfile.TarFile, name: str, text: str) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(text)
    archive.addfile(info, io.BytesIO(text.encode()))


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "zip"])
def test_archives_are_read_without_unpacking_and_hostile_members_refused(tmp_path, workspace, kind):
    stars = {
        f"f/N1/f_N1_{i:04d}_0001_g.dat": hits_text([(57070 + d / 5, 20 + d / 50, 0.05) for d in range(20)])
        for i in range(30)
    }
    path = tmp_path / f"f_N1_LC_occ20.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in stars.items():
                archive.writestr(name, text)
            archive.writestr("../evil_g.dat", "x")
        refused = ["points outside"]
    else:
        with tarfile.open(path, "w:gz" if kind == "tar.gz" else "w") as archive:
            for name, text in stars.items():
                add(archive, name, text)
            add(archive, "../evil_g.dat", "x")
            link = tarfile.TarInfo("f/N1/link_g.dat")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(link)
            add(archive, "f/inner.tar", "x")
        refused = ["points outside", "link or device", "archive inside an archive"]
    before = {file for file in tmp_path.rglob("*") if workspace not in file.parents}
    result = lcdvt.ingest(path, jobs=1, features="none")
    assert {file for file in tmp_path.rglob("*") if workspace not in file.parents} - {workspace} == before
    assert result.totals["objects"] == 30
    for words in refused:
        assert sum(words in problem for problem in result.problems) == 1
    assert len(result.problems) == len(refused)
    again = lcdvt.ingest(path, jobs=1, features="none")
    assert again.nothing_new


def test_macho_pairs_far_apart_in_an_archive_are_one_star(tmp_path, workspace):
    from helpers.raw_files import macho_text

    rows = [(48823.0 + day, -5.0, 0.1) for day in range(10)]
    stars = [f"1.2.{number}" for number in range(60)]
    with tarfile.open(tmp_path / "m.tar.gz", "w:gz") as archive:
        for band in "BR":
            for star in stars:
                add(archive, f"RRL/lc_{star}.{band}.mjd", macho_text(star, band, rows))
    result = lcdvt.ingest(tmp_path / "m.tar.gz", jobs=1, features="none")
    assert (result.totals["objects"], result.totals["epochs"], result.problems) == (60, 1200, [])
    assert result.labels["classes"] == {"RRLYR": 60}


def test_a_truncated_archive_keeps_what_came_before(tmp_path, workspace):
    stars = {
        f"f_N1_{i:04d}_0001_g.dat": hits_text([(57070 + d / 5, 20 + d / 47, 0.05) for d in range(20)])
        for i in range(300)
    }
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        for name, text in stars.items():
            add(archive, name, text)
    path = tmp_path / "cut.tar.gz"
    path.write_bytes(whole.getvalue()[: len(whole.getvalue()) * 2 // 3])
    result = lcdvt.ingest(path, jobs=1, features="none")
    assert 50 < result.totals["objects"] < 300
    assert len(result.problems) == 1
    assert "cut.tar.gz is a damaged archive" in result.problems[0]


@pytest.mark.parametrize("kept", [1, 3, 4, 9, 15])
def test_an_archive_cut_within_its_first_bytes_is_named(kept, tmp_path, workspace):
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        add(archive, "f_N1_0001_0001_g.dat", hits_text([(57070 + day, 20.0, 0.05) for day in range(20)]))
    path = tmp_path / "cut.tar.gz"
    path.write_bytes(whole.getvalue()[:kept])
    with pytest.raises(LcdvtError, match=r"cut\.tar\.gz is a damaged archive"):
        lcdvt.ingest(path, survey="hits", jobs=1, features="none")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "does not exist"),
        (["empty"], "holds no files"),
        (["notes"], "is from no survey known here: describe it (`lcdvt surveys new NAME FILE`"),
        (["near"], "known here; nearest: ztf (it has no column 'filtercode')"),
        (["eros", "--survey", "hubble"], "is not known"),
        (["eros", "--clean", "soap"], "cleaning rule 'soap' is not known"),
        (["eros", "--catalog", "missing.csv"], "missing.csv does not exist"),
        (["eros", "--catalog", "noid.csv"], "has no id column"),
        (["eros", "--catalog", "eros/labels.csv", "--match-radius", "near"], "not an angle"),
        (["eros", "--jobs", "0"], "at least one process"),
        (["eros", "--survey", "macho"], "nothing could be ingested"),
        (["eros", "--dask", "tcp://127.0.0.1:1"], "no Dask scheduler answers"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_exit_code_2(tmp_path, lcdvt, arguments, said):
    with_a_good_star(tmp_path / "eros")
    (tmp_path / "eros" / "labels.csv").write_text("id,class,ra,dec\nlm0010k1,RRL,80,-69\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("dear diary\n")
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "a.csv").write_text("oid,hjd,mjd,mag,magerr,catflags,filter,ra,dec\n1,2,3,15,0.1,0,zr,1,2\n")
    (tmp_path / "noid.csv").write_text("colour,class\nred,RRL\n")
    answer = lcdvt("ingest", *arguments)
    assert answer.returncode == 2, answer.stderr
    assert said in answer.stderr
    assert "Traceback" not in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1, "one sentence, not a list"
