"""Rebuild the parts of a survey that were damaged on disk, from the input they came from, and only those."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lcdvt.batches import Piece, stream_batches
from lcdvt.catalogs.file_list import InputFile
from lcdvt.catalogs.survey import Survey
from lcdvt.clean import Step
from lcdvt.errors import WorkspaceError
from lcdvt.executors import run_batches
from lcdvt.features.config import FeatureConfig
from lcdvt.known_objects import sources_of
from lcdvt.manifest import BatchRecord, Journal, WrittenFile, input_key, whole_records
from lcdvt.part import BatchTask, PartResult, make_part, objects_folder
from lcdvt.recompute import PartTask, extract_part
from lcdvt.workspace import PARTS, SurveyFolder, part_name, write_atomically


@dataclass
class Repair:
    """A survey with damaged parts, and what it needs to rebuild them."""

    folder: SurveyFolder
    journal: Journal
    survey: Survey
    rule: tuple[Step, ...]
    features: FeatureConfig | None
    roots: tuple[str, ...]
    inputs: dict[str, InputFile] = field(default_factory=dict)
    """What the user gave, by absolute path."""

    def run(self, files: Sequence[InputFile], jobs: int | None, dask: str | None) -> list[str]:
        """Rebuild what is damaged; return the parts' names.

        A part is rebuilt only from the very files it was made of: a file that has changed since would bring
        other stars into a part that the journal and the other parts know.
        """
        write_atomically(self.folder.survey_toml, lambda path: path.write_text(self.survey.toml, encoding="utf-8"))
        self.inputs = {input_key(file)[0]: file for file in files}
        damaged = {record.number: self._damaged_files(record) for record in self.journal.records}
        broken = [record for record in whole_records(self.journal.folder) if damaged[record.number]]
        from_epochs = [record for record in broken if all(map(self._is_features, damaged[record.number]))]
        self._rebuild_features(from_epochs)
        self._rebuild([record for record in broken if record not in from_epochs], jobs, dask)
        return [part_name(record.number) for record in broken]

    def _is_features(self, name: str) -> bool:
        return name.startswith(f"{self.folder.features.name}/")

    def _damaged_files(self, record: BatchRecord) -> list[str]:
        # Features may have been computed after the ingest, so that the record does not list them.
        names = {*record.sizes, f"{self.folder.features.name}/{part_name(record.number)}"}
        known = {name: self.journal.files[name] for name in names if name in self.journal.files}
        return [name for name, written in known.items() if not written.is_whole(self.folder.root / name)]

    def _rebuild_features(self, records: list[BatchRecord]) -> None:
        for record in records:
            features = self.folder.features / part_name(record.number)
            if self.features is None:
                raise WorkspaceError(f"{features} is damaged: run `lcdvt extract` to compute it anew.")
            features.unlink(missing_ok=True)
            part = extract_part(PartTask(self.folder.epochs / features.name, features, self.survey, self.features))
            self.journal.note_files({str(features.relative_to(self.folder.root)): part.written})

    def _rebuild(self, records: list[BatchRecord], jobs: int | None, dask: str | None) -> None:
        broken = {part_name(record.number) for record in records}
        tasks = (self._task(record) for record in records)
        for record, part in zip(records, run_batches(make_part, tasks, jobs=jobs, dask=dask), strict=True):
            others = [path for path in objects_folder(self.folder).glob(PARTS) if path.name not in broken]
            repeated = sources_of(set(part.object_ids), others)
            if repeated:
                part.drop(repeated)
            self._refuse_other_content(record, part)
            sizes = part.commit()
            self.journal.note_files({name: WrittenFile(size, part.checksums[name]) for name, size in sizes.items()})
            broken.discard(part_name(record.number))

    def _task(self, record: BatchRecord) -> BatchTask:
        if record.stream is None:
            files = [self._input(record, key) for key in record.finished_inputs]
            pieces = tuple(Piece(file.name, on_disk=True) for file in files)
        else:
            key, number = record.stream
            pieces = next(stream_batches(self.survey, self._input(record, key), number - 1)).pieces
        return BatchTask(record.number, pieces, self.survey, self.rule, self.features, self.folder, self.roots)

    def _input(self, record: BatchRecord, key: Sequence[object]) -> InputFile:
        path, size, _ = key
        file = self.inputs.get(str(path))
        if file is None or file.size != size:
            said = "is not among what was given" if file is None else "has changed since"
            raise WorkspaceError(
                f"{part_name(record.number)} was made from {path}, which {said}: give the same input to --repair, "
                "or ingest anew with --force."
            )
        return file

    def _refuse_other_content(self, record: BatchRecord, part: PartResult) -> None:
        """Accept the part if its files are untouched; a file with another date must give the same bytes."""
        keys = record.finished_inputs if record.stream is None else [record.stream[0]]
        untouched = all(input_key(self.inputs[key[0]]) == list(key) for key in keys)
        epochs = f"{self.folder.epochs.name}/{part_name(record.number)}"
        same_bytes = part.checksums.get(epochs) == self.journal.files[epochs].checksum
        if (part.objects, part.epochs) == (record.objects, record.epochs) and (untouched or same_bytes):
            return
        for unfinished in part.staged:
            unfinished.unlink(missing_ok=True)
        raise WorkspaceError(
            f"{part_name(record.number)} cannot be rebuilt: {keys[0][0]} or a file beside it has changed since it was "
            "ingested: bring the old files back, or ingest anew with --force."
        )
