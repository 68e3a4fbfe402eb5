"""The objects table part by part, for what must not load all of it."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lcdvt.part import PART


def objects_by_part(path: Path) -> Iterator[tuple[int, pa.Table]]:
    """Yield each part's number and its objects; the objects of a part stand together in the table."""
    waiting: pa.Table | None = None
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches():
            table = pa.Table.from_batches([batch])
            table = table if waiting is None else pa.concat_tables([waiting, table])
            numbers = table[PART].to_numpy()
            edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1), len(numbers)]
            for start, stop in itertools.pairwise(edges[:-1]):
                yield int(numbers[start]), table.slice(start, stop - start)
            waiting = table.slice(edges[-2])
    if waiting is not None and waiting.num_rows:
        yield int(waiting[PART][0].as_py()), waiting
