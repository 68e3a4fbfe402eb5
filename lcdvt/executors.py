"""Run the same batch function here, on a process pool or on a Dask cluster, results in order.

Results come back in the order of the batches, whatever finishes first: what is written then never
depends on timing. Only a few batches are under way at once, so that memory stays flat however long
the stream of batches is.
"""

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from lcdvt.errors import LcdvtError
from lcdvt.interrupts import deaf_to_interrupts

Batch = TypeVar("Batch")
Result = TypeVar("Result")

BATCHES_IN_FLIGHT_PER_JOB = 2


def default_jobs() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_batches(
    function: Callable[[Batch], Result], batches: Iterable[Batch], *, jobs: int | None = None, dask: str | None = None
) -> Iterator[Result]:
    """Yield `function(batch)` for each batch, in the batches' order.

    Parameters
    ----------
    function
        A picklable function of one batch; it should return little and write its own files.
    batches
        Consumed lazily: a generator that reads a survey as it goes is welcome.
    jobs
        Worker processes; 1 runs everything in this process, None takes every core.
    dask
        A scheduler's address, or "local" for a cluster on this machine.
    """
    if dask is not None:
        from lcdvt.dask_cluster import run_on_dask

        yield from run_on_dask(function, batches, dask, jobs or default_jobs())
        return
    jobs = default_jobs() if jobs is None else jobs
    if jobs < 1:
        raise LcdvtError(f"--jobs {jobs}: at least one process is needed.")
    if jobs == 1:
        yield from map(function, batches)
        return
    # loky, unlike the standard pool, needs no `if __name__ == "__main__"` in a user's script and does not
    # fork a process that already runs OpenMP threads.
    from joblib.externals.loky import ProcessPoolExecutor

    # It replaces a worker that holds on to memory, and warns of that in the middle of the progress.
    warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
    with deaf_to_interrupts():
        executor = ProcessPoolExecutor(max_workers=jobs, env={"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"})
    try:
        yield from _in_order(executor, function, batches, jobs)
        executor.shutdown(wait=True)
    except BrokenProcessPool as error:
        raise LcdvtError(
            "a worker process died (out of memory, perhaps); what was finished is kept: "
            "run the same command again, with fewer --jobs if it happens again."
        ) from error
    finally:
        executor.shutdown(wait=False, kill_workers=True)


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
