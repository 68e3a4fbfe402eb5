"""Objects that are known already and come again: from a file that was mended or grew, in a further band, or twice.

What is read last counts for the files it was read from; what other files gave stays. A star that is changed moves to
the new part and leaves its old one, which is written again without it. The journal is told first where the rewritten
files wait, so that a kill at any moment leaves either the old state or one that the next ingest completes.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lcdvt.disk.atomic import UNFINISHED_SUFFIX
from lcdvt.epochs.block import epochs_metadata, epochs_schema
from lcdvt.epochs.fluxes import with_one_softening
from lcdvt.epochs.limits import LIMITS_SCHEMA, limits_metadata
from lcdvt.features.extraction import extract_table, extraction_report
from lcdvt.ingestion.known_objects import Place
from lcdvt.ingestion.part import MadePart
from lcdvt.ingestion.settings import IngestPlan
from lcdvt.names import BAND, DEC, MJD, OBJECT_ID, RA, SOURCE, SOURCES_SEPARATOR, SURVEY_LABEL, n_epochs_column
from lcdvt.workspace.folder import SurveyFolder, part_name, read_part, write_part
from lcdvt.workspace.journal import Journal, PartRecord
from lcdvt.workspace.objects import objects_folder, part_folders

SAME_DATE_DAYS: Final = 1e-6
"""A tenth of a second: no survey takes two exposures of a star within it, and releases round dates differently."""


class StarRows(NamedTuple):
    """What is stored of a star."""

    epochs: pd.DataFrame
    limits: pd.DataFrame

    def equals(self, other: "StarRows") -> bool:
        """Say whether the same is stored of two."""
        return self.epochs.equals(other.epochs) and self.limits.equals(other.limits)


@dataclass(frozen=True)
class Returned:
    """A star that came again.

    Parameters
    ----------
    object_id
        Which star.
    place
        Where it lies, and what it was read from.
    source
        What it was read from now.
    rows
        What it consists of from now on; None leaves it as it was.
    is_refused
        Whether it was left as it was although it is another: the same band from another file.
    """

    object_id: str
    place: Place
    source: str
    rows: "StarRows | None" = None
    is_refused: bool = False


def settle(plan: IngestPlan, part: MadePart, places: dict[str, Place], *, update: bool) -> None:
    """Decide on every star of a part that is known already; the part then holds what is to be committed.

    Parameters
    ----------
    plan
        How the part was made.
    part
        Written but not yet in place.
    places
        Its known objects.
    update
        Add the epochs of a band that another file gave already, where their dates are new.
    """
    to_epochs, _, _, to_limits, _ = part.staged
    ids = sorted(places)
    new = _rows_by_object(to_epochs, to_limits, ids)
    old: dict[str, StarRows] = {}
    for number in sorted({place.part for place in places.values()}):
        here = [object_id for object_id in ids if places[object_id].part == number]
        name = part_name(number)
        old |= _rows_by_object(plan.folder.epochs / name, plan.folder.limits / name, here)
    source_of = dict(zip(part.object_ids, part.sources, strict=True))
    returned = [
        _settled(
            Returned(object_id, places[object_id], source_of[object_id]),
            old[object_id],
            new[object_id],
            add=update or object_id in part.may_grow,
        )
        for object_id in ids
    ]
    changed = [star for star in returned if star.rows is not None]
    part.leave_out([star.object_id for star in returned if star.rows is None])
    part.refuse({star.object_id: (star.source, star.place.source) for star in returned if star.is_refused})
    if changed:
        _take_over(plan, part, changed)
        _rewrite_old_parts(plan.folder, part, changed, old)


def _rows_by_object(epochs: Path, limits: Path, ids: list[str]) -> dict[str, StarRows]:
    of_epochs = _by_object(read_part(epochs), ids)
    of_limits = _by_object(limits_in(limits), ids)
    none = LIMITS_SCHEMA.empty_table().to_pandas()
    return {object_id: StarRows(rows, of_limits.get(object_id, none)) for object_id, rows in of_epochs.items()}


def _by_object(table: pa.Table, ids: list[str]) -> dict[str, pd.DataFrame]:
    chosen = table.filter(pc.is_in(table[OBJECT_ID], pa.array(ids, pa.string()))).to_pandas()
    return {str(object_id): rows.reset_index(drop=True) for object_id, rows in chosen.groupby(OBJECT_ID)}


def limits_in(part: Path) -> pa.Table:
    """Return the upper limits of a part, which may have none."""
    return read_part(part) if part.is_file() else LIMITS_SCHEMA.empty_table()


def _settled(star: Returned, old: StarRows, new: StarRows, *, add: bool) -> Returned:
    """Return the star with what it consists of from now on; its upper limits go the way of its epochs."""
    old_sources, new_sources = (set(text.split(SOURCES_SEPARATOR)) for text in (star.place.source, star.source))
    if old_sources <= new_sources:
        rows = new
    elif old_sources & new_sources:
        read_again = new.epochs[BAND]
        limits = _in_other_bands(old.limits, pd.concat([read_again, new.limits[BAND]]))
        epochs = _in_other_bands(old.epochs, read_again)
        rows = StarRows(pd.concat([epochs, new.epochs]), pd.concat([limits, new.limits]))
    elif add or not old.epochs[BAND].isin(new.epochs[BAND].unique()).any():
        rows = StarRows(*(_with_new_dates(before, after) for before, after in zip(old, new, strict=True)))
    else:
        return Returned(star.object_id, star.place, star.source, is_refused=True)
    rows = StarRows(*(each.sort_values([BAND, MJD], kind="stable", ignore_index=True) for each in rows))
    if rows.equals(old):
        return star
    return Returned(star.object_id, star.place, star.source, rows)


def _in_other_bands(old: pd.DataFrame, bands: "pd.Series[str]") -> pd.DataFrame:
    return old[~old[BAND].isin(bands.unique())]


def _with_new_dates(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Return the old rows, and the new ones of dates that the old ones do not have in their band."""
    return pd.concat([old, new[~_has_date(old, new)]])


