"""Objects that are known already and come again: from a file that was mended or grew, in a further band, or twice.

What is read last counts for the files it was read from; what other files gave stays. A star that is changed moves to
the new part and leaves its old one, which is written again without it. The journal is told first where the rewritten
files wait, so that a kill at any moment leaves either the old state or one that the next ingest completes.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lcdvt.disk.atomic import UNFINISHED_SUFFIX
from lcdvt.epochs.block import epochs_schema
from lcdvt.epochs.fluxes import with_one_softening
from lcdvt.features.extraction import extract_table, extraction_report
from lcdvt.ingestion.known_objects import Place
from lcdvt.ingestion.part import MadePart
from lcdvt.ingestion.settings import IngestPlan
from lcdvt.names import BAND, DEC, MJD, OBJECT_ID, RA, SOURCE, SOURCES_SEPARATOR, SURVEY_LABEL, n_epochs_column
from lcdvt.workspace.folder import SurveyFolder, part_name, read_part, write_part
from lcdvt.workspace.journal import Journal
from lcdvt.workspace.objects import objects_folder

SAME_DATE_DAYS: Final = 1e-6
"""A tenth of a second: no survey takes two exposures of a star within it, and releases round dates differently."""


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
    epochs
        What it consists of from now on; None leaves it as it was.
    is_refused
        Whether it was left as it was although it is another: the same band from another file.
    """

    object_id: str
    place: Place
    source: str
    epochs: pd.DataFrame | None = None
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
    to_epochs = next(iter(part.staged))
    ids = sorted(places)
    new = _by_object(pq.read_table(to_epochs), ids)
    old: dict[str, pd.DataFrame] = {}
    for number in sorted({place.part for place in places.values()}):
        here = [object_id for object_id in ids if places[object_id].part == number]
        old |= _by_object(read_part(plan.folder.epochs / part_name(number)), here)
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
    changed = [star for star in returned if star.epochs is not None]
    part.leave_out([star.object_id for star in returned if star.epochs is None])
    part.refuse({star.object_id: (star.source, star.place.source) for star in returned if star.is_refused})
    if changed:
        _take_over(plan, part, changed, new)
        _rewrite_old_parts(plan.folder, part, changed, old)


def _by_object(epochs: pa.Table, ids: list[str]) -> dict[str, pd.DataFrame]:
    chosen = epochs.filter(pc.is_in(epochs[OBJECT_ID], pa.array(ids, pa.string()))).to_pandas()
    return {str(object_id): rows.reset_index(drop=True) for object_id, rows in chosen.groupby(OBJECT_ID)}


def _settled(star: Returned, old: pd.DataFrame, new: pd.DataFrame, *, add: bool) -> Returned:
    """Return the star with what it consists of from now on."""
    old_sources, new_sources = (set(text.split(SOURCES_SEPARATOR)) for text in (star.place.source, star.source))
    other_bands = old[~old[BAND].isin(new[BAND].unique())]
    if old_sources <= new_sources:
        epochs = new
    elif old_sources & new_sources or len(other_bands) == len(old):
        epochs = pd.concat([other_bands, new])
    elif add:
        epochs = pd.concat([old, new[~_has_date(old, new)]])
    else:
        return Returned(star.object_id, star.place, star.source, is_refused=True)
    epochs = epochs.sort_values([BAND, MJD], kind="stable", ignore_index=True)
    if epochs.equals(old):
        return star
    return Returned(star.object_id, star.place, star.source, epochs)


def _has_date(old: pd.DataFrame, new: pd.DataFrame) -> "pd.Series[bool]":
    """Say for each new epoch whether the star has one of that date in the band."""
    found = pd.Series(False, index=new.index)
    for band, rows in new.groupby(BAND):
        dates = np.concatenate(([-np.inf], np.sort(old.loc[old[BAND] == band, MJD].to_numpy()), [np.inf]))
        after = np.searchsorted(dates, rows[MJD])
        nearest = np.minimum(rows[MJD] - dates[after - 1], dates[after] - rows[MJD])
        found[rows.index] = nearest <= SAME_DATE_DAYS
    return found


