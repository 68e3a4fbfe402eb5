"""One batch becomes one part: read, arrange, clean, write. Runs in a worker, touches nothing else."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lcdvt.catalogs.reading.curves import BROKEN_LINE, RawCurves, RawObject
from lcdvt.catalogs.reading.dates_beside import is_table_of_dates
from lcdvt.catalogs.reading.file_list import InputFile
from lcdvt.catalogs.reading.files import MEMBER_SEPARATOR, absolute_name
from lcdvt.catalogs.reading.reader import read_pieces
from lcdvt.catalogs.survey import Survey
from lcdvt.disk.atomic import UNFINISHED_SUFFIX
from lcdvt.disk.checksums import file_checksum
from lcdvt.epochs.block import READ_BEFORE, EpochBlock, block_from_raw, epochs_metadata
from lcdvt.epochs.clean import clean
from lcdvt.epochs.limits import limits_metadata
from lcdvt.features.extraction import extract_table, extraction_report
from lcdvt.ingestion.batches import Batch, object_key
from lcdvt.ingestion.feature_parts import features_metadata
from lcdvt.ingestion.settings import IngestPlan
from lcdvt.names import BAND, DEC, MAG_LIMIT, OBJECT_ID, RA, SOURCE, SOURCES_SEPARATOR, SURVEY_LABEL, n_epochs_column
from lcdvt.workspace.folder import SurveyFolder, part_name, write_part
from lcdvt.workspace.journal import PartRecord, input_key
from lcdvt.workspace.objects import PART, part_folders

FLUXES_BELOW_ZERO: Final = "fluxes of zero or below, kept"


@dataclass(frozen=True)
class PartTask:
    """A batch, and the number of the part that it becomes."""

    number: int
    batch: Batch


@dataclass
class MadePart:
    """A part that is written but not yet in place.

    Parameters
    ----------
    record
        What the journal will say of it.
    folder
        Where it goes.
    object_ids, sources
        Its objects, and the files that each was read from.
    may_grow
        Those of a format in which other files may hold more of an object in the same band.
    inputs, read_files
        What it was read from: the files the user gave, and by name what they hold.
    attempt
        Two workers of a cluster may make the same part, if one was given up too early: each has files of its own.
    """

    record: PartRecord
    folder: SurveyFolder
    object_ids: list[str]
    sources: list[str]
    may_grow: frozenset[str] = frozenset()
    inputs: tuple[InputFile, ...] = ()
    read_files: frozenset[str] = frozenset()
    attempt: str = field(default_factory=lambda: uuid4().hex[:8])

    @cached_property
    def staged(self) -> dict[Path, Path]:
        """Where each file is written, and where it goes when the part is committed."""
        name = part_name(self.record.number)
        return {self.unfinished(place): place / name for place in (*part_folders(self.folder), self.folder.unseen)}

    def unfinished(self, place: Path) -> Path:
        """Return the temporary name of the part's file in one of the folders."""
        return place / f".{part_name(self.record.number)}.{self.attempt}{UNFINISHED_SUFFIX}"

    def write(self, table: pa.Table, unfinished: Path) -> None:
        """Write one file of the part under its temporary name, and remember its checksum."""
        self.record.checksums[self._name(self.staged[unfinished])] = write_part(table, unfinished)

    def commit(self) -> PartRecord:
        """Put the part in place and return the journal's record of it."""
        for unfinished, final in self.staged.items():
            if unfinished.exists():
                self.record.sizes[self._name(final)] = unfinished.stat().st_size
                unfinished.replace(final)
        return self.record

    def discard(self) -> None:
        """Remove what was written."""
        for unfinished in self.staged:
            unfinished.unlink(missing_ok=True)

    def _name(self, final: Path) -> str:
        return str(final.relative_to(self.folder.root))

    def leave_out(self, object_ids: Collection[str]) -> None:
        """Leave out objects that another part has already."""
        if not object_ids:
            return
        record, unwanted = self.record, set(object_ids)
        of_objects = [self.unfinished(place) for place in part_folders(self.folder)]
        for unfinished in filter(Path.exists, of_objects):
            table = pq.read_table(unfinished)
            kept = table.filter(pc.invert(pc.is_in(table[OBJECT_ID], pa.array(sorted(unwanted), pa.string()))))
            if BAND in table.column_names:  # epochs or upper limits
                lost = table.num_rows - kept.num_rows
                if MAG_LIMIT in table.column_names:
                    record.limits -= lost
                else:
                    record.epochs -= lost
                record.dropped_epochs[READ_BEFORE] = record.dropped_epochs.get(READ_BEFORE, 0) + lost
            self.write(kept.replace_schema_metadata(pq.read_schema(unfinished).metadata), unfinished)
        kept_here = [object_id not in unwanted for object_id in self.object_ids]
        self.sources = [source for source, keep in zip(self.sources, kept_here, strict=True) if keep]
        self.object_ids = [object_id for object_id in self.object_ids if object_id not in unwanted]
        record.objects = len(self.object_ids)
        if not self.object_ids:
            for unfinished in of_objects:
                unfinished.unlink(missing_ok=True)
                record.checksums.pop(self._name(self.staged[unfinished]), None)
            record.feature_gaps.clear()

    def leave_out_limits(self) -> None:
        """Leave out the upper limits: an early version of lcdvt made the part without them, and it is made again."""
        to_limits = self.unfinished(self.folder.limits)
        to_limits.unlink(missing_ok=True)
        self.record.checksums.pop(self._name(self.staged[to_limits]), None)
        self.record.limits = 0

    def refuse(self, refused: dict[str, tuple[str, str]]) -> None:
        """Say of objects that were left out where they were read now, and where before."""
        for object_id, (source, before) in refused.items():
            self.record.problems.append(
                f"{source}: object {object_id} was already read from {before}; this one is skipped: give each object "
                "once, or use update=True to add epochs of new dates to what is there."
            )
        if refused:
            names = {name for source, _ in refused.values() for name in source.split(SOURCES_SEPARATOR)}
            is_one = self.record.stream is not None  # a large file or an archive, whose objects have names of their own
            self.record.refused = sorted(
                input_key(file)[0] for file in self.inputs if is_one or absolute_name(file.name) in names
            )
            dropped = self.record.dropped_objects
            dropped["read before"] = dropped.get("read before", 0) + len(refused)


