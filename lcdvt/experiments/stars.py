"""The paper's three pairs of surveys: EROS to MACHO, MACHO to EROS, EROS to HiTS.

They are run on whatever is ingested under these names, real or simulated; the tables say which. A pair that was
finished before is taken as it is, so that the same command goes on where it was interrupted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lcdvt.errors import LcdvtError
from lcdvt.progress import Progress, silent
from lcdvt.protocol import RunResult
from lcdvt.published import PUBLISHED
from lcdvt.transfer_run import ensemble
from lcdvt.workspace import ingested_surveys, workspace_folder

PAIRS: Final[tuple[tuple[str, str], ...]] = tuple(PUBLISHED)


class StarsError(LcdvtError):
    """No pair of the paper's surveys is there."""


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

    runs: tuple[RunResult, ...]
    left_out: dict[tuple[str, str], tuple[str, ...]]


def run_stars(
    labels: str | float = "1%",
    *,
    name: str = "stars",
    data: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
    **options: Any,
) -> StarsResult:
    """Run the paper's protocol on each published pair of which both surveys are ingested.

    Parameters
    ----------
    labels
        Of each target. The paper's own percentages contradict its counts, so that its figures stand for no one share.
    name
        Runs are called NAME-SOURCE-TARGET.
    data, force
        The workspace, and whether to make runs anew that are there.
    progress
        Called with the number of draws done in all pairs.
    options
        Everything else that `ensemble` takes.
    """
    workspace = workspace_folder(data)
    there = ingested_surveys(workspace)
    left_out = {pair: lacking for pair in PAIRS if (lacking := _lacking(pair, there))}
    pairs = [pair for pair in PAIRS if pair not in left_out]
    if not pairs:
        missing = ", ".join(dict.fromkeys(survey for lacking in left_out.values() for survey in lacking))
        raise StarsError(
            f"none of the paper's pairs is ingested in {workspace} (missing: {missing}): run `lcdvt ingest` on them, "
            "with --name if yours are called otherwise."
        )
    runs = [
        ensemble(
            source, target, labels, name=f"{name}-{source}-{target}", data=data, force=force, reuse=not force,
            progress=_within(progress, number, len(pairs), f"{source} → {target}"), **options,
        )
        for number, (source, target) in enumerate(pairs)
    ]  # fmt: skip
    return StarsResult(tuple(runs), left_out)


def _lacking(pair: tuple[str, str], there: Sequence[str]) -> tuple[str, ...]:
    return tuple(survey for survey in pair if survey not in there)


def _within(progress: Progress, number: int, pairs: int, pair: str) -> Progress:
    """Count the draws of one pair on from those of the pairs before it."""

    def report(done: int, total: int | None, note: str = "") -> None:
        draws = total or 0
        progress(number * draws + done, pairs * draws, note or pair)

    return report
