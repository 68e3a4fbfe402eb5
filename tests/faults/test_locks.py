"""Locks: who holds one is named, the dead hold none, and where there are none this is said."""

import errno
import fcntl
import os
import re
import socket
import subprocess
import sys

import pytest

from lcdvt.disk.locks import alone, no_writer
from lcdvt.errors import WorkspaceError

HOLDER = """
import sys, time
from pathlib import Path
from lcdvt.disk.locks import alone
with alone(Path(sys.argv[1]), ""):
    print("held", flush=True)
    time.sleep(600)
"""


def test_who_holds_a_lock_is_named_and_a_dead_holder_holds_nothing(tmp_path):
    path = tmp_path / "lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    named = rf"busy\. It is process {holder.pid} on {re.escape(socket.gethostname())}\.$"
    with pytest.raises(WorkspaceError, match=named), alone(path, "busy."):
        pass
    with pytest.raises(WorkspaceError, match=named), no_writer(path, "busy."):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with alone(path, "busy."):
        assert path.read_text() == f"process {os.getpid()} on {socket.gethostname()}"


def test_a_file_system_without_locks_is_said_to_have_none(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", flock)
    said = r"lock cannot be locked \(Function not implemented\)"
    with pytest.raises(WorkspaceError, match=said), alone(tmp_path / "lock", "busy."):
        pytest.fail("nothing is held")
