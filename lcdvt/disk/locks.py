"""One writer at a time: locks that the operating system drops when their holder dies, however it dies."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from lcdvt.disk.atomic import writable
from lcdvt.errors import WorkspaceError


@contextmanager
def alone(path: Path, said: str, *, removed: bool = False) -> Iterator[None]:
    """Hold the lock file `path` for this process; where another holds it, raise what is `said`.

    With `removed` the file is gone afterwards, for places where users look.
    """
    with writable(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with writable(path.parent):
            opened = path.open("w")
        with opened as lock:
            _hold(lock, "LOCK_EX", said)
            # Its last holder may have removed the file between our opening and locking it: then it keeps nobody out.
            if not path.exists() or not os.path.samestat(os.fstat(lock.fileno()), path.stat()):
                continue
            try:
                yield
            finally:
                if removed:
                    path.unlink(missing_ok=True)
            return


@contextmanager
def no_writer(path: Path, said: str) -> Iterator[None]:
    """Keep writers out, but not other readers; nothing is written, not even a lock file."""
    try:
        lock = path.open("rb")
    except OSError:  # nobody ever wrote here
        yield
        return
    with lock:
        _hold(lock, "LOCK_SH", said)
        yield


def _hold(lock: IO[str] | IO[bytes], kind: str, said: str) -> None:
    import fcntl  # here, because not every system that can import lcdvt has it

    try:
        fcntl.flock(lock, getattr(fcntl, kind) | fcntl.LOCK_NB)
    except OSError as error:
        raise WorkspaceError(said) from error
