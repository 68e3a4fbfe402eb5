"""The workspace on disk: where things lie, and how an ingested survey is opened."""

import errno
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.survey_toml import survey_from_file
from lcdvt.errors import WorkspaceError
from lcdvt.names import BAND, MAG, MAG_ERR, MJD, OBJECT_ID

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.dataset as pds
    from astropy.timeseries import TimeSeries

ENVIRONMENT_VARIABLE: Final = "LCDVT_DATA"
DEFAULT_FOLDER: Final = "lcdvt-data"
RUNS_FOLDER: Final = "runs"
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
    def objects(self) -> Path:
        """The objects table."""
        return self.root / "objects.parquet"

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


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` fill a temporary file and rename it: the file is there whole or not at all."""
    with writable(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".unfinished", dir=path.parent)
        os.close(handle)
        unfinished = Path(name)
        try:
            write(unfinished)
            unfinished.chmod(0o666 & ~_umask())
            with unfinished.open("rb") as written:
                os.fsync(written.fileno())
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)


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
    return StoredSurvey(name, folder, survey_from_file(folder.survey_toml))


def ingested_surveys(workspace: Path) -> list[str]:
    """Return the names of the surveys that are ingested in the workspace."""
    return sorted(path.parent.name for path in workspace.glob("*/objects.parquet") if path.parent.name != RUNS_FOLDER)


@dataclass(frozen=True)
class StoredSurvey:
    """An ingested survey; nothing is loaded before it is asked for."""

    name: str
    folder: SurveyFolder
    survey: Survey

    @property
    def is_simulated(self) -> bool:
        """Whether the simulator made it: every figure from it is then marked so."""
        return bool(json.loads(self.folder.summary.read_text(encoding="utf-8")).get("simulated"))

    @property
    def epochs(self) -> "pds.Dataset":
        """All epochs as a pyarrow dataset: filter and project it without loading it whole."""
        import pyarrow.dataset as pds

        return pds.dataset(self.folder.epochs, format="parquet", exclude_invalid_files=False)

    def iter_epochs(self) -> "Iterator[pd.DataFrame]":
        """Yield the epochs part by part; an object never spans two parts."""
        import pyarrow.parquet as pq

        for part in sorted(self.folder.epochs.glob("part-*.parquet")):
            yield pq.read_table(part).to_pandas()

    def objects(self) -> "pd.DataFrame":
        """Return the objects table: id, label, position, number of epochs per band, source file."""
        import pandas as pd

        return pd.read_parquet(self.folder.objects)

    def features(self) -> "pd.DataFrame":
        """Return the features of every object."""
        import pandas as pd

        if not any(self.folder.features.glob("part-*.parquet")):
            raise WorkspaceError(f"survey {self.name!r} has no features: run `lcdvt extract {self.name}`.")
        return pd.read_parquet(self.folder.features)

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
