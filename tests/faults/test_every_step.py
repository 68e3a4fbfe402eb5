"""Killed, or without power, before any step that changes the disk: what is left is whole, and the work ends equal."""

import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from helpers.fault_runs import same_tables
from helpers.forked_kills import in_fork
from helpers.raw_files import write_eros, write_macho_bulk

import lcdvt
from lcdvt.errors import WorkspaceError

pytestmark = pytest.mark.usefixtures("few_trees")

FEATURES = ["Mean", "Std"]
QUICK = {"members": 1, "steps": 4, "preset": "tied", "rows": ["forest-target"], "jobs": 1}


def rows(star: int, epochs: int) -> list[tuple[float, float, float, float, float]]:
    return [
        (300.0 + 1.7 * day, 15.0 + (star * 7 + day * 13) % 50 / 100, 0.02, 16.0 + (day * 3 + star) % 7 / 10, 0.03)
        for day in range(epochs)
    ]


def nothing_but_interrupted(data: Path) -> None:
    """Whatever is left of a survey is whole; what is missing the same command brings, and `verify` says so."""
    for journal in data.glob("*/.ingest/journal.jsonl"):
        for finding in lcdvt.verify(journal.parents[1])[0].findings:
            begun = "journal is missing or empty" in finding.what or "no survey description" in finding.what
            assert begun or "run the same `lcdvt ingest` again" in finding.cure, finding


def some_of(steps: int, wanted: int) -> list[int]:
    """Return so many of the steps, the first and the last among them."""
    if steps <= wanted:
        return list(range(1, steps + 1))
    return sorted({1 + round(place * (steps - 1) / (wanted - 1)) for place in range(wanted)})


def kill_everywhere(
    before: Path,
    data: Path,
    work: Callable[[], object],
    check: Callable[[], None],
    wanted: int,
    kept: tuple[str, ...] = (),
) -> int:
    """Kill the work before many of its steps, each time from the same beginning, and let it end; return how often.

    `kept` names files whose temporary copies stay after a kill: beside a user's own files nothing is tidied away.
    """
    whole = data.with_name(data.name + ".whole")
    shutil.copytree(before, data)
    steps = in_fork(data, work).steps
    data.rename(whole)
    kills = 0
    for step in some_of(steps, wanted):
        shutil.copytree(before, data)
        assert in_fork(data, work, kill_at=step).was_killed
        kills += 1
        check()
        in_fork(data, work)
        same_tables(data, whole)
        left = [path for path in data.rglob("*.unfinished") if not any(name in path.name for name in kept)]
        assert not left, f"step {step}"
        shutil.rmtree(data)
    return kills


@pytest.fixture
def eros(tmp_path) -> Path:
    for star in range(40):
        write_eros(tmp_path / "raw", f"lm0010k{star:04d}", rows(star, 40))
    return tmp_path / "raw"


def ingest(raw: Path, data: Path, **options) -> None:
    lcdvt.ingest(raw, features=FEATURES, jobs=1, data=data, **options)


def test_ingest_of_files(eros, tmp_path):
    data = tmp_path / "data"
    (tmp_path / "empty").mkdir()
    check = partial(nothing_but_interrupted, data)
    assert kill_everywhere(tmp_path / "empty", data, partial(ingest, eros, data), check, 30) >= 20


def test_ingest_of_files_that_grew(eros, tmp_path):
    before, data = tmp_path / "before", tmp_path / "data"
    ingest(eros, before)
    for star in (3, 30, 39, 41):
        write_eros(eros, f"lm0010k{star:04d}", rows(star, 60))

    check = partial(nothing_but_interrupted, data)
    assert kill_everywhere(before, data, partial(ingest, eros, data), check, 40) >= 20


def test_ingest_of_a_stream(tmp_path):
    write_macho_bulk(tmp_path / "raw", 1, 3319, {f"1.3319.{star}": rows(star, 700) for star in range(64)})
    data = tmp_path / "data"
    (tmp_path / "empty").mkdir()
    check = partial(nothing_but_interrupted, data)
    assert kill_everywhere(tmp_path / "empty", data, partial(ingest, tmp_path / "raw", data), check, 12) >= 10


def test_extract(small, tmp_path):
    before, data = tmp_path / "before", tmp_path / "data"
    shutil.copytree(small / "new", before / "new")

    def check() -> None:
        stored = lcdvt.open_survey("new", data)
        try:
            assert len(stored.features()) == len(stored.objects())
        except WorkspaceError as error:
            assert "lcdvt extract new" in str(error)

    work = partial(lcdvt.extract, "new", features=FEATURES, jobs=1, data=data)
    assert kill_everywhere(before, data, work, check, 20) >= 10


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """A workspace with two surveys that are just large enough to learn from."""
    folder = tmp_path_factory.mktemp("small")
    for name, seed in (("old", 1), ("new", 2)):
        lcdvt.simulate("hits", folder / name, objects=30, seed=seed)
        lcdvt.ingest(folder / name, name=name, features=["Mean", "Std", "Skew"], data=folder / "data", jobs=1)
    return folder / "data"


@pytest.mark.parametrize(("verb", "repeats"), [("transfer", 1), ("ensemble", 2)])
@pytest.mark.slow
def test_runs(small, tmp_path, verb, repeats):
    data = tmp_path / "data"

    def work() -> None:
        if not (data / "runs" / "mine").is_dir():  # killed after its last step the run is there, and is not made again
            getattr(lcdvt, verb)("old", "new", "20%", name="mine", data=data, repeats=repeats, **QUICK)

    def check() -> None:
        assert all(checked.is_sound for checked in lcdvt.verify(data=data))

    assert kill_everywhere(small, data, work, check, 5) == 5


@pytest.mark.slow
def test_predict_and_report(small, tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    shutil.copytree(small, data)
    lcdvt.transfer("old", "new", "20%", name="mine", data=data, repeats=1, **QUICK)
    (tmp_path / "empty").mkdir()

    def work() -> None:
        lcdvt.predict("mine", "new", out / "stars.parquet", data=data, force=True)
        lcdvt.open_run("mine", data).report(out / "report.html", force=True)

    def check() -> None:
        report = out / "report.html"
        assert not report.exists() or report.read_text().rstrip().endswith("</html>")

    assert kill_everywhere(tmp_path / "empty", out, work, check, 10, kept=("stars.parquet", "report.html")) >= 6


@pytest.mark.parametrize("seed", range(12))
def test_a_power_cut_while_ingesting(eros, tmp_path, seed):
    """What was not on the disk yet is noticed: the ingest goes on, or names the part and `repair=True` rebuilds it."""
    data, whole = tmp_path / "data", tmp_path / "whole"
    data.mkdir()
    ingest(eros, whole)
    chance = random.Random(seed)
    counted = tmp_path / "counted"
    counted.mkdir()
    steps = in_fork(counted, partial(ingest, eros, counted)).steps
    assert in_fork(data, partial(ingest, eros, data), chance.randint(2, steps), chance).was_killed

    def go_on() -> None:
        try:
            ingest(eros, data)
        except WorkspaceError as error:
            assert "repair=True" in str(error) or "force=True" in str(error), error
            ingest(eros, data, repair="repair=True" in str(error), force="repair=True" not in str(error))

    in_fork(data, go_on)
    (checked,) = lcdvt.verify(data=data)
    assert checked.is_sound, checked.findings
    same_tables(data, whole)
