"""The verb `ingest`: files of a survey -> clean, typed Parquet, resumable at any moment."""

import json
import platform
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from lcdvt import __version__
from lcdvt.batches import Batch, batch_size, file_batches, split_streams, stream_batches
from lcdvt.catalogs.file_list import FileGroups, FileList, InputFile
from lcdvt.catalogs.files import absolute_name, list_files
from lcdvt.catalogs.guess import guess_survey
from lcdvt.catalogs.registry import find_survey
from lcdvt.catalogs.survey import Survey
from lcdvt.clean import Step, find_rule
from lcdvt.errors import InputFileError, LcdvtError
from lcdvt.executors import run_batches
from lcdvt.features.config import Engine, FeatureConfig
from lcdvt.ingest_choices import checked_name, choose_catalogue, choose_features, refuse_other_settings
from lcdvt.known_objects import KnownObjects
from lcdvt.labels import lies_in_simulation, tables_beside
from lcdvt.manifest import BatchRecord, Journal, input_key, locked, written_file
from lcdvt.objects import write_objects
from lcdvt.part import BatchTask, PartResult, make_part, objects_folder
from lcdvt.progress import Progress, silent
from lcdvt.recompute import put_in_place
from lcdvt.repair import Repair
from lcdvt.workspace import SurveyFolder, part_name, workspace_folder, write_atomically

PROBLEMS_KEPT: Final = 1000
_VERSIONS: Final = ("numpy", "pyarrow", "numba", "astropy")


@dataclass
class IngestResult:
    """What an ingest did; also written as ingest.json."""

    name: str
    folder: Path
    nothing_new: bool
    totals: dict[str, Any]
    labels: dict[str, Any]
    new_objects: int
    simulated: bool
    problems: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)


def ingest(
    *paths: str | Path,
    survey: str | Path | Survey | None = None,
    catalog: str | Path | None = None,
    match_radius: str | None = None,
    clean: str | None = None,
    features: str | Sequence[str] | None = None,
    engine: Engine = "fast",
    jobs: int | None = None,
    dask: str | None = None,
    name: str | None = None,
    data: str | Path | None = None,
    force: bool = False,
    repair: bool = False,
    progress: Progress = silent,
) -> IngestResult:
    """Read light curves into the workspace.

    Parameters
    ----------
    paths
        Folders, files and archives of one survey.
    survey
        A built-in survey's name or a TOML file; None looks at the files.
    catalog
        A catalogue of labels; None takes labels.* or catalogue.* lying in the folder, or the one used last time;
        "none" takes none.
    match_radius
        Match the catalogue by position within this angle ("1arcsec") instead of by id.
    clean
        A cleaning rule's name instead of the survey's own; "none" keeps every valid epoch.
    features
        A set of features ("all", "fats"), feature names, or "none" (`extract_survey` computes them later); None takes
        those the survey has already, and "all" for a new one.
    engine
        "fast" or "feets", as in `lcdvt.features.extract`.
    jobs, dask
        Worker processes (None: all cores), or a Dask scheduler's address.
    name
        The survey's name in the workspace; None takes the survey's own.
    data
        The workspace; None takes LCDVT_DATA or ./lcdvt-data.
    force
        Throw away what was ingested under this name and start anew.
    repair
        Check every part against its checksum first, and rebuild the damaged ones from the same input.
    progress
        Called with the number of objects done.
    """
    if not paths:
        raise InputFileError("nothing to ingest: give a folder or file of light curves.")
    inputs = [Path(path) for path in paths]
    workspace = workspace_folder(data)
    no_curves = tables_beside(inputs) | ({Path(catalog)} if catalog else set())
    files = list_files(inputs, no_curves, workspace)
    if not files:
        raise InputFileError(f"{', '.join(map(str, inputs))} holds no files: give a folder or file of light curves.")
    described = survey if isinstance(survey, Survey) else guess_survey(files) if survey is None else find_survey(survey)
    rule_name = described.clean if clean is None else clean
    rule = find_rule(rule_name, "--clean" if clean is not None else f"survey {described.name}")
    folder = SurveyFolder(workspace / checked_name(name or described.name))
    catalogue = choose_catalogue(inputs, catalog, match_radius, None if force else folder)
    roots = tuple(absolute_name(str(path)) for path in inputs)

    with locked(folder.progress):
        if force:
            _forget(folder)
        journal = Journal(folder.progress)
        put_in_place(folder, journal)  # features of an extraction that was killed at its very end
        config = choose_features(described, features, engine, journal)
        settings = {
            "survey": described.toml,
            "clean": rule_name if isinstance(rule_name, str) else list(rule_name),
            "features": asdict(config) if config else None,
            "simulated": lies_in_simulation(inputs),
        }
        journal.begin(settings)
        refuse_other_settings(journal, described, settings)
        repaired = Repair(folder, journal, described, rule, config, roots).run(files, jobs, dask) if repair else []
        journal.check_parts(folder.root)
        _remove_unfinished(folder, journal)
        new_objects, problems, nothing_new = _ingest_new(
            folder, journal, described, rule, config, files, roots, jobs, dask, progress
        )
        _remove_unfinished(folder, journal)  # a cluster may have made a part twice
        totals = journal.totals()
        if totals["objects"] == 0:
            _forget(folder)
            raise LcdvtError(
                f"nothing could be ingested from {', '.join(map(str, inputs))}: {_why_nothing(totals, problems)}"
            )
        labels = write_objects(folder, described, catalogue)
        journal.complete()
        journal.note_files({folder.objects.name: written_file(folder.objects)})
        result = IngestResult(
            folder.root.name,
            folder.root,
            nothing_new,
            totals,
            labels,
            new_objects,
            lies_in_simulation(inputs),
            problems,
            repaired,
        )
        _write_summary(folder, journal, described, result)
    return result


