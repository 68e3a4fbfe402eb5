"""One batch becomes one part: read, arrange, clean, write. Runs in a worker, touches nothing else."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lcdvt import __version__
from lcdvt.catalogs.curves import RawObject
from lcdvt.catalogs.files import MEMBER_SEPARATOR, absolute_name
from lcdvt.catalogs.reader import Piece, read_pieces
from lcdvt.catalogs.survey import Survey
from lcdvt.checksums import checksum
from lcdvt.clean import Step, clean
from lcdvt.epochs import READ_BEFORE, EpochBlock, block_from_raw, epochs_metadata
from lcdvt.features.config import Engine, FeatureConfig
from lcdvt.features.extraction import extract_table, extraction_report
from lcdvt.memory import keep_freed_memory
from lcdvt.names import BAND, DEC, OBJECT_ID, RA, SOURCE, SURVEY_LABEL, n_epochs_column
from lcdvt.workspace import SurveyFolder, part_name, writable

PART: Final = "part"
WRITTEN_AT_ONCE: Final = 1 << 16
"""Rows that pyarrow encodes in one go; its default of 1024 costs a tenth more."""


@dataclass(frozen=True)
class BatchTask:
    """What a worker needs to make one part."""

    number: int
    pieces: tuple[Piece, ...]
    survey: Survey
    rule: tuple[Step, ...]
    features: FeatureConfig | None
    folder: SurveyFolder
    roots: tuple[str, ...] = ()
    """The inputs as the user gave them: class folders are looked for from there downwards."""


@dataclass
class PartResult:
    """A part that is written but not yet in place, and what happened on the way."""

    number: int
    folder: SurveyFolder
    object_ids: list[str]
    sources: list[str]
    files: int
    files_skipped: int
    epochs_read: int
    epochs: int
    dropped_epochs: Counter[str]
    dropped_objects: Counter[str]
    problems: list[str]
    left_out: dict[str, str] = field(default_factory=dict)
    """Each object that cleaning dropped, and why."""
    feature_gaps: Counter[str] = field(default_factory=Counter)
    attempt: str = field(default_factory=lambda: uuid4().hex[:8])
    """Two workers of a cluster may make the same part, if one was given up too early: each has files of its own."""
    checksums: dict[str, str] = field(default_factory=dict)
    """Of each file of the part, by its path in the survey's folder."""

    @property
    def objects(self) -> int:
        """The number of objects in the part."""
        return len(self.object_ids)

    @cached_property
    def staged(self) -> dict[Path, Path]:
        """Where each file is written, and where it goes when the part is committed."""
        name = part_name(self.number)
        return {
            place / f".{name}.{self.attempt}.unfinished": place / name
            for place in (self.folder.epochs, self.folder.features, objects_folder(self.folder))
        }

    def write(self, table: pa.Table, unfinished: Path) -> None:
        """Write one file of the part under its temporary name, and remember its checksum."""
        final = self.staged[unfinished]
        self.checksums[str(final.relative_to(self.folder.root))] = write_part(table, unfinished)

    def commit(self) -> dict[str, int]:
        """Put the part in place and return the size of each of its files."""
        sizes = {}
        for unfinished, final in self.staged.items():
            if unfinished.exists():
                sizes[str(final.relative_to(self.folder.root))] = unfinished.stat().st_size
                unfinished.replace(final)
        return sizes

    def drop(self, repeated: dict[str, str]) -> None:
        """Leave out objects that another part has already (id -> where it was read from)."""
        for unfinished in filter(Path.exists, self.staged):
            table = pq.read_table(unfinished)
            kept = table.filter(pc.invert(pc.is_in(table[OBJECT_ID], pa.array(list(repeated)))))
            if BAND in table.column_names:
                self.epochs -= table.num_rows - kept.num_rows
                self.dropped_epochs[READ_BEFORE] += table.num_rows - kept.num_rows
            self.write(kept.replace_schema_metadata(pq.read_schema(unfinished).metadata), unfinished)
        for object_id, source in zip(self.object_ids, self.sources, strict=True):
            if object_id in repeated and source == repeated[object_id]:
                self.problems.append(f"{source} has changed since it was ingested: use --force to ingest anew.")
            elif object_id in repeated:
                self.problems.append(
                    f"{source}: object {object_id} was already read from {repeated[object_id]}; this one is skipped: "
                    "give each object once, all its bands in one folder or archive, or use --force to ingest anew."
                )
        self.dropped_objects["read before"] += len(repeated)
        kept_ids = [object_id not in repeated for object_id in self.object_ids]
        self.sources = [source for source, keep in zip(self.sources, kept_ids, strict=True) if keep]
        self.object_ids = [object_id for object_id in self.object_ids if object_id not in repeated]


def objects_folder(folder: SurveyFolder) -> Path:
    """Return where the objects of each part wait to be joined with their labels."""
    return folder.progress / "objects"


