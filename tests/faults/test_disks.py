"""A disk that is full or cannot be written: one sentence, what was finished is kept, the same command goes on."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from helpers.clusters import wait_until
from helpers.fault_runs import finish, refused, same_tables, start
from helpers.raw_files import write_eros

import lcdvt

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("few_trees"),
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root"),
]
OLD_RUN = Path(__file__).parents[1] / "data" / "run-0.1"
TRANSFER = ["transfer", "--source", "old", "--target", "new", "--labels", "20%", "--members", 1, "--repeats", 1,
            "--steps", 20, "--preset", "tied", "--rows", "forest-target", "--jobs", 1]  # fmt: skip


class SmallDisk:
    """A file system in memory, of a size of our choice."""

    def __init__(self, folder: Path):
        self.folder = folder

    def resize(self, size: int) -> None:
        subprocess.run(["mount", "-o", f"remount,rw,size={size}", self.folder], check=True)

    def fill(self) -> None:
        """Leave no room for another byte."""
        with (self.folder / "ballast").open("wb", buffering=0) as ballast:
            try:
                while ballast.write(bytes(4096)):
                    pass
            except OSError:
                return

    def make_read_only(self) -> None:
        subprocess.run(["mount", "-o", "remount,ro", self.folder], check=True)


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[SmallDisk]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this machine does not allow mounting a small file system")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)  # this process may still have a table of it mapped


@pytest.fixture(scope="module")
def surveys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("surveys")
    for name, seed in (("old", 1), ("new", 2)):
        lcdvt.simulate("hits", folder / "raw" / name, objects=40, seed=seed)
        lcdvt.ingest(folder / "raw" / name, name=name, data=folder / "data", jobs=1)
    return folder / "data"


def test_a_full_disk_while_ingesting(tmp_path):
    for star in range(200):
        rows = [(300.0 + day, 15.0 + (star + day) % 97 / 90, 0.02, 16.0 + day % 89 / 70, 0.03) for day in range(300)]
        write_eros(tmp_path / "eros", f"lm0010k{star:04d}", rows)
    command = ["ingest", tmp_path / "eros", "--features", "Mean", "--jobs", 1]
    finish(*command, "--data", tmp_path / "large")
    needed = sum(path.stat().st_size for path in (tmp_path / "large").rglob("*") if path.is_file())
    with small_disk(tmp_path / "small", needed // 2) as disk:
        said = refused(*command, "--data", disk.folder)
        assert "No space left" in said
        assert "run the same command again" in said
        for part in disk.folder.rglob("part-*.parquet"):
            pq.read_table(part)
        disk.resize(64 << 20)
        finish(*command, "--data", disk.folder)
        same_tables(disk.folder / "eros", tmp_path / "large" / "eros")


def test_a_full_disk_while_extracting_training_and_predicting(surveys, tmp_path):
    with small_disk(tmp_path / "small", 64 << 20) as disk:
        for name in ("old", "new"):
            shutil.copytree(surveys / name, disk.folder / name)
        before = lcdvt.open_survey("new", disk.folder).features()
        predict = ["predict", OLD_RUN, "new", "--data", disk.folder, "--out", disk.folder / "stars.parquet"]
        commands = [["extract", "new", "--data", disk.folder, "--jobs", 1], [*TRANSFER, "--data", disk.folder], predict]
        disk.fill()
        for command in commands:
            assert "No space left" in refused(*command), command
        assert lcdvt.open_survey("new", disk.folder).features().equals(before)
        assert not (disk.folder / "stars.parquet").exists()
        (disk.folder / "ballast").unlink()
        for command in commands:
            finish(*command)
        assert all(checked.is_sound for checked in lcdvt.verify(data=disk.folder))


def test_a_target_that_can_only_be_read(surveys, tmp_path):
    with small_disk(tmp_path / "small", 64 << 20) as disk:
        shutil.copytree(surveys, disk.folder / "data")
        data = disk.folder / "data"
        disk.make_read_only()
        raw = surveys.parent / "raw" / "new"
        for command in (
            ["ingest", raw, "--name", "third", "--data", data, "--jobs", 1],
            ["extract", "new", "--data", data, "--jobs", 1],
            [*TRANSFER, "--data", data],
            ["predict", OLD_RUN, "new", "--data", data, "--out", disk.folder / "stars.parquet"],
        ):
            assert "Read-only file system" in refused(*command), command
        finish("verify", "--data", data)
        assert len(lcdvt.open_survey("new", data).features()) > 0


def test_two_ingests_of_one_survey_at_once(surveys, tmp_path):
    raw = surveys.parent / "raw" / "new"
    first = start("ingest", raw, "--data", tmp_path, "--jobs", 1)
    wait_until(lambda: (tmp_path / "hits" / ".ingest" / "journal.jsonl").is_file(), "the first ingest")
    first.send_signal(signal.SIGSTOP)  # it would be done before the second has begun
    try:
        assert "another process is writing" in refused("ingest", raw, "--data", tmp_path, "--jobs", 1)
    finally:
        first.send_signal(signal.SIGCONT)
    output, _ = first.communicate()
    assert first.returncode == 0, output
    assert lcdvt.open_survey("hits", tmp_path).features().equals(lcdvt.open_survey("new", surveys).features())


QUICK = ["--members", 1, "--repeats", 1, "--steps", 4, "--preset", "tied", "--rows", "forest-target", "--jobs", 1]


def writing_verbs(data: Path, out: Path, raw: Path) -> list[list[object]]:
    """Every verb that writes, on a workspace with a run called `mine`."""
    surveys = ["--source", "old", "--target", "new", "--labels", "20%"]
    return [
        ["simulate", "hits", out / "sky", "--objects", 3],
        ["ingest", raw, "--name", "third", "--data", data, "--jobs", 1, "--features", "Mean"],
        ["extract", "new", "--features", "Mean,Std", "--data", data, "--jobs", 1],
        ["train", "--survey", "new", "--labels", "20%", *QUICK, "--name", "trained", "--data", data],
        ["transfer", *surveys, *QUICK, "--name", "again", "--data", data],
        ["ensemble", *surveys, *QUICK, "--name", "many", "--data", data],
        ["predict", "mine", "new", "--out", out / "stars.csv", "--data", data],
        ["suggest", "mine", "--n", 3, "--out", out / "next.csv", "--data", data],
        ["doubt", "mine", "--out", out / "doubts.csv", "--data", data],
        ["report", "mine", "--out", out / "report.html", "--data", data],
        ["surveys", "new", "mine", next(raw.rglob("*.dat")), "--out", out / "mine.toml"],
        ["verify", "--data", data, "--json", out / "verify.json"],
        ["runs", "show", "mine", "--data", data, "--json", out / "run.json"],
        ["features", "--json", out / "features.json"],
        ["doctor", "--data", data, "--json", out / "doctor.json"],
    ]


@pytest.mark.parametrize("trouble", ["No space left", "Read-only file system"])
def test_every_verb_says_in_a_sentence_that_it_cannot_write(surveys, tmp_path, lcdvt_here, trouble):
    with small_disk(tmp_path / "small", 64 << 20) as disk:
        data = disk.folder / "data"
        shutil.copytree(surveys, data)
        lcdvt_here(*TRANSFER, "--name", "mine", "--data", data)
        before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
        disk.fill() if trouble == "No space left" else disk.make_read_only()
        for command in writing_verbs(data, disk.folder, surveys.parent / "raw" / "new"):
            answer = lcdvt_here(*command)
            assert answer.returncode == 2, (command, answer)
            assert trouble in answer.stderr, (command, answer)
            assert "Traceback" not in answer.stderr
        changed = [path for path, content in before.items() if path.read_bytes() != content and path.stat().st_size]
        assert not changed
        assert not list(disk.folder.glob("*.csv")) + list(disk.folder.glob("*.json")) + list(disk.folder.glob("*.html"))
