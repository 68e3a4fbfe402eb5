"""The verb `extract`: features of epochs, of a table or of a stored survey.

A stored survey's features are computed without touching its raw files; killed, the same call goes on where it was.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from lcdvt.errors import WorkspaceError
from lcdvt.features.config import Engine
from lcdvt.features.extraction import extract as extract_epochs
from lcdvt.features.gate import GateReport
from lcdvt.features.spec import DEFAULT_FEATURES
from lcdvt.ingestion.feature_parts import FeatureTask, begin_new_features, extract_part, finish_new_features
from lcdvt.ingestion.settings import survey_features
from lcdvt.parallel.executors import Workers, run_batches
from lcdvt.parallel.progress import Progress, silent
from lcdvt.workspace.folder import PARTS
from lcdvt.workspace.journal import Journal, WrittenFile, locked
from lcdvt.workspace.survey import open_survey

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass
class ExtractResult:
    """What an extraction did.

    Parameters
    ----------
    name, folder
        The survey, and where its features are.
    objects, columns
        How many objects have features now, and how many each.
    gaps
        Light curves without features, counted by reason.
    """

    name: str
    folder: Path
    objects: int
    columns: int
    gaps: GateReport


def extract_survey(
    name: str,
    *,
    features: str | Sequence[str] = DEFAULT_FEATURES,
    engine: Engine = "fast",
    jobs: int | None = None,
    dask: str | None = None,
    data: str | Path | None = None,
    progress: Progress = silent,
) -> ExtractResult:
    """Compute the features of an ingested survey again, from its stored epochs.

    The old features stay in place until the last new part is there.

    Parameters
    ----------
    name
        The survey's name in the workspace.
    features, engine
        As in `lcdvt.ingest`.
    jobs, dask
        Worker processes (None: all cores), or a Dask scheduler's address.
    data
        The workspace.
    progress
        Called with the number of objects done.
    """
    stored = open_survey(name, data)
    folder = stored.folder
    config = survey_features(stored.survey, features, engine)
    parts = sorted(folder.epochs.glob(PARTS))
    if not parts:
        raise WorkspaceError(f"survey {name!r} has no epochs in {folder.epochs}: ingest it again with force=True.")
    total = stored.count_objects()
    with locked(folder.progress):
        journal = Journal(folder.progress)
        begin_new_features(folder, journal, config)
        gaps = GateReport()
        written: dict[str, WrittenFile] = {}

        def tasks() -> Iterator[FeatureTask]:
            for part in parts:
                yield FeatureTask(part, folder.new_features / part.name, stored.survey, config)

        for part in run_batches(extract_part, tasks(), Workers(jobs, dask), begin_here=True):
            gaps += part.report
            written[f"{folder.features.name}/{part.name}"] = part.written
            progress(gaps.objects, total)
        finish_new_features(folder, journal, config, written)
    return ExtractResult(name, folder.features, gaps.objects, len(config.columns()), gaps)


@overload
def extract(
    what: str,
    features: str | Sequence[str] = ...,
    engine: Engine = ...,
    jobs: int | None = ...,
    *,
    dask: str | None = ...,
    data: str | Path | None = ...,
    progress: Progress = ...,
) -> ExtractResult: ...
@overload
def extract(
    what: "pd.DataFrame | pa.Table",
    features: str | Sequence[str] = ...,
    engine: Engine = ...,
    jobs: int | None = ...,
    *,
    bands: Sequence[str] | None = ...,
    period_range: tuple[float, float] | None = ...,
    pairing_days: float = ...,
    dask: str | None = ...,
) -> "pd.DataFrame": ...
def extract(
    what: "str | pd.DataFrame | pa.Table",
    features: str | Sequence[str] = DEFAULT_FEATURES,
    engine: Engine = "fast",
    jobs: int | None = None,
    **options: Any,
) -> "ExtractResult | pd.DataFrame":
    """Compute features: of an ingested survey by its name, or of epochs that you hold.

    Parameters
    ----------
    what
        An ingested survey's name: its stored features are replaced when all new ones are there. Or a table of epochs
        (object_id, band, mjd, mag, mag_err): its features are returned, one row for each object.
    features
        "all", "fats" (all but the Fourier parameters at the period), or feature names (`lcdvt.features()` lists them).
    engine
        "fast" for this package's kernels, "feets" for the installed feets.
    jobs
        Worker processes (None: all cores).
    options
        For a survey: dask, data, progress, as in `lcdvt.ingest`. For epochs: bands, period_range, pairing_days, dask,
        as in `lcdvt.features.extract`.
    """
    if isinstance(what, str):
        return extract_survey(what, features=features, engine=engine, jobs=jobs, **options)
    return extract_epochs(what, features, engine, jobs, **options)
