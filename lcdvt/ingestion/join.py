"""Stars from stored light curves: the pieces of a star, wherever they were read, become one object of the survey.

Light curves are stored first as they were read, in a folder of their own with its own journal. When the last is there,
the table of pieces says which are one star, and part after part the stars are written. Killed at any moment, the same
command goes on; more light curves, or another rule, make all stars again from what is stored.
"""

import hashlib
import itertools
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from lcdvt.disk.atomic import write_text
from lcdvt.ingestion.join_rule import JoinRule
from lcdvt.ingestion.joined_part import JoinTask, make_joined_part
from lcdvt.ingestion.piece_table import JoinSummary, make_piece_table, read_piece_table, read_summary, write_piece_table
from lcdvt.ingestion.settings import IngestPlan
from lcdvt.parallel.executors import Workers, run_batches
from lcdvt.parallel.progress import Progress
from lcdvt.workspace.folder import part_name, pieces_folder
from lcdvt.workspace.journal import Journal, WrittenFile, written_file
from lcdvt.workspace.objects import PART


@dataclass(frozen=True)
class Joined:
    """What was done in this call.

    Parameters
    ----------
    parts, objects
        How many parts were made, of how many stars.
    repaired
        The names of those that were made again because they were damaged.
    summary
        How many light curves became how many stars.
    """

    parts: int
    objects: int
    repaired: list[str]
    summary: JoinSummary


@dataclass(frozen=True)
class Joining:
    """A survey whose light curves are all stored, and what it needs to make stars of them."""

    plan: IngestPlan
    journal: Journal
    pieces: Journal

    @property
    def rule(self) -> JoinRule:
        """How light curves are joined."""
        assert self.plan.join is not None  # only a survey that is joined comes here
        return self.plan.join

    def begin(self, workers: Workers) -> None:
        """Begin again where light curves were added or the rule is another; else keep what is made already.

        What cannot be joined is refused before anything is touched. Until the last star is there the survey has no
        objects table: nobody takes what is half old and half new for a survey.
        """
        stored = [[record.number, record.checksums] for record in self.pieces.records if record.objects]
        content = [self.rule.settings, self.rule.star_names(), stored]
        content += [record.limits_brought for record in self.pieces.records if record.limits_brought]
        digest = hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=16).hexdigest()
        if (self.journal.settings or {}).get("joined") != digest:
            table = self._piece_table(workers)
            # An interrupted extraction was of the stars of before.
            shutil.rmtree(self.plan.folder.new_features, ignore_errors=True)
            self.journal.restart(join=self.rule.settings, joined=digest)
            self._keep(table)
        if not self.journal.completed:
            self.plan.folder.objects.unlink(missing_ok=True)

    def run(self, workers: Workers, progress: Progress, *, repair: bool) -> Joined:
        """Make every part of stars that the journal does not know, and with `repair` those that are damaged."""
        folder = self.plan.folder
        noted = self.journal.files.get(folder.pieces.name)
        if noted is None or (repair and not noted.is_whole(folder.pieces)):
            self._keep(self._piece_table(workers))
        if repair or not folder.survey_toml.is_file():
            write_text(folder.survey_toml, self.plan.survey.toml)
        damaged = self._damaged() if repair else set()
        for number in damaged:
            (folder.features / part_name(number)).unlink(missing_ok=True)  # they may not even open
        if not repair:
            self.journal.check_parts(folder.root)
        done = {record.number for record in self.journal.records} - damaged
        table = read_piece_table(folder)
        if done < set(table[PART].to_pylist()):
            self.plan.refuse_older_features()
        summary = read_summary(folder)
        parts = stars = 0
        for part in run_batches(partial(make_joined_part, self.plan), _tasks(table, done), workers):
            record = part.commit()
            if record.number in damaged:
                self.journal.note_files(
                    {name: WrittenFile(size, record.checksums[name]) for name, size in record.sizes.items()}
                )
            else:
                self.journal.add(record)
                parts, stars = parts + 1, stars + record.objects
            progress(stars, summary.stars)
        return Joined(parts, stars, [part_name(number) for number in sorted(damaged)], summary)

    def _piece_table(self, workers: Workers) -> pa.Table:
        return make_piece_table(pieces_folder(self.plan.folder), self.plan.survey, self.rule, workers)

    def _keep(self, table: pa.Table) -> None:
        write_piece_table(self.plan.folder, table)
        path = self.plan.folder.pieces
        self.journal.note_files({path.name: written_file(path)})

    def _damaged(self) -> set[int]:
        folder, files = self.plan.folder, self.journal.files
        damaged = set()
        for record in self.journal.records:
            # Features may have been computed after the ingest, so that the record does not list them.
            names = {*record.sizes, f"{folder.features.name}/{part_name(record.number)}"} & files.keys()
            if not all(files[name].is_whole(folder.root / name) for name in names):
                damaged.add(record.number)
        return damaged


def _tasks(table: pa.Table, done: set[int]) -> Iterator[JoinTask]:
    """Cut the table of pieces, which is in the order of the parts, into the parts that are still to be made."""
    numbers = table[PART].to_numpy()
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1), len(numbers)]
    for start, stop in itertools.pairwise(edges):
        number = int(numbers[start])
        if number not in done:
            yield JoinTask(number, table.slice(start, stop - start).to_pandas())
