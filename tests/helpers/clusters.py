"""A Dask cluster as a user starts one: `dask scheduler` and `dask worker`, each a process of its own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from helpers.warm_commands import WarmCommand

PATIENCE = 120.0  # seconds until a process that does not come up is given up


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that another process does."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.02)


def kill_group(process: "subprocess.Popen[bytes] | WarmCommand") -> None:
    """End a process and what it started, at once and without a chance to tidy up."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Cluster:
    """A scheduler and its workers."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []
        self._file = folder / "scheduler.json"
        # Workers start somewhere else than the command: relative paths must work all the same.
        (folder / "elsewhere").mkdir(parents=True)
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(self._file))
        wait_until(lambda: self._file.is_file() and self._file.read_text().endswith("}"), "the scheduler")
        self.address: str = json.loads(self._file.read_text())["address"]

    def add_worker(self) -> None:
        """Start one worker process with one thread."""
        before = self.count()
        options = ("--nthreads", "1", "--no-dashboard", "--local-directory", str(self.folder))
        self.workers.append(self._start("worker", self.address, *options))
        wait_until(lambda: self.count() > before, "a worker")

    def count(self) -> int:
        """Return how many workers the scheduler knows."""
        from distributed import Client

        with Client(self.address, timeout=PATIENCE, set_as_default=False) as client:
            return len(client.scheduler_info(n_workers=-1)["workers"])

    def kill_worker(self) -> None:
        """End the first worker."""
        kill_group(self.workers.pop(0))

    def close(self) -> None:
        """End everything."""
        for process in (*self.workers, self.scheduler):
            kill_group(process)

    def _start(self, *command: str) -> "subprocess.Popen[bytes]":
        log = (self.folder / f"{command[0]}-{len(self.workers)}.log").open("wb")
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *command],
            cwd=self.folder / "elsewhere",
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


@contextlib.contextmanager
def running_cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    """Start a cluster and end it in any case."""
    cluster = Cluster(folder)
    try:
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.close()
