"""The verb `ingest`: files of a survey -> clean, typed Parquet, resumable at any moment."""

import json
import platform
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from lcdvt import __version__
from lcdvt.catalogs.guess_survey import guess_survey
from lcdvt.catalogs.reading.file_list import FileGroups, FileList, InputFile
from lcdvt.catalogs.reading.files import absolute_name, list_files, printable
from lcdvt.catalogs.registry import find_survey
from lcdvt.catalogs.survey import Survey
from lcdvt.disk.atomic import UNFINISHED_SUFFIX, writable, write_text
from lcdvt.epochs.block import LIMIT_OF_NOTHING
from lcdvt.epochs.clean import find_rule
from lcdvt.errors import InputFileError, LcdvtError, named_or_path
from lcdvt.features.config import Engine
from lcdvt.ingestion.batches import Batch, batch_size, file_batches, split_streams, stream_batches
from lcdvt.ingestion.compile_ahead import compile_ahead
from lcdvt.ingestion.feature_parts import put_in_place
from lcdvt.ingestion.join import Joined, Joining
from lcdvt.ingestion.join_rule import asked_join, stored_join
from lcdvt.ingestion.known_objects import KnownObjects
from lcdvt.ingestion.labels import lies_in_simulation, tables_beside
from lcdvt.ingestion.neighbours import count_neighbours
from lcdvt.ingestion.objects import write_objects
from lcdvt.ingestion.part import MadePart, PartTask, make_part
from lcdvt.ingestion.piece_table import stars_of_pieces
from lcdvt.ingestion.repair import Repair
from lcdvt.ingestion.returning import finish_rewriting, settle
from lcdvt.ingestion.settings import IngestPlan, checked_name, choose_catalogue, choose_features
from lcdvt.ingestion.unseen import bring_limits
from lcdvt.parallel.executors import Workers, run_batches
from lcdvt.parallel.progress import Progress, silent
from lcdvt.workspace.folder import PARTS, SurveyFolder, part_name, pieces_folder, workspace_folder
from lcdvt.workspace.journal import JOURNAL_FILE, Journal, PartRecord, input_key, locked, written_file
from lcdvt.workspace.objects import part_folders

PROBLEMS_KEPT: Final = 1000
"""As many as anybody reads; the rest are counted."""
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
    joined: dict[str, int] | None = None
    """How many light curves became how many stars; None where each is a star of its own."""
    incomplete: dict[str, dict[str, str]] = field(default_factory=dict)
    """Objects of which some file could not be read: object -> file -> why. Mend the file and ingest again."""
    neighbours: int = 0
    """Light curves within an arcsecond of another, in a survey that gives a star several ids and is not joined."""


