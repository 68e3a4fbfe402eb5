"""Some stars become one part: the epochs of all their pieces together. Runs in a worker, touches nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lcdvt.catalogs.survey import Survey
from lcdvt.epochs.block import epochs_metadata, epochs_schema
from lcdvt.epochs.fluxes import with_one_softening
from lcdvt.epochs.limits import LIMITS_SCHEMA, limits_metadata
from lcdvt.features.extraction import extract_table, extraction_report
from lcdvt.ingestion.feature_parts import features_metadata
from lcdvt.ingestion.part import MadePart
from lcdvt.ingestion.piece_table import EPOCHS, OFFSET, PIECE, PIECE_PART, STAR, one_label
from lcdvt.ingestion.settings import IngestPlan
from lcdvt.names import (
    BAND,
    DEC,
    FLUX,
    FLUX_ERR,
    MAG,
    MAG_LIMIT,
    MJD,
    OBJECT_ID,
    RA,
    SOURCE,
    SURVEY_LABEL,
    n_epochs_column,
)
from lcdvt.workspace.folder import SurveyFolder, part_name, pieces_folder, read_part
from lcdvt.workspace.journal import PartRecord
from lcdvt.workspace.objects import PART, objects_folder


@dataclass(frozen=True)
class JoinTask:
    """The rows of the table of pieces whose stars make one part, and its number."""

    number: int
    pieces: pd.DataFrame


def make_joined_part(plan: IngestPlan, task: JoinTask) -> MadePart:
    """Put the pieces of some stars together and write them; the files wait under temporary names for `commit`."""
    read = pieces_folder(plan.folder)
    epochs = _epochs(read, task.pieces, plan.survey)
    limits = _limits(read, task.pieces)
    objects = _objects(read, task.pieces, plan.survey, task.number)
    record = PartRecord(
        number=task.number,
        finished_inputs=[],
        stream=None,
        files=0,
        files_skipped=0,
        objects=objects.num_rows,
        epochs_read=0,
        epochs=epochs.num_rows,
        limits=limits.num_rows,
        dropped_epochs={},
        dropped_objects={},
    )
    part = MadePart(record, plan.folder, objects[OBJECT_ID].to_pylist(), objects[SOURCE].to_pylist())
    to_epochs, to_features, to_objects, to_limits, _ = part.staged
    part.write(epochs.replace_schema_metadata(epochs_metadata(plan.survey)), to_epochs)
    part.write(objects, to_objects)
    if limits.num_rows:
        part.write(limits.replace_schema_metadata(limits_metadata(plan.survey)), to_limits)
    if plan.features is not None:
        features = extract_table(epochs, plan.features)
        record.feature_gaps.update(extraction_report(features).curves)
        part.write(features.replace_schema_metadata(features_metadata(plan.survey, plan.features)), to_features)
    return part


def _epochs(read: SurveyFolder, pieces: pd.DataFrame, survey: Survey) -> pa.Table:
    """Return all epochs of the stars, shifted by each piece's offset, by star, band and date."""
    epochs = _rows_of_pieces(read.epochs, pieces, pieces[PIECE_PART].unique())
    epochs = epochs.merge(pieces[[PIECE, BAND, STAR, OFFSET]], on=[PIECE, BAND], validate="many_to_one")
    epochs[MAG] += epochs[OFFSET]
    if survey.keeps_flux:
        for column in (FLUX, FLUX_ERR):
            epochs[column] *= 10.0 ** (-0.4 * epochs[OFFSET])
        epochs = with_one_softening(epochs, STAR, survey.flux_zero_point)
    star, band = (pd.factorize(epochs[name], sort=True)[0] for name in (STAR, BAND))
    ordered = epochs.iloc[np.lexsort((epochs[MJD], band, star))].rename(columns={STAR: OBJECT_ID})
    schema = epochs_schema(survey)
    return pa.Table.from_pandas(ordered[schema.names], schema=schema, preserve_index=False)


def _limits(read: SurveyFolder, pieces: pd.DataFrame) -> pa.Table:
    """Return all upper limits of the stars, shifted as the epochs of their piece are in the band."""
    numbers = [int(each) for each in pieces[PIECE_PART].unique() if (read.limits / part_name(int(each))).is_file()]
    if not numbers:
        return LIMITS_SCHEMA.empty_table()
    limits = _rows_of_pieces(read.limits, pieces, numbers)
    star_of = pieces.drop_duplicates(PIECE).set_index(PIECE)[STAR]
    limits = limits.merge(pieces[[PIECE, BAND, OFFSET]], on=[PIECE, BAND], how="left", validate="many_to_one")
    limits[OBJECT_ID] = limits[PIECE].map(star_of)
    limits[MAG_LIMIT] += limits[OFFSET].fillna(0.0)  # a piece may have nothing but limits in a band
    ordered = limits.sort_values([OBJECT_ID, BAND, MJD, MAG_LIMIT])
    return pa.Table.from_pandas(ordered[LIMITS_SCHEMA.names], schema=LIMITS_SCHEMA, preserve_index=False)


def _rows_of_pieces(place: Path, pieces: pd.DataFrame, numbers: Iterable[int]) -> pd.DataFrame:
    """Return what some parts in a folder have of the light curves."""
    tables = []
    for number in numbers:
        table = read_part(place / part_name(int(number)))
        wanted = pieces.loc[pieces[PIECE_PART] == number, PIECE].unique()
        tables.append(table.filter(pc.is_in(table[OBJECT_ID], pa.array(wanted, pa.string()))))
    return pa.concat_tables(tables).to_pandas().rename(columns={OBJECT_ID: PIECE})


def _objects(read: SurveyFolder, pieces: pd.DataFrame, survey: Survey, number: int) -> pa.Table:
    """Return one row for each star: position and file are those of its longest piece that has a position."""
    parts = [read_part(objects_folder(read) / part_name(int(each))) for each in pieces[PIECE_PART].unique()]
    known = pa.concat_tables(parts).to_pandas().set_index(OBJECT_ID)[[SURVEY_LABEL, RA, DEC, SOURCE]]
    lengths = pieces.groupby([STAR, PIECE], as_index=False)[EPOCHS].sum().join(known, on=PIECE)
    lengths["no_position"] = ~np.isfinite(lengths[RA] + lengths[DEC])
    longest_first = lengths.sort_values([STAR, "no_position", EPOCHS, PIECE], ascending=[True, True, False, True])
    stars = longest_first.drop_duplicates(STAR).set_index(STAR).sort_index()
    labels = lengths.dropna(subset=[SURVEY_LABEL]).groupby(STAR)[SURVEY_LABEL].agg(list)
    counts = pieces.pivot_table(index=STAR, columns=BAND, values=EPOCHS, aggfunc="sum", fill_value=0)
    columns = {
        OBJECT_ID: pa.array(stars.index, pa.string()),
        SURVEY_LABEL: pa.array([one_label(survey, labels.get(star, [])) for star in stars.index], pa.string()),
        RA: stars[RA].to_numpy(),
        DEC: stars[DEC].to_numpy(),
    }
    for band in survey.bands:
        in_band = counts[band].reindex(stars.index) if band in counts else pd.Series(0, stars.index)
        columns[n_epochs_column(band)] = in_band.to_numpy(dtype=np.int64)
    columns[SOURCE] = pa.array(stars[SOURCE], pa.string())
    columns[PART] = np.full(len(stars), number, dtype=np.int32)
    return pa.table(columns)
