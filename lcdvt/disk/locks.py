"""One writer at a time: locks that the operating system drops when their holder dies, however it dies.

On a file system that several hosts share, the server drops the locks of a host that is gone, after the time it gives a
host to come back. The lock file names its holder, so that a user can go and look.
"""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from lcdvt.disk.atomic import writable
from lcdvt.errors import WorkspaceError

LONGEST_HOLDER: Final = 200
"""A host's name has 64 characters at most; whatever else is in the file is not for the eyes of a user."""


@contextmanager
def alone(path: Path, said: str, *, removed: bool = False) -> Iterator[None]:
    """Hold the lock file `path` for this process; where another holds it, raise what is `said`.

    With `removed` the file is gone afterwards, for places where users look.
    """
    with writable(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with writable(path.parent):
            opened = path.open("a+")  # what its holder wrote there stays until the lock is ours
        with opened as lock:
            _hold(lock, "LOCK_EX", said)
            # Its last holder may have removed the file between our opening and locking it: then it keeps nobody out.
            if not path.exists() or not os.path.samestat(os.fstat(lock.fileno()), path.stat()):
                continue
            with writable(path.parent):
                lock.truncate(0)
                lock.write(f"process {os.getpid()} on {socket.gethostname()}")
                lock.flush()
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
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise WorkspaceError(
                f"{lock.name} cannot be locked ({error.strerror}): its file system has no locks, so that two commands "
                "could write there at once; mount it with locks (Lustre: -o flock), or take a workspace elsewhere."
            ) from error
        holder = Path(lock.name).read_text(encoding="utf-8", errors="replace")[:LONGEST_HOLDER].strip()
        raise WorkspaceError(f"{said} It is {holder}." if holder else said) from error
