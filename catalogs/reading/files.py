"""Open what a survey distributes: plain files, gz, tar and zip, read as streams and never unpacked to disk."""

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final

from lcdvt.catalogs.reading.file_list import FileList, InputFile, is_archive_name
from lcdvt.catalogs.reading.hats_folder import hats_partitions
from lcdvt.disk.checksums import checksum
from lcdvt.errors import InputFileError

MEMBER_SEPARATOR: Final = "::"
COMPRESSION_SUFFIXES: Final = (".gz", ".bz2", ".xz")
WHOLE_FILE_LIMIT: Final = 256 << 20
"""No single star's file is larger; a larger one is damaged or an attack."""
EXPANSION_LIMIT: Final = 200
"""Text compresses twentyfold; what grows ten times as much is a bomb."""
EXPANSION_ALLOWED_BYTES: Final = 64 << 20
"""Text shrinks by ten, not by hundreds: beyond this size and ratio a compressed file is refused."""

_MAGIC: Final[dict[bytes, Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_MAGIC_BYTES: Final = tuple(_MAGIC)
_DAMAGE: Final = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def bare_name(name: str) -> str:
    """Return the file's name without folders and without a compression suffix."""
    base = name.rpartition(MEMBER_SEPARATOR)[2].rpartition("/")[2]
    return base.rpartition(".")[0] if base.lower().endswith(COMPRESSION_SUFFIXES) else base


def decoded(content: bytes) -> str:
    """Return text from a file: UTF-8, or Latin-1 where it is not."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def printable(name: str) -> str:
    """Return a file's name as text that can be shown and stored; names on disk may be any bytes."""
    return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def absolute_name(name: str) -> str:
    """Return a file's name from the root; a link stays a link, and a good name stays the same text in memory."""
    return name if name.startswith("/") and ".." not in name else os.path.abspath(name)  # noqa: PTH100


def list_files(paths: list[Path], ignored: set[Path], workspace: Path | None = None) -> FileList:
    """List every file under `paths` in a fixed order; hidden ones, `ignored` and the workspace are left out."""
    ignored_names = {path.name for path in ignored} | {path.resolve().name for path in ignored}
    ignored_files = {path.resolve() for path in ignored}
    found = FileList()
    seen: set[str] = set()
    walked: set[tuple[int, int]] = set()
    for path in paths:
        with readable(str(path)):
            exists, is_file = path.exists(), path.is_file()
        if not exists:
            raise InputFileError(f"{path} does not exist: give a folder or file of light curves.")
        names = [str(path)] if is_file else hats_partitions(path) or _walk(str(path), workspace, walked)
        for name in names:
            # Only a file with an ignored name is worth the cost of finding out where it really is.
            if name.rpartition("/")[2] in ignored_names and Path(name).resolve() in ignored_files:
                continue
            if len(paths) > 1:  # one path alone cannot name a file twice
                absolute = absolute_name(name)
                if absolute in seen:
                    continue
                seen.add(absolute)
            if (file := _as_listed(name)) is not None:
                found.append(file)
    return found


def _walk(root: str, workspace: Path | None, walked: set[tuple[int, int]]) -> Iterator[str]:
    """Yield the files below a folder, those of linked folders last; a folder that was walked already is left out."""
    unreadable: list[str] = []
    left_out = _identity(str(workspace)) if workspace else None
    waiting = [root]
    while waiting:
        for folder, subfolders, names in os.walk(
            waiting.pop(0), onerror=lambda error: unreadable.append(error.filename)
        ):
            identity = _identity(folder)
            if identity is None or identity in walked or (identity == left_out and folder != root):
                subfolders.clear()
                continue
            walked.add(identity)
            subfolders[:] = sorted(name for name in subfolders if not name.startswith((".", "__MACOSX")))
            waiting += [below for name in subfolders if os.path.islink(below := f"{folder}/{name}")]  # noqa: PTH114
            for name in sorted(names):
                if not name.startswith("."):
                    yield f"{folder}/{name}"
    yield from unreadable  # reading one as a file gives the sentence that says what is wrong with it


def _identity(folder: str) -> tuple[int, int] | None:
    """Return what tells a folder from all others, by whatever name it is reached."""
    try:
        status = os.stat(folder)  # noqa: PTH116 - as below
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _as_listed(name: str) -> InputFile | None:
    try:
        status = os.stat(name)  # noqa: PTH116 - pathlib costs more than the call itself
    except OSError:  # a dangling link, or gone since: the reader will say so
        return InputFile(name, 0, 0)
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return None  # a pipe or a device: reading it might never end
    return InputFile(name, status.st_size, status.st_mtime_ns)


@contextmanager
def open_stream(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed if its first bytes say it is compressed."""
    with readable(str(path)), path.open("rb") as raw:
        start = raw.read(6)
        raw.seek(0)
        opener = next((opener for magic, opener in _MAGIC.items() if start.startswith(magic)), None)
        if opener is None:
            yield raw
        else:
            with opener(raw) as stream:
                yield stream


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Turn what the operating system or a decompressor says of a file into one sentence."""
    try:
        yield
    except _DAMAGE as error:
        raise InputFileError(f"{name} is damaged or cut short: {error}. Fetch it again.") from error
    except (tarfile.TarError, zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError) as error:
        raise InputFileError(f"{name} is a damaged archive: {error}. Fetch it again.") from error
    except PermissionError as error:
        raise InputFileError(f"{name} cannot be read: permission denied.") from error
    except OSError as error:
        raise InputFileError(f"{name} cannot be read: {error.strerror or error}.") from error


def read_whole(name: str, checksums: dict[str, str] | None = None) -> bytes:
    """Read one star's file, decompressed; a file no star can fill is refused.

    Parameters
    ----------
    name
        The file.
    checksums
        Gets that of the file's bytes, which need not be read again for it.
    """
    try:
        handle = os.open(name, os.O_RDONLY | os.O_CLOEXEC)  # a file object costs more than reading a small file
        try:
            size = os.fstat(handle).st_size
            if size > WHOLE_FILE_LIMIT:
                raise InputFileError(f"{name} holds more than {WHOLE_FILE_LIMIT >> 20} MiB: too much for one star.")
            content = os.read(handle, size + 1)
            # It grew in the meantime, or a network's file system gave only a part of it.
            while len(content) != size and (more := os.read(handle, WHOLE_FILE_LIMIT)):
                content += more
        finally:
            os.close(handle)
    except OSError:
        with readable(name):  # the sentence for what went wrong
            raise
    if checksums is not None:
        checksums[name] = checksum(content)
    return decompressed(content, name)


def decompressed(content: bytes, name: str) -> bytes:
    """Return the content, decompressed if its first bytes say it is compressed."""
    if not content.startswith(_MAGIC_BYTES):
        return content
    opener = next(opener for magic, opener in _MAGIC.items() if content.startswith(magic))
    limit = min(WHOLE_FILE_LIMIT, max(EXPANSION_ALLOWED_BYTES, EXPANSION_LIMIT * len(content)))
    with readable(name), opener(io.BytesIO(content)) as stream:
        result: bytes = stream.read(limit + 1)
    if len(result) > limit:
        raise InputFileError(f"{name} grows to over {limit >> 20} MiB when decompressed: it is no light curve.")
    return result


class ExpansionGuard:
    """Watches how much a compressed file grows while it is streamed."""

    def __init__(self, path: Path):
        self._path = path
        self._allowed = max(EXPANSION_ALLOWED_BYTES, EXPANSION_LIMIT * path.stat().st_size)
        self._seen = 0

    def add(self, count: int) -> None:
        """Count `count` decompressed bytes; too many are refused."""
        self._seen += count
        if self._seen > self._allowed:
            raise InputFileError(f"{self._path} grows more than {EXPANSION_LIMIT} times when decompressed: refused.")


@dataclass(frozen=True)
class Member:
    """One file inside an archive, or the sentence that says why it was left out."""

    name: str
    content: bytes = b""
    refused: str = ""


def archive_members(path: Path, *, contents: bool = True) -> Iterator[Member]:
    """Read an archive's files one after the other, in the archive's order.

    Nothing is written to disk, so a member named "../x" could do no harm; it is refused all the same, as are
    links and devices: an archive that has them was not made to carry light curves.
    """
    with readable(str(path)):
        if path.name.lower().endswith(".zip"):
            yield from _zip_members(path, contents)
        else:
            yield from _tar_members(path, contents)


def _unsafe(name: str) -> bool:
    pure = PurePosixPath(name)
    return pure.is_absolute() or ".." in pure.parts


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) and part not in (".", "..") for part in PurePosixPath(name).parts)


def _member(archive: Path, name: str, size: int, content: bytes | None) -> Member:
    full = f"{archive}{MEMBER_SEPARATOR}{name}"
    if size > WHOLE_FILE_LIMIT:
        return Member(full, refused=f"{full} holds more than {WHOLE_FILE_LIMIT >> 20} MiB: too much for one star.")
    if is_archive_name(name):
        return Member(full, refused=f"{full} is an archive inside an archive: unpack the outer one.")
    try:
        return Member(full, decompressed(content, full) if content is not None else b"")
    except InputFileError as error:
        return Member(full, refused=str(error))


def _tar_stream(path: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(path, mode="r|*")
    except TypeError as error:  # tarfile wants a byte's number where the gzip header has ended
        raise tarfile.ReadError("it ends within its first bytes") from error


def _tar_members(path: Path, contents: bool) -> Iterator[Member]:
    guard = ExpansionGuard(path)
    with _tar_stream(path) as archive:
        for info in archive:
            guard.add(info.size + tarfile.BLOCKSIZE)
            archive.members = []  # type: ignore[attr-defined]  # a stream needs no memory of what has passed
            full = f"{path}{MEMBER_SEPARATOR}{info.name}"
            if info.isdir() or _hidden(info.name):
                continue
            if _unsafe(info.name):
                yield Member(full, refused=f"{full} points outside the archive: left out.")
            elif not info.isreg():
                yield Member(full, refused=f"{full} is a link or device, not a file: left out.")
            elif not contents or info.size > WHOLE_FILE_LIMIT:
                yield _member(path, info.name, info.size, None)
            else:
                extracted = archive.extractfile(info)
                yield _member(path, info.name, info.size, extracted.read() if extracted else b"")


def _zip_members(path: Path, contents: bool) -> Iterator[Member]:
    guard = ExpansionGuard(path)
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            full = f"{path}{MEMBER_SEPARATOR}{info.filename}"
            if not info.filename or info.is_dir() or _hidden(info.filename):
                continue
            guard.add(info.file_size)
            if _unsafe(info.filename):
                yield Member(full, refused=f"{full} points outside the archive: left out.")
            elif info.flag_bits & 1:
                yield Member(full, refused=f"{full} is encrypted: unpack it first.")
            elif not contents or info.file_size > WHOLE_FILE_LIMIT:
                yield _member(path, info.filename, info.file_size, None)
            else:
                try:
                    yield _member(path, info.filename, info.file_size, archive.read(info))
                except (*_DAMAGE, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
                    yield Member(full, refused=f"{full} cannot be unpacked: {error}.")
