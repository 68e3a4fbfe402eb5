"""Rebuild the parts of a survey that were damaged on disk, from the input they came from, and only those."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from lcdvt.catalogs.reading.file_list import InputFile
from lcdvt.catalogs.reading.reader import Piece
from lcdvt.disk.atomic import write_text
from lcdvt.errors import WorkspaceError
from lcdvt.ingestion.batches import Batch, stream_batches
from lcdvt.ingestion.feature_parts import FeatureTask, extract_part
from lcdvt.ingestion.known_objects import places_in
from lcdvt.ingestion.part import MadePart, PartTask, make_part
from lcdvt.ingestion.settings import IngestPlan
from lcdvt.parallel.executors import Workers, run_batches
from lcdvt.workspace.folder import PARTS, SurveyFolder, part_name
from lcdvt.workspace.journal import Journal, PartRecord, WrittenFile, input_key, whole_records
from lcdvt.workspace.objects import objects_folder


@dataclass(frozen=True)
class Repair:
    """A survey with damaged parts, and what it needs to rebuild them."""

    plan: IngestPlan
    journal: Journal
    files: Sequence[InputFile]

    @property
    def folder(self) -> SurveyFolder:
        """The survey's folder."""
        return self.plan.folder

    @cached_property
    def inputs(self) -> dict[str, InputFile]:
        """What the user gave, by absolute path."""
        return {input_key(file)[0]: file for file in self.files}

    def run(self, workers: Workers) -> list[str]:
        """Rebuild what is damaged; return the parts' names.

        A part is rebuilt only from the very files it was made of: a file that has changed since would bring
        other stars into a part that the journal and the other parts know.
        """
        write_text(self.folder.survey_toml, self.plan.survey.toml)
        damaged = {record.number: self._damaged_files(record) for record in self.journal.records}
        broken = [record for record in whole_records(self.journal.folder) if damaged[record.number]]
        from_epochs = [record for record in broken if all(map(self._is_features, damaged[record.number]))]
        self._rebuild_features(from_epochs)
        self._rebuild([record for record in broken if record not in from_epochs], workers)
        return [part_name(record.number) for record in broken]

    def _is_features(self, name: str) -> bool:
        return name.startswith(f"{self.folder.features.name}/")

    def _damaged_files(self, record: PartRecord) -> list[str]:
        # Features may have been computed after the ingest, so that the record does not list them.
        # So do limits that other files brought.
        names = {*record.sizes, f"{self.folder.features.name}/{part_name(record.number)}", self._limits_of(record)}
        known = {name: self.journal.files[name] for name in names if name in self.journal.files}
        return [name for name, written in known.items() if not written.is_whole(self.folder.root / name)]

    def _limits_of(self, record: PartRecord) -> str:
        return f"{self.folder.limits.name}/{part_name(record.number)}"

    def _rebuild_features(self, records: list[PartRecord]) -> None:
        for record in records:
            features = self.folder.features / part_name(record.number)
            if self.plan.features is None:
                raise WorkspaceError(f"{features} is damaged: run `lcdvt extract` to compute it again.")
            features.unlink(missing_ok=True)
            task = FeatureTask(self.folder.epochs / features.name, features, self.plan.survey, self.plan.features)
            part = extract_part(task)
            self.journal.note_files({str(features.relative_to(self.folder.root)): part.written})

    def _rebuild(self, records: list[PartRecord], workers: Workers) -> None:
        broken = {part_name(record.number) for record in records}
        tasks = (self._task(record) for record in records)
        parts = run_batches(partial(make_part, self.plan), tasks, workers)
        for record, part in zip(records, parts, strict=True):
            others = [path for path in objects_folder(self.folder).glob(PARTS) if path.name not in broken]
            part.leave_out(places_in(set(part.object_ids), others))
            if self._limits_of(record) not in self.journal.files:
                part.leave_out_limits()
            self._refuse_other_content(record, part)
            if not part.record.limits:  # what other files brought, they bring again
                (self.folder.root / self._limits_of(record)).unlink(missing_ok=True)
            made = part.commit()
            self.journal.note_files(
                {name: WrittenFile(size, made.checksums[name]) for name, size in made.sizes.items()}
            )
            broken.discard(part_name(record.number))

    def _task(self, record: PartRecord) -> PartTask:
        if record.stream is None:
            files = tuple(self._input(record, key) for key in record.finished_inputs)
            return PartTask(record.number, Batch(tuple(Piece(file.name, on_disk=True) for file in files), files))
        key, number = record.stream
        batches = stream_batches(self.plan.survey, self._input(record, key), number - 1)
        return PartTask(record.number, next(batches))

    def _input(self, record: PartRecord, key: Sequence[object]) -> InputFile:
        path, size, *_ = key
        file = self.inputs.get(str(path))
        if file is None or file.size != size:
            said = "is not among what was given" if file is None else "has changed since"
            raise WorkspaceError(
                f"{part_name(record.number)} was made from {path}, which {said}: repair with the same input, "
                "or ingest it again with force=True."
            )
        return file

    def _refuse_other_content(self, record: PartRecord, part: MadePart) -> None:
        """Accept the part if its files are untouched; a file with another date must give the same bytes."""
        keys = record.finished_inputs if record.stream is None else [record.stream[0]]
        untouched = all(input_key(self.inputs[key[0]]) == list(key[:3]) for key in keys)
        epochs, written = f"{self.folder.epochs.name}/{part_name(record.number)}", self.journal.files
        # Stars that were read again since have left the part: the journal counts what is left.
        today = next(each for each in self.journal.records if each.number == record.number)
        compared = [epochs, self._limits_of(record)] if today.limits == record.limits else [epochs]
        same_bytes = all(
            part.record.checksums.get(name) == written[name].checksum for name in compared if name in written
        )
        if (part.record.objects, part.record.epochs) == (today.objects, today.epochs) and (untouched or same_bytes):
            return
        part.discard()
        raise WorkspaceError(
            f"{part_name(record.number)} cannot be rebuilt: {keys[0][0]} or a file beside it has changed since it was "
            "ingested: bring the old files back, or ingest them again with force=True."
        )
