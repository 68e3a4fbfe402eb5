"""The features of stored parts: computed from stored epochs, and exchanged for older ones all at once.

New features grow in a folder of their own. When the last part is there they take the place of the old ones, in steps
that can be taken up again wherever a kill interrupts them.
"""

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from lcdvt import __version__
from lcdvt.catalogs.survey import Survey
from lcdvt.disk.atomic import UNFINISHED_SUFFIX, write_atomically, write_text
from lcdvt.features.config import FeatureConfig
from lcdvt.features.extraction import extract_table, extraction_report
from lcdvt.features.gate import GateReport
from lcdvt.workspace.folder import SurveyFolder, read_part, write_part
from lcdvt.workspace.journal import Journal, WrittenFile, written_file

# Hidden, so that nothing takes them for features.
REQUEST: Final = ".request.json"
WRITTEN: Final = ".written.json"
"""Written last: with it a folder of new features is complete."""


@dataclass(frozen=True)
class FeatureTask:
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


def features_metadata(survey: Survey, config: FeatureConfig) -> dict[str, str]:
    """Return what a Parquet file of features says of itself."""
    return {
        "lcdvt.version": __version__,
        "lcdvt.survey": survey.name,
        "lcdvt.citation": survey.citation,
        "lcdvt.magnitude": survey.magnitudes_in_words,
        "lcdvt.features": json.dumps(asdict(config), sort_keys=True),
    }


def extract_part(task: FeatureTask) -> ExtractedPart:
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


def begin_new_features(folder: SurveyFolder, journal: Journal, config: FeatureConfig) -> None:
    """Keep the parts of an interrupted extraction only if it asked for the same."""
    request = json.dumps(asdict(config), sort_keys=True)
    path = folder.new_features / REQUEST
    if path.exists() and path.read_text(encoding="utf-8") == request:
        for leftover in folder.new_features.glob(f".*{UNFINISHED_SUFFIX}"):
            leftover.unlink()
        return
    put_in_place(folder, journal)  # another request's features, if they were complete
    shutil.rmtree(folder.new_features, ignore_errors=True)
    write_text(path, request)


def finish_new_features(
    folder: SurveyFolder, journal: Journal, config: FeatureConfig, written: dict[str, WrittenFile]
) -> None:
    """Note that all new features are written, and let them take the place of the old ones."""
    write_text(folder.new_features / WRITTEN, json.dumps({"features": asdict(config), "files": written}))
    put_in_place(folder, journal)


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