def _has_date(old: pd.DataFrame, new: pd.DataFrame) -> "pd.Series[bool]":
    """Say for each new epoch whether the star has one of that date in the band."""
    found = pd.Series(False, index=new.index)
    for band, rows in new.groupby(BAND):
        dates = np.concatenate(([-np.inf], np.sort(old.loc[old[BAND] == band, MJD].to_numpy()), [np.inf]))
        after = np.searchsorted(dates, rows[MJD])
        nearest = np.minimum(rows[MJD] - dates[after - 1], dates[after] - rows[MJD])
        found[rows.index] = nearest <= SAME_DATE_DAYS
    return found


def _take_over(plan: IngestPlan, part: MadePart, changed: list[Returned]) -> None:
    """Put what the stars consist of into the new part."""
    to_epochs, to_features, to_objects, to_limits, _ = part.staged
    ids = [star.object_id for star in changed]
    frames = [star.rows.epochs for star in changed if star.rows is not None]
    if plan.survey.keeps_flux:
        frames = [with_one_softening(pd.concat(frames), OBJECT_ID, plan.survey.flux_zero_point)]
    epochs = _with_changed(read_part(to_epochs), ids, frames, epochs_schema(plan.survey))
    part.record.epochs = epochs.num_rows
    part.write(epochs.replace_schema_metadata(epochs_metadata(plan.survey)), to_epochs)
    part.write(_objects(plan, part, changed), to_objects)
    frames = [star.rows.limits for star in changed if star.rows is not None]
    limits = _with_changed(limits_in(to_limits), ids, frames, LIMITS_SCHEMA)
    part.record.limits = limits.num_rows
    if limits.num_rows or to_limits.is_file():
        part.write(limits.replace_schema_metadata(limits_metadata(plan.survey)), to_limits)
    if plan.features is not None:
        metadata = pq.read_schema(to_features).metadata
        features = extract_table(epochs, plan.features)
        part.record.feature_gaps = dict(extraction_report(features).curves)
        part.write(features.replace_schema_metadata(metadata), to_features)


