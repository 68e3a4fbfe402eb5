"""Look at an ingested survey from end to end: checksums, schemas, order, and that every table knows every object.

Part by part, so that memory stays flat; nothing is written.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.survey_toml import survey_from_file
from lcdvt.checks.findings import Checked
from lcdvt.epochs.block import EPOCHS_SCHEMA, check_epochs, epochs_schema
from lcdvt.epochs.limits import LIMITS_SCHEMA, check_limits
from lcdvt.errors import LcdvtError, first_line
from lcdvt.features.config import FeatureConfig
from lcdvt.names import BAND, OBJECT_ID, n_epochs_column
from lcdvt.parallel.progress import Progress, silent
from lcdvt.workspace.folder import (
    PARTS,
    WRITTEN_BY_EVERY_INGEST,
    SurveyFolder,
    part_name,
    pieces_folder,
    read_part,
)
from lcdvt.workspace.journal import Journal, stored_features, while_nobody_writes
from lcdvt.workspace.objects import hashed_ids, objects_by_part, objects_schema

REPAIR: Final = "rebuild it with `lcdvt ingest --repair` and the same input"
AGAIN: Final = "ingest the survey again with force=True"
RESUME: Final = "run the same `lcdvt ingest` again to finish it"
_DAMAGE: Final = (LcdvtError, pa.ArrowException, OSError, ValueError, TypeError, KeyError)


def check_survey(folder: SurveyFolder, progress: Progress = silent) -> Checked:
    """Check every file of an ingested survey."""
    checked = Checked(folder.root.name, "survey")
    with while_nobody_writes(folder.progress):
        journal = _journal(folder, checked)
        survey = _survey(folder, checked, RESUME if journal.records and not journal.completed else REPAIR)
        damaged = _check_bytes(folder, journal, checked)
        read = pieces_folder(folder)
        checked.incomplete = journal.incomplete
        if read.progress.is_dir():  # a survey whose light curves were joined keeps them as they were read
            of_pieces = _journal(read, checked)
            _check_bytes(read, of_pieces, checked)
            checked.incomplete = of_pieces.incomplete
        if survey is not None and folder.objects.is_file() and folder.objects.name not in damaged:
            try:
                features = stored_features(journal)
            except LcdvtError as error:
                checked.add(journal.path, str(error), AGAIN)
                features = None
            _SurveyCheck(folder, survey, features, damaged, checked).run(progress)
    return checked


def _survey(folder: SurveyFolder, checked: Checked, cure: str) -> Survey | None:
    try:
        return survey_from_file(folder.survey_toml)
    except LcdvtError as error:
        checked.add(folder.survey_toml, f"no survey description ({error})", cure)
    return None


def _journal(folder: SurveyFolder, checked: Checked) -> Journal:
    try:
        journal = Journal(folder.progress, only_read=True)
    except LcdvtError as error:
        checked.add(folder.progress, str(error), AGAIN)
        return Journal(folder.progress / "none")
    if not journal.records:
        checked.add(journal.path, "the journal is missing or empty, so no checksum is known", AGAIN)
    elif not journal.completed:
        checked.add(folder.root, "its ingest was interrupted", RESUME)
    return journal


def _check_bytes(folder: SurveyFolder, journal: Journal, checked: Checked) -> set[str]:
    """Compare every file with what the journal knows of it; return the names of the damaged ones."""
    damaged = set()
    for name, written in journal.files.items():
        path = folder.root / name
        checked.files += 1
        is_waiting = not journal.completed and name in journal.waiting  # an interrupted ingest puts it in its place
        cure = RESUME if is_waiting or name in WRITTEN_BY_EVERY_INGEST else REPAIR
        if not written.has_its_size(path):
            size = _size(path)
            what = "is missing" if size is None else f"has {size} bytes instead of {written.size}"
            checked.add(path, what, cure)
        elif not written.is_whole(path):
            checked.add(path, "does not have the bytes that were written (checksum)", cure)
        else:
            continue
        damaged.add(name)
    if journal.records:
        for place in (folder.epochs, folder.features, folder.limits):
            for path in sorted(place.glob(PARTS)):
                if str(path.relative_to(folder.root)) not in journal.files:
                    checked.add(path, "is a part that no ingest has recorded", RESUME)
    return damaged


class _SurveyCheck:
    """Walks the parts and the objects table side by side."""

    def __init__(
        self, folder: SurveyFolder, survey: Survey, features: FeatureConfig | None, damaged: set[str], checked: Checked
    ):
        self.folder, self.survey, self.features, self.checked = folder, survey, features, checked
        self.damaged = damaged
        self.hashes: list[Any] = []

    def run(self, progress: Progress) -> None:
        try:
            if not self._objects_schema_is_right():
                return
            seen = set()
            for number, objects in objects_by_part(self.folder.objects):
                seen.add(part_name(number))
                self._check_part(part_name(number), objects)
                progress(self.checked.objects, None)
            for path in sorted(self.folder.epochs.glob(PARTS)):
                if path.name not in seen and pq.read_metadata(path).num_rows:  # all its stars may be in newer parts
                    self.checked.add(path, f"its objects are not in {self.folder.objects.name}", RESUME)
            self._check_repetitions()
        except _DAMAGE as error:
            self.checked.add(self.folder.objects, f"cannot be read ({first_line(error)})", RESUME)

    def _objects_schema_is_right(self) -> bool:
        wanted, found = objects_schema(self.survey), pq.read_schema(self.folder.objects).remove_metadata()
        if found != wanted:
            self.checked.add(self.folder.objects, f"has the columns {_columns(found)}, not {_columns(wanted)}", RESUME)
        return bool(found == wanted)

    def _check_part(self, name: str, objects: pa.Table) -> None:
        ids = objects[OBJECT_ID].to_pylist()
        self.checked.objects += len(ids)
        self.hashes.append(hashed_ids(ids))
        epochs, features, limits = (
            place / name for place in (self.folder.epochs, self.folder.features, self.folder.limits)
        )
        if not self._is_damaged(epochs):
            try:
                self._check_epochs(epochs, objects, ids)
            except _DAMAGE as error:
                self.checked.add(epochs, first_line(error), REPAIR)
        if limits.is_file() and not self._is_damaged(limits):
            try:
                self._check_limits(limits, ids)
            except _DAMAGE as error:
                self.checked.add(limits, first_line(error), REPAIR)
        if self.features is not None and not self._is_damaged(features):
            try:
                self._check_features(features, ids, self.features)
            except _DAMAGE as error:
                self.checked.add(features, first_line(error), f"run `lcdvt extract {self.checked.name}`")

    def _is_damaged(self, path: Path) -> bool:
        return str(path.relative_to(self.folder.root)) in self.damaged

    def _check_epochs(self, path: Path, objects: pa.Table, ids: list[str]) -> None:
        table = read_part(path)
        found = table.schema.remove_metadata()
        wanted = epochs_schema(self.survey)
        if found not in (wanted, EPOCHS_SCHEMA):  # an earlier version kept no fluxes
            self.checked.add(path, f"has the columns {_columns(found)}, not {_columns(wanted)}", REPAIR)
            return
        check_epochs(table, path.name)
        counts = table.group_by([OBJECT_ID, BAND], use_threads=False).aggregate([([], "count_all")])
        known = set(ids)
        expected = {
            (object_id, band): count
            for band in self.survey.bands
            for object_id, count in zip(ids, objects[n_epochs_column(band)].to_pylist(), strict=True)
            if count
        }
        there = {(row[OBJECT_ID], row[BAND]): row["count_all"] for row in counts.to_pylist()}
        unknown = [object_id for object_id, _ in there if object_id not in known]
        if unknown:
            self.checked.add(path, f"object {unknown[0]} is not in {self.folder.objects.name}", RESUME)
        for key, count in expected.items():
            if there.get(key, 0) != count:
                said = f"object {key[0]} has {there.get(key, 0)} epochs in {key[1]}, not {count}"
                self.checked.add(path, said, REPAIR)
                return

    def _check_limits(self, path: Path, ids: list[str]) -> None:
        table = read_part(path)
        if (found := table.schema.remove_metadata()) != LIMITS_SCHEMA:
            self.checked.add(path, f"has the columns {_columns(found)}, not {_columns(LIMITS_SCHEMA)}", REPAIR)
            return
        check_limits(table, path.name)
        unknown = sorted(set(table[OBJECT_ID].to_pylist()) - set(ids))
        if unknown:
            self.checked.add(path, f"object {unknown[0]} is not in {self.folder.objects.name}", RESUME)

    def _check_features(self, path: Path, ids: list[str], config: FeatureConfig) -> None:
        cure = f"run `lcdvt extract {self.checked.name}`"
        if not path.is_file():
            self.checked.add(path, "is missing", cure)
            return
        table = read_part(path)
        wanted = [OBJECT_ID, *config.columns()]
        if table.column_names != wanted:
            self.checked.add(path, f"has {table.num_columns} columns, not the {len(wanted)} of the survey", cure)
        elif sorted(table[OBJECT_ID].to_pylist()) != sorted(ids):
            self.checked.add(path, "has the features of other objects than its part has epochs of", cure)
        else:
            infinite = [name for name in wanted[1:] if pc.any(pc.is_inf(table[name])).as_py()]
            if infinite:
                self.checked.add(path, f"the feature {infinite[0]} is infinite for some object", cure)

    def _check_repetitions(self) -> None:
        everything = np.sort(np.concatenate(self.hashes)) if self.hashes else np.empty(0, dtype=np.uint64)
        repeated = int(np.count_nonzero(everything[1:] == everything[:-1]))
        if repeated:
            self.checked.add(self.folder.objects, f"{repeated} objects are there twice", AGAIN)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
