"""Commands that are killed at random moments while they work, and what must then be true."""

import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from helpers.clusters import kill_group
from helpers.warm_commands import WarmCommand

PATIENCE = 300.0
TRIES_PER_KILL = 4


def start(*arguments: object, cwd: Path | None = None, **variables: str) -> WarmCommand:
    """Start a command of ours in a session of its own, so that it can be killed with all its workers."""
    return WarmCommand(arguments, os.environ | {"OMP_NUM_THREADS": "1"} | variables, cwd, mix=True)


def finish(*arguments: object, cwd: Path | None = None, **variables: str) -> str:
    """Run a command to its end, which must be a good one."""
    process = start(*arguments, cwd=cwd, **variables)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output
    return output


def refused(*arguments: object, **variables: str) -> str:
    """Run a command that must end with one sentence and code 2."""
    process = start(*arguments, **variables)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2, output
    assert "Traceback" not in output, output
    return output


def _state(folder: Path) -> set[tuple[str, int]]:
    found = set()
    for path in folder.rglob("*"):
        try:
            found.add((str(path), path.stat().st_mtime_ns))
        except FileNotFoundError:  # renamed while we looked
            continue
    return found


def _ended_within(process: WarmCommand, seconds: float) -> float | None:
    """Wait, and return when the process ended by itself, if it did."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if process.poll() is not None:
            return time.monotonic() - began
        time.sleep(0.005)
    return None


class Killer:
    """Kills a command again and again, each time at a random moment after it has begun to write.

    Parameters
    ----------
    watched
        The folder the command writes to.
    seed
        Of the moments.
    check
        Called after each kill: what must be true of a half-done folder.
    is_done
        Whether the kill came when all was finished, so that the command would refuse to do it again.
    variables
        Of the command's environment.
    """

    def __init__(
        self,
        watched: Path,
        seed: int,
        check: Callable[[], None],
        is_done: Callable[[], bool] = lambda: False,
        **variables: str,
    ):
        self.watched, self.check, self.is_done, self.variables = watched, check, is_done, variables
        self.moments = random.Random(seed)
        self.kills = 0

    def run(self, kills: int, *arguments: object) -> None:
        """Kill the command so many times; one that was too quick begins anew and does not count."""
        untouched = self.watched.with_name(self.watched.name + ".untouched")
        shutil.copytree(self.watched, untouched)
        working_time = self._working_time(*arguments)
        self._restore(untouched)
        for _ in range(kills * TRIES_PER_KILL):
            process = self._begun(*arguments)
            ended = _ended_within(process, self.moments.uniform(0, working_time))
            kill_group(process)
            if ended is None:
                self.kills += 1
                self.check()
            else:
                assert process.returncode == 0, process.communicate()[0]
                working_time = min(working_time, ended)  # the machine has become quicker, or caches are warm
            if self.kills == kills:
                break
            if ended is not None or self.is_done():
                self._restore(untouched)
        assert self.kills == kills, "the command was nearly always quicker than the kill"

    def _begun(self, *arguments: object) -> WarmCommand:
        before = _state(self.watched)
        process = start(*arguments, **self.variables)
        while process.poll() is None and _state(self.watched) == before:
            time.sleep(0.002)
        return process

    def _working_time(self, *arguments: object) -> float:
        process = self._begun(*arguments)
        began = time.monotonic()
        output, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, output
        return time.monotonic() - began

    def _restore(self, untouched: Path) -> None:
        shutil.rmtree(self.watched)
        shutil.copytree(untouched, self.watched)


def same_tables(one: Path, other: Path) -> None:
    """Compare every Parquet file of two folders, value for value."""
    names = [sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet")) for folder in (one, other)]
    assert names[0] == names[1]
    assert names[0]
    for name in names[0]:
        pd.testing.assert_frame_equal(pq.read_table(one / name).to_pandas(), pq.read_table(other / name).to_pandas())
