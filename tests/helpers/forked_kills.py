"""Kill our own work at a chosen step, or cut its power: in a fork of this process, which has its imports behind it.

A step is whatever changes the disk: a file opened for writing, renamed, removed or cut, a folder made or removed.
Python's audit events tell of each before it happens, so that every moment between two of them can be tried.

A power cut loses more than a kill: what was written but not forced to the disk may be there in part or not at all. The
cut here leaves a random part of every file that was not synced since it was opened. Names are changed in the order of
the program, as on a file system with a journal.
"""

import contextlib
import json
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from helpers.warm_commands import IMPORTED

CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink")
WRITING = os.O_WRONLY | os.O_RDWR


class Ended(NamedTuple):
    """How a fork ended: killed by us, or by itself after so many steps."""

    was_killed: bool
    steps: int


class _Recorder:
    """Counts steps below a folder; at the chosen one nothing happens any more."""

    def __init__(self, folder: Path, kill_at: int | None, power_cut: random.Random | None):
        self.folder, self.kill_at, self.power_cut = str(folder), kill_at, power_cut
        self.steps = 0
        self.unsynced: dict[str, int] = {}
        """Each file that was written since it was last synced, and how much of it is safe."""
        self._is_looking = False

    def install(self) -> None:
        really_sync = os.fsync

        def sync(file: Any) -> None:
            really_sync(file)
            number = file if isinstance(file, int) else file.fileno()
            with contextlib.suppress(OSError):
                self.unsynced.pop(str(Path(f"/proc/self/fd/{number}").readlink()), None)

        os.fsync = sync
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._is_looking or (event != "open" and event not in CHANGES):
            return
        self._is_looking = True
        try:
            self._step(event, arguments)
        finally:
            self._is_looking = False

    def _step(self, event: str, arguments: tuple[Any, ...]) -> None:
        path = self._inside(arguments[0])
        if path is None or (event == "open" and not (arguments[2] or 0) & WRITING):
            return
        self.steps += 1
        if self.steps == self.kill_at:
            if self.power_cut is not None:
                self._lose_what_is_not_synced(self.power_cut)
            os.kill(os.getpid(), signal.SIGKILL)
        if event == "open":
            begins_empty = bool(arguments[2] & os.O_TRUNC) or not Path(path).exists()
            self.unsynced.setdefault(path, 0 if begins_empty else Path(path).stat().st_size)
        elif event == "os.rename" and (new := self._inside(arguments[1])) is not None and path in self.unsynced:
            self.unsynced[new] = self.unsynced.pop(path)

    def _inside(self, path: Any) -> str | None:
        if not isinstance(path, str | bytes | os.PathLike):
            return None
        whole = str(Path(os.fsdecode(path)).absolute())
        return whole if whole.startswith(self.folder) else None

    def _lose_what_is_not_synced(self, chance: random.Random) -> None:
        for path, safe in sorted(self.unsynced.items()):
            if Path(path).is_file():
                size = Path(path).stat().st_size
                os.truncate(path, chance.randint(min(safe, size), size))


def in_fork(
    folder: Path, work: Callable[[], object], kill_at: int | None = None, power_cut: random.Random | None = None
) -> Ended:
    """Do some work in a fork; kill it before the given step below the folder.

    Parameters
    ----------
    folder
        Where steps count.
    work
        What to do.
    kill_at
        Before which step, counted from 1; None lets it end.
    power_cut
        Lose what is not synced, too.
    """
    for name in IMPORTED:  # here, once: otherwise every fork would import and load what it needs anew
        import_module(name)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        recorder = _Recorder(folder.resolve(), kill_at, power_cut)
        answer: Any = None
        try:
            os.close(reading)
            recorder.install()
            work()
            answer = recorder.steps
        except BaseException:
            answer = traceback.format_exc()
        with os.fdopen(writing, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL, f"ended by signal {os.WTERMSIG(status)}"
        return Ended(True, kill_at or 0)
    steps = json.loads(answer)
    assert isinstance(steps, int), f"the work failed:\n{steps}"
    return Ended(False, steps)