def _with_changed(stored: pa.Table, ids: list[str], frames: list[pd.DataFrame], schema: pa.Schema) -> pa.Table:
    """Return a table of the part in its order, with other rows of some stars."""
    others = stored.filter(pc.invert(pc.is_in(stored[OBJECT_ID], pa.array(ids, pa.string())))).to_pandas()
    table = pd.concat([*frames, others]).sort_values([OBJECT_ID, BAND, MJD], kind="stable")
    return pa.Table.from_pandas(table[schema.names], schema=schema, preserve_index=False)


def _objects(plan: IngestPlan, part: MadePart, changed: list[Returned]) -> pa.Table:
    """Return the part's objects: what the old and the new reading of a star say of it, the new one first."""
    to_objects = part.unfinished(objects_folder(plan.folder))
    stored = pq.read_table(to_objects)
    objects = stored.to_pandas().set_index(OBJECT_ID)
    for star in changed:
        place = objects_folder(plan.folder) / part_name(star.place.part)
        before = read_part(place).to_pandas().set_index(OBJECT_ID).loc[star.object_id]
        assert star.rows is not None  # only changed stars are here
        counts = star.rows.epochs[BAND].value_counts()
        for band in plan.survey.bands:
            objects.loc[star.object_id, n_epochs_column(band)] = int(counts.get(band, 0))
        for column in (RA, DEC, SURVEY_LABEL):
            if pd.isna(objects.loc[star.object_id, column]):
                objects.loc[star.object_id, column] = before[column]
        sources = dict.fromkeys(before[SOURCE].split(SOURCES_SEPARATOR) + star.source.split(SOURCES_SEPARATOR))
        objects.loc[star.object_id, SOURCE] = SOURCES_SEPARATOR.join(sources)
    table = objects.reset_index()[stored.column_names]
    return pa.Table.from_pandas(table, schema=stored.schema, preserve_index=False)


def _rewrite_old_parts(folder: SurveyFolder, part: MadePart, changed: list[Returned], old: dict[str, StarRows]) -> None:
    """Write the parts where the stars lay again, without them, under temporary names."""
    for number in sorted({star.place.part for star in changed}):
        gone = [star.object_id for star in changed if star.place.part == number]
        rows = [old[object_id] for object_id in gone]
        epochs, limits = (sum(map(len, tables)) for tables in zip(*rows, strict=True))
        part.record.replaced[str(number)] = [len(gone), epochs, limits]
        for place in part_folders(folder):
            final = place / part_name(number)
            if not final.is_file():
                continue
            table = read_part(final)
            kept = table.filter(pc.invert(pc.is_in(table[OBJECT_ID], pa.array(gone, pa.string()))))
            rewrite(folder, part.record, kept.replace_schema_metadata(table.schema.metadata), final, part.attempt)


def rewrite(folder: SurveyFolder, record: PartRecord, table: pa.Table, final: Path, attempt: str) -> None:
    """Write a file of an older part again, under a temporary name that the record tells.

    Parameters
    ----------
    folder, record
        The survey, and what the journal will say.
    table, final
        What the file is to hold, and the file.
    attempt
        What tells the temporary names of two attempts apart.
    """
    waiting = final.parent / f".{final.name}.{attempt}{UNFINISHED_SUFFIX}"
    written = write_part(table, waiting)
    with waiting.open("rb") as file:
        os.fsync(file.fileno())  # it takes the place of a file that is safe on the disk
    name, stays = (str(path.relative_to(folder.root)) for path in (final, waiting))
    record.rewritten[name] = [waiting.stat().st_size, written, stays]


def finish_rewriting(root: Path, journal: Journal) -> None:
    """Put rewritten parts in their place; what a kill left waiting is put there by the next ingest."""
    for name, waiting in journal.waiting.items():
        if (root / waiting).is_file():
            (root / waiting).replace(root / name)
    journal.waiting.clear()
