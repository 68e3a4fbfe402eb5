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
from lcdvt.features.spec import DEFAULT_FEATURES
from lcdvt.manifest import Journal, WrittenFile, locked, written_file
from lcdvt.part import features_metadata, survey_features, write_part
from lcdvt.progress import Progress, silent
from lcdvt.workspace import PARTS, SurveyFolder, open_survey, read_part, write_atomically

# Hidden, so that nothing takes them for features.
REQUEST: Final = ".request.json"
WRITTEN: Final = ".written.json"
"""Written last: with it a folder of new features is complete."""


@dataclass(frozen=True)
class PartTask:
    """What a worker needs to compute the features of one part."""

    epochs: Path
    features: Path
    survey: Survey
    config: FeatureConfig


@dataclass(frozen=True)
class ExtractedPart:
    """A part whose features are written."""

    name: str
    report: GateReport
    written: WrittenFile


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
    features: str | Sequence[str] = DEFAULT_FEATURES,
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
    parts = sorted(stored.folder.epochs.glob(PARTS))
    if not parts:
        raise WorkspaceError(f"survey {name!r} has no epochs in {stored.folder.epochs}: ingest it again with --force.")
    total = pq.ParquetFile(stored.folder.objects).metadata.num_rows
    new = stored.folder.new_features
    with locked(stored.folder.progress):
        journal = Journal(stored.folder.progress)
        _begin(stored.folder, journal, config)
        done = 0
        gaps = GateReport()
        written: dict[str, WrittenFile] = {}

        def tasks() -> Iterator[PartTask]:
            for part in parts:
                yield PartTask(part, new / part.name, stored.survey, config)

        for part in run_batches(extract_part, tasks(), jobs=jobs, dask=dask):
            gaps += part.report
            done += part.report.objects
            written[f"{stored.folder.features.name}/{part.name}"] = part.written
            progress(done, total)
        record = json.dumps({"features": asdict(config), "files": written})
        write_atomically(new / WRITTEN, lambda path: path.write_text(record, encoding="utf-8"))
        put_in_place(stored.folder, journal)
    return ExtractResult(name, stored.folder.features, done, len(config.columns()), gaps)


def _begin(folder: SurveyFolder, journal: Journal, config: FeatureConfig) -> None:
    """Keep the parts of an interrupted extraction only if it asked for the same."""
    request = json.dumps(asdict(config), sort_keys=True)
    path = folder.new_features / REQUEST
    if path.exists() and path.read_text(encoding="utf-8") == request:
        return
    put_in_place(folder, journal)  # another request's features, if they were complete
    shutil.rmtree(folder.new_features, ignore_errors=True)
    write_atomically(path, lambda unfinished: unfinished.write_text(request, encoding="utf-8"))


def put_in_place(folder: SurveyFolder, journal: Journal) -> None:
    """Let complete new features take the place of the old ones; killed in between, the next call goes on.

    Features are never half old and half new: for a moment they may be gone, which every reader notices.
    """
    new = folder.new_features
    if not (new / WRITTEN).is_file():
        return
    record = json.loads((new / WRITTEN).read_text(encoding="utf-8"))
    shutil.rmtree(folder.old_features, ignore_errors=True)
    if folder.features.exists():
        folder.features.rename(folder.old_features)
    # What is ingested later gets the same features.
    journal.change(features=record["features"])
    journal.note_files({name: WrittenFile(*values) for name, values in record["files"].items()})
    new.rename(folder.features)
    for note in (WRITTEN, REQUEST):
        (folder.features / note).unlink(missing_ok=True)
    shutil.rmtree(folder.old_features, ignore_errors=True)


def extract_part(task: PartTask) -> ExtractedPart:
    """Compute and write the features of one part, unless an interrupted extraction has done so."""
    name = task.features.name
    if task.features.exists():
        text = (pq.read_schema(task.features).metadata or {}).get(b"lcdvt.gate", b"")
        return ExtractedPart(name, GateReport.from_json(text), written_file(task.features))
    features = extract_table(read_part(task.epochs), task.config)
    report = extraction_report(features)
    metadata = features_metadata(task.survey, task.config) | {"lcdvt.gate": report.to_json()}
    described = features.replace_schema_metadata(metadata)
    checksum = write_atomically(task.features, lambda path: write_part(described, path))
    return ExtractedPart(name, report, WrittenFile(task.features.stat().st_size, checksum))
