"""The objects of a survey: the table's columns, each part's share of it, and ids as hashes."""

import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lcdvt.catalogs.survey import Survey
from lcdvt.disk.parquet import open_streamed
from lcdvt.names import DEC, LABEL, OBJECT_ID, RA, SOURCE, SURVEY_LABEL, n_epochs_column
from lcdvt.workspace.folder import SurveyFolder, damage_is_named

PART: Final = "part"


def objects_by_part(path: Path, columns: list[str] | None = None) -> Iterator[tuple[int, pa.Table]]:
    """Yield each part's number and its objects; the objects of a part stand together in the table.

    Parameters
    ----------
    path
        The objects table.
    columns
        Which of its columns, with the part's number among them; all by default.
    """
    waiting: pa.Table | None = None
    with damage_is_named(path), open_streamed(path) as file:
        for batch in file.iter_batches(columns=columns):
            table = pa.Table.from_batches([batch])
            table = table if waiting is None else pa.concat_tables([waiting, table])
            numbers = table[PART].to_numpy()
            edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1), len(numbers)]
            for start, stop in itertools.pairwise(edges[:-1]):
                yield int(numbers[start]), table.slice(start, stop - start)
            waiting = table.slice(edges[-2])
    if waiting is not None and waiting.num_rows:
        yield int(waiting[PART][0].as_py()), waiting


def objects_folder(folder: SurveyFolder) -> Path:
    """Return where the objects of each part wait to be joined with their labels."""
    return folder.progress / "objects"


def part_folders(folder: SurveyFolder) -> tuple[Path, Path, Path, Path]:
    """Return where the files of each part lie: epochs, features, objects and upper limits."""
    return folder.epochs, folder.features, objects_folder(folder), folder.limits


def objects_schema(survey: Survey) -> pa.Schema:
    """Return the columns of a survey's objects table."""
    text = [(name, pa.string()) for name in (OBJECT_ID, LABEL, SURVEY_LABEL)]
    counts = [(n_epochs_column(band), pa.int64()) for band in survey.bands]
    return pa.schema(
        [*text, (RA, pa.float64()), (DEC, pa.float64()), *counts, (SOURCE, pa.string()), (PART, pa.int32())]
    )


def hashed_ids(object_ids: list[str]) -> NDArray[np.uint64]:
    """Return the ids' hashes, sorted."""
    digests = b"".join(hashlib.blake2b(object_id.encode(), digest_size=8).digest() for object_id in object_ids)
    return np.sort(np.frombuffer(digests, dtype=np.uint64))
