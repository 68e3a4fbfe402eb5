"""The table of pieces: which star each stored light curve belongs to, and the offset of each in each band.

It is made once from all stored light curves, before the first star is written, so that every star is whole.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lcdvt.catalogs.survey import Survey
from lcdvt.disk.atomic import write_atomically
from lcdvt.errors import InputFileError, WorkspaceError
from lcdvt.ingestion.batches import batch_size
from lcdvt.ingestion.join_rule import JoinRule
from lcdvt.ingestion.star_groups import group_stars
from lcdvt.names import BAND, DEC, FLUX, MAG, MJD, OBJECT_ID, RA, SURVEY_LABEL
from lcdvt.parallel.executors import Workers, run_batches
from lcdvt.workspace.folder import PARTS, SurveyFolder, read_part
from lcdvt.workspace.objects import PART, objects_folder

ABOVE_ZERO: Final = "above_zero"
STAR, PIECE, EPOCHS, OFFSET, PIECE_PART = "star", "piece", "epochs", "offset", "piece_part"
EPOCHS_AT_ONCE: Final = 1 << 19
"""Bounds a worker's memory where light curves are long: some twenty megabytes of numbers."""
SIGNIFICANCE: Final = 3.0
MEDIAN_ERROR: Final = 1.2533
"""The error of a median in those of a mean: sqrt(pi / 2)."""
_SCHEMA: Final = pa.schema(
    [
        (STAR, pa.string()),
        (PIECE, pa.string()),
        (BAND, pa.string()),
        (EPOCHS, pa.int64()),
        (OFFSET, pa.float64()),
        (PIECE_PART, pa.int32()),
        (PART, pa.int32()),
    ]
)
_SUMMARY_KEY: Final = b"lcdvt.joined"
_PERCENTILES: Final = (16, 50, 84)
"""The median, and what lies a standard deviation to its sides."""


@dataclass(frozen=True)
class JoinSummary:
    """How many light curves became how many stars.

    Parameters
    ----------
    light_curves, stars
        Before and after.
    joined_light_curves, joined_stars
        Light curves that are not alone in their star, and the stars made of them.
    offsets
        Light curves that were shifted in some band.
    kept_apart
        Pairs within the radius that were not joined because their brightness differs.
    without_position
        Light curves that could not be joined by position, as they have none.
    contradicting_labels
        Stars whose light curves are labelled differently by their own files or folders: they get none of these labels.
    """

    light_curves: int
    stars: int
    joined_light_curves: int
    joined_stars: int
    offsets: int
    kept_apart: int
    without_position: int
    contradicting_labels: int


def make_piece_table(pieces: SurveyFolder, survey: Survey, rule: JoinRule, workers: Workers) -> pa.Table:
    """Decide which stored light curves are one star, and the number of the part each star goes to.

    Parameters
    ----------
    pieces
        The light curves as they were read.
    survey
        Whose they are.
    rule
        How they are joined.
    workers
        Who looks at the light curves.
    """
    parts = sorted(pieces.epochs.glob(PARTS))
    curves = pd.concat(run_batches(describe_curves, parts, workers), ignore_index=True)
    objects = pd.concat([_objects_of(path) for path in sorted(objects_folder(pieces).glob(PARTS))], ignore_index=True)
    names = rule.star_names()
    _refuse_what_cannot_be_joined(objects, rule, names, survey)
    groups = group_stars(objects, curves, rule.radius_arcsec, names)
    curves[STAR] = curves[PIECE].map(groups.star_of)
    objects[STAR] = objects[PIECE].map(groups.star_of)
    curves[OFFSET] = _offsets(curves)
    curves[PART] = curves[STAR].map(_part_of_each_star(curves))
    table = curves.sort_values([PART, STAR, PIECE, BAND])
    sizes = objects.groupby(STAR).size()
    summary = JoinSummary(
        light_curves=len(objects),
        stars=len(sizes),
        joined_light_curves=int(sizes[sizes > 1].sum()),
        joined_stars=int((sizes > 1).sum()),
        offsets=int(curves.loc[curves[OFFSET] != 0, PIECE].nunique()),
        kept_apart=groups.kept_apart,
        without_position=groups.without_position,
        contradicting_labels=_contradicting(objects, survey),
    )
    kept = pa.Table.from_pandas(
        table[[STAR, PIECE, BAND, EPOCHS, OFFSET, PIECE_PART, PART]], schema=_SCHEMA, preserve_index=False
    )
    return kept.replace_schema_metadata({_SUMMARY_KEY: json.dumps(asdict(summary))})


def write_piece_table(folder: SurveyFolder, table: pa.Table) -> None:
    """Write the table of pieces beside the objects table."""
    write_atomically(folder.pieces, lambda path: pq.write_table(table, path, compression="zstd"))


def read_piece_table(folder: SurveyFolder) -> pa.Table:
    """Read the table of pieces."""
    return read_part(folder.pieces)


def stars_of_pieces(folder: SurveyFolder) -> dict[str, str]:
    """Return the star of each light curve."""
    table = read_part(folder.pieces, columns=[PIECE, STAR])
    return dict(zip(table[PIECE].to_pylist(), table[STAR].to_pylist(), strict=True))


