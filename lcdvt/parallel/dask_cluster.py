"""The same batches on a Dask cluster: on this machine, or on the workers of a scheduler somewhere else.

Workers and client share a file system; only what a batch is and what came of it travels. A worker that dies costs
its batches' time and nothing else: the scheduler gives them to another, and a part that is written twice is written
with the same bytes.
"""

import asyncio
import logging
import os
import warnings
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from lcdvt.errors import LcdvtError
from lcdvt.parallel.interrupts import deaf_to_interrupts

Batch = TypeVar("Batch")
Result = TypeVar("Result")

LOCAL: Final = "local"
RETRIES: Final = 3
"""Workers that die by chance are replaced; a batch that kills three is at fault itself."""
SECONDS_TO_ANSWER: Final = 10
"""A scheduler on a busy cluster answers within seconds."""
SECONDS_FOR_A_WORKER: Final = 60
"""Workers of a queue may start a little after the scheduler."""
BATCHES_IN_FLIGHT_PER_THREAD: Final = 2
"""One that runs and one that waits: no worker idles, and memory does not grow with the survey."""


def run_on_dask(
    function: Callable[[Batch], Result], batches: Iterable[Batch], address: str, jobs: int | None
) -> Iterator[Result]:
    """Yield `function(batch)` for each batch, in the batches' order.

    Parameters
    ----------
    function, batches
        As in `lcdvt.parallel.executors.run_batches`.
    address
        A scheduler's address, or "local" for a cluster on this machine.
    jobs
        Worker processes of a local cluster.
    """
    folder = str(Path.cwd())
    with _connected(address, jobs) as client, _explained(address):
        in_flight: deque[Any] = deque()
        for batch in batches:
            in_flight.append(client.submit(_run_there, function, folder, batch, pure=False, retries=RETRIES))
            # Asked for each time, because workers come and go.
            threads = max(sum(_answer(client, client.nthreads).values()), 1)
            while len(in_flight) >= BATCHES_IN_FLIGHT_PER_THREAD * threads:
                yield _answer(client, in_flight.popleft().result)
        while in_flight:
            yield _answer(client, in_flight.popleft().result)


def _answer(client: Any, question: Callable[[], Awaitable[Any]]) -> Any:
    """Ask in the client's thread and wait for it here.

    The client's own way of waiting, interrupted before the question has left, shows a traceback: a NameError in
    `distributed.utils.sync`.
    """

    async def ask() -> Any:
        return await question()

    return asyncio.run_coroutine_threadsafe(ask(), client.loop.asyncio_loop).result()


def _run_there(function: Callable[[Batch], Result], folder: str, batch: Batch) -> Result:
    """Run a batch on a worker, in the folder the command was started in: its paths may be relative."""
    if str(Path.cwd()) != folder:
        try:
            os.chdir(folder)
        except OSError as error:
            raise LcdvtError(
                f"the Dask worker on {os.uname().nodename} has no folder {folder}: "
                "workers need the same file system as the command."
            ) from error
    return function(batch)


@contextmanager
def _connected(address: str, jobs: int | None) -> Iterator[Any]:
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise LcdvtError("a Dask cluster needs the dask extra: pip install 'lcdvt[dask]'.") from error
    opened = ExitStack()
    try:
        with deaf_to_interrupts(), warnings.catch_warnings():
            # Another cluster on this machine is nobody's trouble: nobody asked for a page of this one.
            warnings.filterwarnings("ignore", message=r"\s*Port \d+ is already in use", category=UserWarning)
            if address == LOCAL:
                # Its warnings tell of batches given up and workers ended: what Ctrl-C asks for. Its errors tell of a
                # worker that missed its scheduler while both end; one that matters reaches the client, too.
                cluster = LocalCluster(
                    n_workers=jobs, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
                )
                client = opened.enter_context(Client(opened.enter_context(cluster)))
            else:
                try:
                    client = opened.enter_context(Client(address, timeout=SECONDS_TO_ANSWER))
                except (OSError, ValueError) as error:
                    raise LcdvtError(
                        f"no Dask scheduler answers at {address}: start one, or give dask=local."
                    ) from error
        _wait_for_a_worker(client, address)
        yield client
    finally:
        with deaf_to_interrupts():
            opened.close()


def _wait_for_a_worker(client: Any, address: str) -> None:
    try:
        _answer(client, lambda: client.wait_for_workers(1, timeout=SECONDS_FOR_A_WORKER))
    except TimeoutError as error:
        raise LcdvtError(
            f"the Dask scheduler at {address} has no workers: start some with `dask worker {address} --nthreads 1`."
        ) from error


@contextmanager
def _explained(address: str) -> Iterator[None]:
    """Turn the ways in which a cluster can fail into a sentence."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    again = "what was finished is kept: run the same command again"
    try:
        yield
    except KilledWorker as error:
        raise LcdvtError(
            f"a batch has ended {RETRIES} Dask workers, one after the other (out of memory, perhaps); {again}, "
            "with fewer workers per machine."
        ) from error
    except (CommClosedError, CancelledError) as error:
        raise LcdvtError(f"the Dask scheduler at {address} is gone; {again} when it is back.") from error