def _files_of_curves(survey: Survey, files: frozenset[str]) -> frozenset[str]:
    """Return the files of a batch that should hold objects: all but tables of exposures."""
    forms = [form for form in survey.formats if form.dates_file]
    return frozenset(name for name in files if not any(is_table_of_dates(form, name) for form in forms))


def _incomplete(
    survey: Survey, files: frozenset[str], curves: RawCurves, stored: set[str]
) -> dict[str, dict[str, str]]:
    """Return the objects that are stored although some file of theirs could not be read: object -> file -> why.

    Parameters
    ----------
    survey
        Whose they are.
    files
        Those that should hold objects.
    curves
        What was read from them.
    stored
        The objects that are stored.
    """
    incomplete: dict[str, dict[str, str]] = {}
    for rows in curves.broken:
        if rows.object_id in stored:
            incomplete.setdefault(rows.object_id, {})[absolute_name(rows.source)] = rows.problem
    told = {rows.source for rows in curves.broken}
    read = {found.source for found in curves.objects}
    unread = [name for name in sorted(files - read - told) if object_key(survey, name)]
    if unread:
        object_of = {object_key(survey, found.source): found.object_id for found in curves.objects}
        for name in unread:
            object_id = object_of.get(object_key(survey, name), "")
            if object_id in stored:
                why = next(
                    (problem for problem in curves.problems if problem.startswith(name)), f"{name} was not read."
                )
                incomplete.setdefault(object_id, {})[absolute_name(name)] = why
    return incomplete


def _absolute(found: RawObject) -> RawObject:
    """Return an object with the whole paths of its files: the next ingest may be started from another folder."""
    if SOURCES_SEPARATOR in found.source:
        source = SOURCES_SEPARATOR.join(map(absolute_name, found.source.split(SOURCES_SEPARATOR)))
    else:
        source = absolute_name(found.source)
    return found if source == found.source else found._replace(source=source)


def _checksum(file: InputFile, read: dict[str, str]) -> str:
    """Return the checksum of an input: that of the bytes that were read, or it is read again if that was in pieces."""
    try:
        return read.get(file.name) or file_checksum(file.path)
    except OSError:  # unreadable, which its problem says
        return ""


