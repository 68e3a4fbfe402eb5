"""The paper's three pairs of surveys: EROS to MACHO, MACHO to EROS, EROS to HiTS.

They are run on whatever is ingested under these names, real or simulated; the tables say which. A pair that was
finished before is taken as it is, so that the same command goes on where it was interrupted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lcdvt.errors import SettingsError
from lcdvt.parallel.executors import EVERY_CORE, Workers
from lcdvt.parallel.progress import Progress, silent
from lcdvt.protocol.carry_out import RunPlace
from lcdvt.protocol.plan import TransferOptions
from lcdvt.protocol.transfer import run_transfer
from lcdvt.run import Run
from lcdvt.tables.published import PUBLISHED
from lcdvt.workspace.folder import ingested_surveys, workspace_folder

PAPERS_OPTIONS: Final = TransferOptions(repeats=10)
PAIRS: Final[tuple[tuple[str, str], ...]] = tuple(PUBLISHED)


@dataclass(frozen=True)
class StarsResult:
    """The runs of the pairs that are ingested, and which surveys the others lack.

    Parameters
    ----------
    runs
        In the paper's order.
    left_out
        By pair: the surveys that are not ingested.
    """

    runs: tuple[Run, ...]
    left_out: dict[tuple[str, str], tuple[str, ...]]


def run_stars(
    labels: str | float = "1%",
    *,
    options: TransferOptions = PAPERS_OPTIONS,
    workers: Workers = EVERY_CORE,
    name: str = "stars",
    data: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> StarsResult:
    """Run the paper's protocol on each published pair of which both surveys are ingested.

    Parameters
    ----------
    labels
        How many labels of each target. The paper's own percentages contradict its counts, so that its figures stand
        for no one share.
    options
        How labels are carried over; by default ten draws of ten members, as in the paper.
    workers
        Who makes the draws.
    name
        Runs are called NAME-SOURCE-TARGET.
    data, force
        The workspace, and whether to make runs again that are there.
    progress
        Called with the number of draws done in all pairs.
    """
    workspace = workspace_folder(data)
    there = ingested_surveys(workspace)
    left_out = {pair: lacking for pair in PAIRS if (lacking := _lacking(pair, there))}
    pairs = [pair for pair in PAIRS if pair not in left_out]
    if not pairs:
        missing = ", ".join(dict.fromkeys(survey for lacking in left_out.values() for survey in lacking))
        raise SettingsError(
            f"none of the paper's pairs is ingested in {workspace} (missing: {missing}): run `lcdvt ingest` on them, "
            "with name=eros, name=macho or name=hits if yours are called otherwise."
        )
    runs = [
        run_transfer(
            [source],
            target,
            str(labels),
            options,
            RunPlace(f"{name}-{source}-{target}", data, force, reuse=not force),
            workers,
            _within(progress, number, len(pairs), f"{source} → {target}"),
        )
        for number, (source, target) in enumerate(pairs)
    ]
    return StarsResult(tuple(runs), left_out)


def _lacking(pair: tuple[str, str], there: Sequence[str]) -> tuple[str, ...]:
    return tuple(survey for survey in pair if survey not in there)


def _within(progress: Progress, number: int, pairs: int, pair: str) -> Progress:
    """Count the draws of one pair on from those of the pairs before it."""

    def report(done: int, total: int | None, note: str = "") -> None:
        draws = total or 0
        progress(number * draws + done, pairs * draws, note or pair)

    return report
