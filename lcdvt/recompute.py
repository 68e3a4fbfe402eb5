"""Features anew from stored epochs, without touching the raw files; killed, it goes on where it was."""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from lcdvt.catalogs.survey import Survey
from lcdvt.errors import WorkspaceError
from lcdvt.executors import run_batches
from lcdvt.features.config import Engine, FeatureConfig
from lcdvt.features.extraction import extract_table, extraction_report
from lcdvt.features.gate import GateReport
from lcdvt.manifest import Journal, locked
from lcdvt.part import features_metadata, survey_features, write_part
from lcdvt.progress import Progress, silent
from lcdvt.workspace import open_survey, write_atomically

REQUEST: Final = "request.json"


@dataclass(frozen=True)
class PartTask:
    """What a worker needs to compute the features of one part."""

    epochs: Path
    features: Path
    survey: Survey
    config: FeatureConfig


@dataclass
class ExtractResult:
    """What an extraction did."""

    name: str
    folder: Path
    objects: int
    columns: int
    gaps: GateReport


def extract_survey(
    name: str,
    *,
    features: str | Sequence[str] = "fats",
    engine: Engine = "fast",
    jobs: int | None = None,
    dask: str | None = None,
    data: str | Path | None = None,
    progress: Progress = silent,
) -> ExtractResult:
    """Compute the features of an ingested survey anew.

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
    config = survey_features(stored.survey, features, engine)
    parts = sorted(stored.folder.epochs.glob("part-*.parquet"))
    if not parts:
        raise WorkspaceError(f"survey {name!r} has no epochs in {stored.folder.epochs}: ingest it again with --force.")
    total = pq.ParquetFile(stored.folder.objects).metadata.num_rows
    new = stored.folder.new_features
    with locked(stored.folder.progress):
        _begin(new, config)
        done = 0
        gaps = GateReport()

        def tasks() -> Iterator[PartTask]:
            for part in parts:
                yield PartTask(part, new / part.name, stored.survey, config)

        for report in run_batches(_extract_part, tasks(), jobs=jobs, dask=dask):
            gaps += report
            done += report.objects
            progress(done, total)
        (new / REQUEST).unlink()
        shutil.rmtree(stored.folder.features, ignore_errors=True)
        new.rename(stored.folder.features)
        # What is ingested later gets the same features.
        Journal(stored.folder.progress).change(features=asdict(config))
    return ExtractResult(name, stored.folder.features, done, len(config.columns()), gaps)


def _begin(new: Path, config: FeatureConfig) -> None:
    """Keep the parts of an interrupted extraction only if it asked for the same."""
    request = json.dumps(asdict(config), sort_keys=True)
    path = new / REQUEST
    if not path.exists() or path.read_text(encoding="utf-8") != request:
        shutil.rmtree(new, ignore_errors=True)
        write_atomically(path, lambda unfinished: unfinished.write_text(request, encoding="utf-8"))


def _extract_part(task: PartTask) -> GateReport:
    if task.features.exists():
        text = (pq.read_schema(task.features).metadata or {}).get(b"lcdvt.gate", b"")
        return GateReport.from_json(text)
    features = extract_table(pq.read_table(task.epochs), task.config)
    report = extraction_report(features)
    metadata = features_metadata(task.survey, task.config) | {"lcdvt.gate": report.to_json()}
    write_atomically(task.features, lambda path: write_part(features.replace_schema_metadata(metadata), path))
    return report
