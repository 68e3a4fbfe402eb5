"""Parquet files that are read batch by batch."""

from pathlib import Path

import pyarrow.parquet as pq


def open_streamed(path: Path) -> pq.ParquetFile:
    """Open a file that may be larger than memory.

    As pyarrow opens it by default, it would keep all bytes that were read ahead until it is closed: in the end, the
    whole file.
    """
    return pq.ParquetFile(path, pre_buffer=False)
