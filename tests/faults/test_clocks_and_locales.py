"""A clock set back or forth and another language of the machine change nothing in what is resumed."""

import os
import signal
from pathlib import Path

import pytest
from helpers.clusters import kill_group, wait_until
from helpers.fault_runs import finish, same_tables, start
from helpers.raw_files import write_eros

import lcdvt

# Python imports a module of this name at its start, before any code of ours runs.
SHIFTED_CLOCK = """
import os, time
shift = float(os.environ["CLOCK_SHIFT_SECONDS"])
real, real_ns = time.time, time.time_ns
time.time = lambda: real() + shift
time.time_ns = lambda: real_ns() + int(shift * 1e9)
"""
TWENTY_YEARS = 20 * 365.25 * 86400
WORLDS = [
    {"CLOCK_SHIFT_SECONDS": str(-TWENTY_YEARS), "TZ": "Pacific/Apia", "LC_ALL": "C"},
    {"CLOCK_SHIFT_SECONDS": str(TWENTY_YEARS), "TZ": "America/Santiago", "LC_ALL": "C.UTF-8"},
    {"CLOCK_SHIFT_SECONDS": "0", "TZ": "UTC", "LC_ALL": "tr_TR.UTF-8", "PYTHONUTF8": "0"},
    {"CLOCK_SHIFT_SECONDS": "0", "TZ": "UTC", "LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
]


def kill_after_a_part(parts: Path, *command: object, **variables: str) -> None:
    """Let a command write one more part, and kill it."""
    done = len(list(parts.glob("part-*.parquet")))
    process = start(*command, **variables)
    wait_until(lambda: process.poll() is not None or len(list(parts.glob("part-*.parquet"))) > done, "a part")
    kill_group(process)
    assert process.returncode in (0, -signal.SIGKILL), process.stdout.read()


@pytest.mark.slow
def test_an_ingest_interrupted_in_one_world_is_finished_in_another(tmp_path):
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock" / "sitecustomize.py").write_text(SHIFTED_CLOCK)
    raw = tmp_path / "Große Magellansche Wolke"
    for star in range(80):
        rows = [(300.0 + day, 15.0 + (star + day) % 9 / 10, 0.02, 16.0 + day % 5 / 10, 0.03) for day in range(60)]
        path = write_eros(raw, f"lm0010k{star:02d}", rows)
        dated = (star - 40) * TWENTY_YEARS / 40 + path.stat().st_mtime  # from long ago to a time to come
        os.utime(path, (dated, dated))
    (raw / "labels.csv").write_text("id,class\nlm0010k01,δ Scuti\nlm0010k02,İ\n", encoding="utf-8")
    command = ["ingest", raw, "--features", "Mean,CAR_sigma,PeriodLS", "--jobs", 1]
    finish(*command, "--data", tmp_path / "whole")
    parts = tmp_path / "data" / "eros" / "epochs"
    for world in WORLDS[:-1]:
        kill_after_a_part(parts, *command, "--data", tmp_path / "data", **world, PYTHONPATH=str(tmp_path / "clock"))
    assert len(list(parts.glob("part-*.parquet"))) >= len(WORLDS) - 1
    finish(*command, "--data", tmp_path / "data", **WORLDS[-1], PYTHONPATH=str(tmp_path / "clock"))
    same_tables(tmp_path / "data", tmp_path / "whole")
    assert lcdvt.open_survey("eros", tmp_path / "data").objects()["label"].dropna().tolist() == ["δ Scuti", "İ"]
    assert lcdvt.verify(data=tmp_path / "data")[0].is_sound
    # Nothing is new, whatever the clock says now.
    said = finish(*command, "--data", tmp_path / "data", **WORLDS[0], PYTHONPATH=str(tmp_path / "clock"))
    assert "nothing to do" in said
