"""Upper limits in files of their own: they go to the star, whichever file and whichever ingest its epochs come from.

A file such as ALeRCE's non-detections has no epoch. Its limits are kept in a folder beside the journal, part by part,
and stay there; at the end of an ingest those whose star is known by then are added to the limits of the star's part. So
nothing is lost when a star's file is read again and the star moves to another part, nor when a part is made again.
"""

from collections import defaultdict
from uuid import uuid4

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lcdvt.epochs.block import LIMIT_OF_NOTHING
from lcdvt.epochs.limits import LIMITS_SCHEMA, limits_metadata
from lcdvt.ingestion.known_objects import KnownObjects
from lcdvt.ingestion.returning import finish_rewriting, limits_in, rewrite
from lcdvt.ingestion.settings import IngestPlan
from lcdvt.names import OBJECT_ID
from lcdvt.workspace.folder import PARTS, part_name, read_part
from lcdvt.workspace.journal import REPLACED, Journal, PartRecord


def bring_limits(plan: IngestPlan, journal: Journal) -> None:
    """Add the limits of other files to those of the stars that are known."""
    parts = sorted(plan.folder.unseen.glob(PARTS))
    if not parts:
        return
    known = KnownObjects(plan.folder)
    for path in parts:
        table = read_part(path)
        of_part: dict[int, list[str]] = defaultdict(list)
        for object_id, place in known.places_of(pc.unique(table[OBJECT_ID]).to_pylist()).items():
            of_part[place.part].append(object_id)
        if of_part:
            _bring(plan, journal, table, of_part)


def _bring(plan: IngestPlan, journal: Journal, unseen: pa.Table, of_part: dict[int, list[str]]) -> None:
    """Write the parts' limits again with those that they do not have yet; the journal is told before they change."""
    record = _empty_record(journal)
    counted = {each.number: each.limits for each in journal.records}
    attempt = uuid4().hex[:8]
    for number, ids in sorted(of_part.items()):
        final = plan.folder.limits / part_name(number)
        here = limits_in(final).to_pandas()
        more = unseen.filter(pc.is_in(unseen[OBJECT_ID], pa.array(ids, pa.string()))).to_pandas()
        together = pd.concat([here, more]).drop_duplicates().sort_values(LIMITS_SCHEMA.names, kind="stable")
        if len(together) == len(here):
            continue
        limits = pa.Table.from_pandas(together, schema=LIMITS_SCHEMA, preserve_index=False)
        rewrite(plan.folder, record, limits.replace_schema_metadata(limits_metadata(plan.survey)), final, attempt)
        # not by how many it has more now: one that was made again has lost what the journal still counts
        if brought := len(together) - counted[number]:
            record.limits_brought[str(number)] = brought
    if not record.rewritten:
        return
    record.dropped_epochs = _no_longer_dropped(journal, sum(record.limits_brought.values()))
    journal.add(record)
    finish_rewriting(plan.folder.root, journal)


def _empty_record(journal: Journal) -> PartRecord:
    return PartRecord(
        number=max(record.number for record in journal.records) + 1,
        finished_inputs=[],
        stream=None,
        files=0,
        files_skipped=0,
        objects=0,
        epochs_read=0,
        epochs=0,
        dropped_epochs={},
        dropped_objects={},
    )


def _no_longer_dropped(journal: Journal, limits: int) -> dict[str, int]:
    """Return what is to be taken from the counts: limits of no star, or such as left their part with their star."""
    dropped = journal.totals()["dropped_epochs"]
    taken: dict[str, int] = {}
    for reason in (LIMIT_OF_NOTHING, REPLACED):
        taken[reason] = -min(limits, dropped.get(reason, 0))
        limits += taken[reason]
    return {reason: count for reason, count in taken.items() if count}
