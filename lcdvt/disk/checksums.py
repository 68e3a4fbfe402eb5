"""A checksum for each file of the workspace, made from the bytes as they are written.

CRC-32 of the standard library: a gigabyte a second, so that an ingest does not feel it. It finds what cables, disks
and power cuts do to a file; it is no seal against somebody who wants to deceive.
"""

import json
import zlib
from pathlib import Path
from typing import Any, Final

CHECKSUMS_FILE: Final = "checksums.json"
_KIND: Final = "crc32"
_BLOCK_BYTES: Final = 1 << 20
"""Large enough for the disk, small enough for any memory."""


def checksum(content: Any) -> str:
    """Return the checksum of bytes, or of any buffer of them."""
    return f"{_KIND}:{zlib.crc32(content):08x}"


def file_checksum(path: Path) -> str:
    """Return the checksum of a file, read in blocks."""
    value = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            value = zlib.crc32(block, value)
    return f"{_KIND}:{value:08x}"


def write_checksums(folder: Path) -> None:
    """Write the checksums of all files of a folder into it, for a folder that is not going to change."""
    files = {str(path.relative_to(folder)): file_checksum(path) for path in _files(folder)}
    files[CHECKSUMS_FILE] = _of_list(files)
    (folder / CHECKSUMS_FILE).write_text(json.dumps(files, indent=2), encoding="utf-8")


def damaged_files(folder: Path) -> dict[str, str]:
    """Return which files of the folder are not as they were, and why; none where it has no checksums."""
    path = folder / CHECKSUMS_FILE
    if not path.is_file():
        return {}
    try:
        known: dict[str, str] = dict(json.loads(path.read_bytes()))
    except (ValueError, TypeError, RecursionError):
        return {CHECKSUMS_FILE: "cannot be read"}
    changed = "does not have the bytes that were written (checksum)"
    own = known.pop(CHECKSUMS_FILE, None)  # an early version wrote none
    found = {name: folder / name for name in known}
    problems = {name: "is missing" for name, file in found.items() if not file.is_file()}
    if own is not None and own != _of_list(known):
        problems[CHECKSUMS_FILE] = changed
    return problems | {
        name: changed for name, file in found.items() if name not in problems and file_checksum(file) != known[name]
    }


def _of_list(files: dict[str, str]) -> str:
    """Return the checksum of the checksums of all other files."""
    return checksum(json.dumps(files, sort_keys=True).encode())


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != CHECKSUMS_FILE)
