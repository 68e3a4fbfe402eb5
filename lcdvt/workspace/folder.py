"""The workspace on disk: where things lie, and how its parts are written and read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lcdvt.disk.atomic import writable
from lcdvt.disk.checksums import checksum
from lcdvt.errors import WorkspaceError, first_line
from lcdvt.names import OBJECT_ID

if TYPE_CHECKING:
    import pyarrow as pa


ENVIRONMENT_VARIABLE: Final = "LCDVT_DATA"
DEFAULT_FOLDER: Final = "lcdvt-data"
RUNS_FOLDER: Final = "runs"
OBJECTS_FILE: Final = "objects.parquet"
SURVEY_FILE: Final = "survey.toml"
SUMMARY_FILE: Final = "ingest.json"
WRITTEN_BY_EVERY_INGEST: Final = (OBJECTS_FILE, SURVEY_FILE, SUMMARY_FILE)
PARTS: Final = "part-*.parquet"
REBUILD: Final = "rebuild it with `lcdvt ingest --repair` and the same input"
_PARQUET_END: Final = b"PAR1"
_WRITTEN_AT_ONCE: Final = 1 << 16
"""Rows that pyarrow encodes in one go; its default of 1024 costs a tenth more."""


def workspace_folder(data: str | Path | None = None) -> Path:
    """Return the workspace: the given folder, else LCDVT_DATA, else ./lcdvt-data."""
    return Path(data or os.environ.get(ENVIRONMENT_VARIABLE) or DEFAULT_FOLDER)


@dataclass(frozen=True)
class SurveyFolder:
    """The files of one ingested survey."""

    root: Path

    @property
    def epochs(self) -> Path:
        """The folder of epochs parts."""
        return self.root / "epochs"

    @property
    def limits(self) -> Path:
        """The folder of parts of upper limits; a part without any has no file there."""
        return self.root / "limits"

    @property
    def unseen(self) -> Path:
        """The folder of upper limits, part by part, of objects that have no epoch in the files of the part."""
        return self.progress / "unseen"

    @property
    def features(self) -> Path:
        """The folder of feature parts."""
        return self.root / "features"

    @property
    def new_features(self) -> Path:
        """New features that are being computed."""
        return self.root / "features.new"

    @property
    def old_features(self) -> Path:
        """Features that were just replaced by new ones."""
        return self.root / "features.old"

    @property
    def replicates(self) -> Path:
        """Features of thinned light curves; they can be made again at any time."""
        return self.root / "replicates"

    @property
    def objects(self) -> Path:
        """The objects table."""
        return self.root / OBJECTS_FILE

    @property
    def pieces(self) -> Path:
        """Which light curves each star was joined from; only where they were joined."""
        return self.root / "pieces.parquet"

    @property
    def survey_toml(self) -> Path:
        """What the survey is."""
        return self.root / SURVEY_FILE

    @property
    def summary(self) -> Path:
        """What was read, dropped and why."""
        return self.root / SUMMARY_FILE

    @property
    def progress(self) -> Path:
        """The folder of the journal by which an interrupted ingest resumes."""
        return self.root / ".ingest"


def pieces_folder(folder: SurveyFolder) -> SurveyFolder:
    """Return where the light curves of a survey wait as they were read, before they are joined to stars."""
    return SurveyFolder(folder.progress / "pieces")


def part_name(number: int) -> str:
    """Return the file name of a part."""
    return f"part-{number:05d}.parquet"


def cut_files(folder: SurveyFolder) -> list[Path]:
    """Return the Parquet files that do not end as Parquet does: a file that lost its end, whoever wrote it.

    Eight bytes of each are looked at, so that opening a survey stays quick; `lcdvt verify` reads everything.
    """
    parts = (part for place in (folder.epochs, folder.limits, folder.features) for part in sorted(place.glob(PARTS)))
    return [path for path in (folder.objects, *parts) if not _ends_as_parquet(path)]


def _ends_as_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size < 3 * len(_PARQUET_END):
            return False
        file.seek(-2 * len(_PARQUET_END), os.SEEK_END)
        footer, end = file.read(len(_PARQUET_END)), file.read()
    return end == _PARQUET_END and int.from_bytes(footer, "little") < size


def read_part(path: Path, columns: list[str] | None = None, *, remedy: str = REBUILD) -> "pa.Table":
    """Read a Parquet file of the workspace, or a folder of them; a damaged one is named."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with damage_is_named(path, remedy):
        if path.is_dir():
            table = pq.read_table(path, columns=columns)
            return table.rename_columns(table.column_names)  # names that are no text are found out here
        with pq.ParquetFile(path) as file:  # half the cost of read_table, which looks for a dataset first
            known = file.schema_arrow.names
            if missing := [name for name in columns or () if name not in known]:
                raise pa.ArrowInvalid(f"it has no column {missing[0]!r}")
            table = file.read(columns=columns)
            return table if columns is None else table.select(columns)


@contextmanager
def damage_is_named(path: Path, remedy: str = REBUILD) -> Iterator[None]:
    """Say which file of the workspace it is that Arrow cannot read, and what to do about it."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last by columns whose names are no text
        raise WorkspaceError(f"{path} is damaged ({first_line(error)}): {remedy}.") from error


def ingested_surveys(workspace: Path) -> list[str]:
    """Return the names of the surveys that are ingested in the workspace."""
    return sorted(path.parent.name for path in workspace.glob(f"*/{OBJECTS_FILE}") if path.parent.name != RUNS_FOLDER)


def write_part(table: "pa.Table", path: Path) -> str:
    """Write a part of epochs, features or objects, and return its checksum.

    It is not forced to the disk, which would cost more than reading the files did: the journal keeps each part's
    size and checksum instead, and a part that a power cut left shorter is found out when the survey is next opened.

    Dictionaries for all columns: ids and bands repeat, and so do magnitudes of three decimals (smaller and faster,
    measured). Without the Arrow schema readers get plain strings back, not dictionaries that differ from part to part.
    Least and largest value for the ids only: each part has stars of all dates and magnitudes, so that those of other
    columns help nobody to find a row.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    whole = pa.BufferOutputStream()
    with pq.ParquetWriter(
        whole,
        table.schema,
        compression="snappy",
        store_schema=False,
        write_statistics=[OBJECT_ID],
        write_batch_size=_WRITTEN_AT_ONCE,
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(table.schema.metadata or {})
    content = whole.getvalue()
    with writable(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return checksum(content)
