"""Run the same batch function here, on a process pool or on a Dask cluster, results in order.

Results come back in the order of the batches, whatever finishes first: what is written then never
depends on timing. Only a few batches are under way at once, so that memory stays flat however long
the stream of batches is.
"""

import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Final, TypeVar

from lcdvt.errors import LcdvtError, SettingsError
from lcdvt.parallel.interrupts import deaf_to_interrupts
from lcdvt.parallel.memory import FRUGAL_ARROW, keep_freed_memory

Batch = TypeVar("Batch")
Result = TypeVar("Result")

BATCHES_IN_FLIGHT_PER_JOB: Final = 2
"""One that runs and one that waits: no worker idles, and memory does not grow with the survey."""
FEW_BATCHES: Final = 4
"""Work of no more batches may be done before a pool has started."""
SECONDS_TO_START: Final = 3.0
"""Of processor time: what a worker needs for its imports before it does anything, on a busy machine, too."""
WORKER_ENVIRONMENT: Final = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", **FRUGAL_ARROW}
"""One thread each, because there is a process for every core."""
SECONDS_TO_DIE: Final = 5.0
"""Longer than a killed pool needs even on a busy machine; it is not waited for if it hangs in a full pipe."""


def default_jobs() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Workers:
    """Who does the work of a verb; the result is the same whoever does it.

    Parameters
    ----------
    jobs
        Worker processes; 1 runs everything in this process, None takes every core.
    dask
        A Dask scheduler's address, or "local" for a cluster on this machine; None for no cluster.
    """

    jobs: int | None = None
    dask: str | None = None

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise SettingsError(f"jobs={self.jobs}: at least one process is needed.")

    @property
    def processes(self) -> int:
        """How many processes are wanted on this machine."""
        return default_jobs() if self.jobs is None else self.jobs

    @property
    def is_this_process(self) -> bool:
        """Whether the work is done here, without another process."""
        return self.dask is None and self.processes == 1

    def at_most(self, tasks: int) -> "Workers":
        """Return the same workers, but no more processes than there are tasks."""
        return replace(self, jobs=max(min(self.processes, tasks), 1))


EVERY_CORE: Final = Workers()
IN_THIS_PROCESS: Final = Workers(1)


def run_batches(
    function: Callable[[Batch], Result],
    batches: Iterable[Batch],
    workers: Workers = EVERY_CORE,
    *,
    begin_here: bool = False,
) -> Iterator[Result]:
    """Yield `function(batch)` for each batch, in the batches' order.

    Parameters
    ----------
    function
        A picklable function of one batch; it should return little and write its own files.
    batches
        Consumed lazily: a generator that reads a survey as it goes is welcome.
    workers
        Who runs it.
    begin_here
        Where there are few batches, begin with them in this process, and leave to a pool what is not done by the time
        it would have started: for batches that take moments, and a verb that is often called for a few stars.
    """
    if workers.dask is not None:
        from lcdvt.parallel.dask_cluster import run_on_dask

        yield from run_on_dask(function, batches, workers.dask, workers.processes)
    elif workers.processes == 1:
        yield from map(function, batches)
    else:
        waiting = iter(batches)
        if begin_here:
            first = [*islice(waiting, FEW_BATCHES + 1)]
            are_few, waiting = len(first) <= FEW_BATCHES, chain(first, waiting)
            if are_few:
                yield from _run_for_a_moment(function, waiting)
        first = [*islice(waiting, workers.processes)]  # no more processes than batches
        if first:
            yield from _run_on_pool(function, chain(first, waiting), len(first))


def _run_for_a_moment(function: Callable[[Batch], Result], batches: Iterator[Batch]) -> Iterator[Result]:
    end = time.process_time() + SECONDS_TO_START
    for batch in batches:
        yield function(batch)
        if time.process_time() > end:
            return


def _run_on_pool(function: Callable[[Batch], Result], batches: Iterable[Batch], jobs: int) -> Iterator[Result]:
    # loky, unlike the standard pool, needs no `if __name__ == "__main__"` in a user's script and does not
    # fork a process that already runs OpenMP threads. An interrupt may be lost while Python imports.
    with deaf_to_interrupts():
        from joblib.externals.loky import ProcessPoolExecutor

    with warnings.catch_warnings():
        # It replaces a worker that holds on to memory, and warns of that in the middle of the progress.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
        with deaf_to_interrupts():
            executor = ProcessPoolExecutor(max_workers=jobs, env=WORKER_ENVIRONMENT, initializer=keep_freed_memory)
        try:
            yield from _in_order(executor, function, batches, jobs)
            executor.shutdown(wait=True)
        except BrokenProcessPool as error:
            raise LcdvtError(
                "a worker process died (out of memory, perhaps); what was finished is kept: "
                "do the same again, with a smaller number of jobs if it happens again."
            ) from error
        finally:
            _kill(executor)


def _kill(executor: Any) -> None:
    """End a pool at once, without a word.

    loky's own thread drops the tasks that are left, and then stumbles over one that was submitted a moment ago and is
    still in its list (a KeyError in `add_call_item_to_queue`): on a busy machine Ctrl-C would show that traceback.
    """
    of_pool = [each for each in threading.enumerate() if type(each).__module__.startswith("joblib.externals.loky")]
    tell = threading.excepthook

    def tell_of_others(error: threading.ExceptHookArgs) -> None:
        if error.thread not in of_pool:
            tell(error)

    threading.excepthook = tell_of_others
    try:
        executor.shutdown(wait=False, kill_workers=True)
        for thread in of_pool:
            thread.join(SECONDS_TO_DIE)
    finally:
        threading.excepthook = tell


def _in_order(
    executor: Executor, function: Callable[[Batch], Result], batches: Iterable[Batch], jobs: int
) -> Iterator[Result]:
    in_flight: deque[Any] = deque()
    for batch in batches:
        with deaf_to_interrupts():
            in_flight.append(executor.submit(function, batch))
        if len(in_flight) >= BATCHES_IN_FLIGHT_PER_JOB * jobs:
            yield in_flight.popleft().result()
    while in_flight:
        yield in_flight.popleft().result()