def _take_over(plan: IngestPlan, part: MadePart, changed: list[Returned], new: dict[str, pd.DataFrame]) -> None:
    """Put what the stars consist of into the new part."""
    merged = [star for star in changed if star.epochs is not None and star.epochs is not new[star.object_id]]
    to_epochs, to_features, to_objects = part.staged
    stored = pq.read_table(to_epochs)
    without = stored.filter(pc.invert(pc.is_in(stored[OBJECT_ID], pa.array([star.object_id for star in merged]))))
    frames = [star.epochs for star in merged if star.epochs is not None]
    if frames and plan.survey.keeps_flux:
        frames = [with_one_softening(pd.concat(frames), OBJECT_ID, plan.survey.flux_zero_point)]
    frames.append(without.to_pandas())
    table = pd.concat(frames).sort_values([OBJECT_ID, BAND, MJD], kind="stable")
    schema = epochs_schema(plan.survey)
    epochs = pa.Table.from_pandas(table[schema.names], schema=schema, preserve_index=False)
    part.record.epochs = epochs.num_rows
    part.write(epochs.replace_schema_metadata(stored.schema.metadata), to_epochs)
    part.write(_objects(plan, part, merged), to_objects)
    if plan.features is not None:
        metadata = pq.read_schema(to_features).metadata
        features = extract_table(epochs, plan.features)
        part.record.feature_gaps = dict(extraction_report(features).curves)
        part.write(features.replace_schema_metadata(metadata), to_features)


def _objects(plan: IngestPlan, part: MadePart, merged: list[Returned]) -> pa.Table:
    """Return the part's objects: what the old and the new reading of a star say of it, the new one first."""
    to_objects = list(part.staged)[2]
    stored = pq.read_table(to_objects)
    objects = stored.to_pandas().set_index(OBJECT_ID)
    for star in merged:
        place = objects_folder(plan.folder) / part_name(star.place.part)
        before = read_part(place).to_pandas().set_index(OBJECT_ID).loc[star.object_id]
        assert star.epochs is not None  # only changed stars are here
        counts = star.epochs[BAND].value_counts()
        for band in plan.survey.bands:
            objects.loc[star.object_id, n_epochs_column(band)] = int(counts.get(band, 0))
        for column in (RA, DEC, SURVEY_LABEL):
            if pd.isna(objects.loc[star.object_id, column]):
                objects.loc[star.object_id, column] = before[column]
        sources = dict.fromkeys(before[SOURCE].split(SOURCES_SEPARATOR) + star.source.split(SOURCES_SEPARATOR))
        objects.loc[star.object_id, SOURCE] = SOURCES_SEPARATOR.join(sources)
    table = objects.reset_index()[stored.column_names]
    return pa.Table.from_pandas(table, schema=stored.schema, preserve_index=False)


def _rewrite_old_parts(
    folder: SurveyFolder, part: MadePart, changed: list[Returned], old: dict[str, pd.DataFrame]
) -> None:
    """Write the parts where the stars lay again, without them, under temporary names."""
    for number in sorted({star.place.part for star in changed}):
        gone = [star.object_id for star in changed if star.place.part == number]
        part.record.replaced[str(number)] = [len(gone), sum(len(old[object_id]) for object_id in gone)]
        for place in (folder.epochs, folder.features, objects_folder(folder)):
            final = place / part_name(number)
            if not final.is_file():
                continue
            table = read_part(final)
            kept = table.filter(pc.invert(pc.is_in(table[OBJECT_ID], pa.array(gone, pa.string()))))
            waiting = place / f".{final.name}.{part.attempt}{UNFINISHED_SUFFIX}"
            written = write_part(kept.replace_schema_metadata(table.schema.metadata), waiting)
            with waiting.open("rb") as file:
                os.fsync(file.fileno())  # it takes the place of a file that is safe on the disk
            name, stays = (str(path.relative_to(folder.root)) for path in (final, waiting))
            part.record.rewritten[name] = [waiting.stat().st_size, written, stays]


def finish_rewriting(root: Path, journal: Journal) -> None:
    """Put rewritten parts in their place; what a kill left waiting is put there by the next ingest."""
    for name, waiting in journal.waiting.items():
        if (root / waiting).is_file():
            (root / waiting).replace(root / name)
    journal.waiting.clear()
