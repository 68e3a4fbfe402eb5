"""Parquet files that are read batch by batch."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def open_streamed(path: Path) -> pq.ParquetFile:
    """Open a file that may be larger than memory.

    As pyarrow opens it by default, it would keep all bytes that were read ahead until it is closed: in the end, the
    whole file. And where a column's name is no text, it would not say that the file is damaged.
    """
    try:
        return pq.ParquetFile(path, pre_buffer=False)
    except UnicodeDecodeError as error:
        raise pa.ArrowInvalid(f"a column's name: {error}") from error
