"""Interrupted, grown, repeated: the workspace ends the same, and nothing is lost or there twice.

What kills, full disks and damaged parts do is tested in tests/faults.
"""

import signal
import time
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from helpers.fault_runs import finish, start
from helpers.raw_files import hits_text, write_eros, write_macho_bulk

import lcdvt
from lcdvt.errors import WorkspaceError
from lcdvt.workspace.journal import locked


class StopHereError(Exception):
    """Ends an ingest from within."""


def rows(star: int, epochs: int) -> list[tuple[float, float, float, float, float]]:
    return [
        (300.0 + day, 15.0 + ((star * 7 + day * 13) % 50) / 100, 0.02, 16.0 + day % 7 / 10, 0.03)
        for day in range(epochs)
    ]


def make_survey(folder: Path, stars: range, epochs: int = 60) -> None:
    for star in stars:
        write_eros(folder, f"lm0010k{star:04d}", rows(star, epochs))


def check_same(one: Path, other: Path) -> None:
    """Compare every Parquet file of two ingested surveys, value for value."""
    names = [sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet")) for folder in (one, other)]
    assert names[0] == names[1]
    for name in names[0]:
        pd.testing.assert_frame_equal(pq.read_table(one / name).to_pandas(), pq.read_table(other / name).to_pandas())


def test_an_interrupted_ingest_resumes_batch_by_batch(tmp_path, workspace):
    make_survey(tmp_path / "eros", range(100))
    make_survey(tmp_path / "same", range(100))

    def stop_after_two(done: int, total: int | None, note: str = "") -> None:
        if done >= 32:
            raise StopHereError

    with pytest.raises(StopHereError):
        lcdvt.ingest(tmp_path / "eros", jobs=1, features="none", progress=stop_after_two)
    parts = {path.name: path.stat().st_mtime_ns for path in (workspace / "eros" / "epochs").glob("*.parquet")}
    assert len(parts) == 2
    with pytest.raises(WorkspaceError, match="not ingested"):
        lcdvt.open_survey("eros")
    lcdvt.ingest(tmp_path / "eros", jobs=1, features="none")
    for name, written in parts.items():
        assert (workspace / "eros" / "epochs" / name).stat().st_mtime_ns == written, "a finished part was made again"
    lcdvt.ingest(tmp_path / "same", jobs=1, features="none", name="whole")
    for part in sorted((workspace / "whole" / "epochs").iterdir()):
        assert pq.read_table(part) == pq.read_table(workspace / "eros" / "epochs" / part.name)


def test_an_interrupted_stream_resumes_where_it_was(tmp_path, workspace):
    write_macho_bulk(
        tmp_path / "m",
        1,
        2,
        {
            f"1.2.{star}": [(t, -5 + star % 9 / 9 + t % 3 / 7, 0.1, -4.0, 0.1) for t, *_ in rows(star, 900)]
            for star in range(60)
        },
    )
    assert (tmp_path / "m" / "F_1" / "F_1.2.gz").stat().st_size > 0

    def stop(done: int, total: int | None, note: str = "") -> None:
        if done >= 16:
            raise StopHereError

    from lcdvt.ingestion import batches

    small, batches.STREAMED_FROM_BYTES = batches.STREAMED_FROM_BYTES, 1000
    try:
        with pytest.raises(StopHereError):
            lcdvt.ingest(tmp_path / "m", jobs=1, features="none", progress=stop)
        assert len(list((workspace / "macho" / "epochs").glob("*.parquet"))) == 1
        result = lcdvt.ingest(tmp_path / "m", jobs=1, features="none")
        lcdvt.ingest(tmp_path / "m", jobs=1, features="none", name="whole")
    finally:
        batches.STREAMED_FROM_BYTES = small
    assert result.totals["objects"] == 60
    check_same(workspace / "macho", workspace / "whole")


def test_a_second_run_has_nothing_to_do_and_growth_adds_only_what_is_new(tmp_path, workspace):
    make_survey(tmp_path / "eros", range(40))
    lcdvt.ingest(tmp_path / "eros", jobs=1, features="none")
    before = {path: path.stat().st_mtime_ns for path in (workspace / "eros" / "epochs").glob("*.parquet")}
    assert lcdvt.ingest(tmp_path / "eros", jobs=1, features="none").nothing_new
    make_survey(tmp_path / "eros", range(40, 55))
    grown = lcdvt.ingest(tmp_path / "eros", jobs=1, features="none")
    assert (grown.new_objects, grown.totals["objects"], grown.nothing_new) == (15, 55, False)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert sorted(lcdvt.open_survey("eros").objects()["object_id"]) == [f"lm0010k{star:04d}" for star in range(55)]


def test_force_starts_anew_and_other_settings_ask_for_it(tmp_path, workspace):
    make_survey(tmp_path / "eros", range(5))
    lcdvt.ingest(tmp_path / "eros", jobs=1, features="none")
    with pytest.raises(WorkspaceError, match="another setting of clean: use force=True"):
        lcdvt.ingest(tmp_path / "eros", clean="none", jobs=1, features="none")
    assert len(lcdvt.open_survey("eros").objects()) == 5
    make_survey(tmp_path / "other", range(5, 8))
    lcdvt.ingest(tmp_path / "other", clean="none", force=True, jobs=1, features="none")
    assert len(lcdvt.open_survey("eros").objects()) == 3


def test_two_ingests_of_one_survey_at_once_are_told_so(tmp_path, workspace):
    make_survey(tmp_path / "eros", range(3))
    with locked(workspace / "eros" / ".ingest"), pytest.raises(WorkspaceError, match="another process is writing"):
        lcdvt.ingest(tmp_path / "eros", jobs=1, features="none")


def test_one_two_and_dask_workers_write_the_same(tmp_path, workspace):
    make_survey(tmp_path / "eros", range(60))
    for name, how in {"one": {"jobs": 1}, "two": {"jobs": 2}, "cluster": {"dask": "local", "jobs": 2}}.items():
        lcdvt.ingest(tmp_path / "eros", name=name, features=["Mean", "PeriodLS", "StetsonK"], **how)
    check_same(workspace / "one", workspace / "two")
    check_same(workspace / "one", workspace / "cluster")


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(tmp_path):
    for star in range(800):
        path = tmp_path / "hits" / f"f_N1_{star:04d}_0001_g.dat"
        path.parent.mkdir(exist_ok=True)
        path.write_text(hits_text([(57070 + d / 5, 20 + d / 47, 0.05) for d in range(40)]))
    # with features, because without them the ingest is over before the signal comes on a busy machine
    command = ["ingest", tmp_path / "hits", "--jobs", 1, "--features", "fats", "--data", tmp_path / "w"]
    process = start(*command)
    journal = tmp_path / "w" / "hits" / ".ingest" / "journal.jsonl"
    while process.poll() is None and not (journal.exists() and b'"batch"' in journal.read_bytes()):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == 130, output
    assert "run the same command again" in output
    assert "Traceback" not in output
    finish(*command)