def make_part(plan: IngestPlan, task: PartTask) -> MadePart:
    """Read, arrange, clean and write one batch; the files wait under temporary names for `commit`."""
    batch = task.batch
    checksums: dict[str, str] = {}
    curves = read_pieces(plan.survey, batch.pieces, checksums)
    files_with_objects = {found.source for found in curves.objects}
    epochs_read = curves.epochs.time.size + curves.dropped_epochs.total()
    block = block_from_raw(plan.survey, curves)
    clean(block, plan.rule)
    block.objects = [_absolute(found) for found in block.objects]
    # A large table is one file, however many batches it was cut into; an archive is as many as it holds.
    is_piece_of_table = batch.stream is not None and not batch.stream[0].is_archive
    stored = {found.object_id for found in block.objects}
    read_files = frozenset(piece.shown for piece in batch.pieces)
    files_of_curves = _files_of_curves(plan.survey, read_files)
    incomplete = _incomplete(plan.survey, files_of_curves, curves, stored)
    if not_dropped := sum(rows.object_id in stored for rows in curves.broken):
        block.dropped_objects -= Counter({BROKEN_LINE: not_dropped})
    record = PartRecord(
        number=task.number,
        finished_inputs=[[*input_key(file), _checksum(file, checksums)] for file in batch.finished_inputs],
        stream=[input_key(batch.stream[0]), batch.stream[1]] if batch.stream else None,
        files=len(batch.finished_inputs) if is_piece_of_table else len({piece.name for piece in batch.pieces}),
        files_skipped=len(files_of_curves - files_with_objects),
        objects=len(block.objects),
        epochs_read=epochs_read,
        epochs=block.mjd.size,
        limits=len(block.limits),
        dropped_epochs=dict(block.dropped_epochs),
        dropped_objects=dict(block.dropped_objects),
        notes=dict(curves.notes + Counter({FLUXES_BELOW_ZERO: block.count_fluxes_below_zero()})),
        problems=curves.problems,
        left_out=block.left_out,
        incomplete=incomplete,
    )
    ids, sources = [found.object_id for found in block.objects], [found.source for found in block.objects]
    may_grow = frozenset(found.object_id for found in block.objects if found.joined)
    inputs = (batch.stream[0],) if batch.stream else batch.finished_inputs
    part = MadePart(record, plan.folder, ids, sources, may_grow, inputs, read_files)
    to_epochs, to_features, to_objects, to_limits, to_unseen = part.staged
    if block.unseen.num_rows:
        part.write(block.unseen.replace_schema_metadata(limits_metadata(plan.survey)), to_unseen)
    if not block.objects:
        return part
    epochs = block.to_arrow()
    part.write(epochs.replace_schema_metadata(epochs_metadata(plan.survey)), to_epochs)
    part.write(_objects_table(plan, block, task.number), to_objects)
    if len(block.limits):
        limits = block.limits.to_arrow(ids, block.bands)
        part.write(limits.replace_schema_metadata(limits_metadata(plan.survey)), to_limits)
    if plan.features is not None:
        features = extract_table(epochs, plan.features)
        record.feature_gaps.update(extraction_report(features).curves)
        part.write(features.replace_schema_metadata(features_metadata(plan.survey, plan.features)), to_features)
    return part


def _objects_table(plan: IngestPlan, block: EpochBlock, number: int) -> pa.Table:
    counts = block.epochs_per_band()
    columns: dict[str, Any] = {
        OBJECT_ID: pa.array([found.object_id for found in block.objects], pa.string()),
        SURVEY_LABEL: pa.array(_own_labels(plan.survey, block.objects, plan.roots), pa.string()),
        RA: np.array([found.ra for found in block.objects]),
        DEC: np.array([found.dec for found in block.objects]),
    }
    for position, band in enumerate(plan.survey.bands):
        columns[n_epochs_column(band)] = counts[:, position]
    columns[SOURCE] = pa.array([found.source for found in block.objects], pa.string())
    columns[PART] = np.full(len(block.objects), number, dtype=np.int32)
    return pa.table(columns)


def _own_labels(survey: Survey, objects: list[RawObject], roots: tuple[str, ...]) -> list[str | None]:
    """Return the class that each light-curve file or its nearest class folder gives."""
    of_folder: dict[str, str | None] = {}
    labels: list[str | None] = []
    for found in objects:
        folder = found.source.partition(SOURCES_SEPARATOR)[0].replace(MEMBER_SEPARATOR, "/").rpartition("/")[0]
        if not found.survey_label and folder not in of_folder:
            of_folder[folder] = _class_of_folder(survey, folder, roots)
        labels.append(found.survey_label or of_folder[folder])
    return labels


def _class_of_folder(survey: Survey, folder: str, roots: tuple[str, ...]) -> str | None:
    path = absolute_name(folder)
    above = max((root for root in roots if f"{path}/".startswith(f"{root}/")), key=len, default="")
    below = path[len(above.rpartition("/")[0]) :]  # the input's own name counts, what it lies in does not
    return next((label for part in reversed(below.split("/")) if (label := survey.folder_class(part))), None)