def read_summary(folder: SurveyFolder) -> JoinSummary:
    """Return how many light curves became how many stars."""
    try:
        return JoinSummary(**json.loads((pq.read_schema(folder.pieces).metadata or {})[_SUMMARY_KEY]))
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"{folder.pieces} is damaged: run the same command with repair=True.") from error


def one_label(survey: Survey, labels: list[str]) -> str | None:
    """Return what a star's light curves are labelled; None where they contradict each other, or say nothing."""
    return labels[0] if len({survey.canonical_class(label) for label in labels}) == 1 else None


def describe_curves(part: Path) -> pd.DataFrame:
    """Return number of epochs, median, spread, first and last date of each light curve and band of a part."""
    epochs = read_part(part)
    # The rows of one light curve and band stand together, by date.
    ids, bands = (np.asarray(epochs[name].to_pylist(), dtype=object) for name in (OBJECT_ID, BAND))
    mjd, mag = epochs[MJD].to_numpy(), epochs[MAG].to_numpy()
    starts = np.flatnonzero(np.concatenate(([True], (ids[1:] != ids[:-1]) | (bands[1:] != bands[:-1]))))
    ends = np.append(starts[1:], ids.size)
    low, median, high = np.array(
        [np.percentile(mag[start:end], _PERCENTILES) for start, end in zip(starts, ends, strict=True)]
    ).T
    flux = epochs[FLUX].to_numpy() if FLUX in epochs.column_names else np.ones(ids.size)
    return pd.DataFrame(
        {
            PIECE: ids[starts],
            BAND: bands[starts],
            EPOCHS: ends - starts,
            "median": median,
            "spread": (high - low) / 2,
            "first": mjd[starts],
            "last": mjd[ends - 1],
            ABOVE_ZERO: np.minimum.reduceat(np.nan_to_num(flux, nan=1.0), starts) > 0,
            PIECE_PART: int(part.stem.removeprefix("part-")),
        }
    )


def _objects_of(path: Path) -> pd.DataFrame:
    table = read_part(path, columns=[OBJECT_ID, RA, DEC, SURVEY_LABEL])
    return table.to_pandas().rename(columns={OBJECT_ID: PIECE})


def _refuse_what_cannot_be_joined(objects: pd.DataFrame, rule: JoinRule, names: dict[str, str], survey: Survey) -> None:
    if rule.radius_arcsec is not None and not np.isfinite(objects[RA] + objects[DEC]).any():
        raise InputFileError(
            f"no light curve of {survey.name} has a position, its files carry none: join them by name, "
            "with join_ids=FILE instead of join_radius, or begin again without joining, with force=True."
        )
    if names and not objects[PIECE].isin(names.keys()).any():
        raise InputFileError(
            f"none of the {len(names)} ids of {rule.ids} is the id of a light curve; the first light curve is "
            f"{objects[PIECE].iloc[0]}: give the ids as they stand in the light curves."
        )


def _offsets(curves: pd.DataFrame) -> "pd.Series[float]":
    """Return what is added to each light curve so that its median is that of the star's longest one in the band.

    Only where both were observed at the same time, because otherwise the star itself may have changed, and where the
    medians differ by more than their errors: a shift by chance would do harm. A flux of zero or below is that of a
    difference image or of the noise, which a zero point does not move.
    """
    ordered = curves.sort_values([STAR, BAND, EPOCHS, PIECE], ascending=[True, True, False, True])
    described = ["median", "spread", "first", "last", EPOCHS, ABOVE_ZERO]
    longest = ordered.groupby([STAR, BAND], sort=False)[described].transform("first")
    difference = longest["median"] - ordered["median"]
    spread = np.maximum(longest["spread"], ordered["spread"])
    error = MEDIAN_ERROR * spread * np.sqrt(1 / longest[EPOCHS] + 1 / ordered[EPOCHS])
    at_the_same_time = (ordered["first"] <= longest["last"]) & (longest["first"] <= ordered["last"])
    has_zero_point = ordered[ABOVE_ZERO] & longest[ABOVE_ZERO]
    return difference.where(has_zero_point & at_the_same_time & (difference.abs() > SIGNIFICANCE * error), 0.0)


def _part_of_each_star(curves: pd.DataFrame) -> dict[str, int]:
    """Return the part of each star, in the order in which stars were read: a part then needs few of the parts read."""
    stars = curves.groupby(STAR).agg(first=(PIECE_PART, "min"), epochs=(EPOCHS, "sum")).reset_index()
    stars = stars.sort_values(["first", STAR])
    most = batch_size(len(stars))
    part_of: dict[str, int] = {}
    number = objects = size = 0
    for star, epochs in zip(stars[STAR], stars["epochs"], strict=True):
        if objects and (objects >= most or size + epochs > EPOCHS_AT_ONCE):
            number, objects, size = number + 1, 0, 0
        part_of[star] = number
        objects, size = objects + 1, size + int(epochs)
    return part_of


def _contradicting(objects: pd.DataFrame, survey: Survey) -> int:
    labelled = objects.dropna(subset=[SURVEY_LABEL])
    classes: Any = labelled[SURVEY_LABEL].map(survey.canonical_class)
    return int((classes.groupby(labelled[STAR]).nunique() > 1).sum())
