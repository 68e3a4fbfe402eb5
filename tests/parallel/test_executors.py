"""The same batches here, on a pool and on a cluster: same results, in order."""

import os
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pytest

from lcdvt.errors import LcdvtError
from lcdvt.parallel import executors
from lcdvt.parallel.executors import FEW_BATCHES, SECONDS_TO_START, Workers, run_batches


def square(number: int) -> int:
    return number * number


def first_value(table: pa.Table) -> int:
    return int(table["x"][0].as_py())


def die(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def fail(number: int) -> int:
    raise LcdvtError(f"number {number} is wrong")


@pytest.mark.parametrize("how", [Workers(1), Workers(2), Workers(2, "local")])
def test_results_come_in_order(how):
    assert list(run_batches(square, iter(range(25)), how)) == [number * number for number in range(25)]


def test_slices_of_one_table_are_different_batches_for_dask():
    table = pa.table({"x": list(range(12))})
    slices = [table.slice(start, 3) for start in (0, 3, 6, 9)]
    assert list(run_batches(first_value, slices, Workers(2, "local"))) == [0, 3, 6, 9]


def test_batches_are_taken_as_they_are_needed():
    taken = []

    def batches():
        for number in range(100):
            taken.append(number)
            yield number

    results = run_batches(square, batches(), Workers(2))
    next(results)
    assert len(taken) <= 5
    results.close()


def who(number: int) -> int:
    return os.getpid()


def who_after_a_while(seconds: float) -> int:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return os.getpid()


def test_few_quick_batches_do_not_wait_for_a_pool():
    assert set(run_batches(who, range(FEW_BATCHES), Workers(2), begin_here=True)) == {os.getpid()}
    assert os.getpid() not in set(run_batches(who, range(FEW_BATCHES), Workers(2)))


def test_many_batches_go_to_the_pool_at_once():
    assert os.getpid() not in set(run_batches(who, range(FEW_BATCHES + 1), Workers(2), begin_here=True))


def test_what_takes_longer_than_a_pool_s_start_is_left_to_it():
    first, *others = run_batches(who_after_a_while, [SECONDS_TO_START + 0.1, 0, 0], Workers(2), begin_here=True)
    assert first == os.getpid()
    assert len(others) == 2
    assert os.getpid() not in others


def test_no_more_processes_than_batches(monkeypatch):
    asked = []

    def on_a_pool(function, batches, jobs):
        asked.append(jobs)
        return map(function, batches)

    monkeypatch.setattr(executors, "_run_on_pool", on_a_pool)
    assert list(run_batches(square, range(3), Workers(64))) == [0, 1, 4]
    assert list(run_batches(square, [], Workers(64))) == []
    assert asked == [3]


def test_a_worker_that_dies_is_said_in_a_sentence():
    with pytest.raises(LcdvtError, match="worker process died"):
        list(run_batches(die, range(6), Workers(2)))


@pytest.mark.parametrize("how", [Workers(1), Workers(2)])
def test_a_users_error_in_a_worker_stays_a_users_error(how):
    with pytest.raises(LcdvtError, match="number 0 is wrong"):
        list(run_batches(fail, range(3), how))


def interrupted(number: int) -> int:
    os.kill(os.getpid(), signal.SIGINT)
    return number


ENDLESS = """
import sys, time
from itertools import count
from lcdvt.parallel.executors import Workers, run_batches

print("started", flush=True)
try:
    for _ in run_batches(time.sleep, (0.1 for _ in count()), Workers(2, {dask!r})):
        pass
except KeyboardInterrupt:
    sys.exit(130)
"""

needs_masks = pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows sends Ctrl-C in another way")


@needs_masks
def test_the_keyboards_interrupt_is_for_this_process_not_for_its_workers():
    held_before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert list(run_batches(interrupted, range(6), Workers(2))) == list(range(6))
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == held_before
    with pytest.raises(KeyboardInterrupt):
        for number in run_batches(square, range(6), Workers(2)):
            if number == 1:
                os.kill(os.getpid(), signal.SIGINT)


@needs_masks
@pytest.mark.parametrize(
    ("dask", "seconds"), [(None, 0.05), (None, 0.2), (None, 0.4), (None, 1.0), ("local", 0.5), ("local", 2.5)]
)
def test_workers_that_start_wait_or_work_say_nothing_of_an_interrupt(dask, seconds):
    # a session of its own, so that the signal reaches the workers as it does from a keyboard
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS.format(dask=dask)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "started\n"
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 130, said
    assert "Traceback" not in said and "Interrupt" not in said


KILLED = """
from joblib.externals.loky import ProcessPoolExecutor
from lcdvt.parallel import executors
executor = ProcessPoolExecutor(max_workers=1)
assert executor.submit(abs, -4).result() == 4
executor._work_ids.put(10**6)  # as one submitted while loky's thread was busy
executors._kill(executor)
"""


def test_a_task_submitted_just_before_the_end_shows_no_traceback():
    """loky drops its tasks, but not the list of those to come: its thread must not say so on the terminal."""
    ended = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def said_when_interrupted(code: str) -> str:
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 130, (ended.stdout, ended.stderr)
    return ended.stderr


WHILE_IMPORTING = """
import signal, sys
from lcdvt.parallel.executors import Workers, run_batches

class Tidied:
    def __del__(self):  # Python drops what is raised here
        signal.raise_signal(signal.SIGINT)

class WhileImporting:
    def find_spec(self, name, path=None, target=None):
        if name == "joblib.externals.loky":
            Tidied()

sys.meta_path.insert(0, WhileImporting())
try:
    print(list(run_batches(abs, range(3), Workers(2))))
except KeyboardInterrupt:
    sys.exit(130)
"""


@needs_masks
def test_an_interrupt_while_the_pool_is_imported_is_not_lost():
    assert said_when_interrupted(WHILE_IMPORTING) == ""


BEFORE_THE_QUESTION_HAS_LEFT = """
import os, signal, sys, threading, time
from distributed import default_client
from lcdvt.parallel.executors import Workers, run_batches

def batches():
    yield 1
    default_client().loop.add_callback(time.sleep, 1)  # as if the machine were busy
    threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
    yield 2

try:
    print(list(run_batches(abs, batches(), Workers(2, "local"))))
except KeyboardInterrupt:
    sys.exit(130)
"""


@needs_masks
def test_an_interrupt_before_a_cluster_was_asked_shows_no_traceback():
    assert said_when_interrupted(BEFORE_THE_QUESTION_HAS_LEFT) == ""


A_HEARTBEAT_AS_THE_SCHEDULER_ENDS = """
import time
from distributed import get_worker
from distributed.comm import CommClosedError
from lcdvt.parallel.executors import Workers, run_batches

def unanswered(seconds):
    async def gone(**_):
        raise CommClosedError("Stream is closed")

    get_worker().scheduler.heartbeat_worker = gone
    time.sleep(seconds)  # heartbeats come twice a second

if __name__ == "__main__":
    assert list(run_batches(unanswered, [2.0], Workers(1, "local"))) == [None]
"""


def test_a_worker_that_misses_its_scheduler_shows_no_traceback():
    code = A_HEARTBEAT_AS_THE_SCHEDULER_ENDS
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