def _ingest_new(
    folder: SurveyFolder,
    journal: Journal,
    survey: Survey,
    rule: tuple[Step, ...],
    features: FeatureConfig | None,
    files: FileList,
    roots: tuple[str, ...],
    jobs: int | None,
    dask: str | None,
    progress: Progress,
) -> tuple[int, list[str], bool]:
    """Ingest what the journal does not know; return the objects' number, the problems, whether nothing was new."""
    groups, streams = split_streams(survey, files, journal.was_finished)
    if not groups and not streams:
        return 0, [], True
    folder.survey_toml.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(folder.survey_toml, lambda path: path.write_text(survey.toml, encoding="utf-8"))
    size = journal.plan(batch_size(len(groups)))
    batches = list_batches(survey, groups, streams, size, journal.stream_progress())
    first_number = max((record.number for record in journal.records), default=-1) + 1
    waiting: list[Batch] = []

    def tasks() -> Iterator[BatchTask]:
        for number, batch in enumerate(batches, first_number):
            waiting.append(batch)
            yield BatchTask(number, batch.pieces, survey, rule, features, folder, roots)

    known = KnownObjects(folder)
    total = None if streams else len(groups)
    objects = 0
    problems: list[str] = []
    for part in run_batches(make_part, tasks(), jobs=jobs, dask=dask):
        batch = waiting.pop(0)
        known.refuse_repeated(part)
        journal.add(_record(part, batch, part.commit()))
        objects += part.objects
        problems.extend(part.problems[: max(PROBLEMS_KEPT - len(problems), 0)])
        progress(objects, total, f"{len(problems)} problems" if problems else "")
    return objects, problems, False


def list_batches(
    survey: Survey, groups: FileGroups, streams: list[InputFile], size: int, done: dict[tuple[Any, ...], int]
) -> Iterator[Batch]:
    """Yield all batches in their fixed order: small files first, then each archive and large file."""
    yield from file_batches(groups, size)
    for file in streams:
        yield from stream_batches(survey, file, done.get(tuple(input_key(file)), 0))


def _record(part: PartResult, batch: Batch, sizes: dict[str, int]) -> BatchRecord:
    return BatchRecord(
        number=part.number,
        finished_inputs=[input_key(file) for file in batch.finished_inputs],
        stream=[input_key(batch.stream[0]), batch.stream[1]] if batch.stream else None,
        # A large table is one file, however many batches it was cut into; an archive is as many as it holds.
        files=len(batch.finished_inputs) if batch.stream and not batch.stream[0].is_archive else part.files,
        files_skipped=part.files_skipped,
        objects=part.objects,
        epochs_read=part.epochs_read,
        epochs=part.epochs,
        dropped_epochs=dict(part.dropped_epochs),
        dropped_objects=dict(part.dropped_objects),
        feature_gaps=dict(part.feature_gaps),
        problems=part.problems,
        left_out=part.left_out,
        sizes=sizes,
        checksums=part.checksums,
    )


def _why_nothing(totals: dict[str, Any], problems: list[str]) -> str:
    if problems:
        return f"{totals['files_skipped']} files were skipped. First: {problems[0]}"
    reasons = {**totals["dropped_epochs"], **totals["dropped_objects"]}
    listed = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
    return f"{totals['epochs_read']} epochs were read and none is left ({listed}): check the survey's description."


def _forget(folder: SurveyFolder) -> None:
    for old in (folder.epochs, folder.features, folder.new_features, folder.old_features):
        shutil.rmtree(old, ignore_errors=True)
    for file in (folder.objects, folder.survey_toml, folder.summary):
        file.unlink(missing_ok=True)
    shutil.rmtree(objects_folder(folder), ignore_errors=True)
    (folder.progress / "journal.jsonl").unlink(missing_ok=True)


def _remove_unfinished(folder: SurveyFolder, journal: Journal) -> None:
    """Remove what a kill left behind: temporary files, and parts put in place but not yet in the journal."""
    finished = {part_name(record.number) for record in journal.records}
    for place in (folder.root, folder.epochs, folder.features, objects_folder(folder)):
        for leftover in place.glob(".*.unfinished"):
            leftover.unlink()
        for part in place.glob("part-*.parquet"):
            if part.name not in finished:
                part.unlink()


def _write_summary(folder: SurveyFolder, journal: Journal, survey: Survey, result: IngestResult) -> None:
    problems = [problem for record in journal.records for problem in record.problems]
    summary = {
        "lcdvt": __version__,
        "survey": survey.name,
        "citation": survey.citation,
        "settings": {key: (journal.settings or {}).get(key) for key in ("clean", "features")},
        "simulated": (journal.settings or {}).get("simulated"),
        "seed": None,  # nothing in an ingest is random
        "totals": result.totals,
        "labels": result.labels,
        "problems": problems[:PROBLEMS_KEPT],
        "problems_not_listed": max(len(problems) - PROBLEMS_KEPT, 0),
        "versions": {"python": platform.python_version(), **{package: version(package) for package in _VERSIONS}},
    }
    text = json.dumps(summary, indent=2, ensure_ascii=False)
    write_atomically(folder.summary, lambda path: path.write_text(text, encoding="utf-8"))
