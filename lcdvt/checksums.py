"""A checksum for each file of the workspace, made from the bytes as they are written.

CRC-32 of the standard library: a gigabyte a second, so that an ingest does not feel it. It finds what cables, disks
and power cuts do to a file; it is no seal against somebody who wants to deceive.
"""

import zlib
from pathlib import Path
from typing import Any, Final

_KIND: Final = "crc32"
_BLOCK_BYTES: Final = 1 << 20


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
