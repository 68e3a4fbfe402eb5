"""Files written whole or not at all, and disks that cannot be written told in a sentence."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar
from uuid import uuid4

from lcdvt.errors import WorkspaceError

Written = TypeVar("Written")

UNFINISHED_SUFFIX: Final = ".unfinished"
"""Ends the hidden name of whatever is still growing."""
_DISK_TROUBLE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST)


def write_atomically(path: Path, write: Callable[[Path], Written]) -> Written:
    """Let `write` fill a temporary file and rename it: the file is there whole or not at all."""
    with writable(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{uuid4().hex[:8]}{UNFINISHED_SUFFIX}")
        # Opened here with the mode that the user's umask allows: some libraries write files only their owner can read.
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        try:
            result = write(unfinished)
            with unfinished.open("rb") as written:
                os.fsync(written.fileno())
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    return result


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    write_atomically(path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Turn a full, read-only or forbidden disk into one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK_TROUBLE:
            raise
        raise WorkspaceError(
            f"{folder} cannot be written: {os.strerror(error.errno)}. What was finished is kept: "
            "make room or choose another workspace (LCDVT_DATA), and run the same command again."
        ) from error