def ingest(
    *paths: str | Path,
    survey: str | Path | Survey | None = None,
    catalog: str | Path | None = None,
    match_radius: str | None = None,
    join_radius: str | None = None,
    join_ids: str | Path | None = None,
    clean: str | None = None,
    features: str | Sequence[str] | None = None,
    engine: Engine = "fast",
    jobs: int | None = None,
    dask: str | None = None,
    name: str | None = None,
    data: str | Path | None = None,
    force: bool = False,
    repair: bool = False,
    update: bool = False,
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
    join_radius
        Make one star of light curves within this angle ("1arcsec") of each other; with neither this nor `join_ids` a
        survey is joined as it was last time, and a new one is not.
    join_ids
        A table that names stars: columns id (of the light curve) and star (its name).
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
        Throw away what was ingested under this name and begin again.
    repair
        Check every part against its checksum first, and rebuild the damaged ones from the same input.
    update
        Add epochs of new dates to stars that were read from other files before (a further data release); without it
        such stars are refused. A file that grew or was mended since is read again in any case, and so is a new file
        with a further band of a known star.
    progress
        Called with the number of objects done.
    """
    if not paths:
        raise InputFileError("nothing to ingest: give a folder or file of light curves.")
    inputs = [named_or_path(path, "what to ingest", "a folder or file of light curves") for path in paths]
    if catalog is not None:
        named_or_path(catalog, "catalog", "the file of a table of labels")
    workspace = workspace_folder(data)
    no_curves = tables_beside(inputs) | {Path(table) for table in (catalog, join_ids) if table}
    files = list_files(inputs, no_curves, workspace)
    if not files:
        raise InputFileError(f"{', '.join(map(str, inputs))} holds no files: give a folder or file of light curves.")
    described = survey if isinstance(survey, Survey) else guess_survey(files) if survey is None else find_survey(survey)
    rule_name = described.clean if clean is None else clean
    rule = find_rule(rule_name, f"clean={clean}" if clean is not None else f"survey {described.name}")
    folder = SurveyFolder(workspace / checked_name(name or described.name))
    catalogue = choose_catalogue(inputs, catalog, match_radius, None if force else folder)
    join = asked_join(join_radius, join_ids)
    workers = Workers(jobs, dask)

    with locked(folder.progress):
        if force:
            _forget(folder)
        journal = Journal(folder.progress)
        put_in_place(folder, journal)  # features of an extraction that was killed at its very end
        plan = IngestPlan(
            survey=described,
            clean=rule_name,
            rule=rule,
            features=choose_features(described, features, engine, journal),
            folder=folder,
            roots=tuple(absolute_name(str(path)) for path in inputs),
            simulated=lies_in_simulation(inputs),
            join=join or stored_join(journal),
        )
        journal.begin(plan.settings)
        plan.refuse_mixing(journal)
        reading = journal if plan.join is None else _pieces_journal(plan)
        finish_rewriting(plan.reading.folder.root, reading)  # what a kill left waiting
        _remove_unfinished(plan.reading.folder, reading)
        repaired = Repair(plan.reading, reading, files).run(workers) if repair else []
        if repaired:  # what other files had brought is not in a part that was made again
            bring_limits(plan.reading, reading)
        reading.check_parts(plan.reading.folder.root)
        added = _ingest_new(plan.reading, reading, files, workers, progress, update=update)
        _remove_unfinished(plan.reading.folder, reading)  # a cluster may have made a part twice
        totals = reading.totals()
        if totals["objects"] == 0:
            _forget(folder)
            raise LcdvtError(
                f"nothing could be ingested from {', '.join(map(str, inputs))}: {_why_nothing(totals, added.problems)}"
            )
        joined = None
        if plan.join is not None:
            reading.complete()
            joined = _join(Joining(plan, journal, reading), workers, progress, repair=repair)
            added.parts, added.objects = added.parts + joined.parts, joined.objects
            repaired += joined.repaired
            totals |= {key: journal.totals()[key] for key in ("objects", "epochs", "limits", "feature_gaps")}
            catalogue = catalogue and catalogue.of_stars(stars_of_pieces(folder), described)
        journal.reopen()
        write_text(folder.survey_toml, described.toml)
        labels = write_objects(folder, described, catalogue)
        result = IngestResult(
            name=folder.root.name,
            folder=folder.root,
            nothing_new=added.parts == 0,
            totals=totals,
            labels=labels,
            new_objects=added.objects,
            simulated=plan.simulated,
            problems=added.problems,
            repaired=repaired,
            joined=asdict(joined.summary) if joined else None,
            incomplete=dict(sorted(reading.incomplete.items())),
            neighbours=count_neighbours(folder) if described.several_ids and joined is None else 0,
        )
        problems = [problem for record in reading.records for problem in record.problems]
        _write_summary(plan, journal, result, problems)
        for each in {id(one): one for one in (reading, journal)}.values():
            root = each.folder.parent
            written = [root / path.name for path in (folder.survey_toml, folder.objects, folder.summary)]
            each.note_files({path.name: written_file(path) for path in written if path.is_file()})
            each.complete()
    return result


def _pieces_journal(plan: IngestPlan) -> Journal:
    """Open the journal of the light curves that are to be joined."""
    folder = plan.reading.folder.progress
    with writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder)
    journal.begin(plan.reading.settings)
    return journal


@dataclass
class _Added:
    """What was new in this call."""

    parts: int = 0
    objects: int = 0
    problems: list[str] = field(default_factory=list)

    def take(self, record: PartRecord) -> None:
        self.parts += 1
        self.objects += record.objects
        self.problems.extend(record.problems[: max(PROBLEMS_KEPT - len(self.problems), 0)])


def _ingest_new(
    plan: IngestPlan, journal: Journal, files: FileList, workers: Workers, progress: Progress, *, update: bool
) -> _Added:
    """Make a part of every batch of files that the journal does not know."""
    added = _Added()

    def was_finished(file: InputFile) -> bool:
        return journal.was_finished(file) and not (update and journal.was_refused(file))

    groups, streams = split_streams(plan.survey, files, was_finished)
    if not groups and not streams:
        if not journal.completed:  # a kill may have come just before this
            bring_limits(plan, journal)
        return added
    plan.refuse_older_epochs()
    plan.refuse_older_features()
    write_text(plan.folder.survey_toml, plan.survey.toml)
    if plan.features is not None:
        compile_ahead(plan.features, workers, progress)
    size = journal.plan(batch_size(len(groups)))
    done = journal.stream_progress(but_refused=update)
    batches = list_batches(plan.survey, groups, streams, size, done)
    first_number = max((record.number for record in journal.records), default=-1) + 1
    tasks = (PartTask(number, batch) for number, batch in enumerate(batches, first_number))
    known = KnownObjects(plan.folder)
    total = None if streams else len(groups)
    for part in run_batches(partial(make_part, plan), tasks, workers, begin_here=True):
        _tell_of_earlier_readings(part, journal)
        places = known.places_of(part.object_ids)
        if places:
            settle(plan, part, places, update=update)
        if part.record.rewritten:
            plan.folder.objects.unlink(missing_ok=True)  # until all is in place it would tell of parts that changed
        record = part.commit()
        journal.add(record)
        finish_rewriting(plan.folder.root, journal)
        known.add(part.object_ids, record.number)
        added.take(record)
        if total is not None and added.objects > total:
            total = None  # a file may hold many objects: how many there will be nobody knows
        progress(added.objects, total, f"{len(added.problems)} problems" if added.problems else "")
    bring_limits(plan, journal)
    return added


def _tell_of_earlier_readings(part: MadePart, journal: Journal) -> None:
    """Note which inputs of a part were read before: what was said of them then no longer holds."""
    record = part.record
    again = [file for file in part.inputs if journal.was_read(file)]
    record.read_again = sorted({name for file in again for name in (printable(file.name), input_key(file)[0])})
    if record.stream is None:
        record.files -= len(again)
    read_here = {absolute_name(name) for name in part.read_files}
    for object_id in journal.incomplete.keys() & set(part.object_ids):
        still = {file: why for file, why in journal.incomplete[object_id].items() if file not in read_here}
        record.incomplete[object_id] = still | record.incomplete.get(object_id, {})


def list_batches(
    survey: Survey, groups: FileGroups, streams: list[InputFile], size: int, done: dict[tuple[Any, ...], int]
) -> Iterator[Batch]:
    """Yield all batches in their fixed order: small files first, then each archive and large file."""
    yield from file_batches(groups, size)
    for file in streams:
        yield from stream_batches(survey, file, done.get(tuple(input_key(file)), 0))


def _why_nothing(totals: dict[str, Any], problems: list[str]) -> str:
    if problems:
        return f"{totals['files_skipped']} files were skipped. First: {problems[0]}"
    if totals["epochs_read"] and totals["dropped_epochs"] == {LIMIT_OF_NOTHING: totals["epochs_read"]}:
        return (
            f"it has {totals['epochs_read']} upper limits of {sum(totals['dropped_objects'].values())} stars and no "
            "epoch: give it together with the files that have their epochs, or after them."
        )
    lost = [f"{reason}: {count} epochs" for reason, count in totals["dropped_epochs"].items()]
    lost += [f"{reason}: {count} objects" for reason, count in totals["dropped_objects"].items()]
    return (
        f"{totals['epochs_read']} epochs were read and none is left ({'; '.join(lost)}); "
        "clean=none keeps what cleaning drops; if the rest cannot be, check the survey's description."
    )


def _forget(folder: SurveyFolder) -> None:
    others = (folder.new_features, folder.old_features, folder.replicates, pieces_folder(folder).root)
    for old in (*part_folders(folder), folder.unseen, *others):
        shutil.rmtree(old, ignore_errors=True)
    for file in (folder.objects, folder.pieces, folder.survey_toml, folder.summary):
        file.unlink(missing_ok=True)
    (folder.progress / JOURNAL_FILE).unlink(missing_ok=True)


def _remove_unfinished(folder: SurveyFolder, journal: Journal) -> None:
    """Remove what a kill left behind: temporary files, and parts put in place but not yet in the journal."""
    finished = {part_name(record.number) for record in journal.records}
    for place in (folder.root, *part_folders(folder), folder.unseen):
        for leftover in place.glob(f".*{UNFINISHED_SUFFIX}"):
            leftover.unlink()
        for part in place.glob(PARTS):
            if part.name not in finished:
                part.unlink()


def _join(joining: Joining, workers: Workers, progress: Progress, *, repair: bool) -> Joined:
    """Make stars of the light curves that are stored."""
    folder = joining.plan.folder
    joining.begin(workers)
    if joining.plan.features is not None:
        compile_ahead(joining.plan.features, workers, progress)
    _remove_unfinished(folder, joining.journal)
    joined = joining.run(workers, progress, repair=repair)
    _remove_unfinished(folder, joining.journal)
    return joined


def _write_summary(plan: IngestPlan, journal: Journal, result: IngestResult, problems: list[str]) -> None:
    summary = {
        "lcdvt": __version__,
        "survey": plan.survey.name,
        "citation": plan.survey.citation,
        "settings": {key: (journal.settings or {}).get(key) for key in ("clean", "features", "join")},
        "simulated": (journal.settings or {}).get("simulated"),
        "seed": None,  # nothing in an ingest is random
        "totals": result.totals,
        "labels": result.labels,
        "joined": result.joined,
        "incomplete": result.incomplete,
        "problems": problems[:PROBLEMS_KEPT],
        "problems_not_listed": max(len(problems) - PROBLEMS_KEPT, 0),
        "versions": _versions(),
    }
    text = json.dumps(summary, indent=2, ensure_ascii=False)
    write_text(plan.folder.summary, text)


@cache
def _versions() -> dict[str, str]:
    """Return the versions of what an ingest computes with; looking them up takes longer than writing the summary."""
    return {"python": platform.python_version(), **{package: version(package) for package in _VERSIONS}}