def make_part(task: BatchTask) -> PartResult:
    """Read, arrange, clean and write one batch; the files wait under temporary names for `commit`."""
    keep_freed_memory()
    curves = read_pieces(task.survey, task.pieces)
    files_with_objects = {found.source for found in curves.objects}
    epochs_read = curves.epochs.time.size
    block = block_from_raw(task.survey, curves)
    clean(block, task.rule)
    result = PartResult(
        number=task.number,
        folder=task.folder,
        object_ids=[found.object_id for found in block.objects],
        sources=[found.source for found in block.objects],
        files=len({piece.name for piece in task.pieces}),
        files_skipped=len({piece.shown for piece in task.pieces} - files_with_objects),
        epochs_read=epochs_read,
        epochs=block.mjd.size,
        dropped_epochs=block.dropped_epochs,
        dropped_objects=block.dropped_objects,
        problems=curves.problems,
        left_out=block.left_out,
    )
    if not block.objects:
        return result
    epochs = block.to_arrow()
    to_epochs, to_features, to_objects = result.staged
    result.write(epochs.replace_schema_metadata(epochs_metadata(task.survey)), to_epochs)
    result.write(_objects_table(task, block), to_objects)
    if task.features is not None:
        features = extract_table(epochs, task.features)
        result.feature_gaps.update(extraction_report(features).curves)
        result.write(features.replace_schema_metadata(features_metadata(task.survey, task.features)), to_features)
    return result


def survey_features(survey: Survey, features: str | Sequence[str], engine: Engine) -> FeatureConfig:
    """Return what to extract from a survey's light curves."""
    chosen = features if isinstance(features, str) else tuple(features)
    return FeatureConfig(survey.bands, chosen, engine, survey.period_range, pairing_days=survey.pairing_days)


def features_metadata(survey: Survey, config: FeatureConfig) -> dict[str, str]:
    """Return what a Parquet file of features says of itself."""
    return {
        "lcdvt.version": __version__,
        "lcdvt.survey": survey.name,
        "lcdvt.citation": survey.citation,
        "lcdvt.features": json.dumps(asdict(config), sort_keys=True),
    }


def write_part(table: pa.Table, path: Path) -> str:
    """Write a part of epochs, features or objects, and return its checksum.

    It is not forced to the disk, which would cost more than reading the files did: the journal keeps each part's
    size and checksum instead, and a part that a power cut left shorter is found out when the survey is next opened.

    Dictionaries for all columns: ids and bands repeat, and so do magnitudes of three decimals (smaller and faster,
    measured). Without the Arrow schema readers get plain strings back, not dictionaries that differ from part to part.
    Least and largest value for the ids only: each part has stars of all dates and magnitudes, so that those of other
    columns help nobody to find a row.
    """
    whole = pa.BufferOutputStream()
    with pq.ParquetWriter(
        whole,
        table.schema,
        compression="snappy",
        store_schema=False,
        write_statistics=[OBJECT_ID],
        write_batch_size=WRITTEN_AT_ONCE,
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(table.schema.metadata or {})
    content = whole.getvalue()
    with writable(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return checksum(content)


def _objects_table(task: BatchTask, block: EpochBlock) -> pa.Table:
    counts = block.epochs_per_band()
    columns: dict[str, Any] = {
        OBJECT_ID: pa.array([found.object_id for found in block.objects], pa.string()),
        SURVEY_LABEL: pa.array(_own_labels(task.survey, block.objects, task.roots), pa.string()),
        RA: np.array([found.ra for found in block.objects]),
        DEC: np.array([found.dec for found in block.objects]),
    }
    for position, band in enumerate(task.survey.bands):
        columns[n_epochs_column(band)] = counts[:, position]
    columns[SOURCE] = pa.array([found.source for found in block.objects], pa.string())
    columns[PART] = np.full(len(block.objects), task.number, dtype=np.int32)
    return pa.table(columns)


def _own_labels(survey: Survey, objects: list[RawObject], roots: tuple[str, ...]) -> list[str | None]:
    """Return the class that each light-curve file or its nearest class folder gives."""
    of_folder: dict[str, str | None] = {}
    labels: list[str | None] = []
    for found in objects:
        folder = found.source.replace(MEMBER_SEPARATOR, "/").rpartition("/")[0]
        if not found.survey_label and folder not in of_folder:
            of_folder[folder] = _class_of_folder(survey, folder, roots)
        labels.append(found.survey_label or of_folder[folder])
    return labels


def _class_of_folder(survey: Survey, folder: str, roots: tuple[str, ...]) -> str | None:
    path = absolute_name(folder)
    above = max((root for root in roots if f"{path}/".startswith(f"{root}/")), key=len, default="")
    below = path[len(above.rpartition("/")[0]) :]  # the input's own name counts, what it lies in does not
    return next((label for part in reversed(below.split("/")) if (label := survey.folder_class(part))), None)
