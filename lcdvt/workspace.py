"""The workspace on disk: where things lie, and how an ingested survey is opened."""

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.survey_toml import survey_from_file
from lcdvt.errors import WorkspaceError
from lcdvt.limited_text import read_json_object
from lcdvt.names import BAND, MAG, MAG_ERR, MJD, OBJECT_ID

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.dataset as pds
    from astropy.timeseries import TimeSeries

Written = TypeVar("Written")

ENVIRONMENT_VARIABLE: Final = "LCDVT_DATA"
DEFAULT_FOLDER: Final = "lcdvt-data"
RUNS_FOLDER: Final = "runs"
OBJECTS_FILE: Final = "objects.parquet"
PARTS: Final = "part-*.parquet"
_PARQUET_END: Final = b"PAR1"
_DISK_TROUBLE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST)


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
    def features(self) -> Path:
        """The folder of feature parts."""
        return self.root / "features"

    @property
    def new_features(self) -> Path:
        """Features that are being computed anew."""
        return self.root / "features.new"

    @property
    def old_features(self) -> Path:
        """Features that were just replaced by new ones."""
        return self.root / "features.old"

    @property
    def objects(self) -> Path:
        """The objects table."""
        return self.root / OBJECTS_FILE

    @property
    def survey_toml(self) -> Path:
        """What the survey is."""
        return self.root / "survey.toml"

    @property
    def summary(self) -> Path:
        """What was read, dropped and why."""
        return self.root / "ingest.json"

    @property
    def progress(self) -> Path:
        """The folder of the journal by which an interrupted ingest resumes."""
        return self.root / ".ingest"


def part_name(number: int) -> str:
    """Return the file name of a part."""
    return f"part-{number:05d}.parquet"


def write_atomically(path: Path, write: Callable[[Path], Written]) -> Written:
    """Let `write` fill a temporary file and rename it: the file is there whole or not at all."""
    with writable(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".unfinished", dir=path.parent)
        os.close(handle)
        unfinished = Path(name)
        try:
            result = write(unfinished)
            unfinished.chmod(0o666 & ~_umask())
            with unfinished.open("rb") as written:
                os.fsync(written.fileno())
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    return result


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
            "make room or choose another --data folder, and run the same command again."
        ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def open_survey(name: str, data: str | Path | None = None) -> "StoredSurvey":
    """Open an ingested survey by name."""
    workspace = workspace_folder(data)
    folder = SurveyFolder(workspace / name)
    if not folder.objects.is_file():
        known = ", ".join(ingested_surveys(workspace)) or "none yet"
        raise WorkspaceError(
            f"survey {name!r} is not ingested in {workspace} (there: {known}): run `lcdvt ingest` first."
        )
    damaged = cut_files(folder)
    if damaged:
        others = f" (and {len(damaged) - 1} more)" if len(damaged) > 1 else ""
        raise WorkspaceError(
            f"{damaged[0]}{others} is damaged or cut short: rebuild it with `lcdvt ingest --repair` and the same "
            f"input; `lcdvt verify {name}` lists all that is wrong."
        )
    return StoredSurvey(name, folder, survey_from_file(folder.survey_toml))


def cut_files(folder: SurveyFolder) -> list[Path]:
    """Return the Parquet files that do not end as Parquet does: a file that lost its end, whoever wrote it.

    Eight bytes of each are looked at, so that opening a survey stays quick; `lcdvt verify` reads everything.
    """
    parts = (part for place in (folder.epochs, folder.features) for part in sorted(place.glob(PARTS)))
    return [path for path in (folder.objects, *parts) if not _ends_as_parquet(path)]


def _ends_as_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size < 3 * len(_PARQUET_END):
            return False
        file.seek(-2 * len(_PARQUET_END), os.SEEK_END)
        footer, end = file.read(len(_PARQUET_END)), file.read()
    return end == _PARQUET_END and int.from_bytes(footer, "little") < size


def read_part(path: Path, columns: list[str] | None = None) -> "pa.Table":
    """Read a Parquet file of the workspace; a damaged one is named."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(path, columns=columns)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise WorkspaceError(
            f"{path} is damaged ({reason}): rebuild it with `lcdvt ingest --repair` and the same input."
        ) from error


def ingested_surveys(workspace: Path) -> list[str]:
    """Return the names of the surveys that are ingested in the workspace."""
    return sorted(path.parent.name for path in workspace.glob(f"*/{OBJECTS_FILE}") if path.parent.name != RUNS_FOLDER)


@dataclass(frozen=True)
class StoredSurvey:
    """An ingested survey; nothing is loaded before it is asked for."""

    name: str
    folder: SurveyFolder
    survey: Survey

    @property
    def is_simulated(self) -> bool:
        """Whether the simulator made it: every figure from it is then marked so."""
        try:
            return bool(read_json_object(self.folder.summary).get("simulated"))
        except (OSError, ValueError) as error:
            raise WorkspaceError(
                f"{self.folder.summary} cannot be read ({error}): run the same `lcdvt ingest` again to write it anew."
            ) from error

    @property
    def epochs(self) -> "pds.Dataset":
        """All epochs as a pyarrow dataset: filter and project it without loading it whole."""
        import pyarrow.dataset as pds

        return pds.dataset(self.folder.epochs, format="parquet", exclude_invalid_files=False)

    def iter_epochs(self) -> "Iterator[pd.DataFrame]":
        """Yield the epochs part by part; an object never spans two parts."""
        for part in sorted(self.folder.epochs.glob(PARTS)):
            yield read_part(part).to_pandas()

    def objects(self) -> "pd.DataFrame":
        """Return the objects table: id, label, position, number of epochs per band, source file."""
        return read_part(self.folder.objects).to_pandas()

    def features(self) -> "pd.DataFrame":
        """Return the features of every object."""
        if not any(self.folder.features.glob(PARTS)):
            raise WorkspaceError(f"survey {self.name!r} has no features: run `lcdvt extract {self.name}`.")
        return read_part(self.folder.features).to_pandas()

    def light_curve(self, object_id: str) -> "pd.DataFrame":
        """Return one object's epochs."""
        import pyarrow.compute as pc

        found = self.epochs.to_table(filter=pc.field(OBJECT_ID) == object_id).to_pandas()
        if found.empty:
            raise WorkspaceError(f"survey {self.name!r} has no object {object_id!r}.")
        return found

    def to_timeseries(self, object_id: str) -> "TimeSeries":
        """Return one object's epochs as an astropy TimeSeries with units."""
        import astropy.units as u
        from astropy.time import Time
        from astropy.timeseries import TimeSeries

        curve = self.light_curve(object_id)
        time = Time(curve[MJD].to_numpy(), format="mjd", scale=self.survey.time.scale)
        series = TimeSeries(
            time=time, meta={"survey": self.name, "object_id": object_id, "citation": self.survey.citation}
        )
        series[BAND] = curve[BAND].to_numpy().astype(str)
        series[MAG] = curve[MAG].to_numpy() * u.mag
        series[MAG_ERR] = curve[MAG_ERR].to_numpy() * u.mag
        return series

    def to_nested(self) -> Any:
        """Return the objects as a nested-pandas frame, each with its epochs in the column `lightcurve`."""
        try:
            from nested_pandas import NestedFrame
        except ImportError as error:
            raise WorkspaceError("to_nested needs nested-pandas: pip install 'lcdvt[lsdb]'.") from error
        objects = NestedFrame(self.objects().set_index(OBJECT_ID))
        epochs = self.epochs.to_table().to_pandas().set_index(OBJECT_ID)
        return objects.join_nested(epochs, "lightcurve")
