"""The epochs table: how raw curves become it, its schema, its check, its Parquet.

In memory a block of epochs is a few flat arrays cut into segments, one per object and band; on disk it is one
row per epoch, sorted by object, band and date.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lcdvt.catalogs.reading.curves import RawCurves, RawObject
from lcdvt.catalogs.reading.values import with_tolerance
from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.time_system import ANY_DAYS
from lcdvt.epochs import kernels
from lcdvt.epochs.fluxes import asinh_magnitudes, fluxes, softenings
from lcdvt.epochs.limits import LIMITS_SCHEMA, UpperLimits, sorted_limits
from lcdvt.epochs.stored import check_order, checked_numbers, table_metadata
from lcdvt.errors import WorkspaceError
from lcdvt.names import BAND, FLUX, FLUX_ERR, MAG, MAG_ERR, MJD, OBJECT_ID, SOURCES_SEPARATOR

EPOCHS_SCHEMA: Final = pa.schema(
    [
        pa.field(OBJECT_ID, pa.string()),
        pa.field(BAND, pa.string()),
        pa.field(MJD, pa.float64()),
        pa.field(MAG, pa.float64()),
        pa.field(MAG_ERR, pa.float64()),
    ]
)
FLUX_FIELDS: Final = (pa.field(FLUX, pa.float64()), pa.field(FLUX_ERR, pa.float64()))
"""Beside the others where the survey gives fluxes; null for a star that was read as magnitudes."""
PLAUSIBLE_MJD: Final = (0.0, 200_000.0)
"""From 1858, before the first plates, to the year 2406: a date outside was written wrongly or misunderstood."""
UNITS: Final = {MJD: "d", MAG: "mag", MAG_ERR: "mag"}

# Why an epoch was dropped before any cleaning rule looked at it.
READ_BEFORE: Final = "of an object read before"
_REASONS: Final = {
    kernels.MISSING_VALUE: "missing value or sentinel",
    kernels.BAD_ERROR: "error not positive",
    kernels.OTHER_BAND: "band not described in the survey",
    kernels.BAD_DATE: "date out of range",
    kernels.READ_BEFORE: READ_BEFORE,
    kernels.REPEATED: "exact repetition",
    kernels.NO_MAGNITUDE: "flux zero or negative, without a magnitude",
}
LIMIT_OF_NOTHING: Final = "upper limit of a dropped object"
NEVER_SEEN: Final = "no valid epoch"


@dataclass
class EpochBlock:
    """Epochs of some objects: segment i is one object in one band, `start[i]` to `start[i + 1]`."""

    objects: list[RawObject]
    bands: tuple[str, ...]
    segment_object: NDArray[np.int64]
    segment_band: NDArray[np.int64]
    start: NDArray[np.int64]
    mjd: NDArray[np.float64]
    mag: NDArray[np.float64]
    err: NDArray[np.float64]
    limits: UpperLimits
    """Kept apart: no rule of cleaning looks at them, and they keep no object that has no epoch."""
    unseen: pa.Table = field(default_factory=LIMITS_SCHEMA.empty_table)
    """The limits of objects without an epoch here: other files may have some."""
    dropped_epochs: Counter[str] = field(default_factory=Counter)
    dropped_objects: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, str] = field(default_factory=dict)
    """Each dropped object's id, and why."""
    softening: NDArray[np.float64] | None = None
    """Segment: that of its asinh magnitudes, NaN where it was read as magnitudes; None for a survey without fluxes."""
    flux_zero_point: float = 0.0

    def keep_epochs(self, keep: NDArray[np.bool_], reason: str) -> None:
        """Drop the epochs that are not to be kept and count them under `reason`."""
        self.drop_epochs(~keep, (reason,))

    def drop_epochs(self, why: NDArray[Any], reasons: tuple[str, ...]) -> None:
        """Drop each epoch for which `why` is not 0, and count it under that one of the reasons (counted from 1)."""
        lost = {reason: int(np.count_nonzero(why == number)) for number, reason in enumerate(reasons, 1)}
        if any(lost.values()):
            self.dropped_epochs += Counter(lost)  # without the reasons that were none
            segments = kernels.Segments(self.start, self.mjd, self.mag, self.err)
            self.start, self.mjd, self.mag, self.err = kernels.keep_marked(why == 0, segments)

    def keep_segments(self, keep: NDArray[np.bool_], reason: str) -> None:
        """Drop whole segments and count their epochs under `reason`."""
        self.keep_epochs(np.repeat(keep, np.diff(self.start)), reason)

    def drop_empty_objects(self, reason: str) -> None:
        """Leave out the objects without a single epoch and count them under `reason`."""
        filled = np.zeros(len(self.objects), dtype=bool)
        filled[self.segment_object[np.diff(self.start) > 0]] = True
        if filled.all():
            return
        self.dropped_objects[reason] += int(np.count_nonzero(~filled))
        stays = {found.object_id for found, full in zip(self.objects, filled, strict=True) if full}
        gone = [self.objects[number].object_id for number in np.flatnonzero(~filled)]
        self.left_out |= {object_id: reason for object_id in gone if object_id not in stays}
        new_index = np.where(filled, np.cumsum(filled) - 1, -1)
        kept_limits = self.limits.of(new_index)
        self.dropped_epochs += Counter({LIMIT_OF_NOTHING: len(self.limits) - len(kept_limits)})
        ids = [found.object_id for found in self.objects]
        lost = self.limits.of(np.where(filled, -1, np.arange(len(ids)))).to_arrow(ids, self.bands)
        self.unseen = pa.concat_tables([self.unseen, lost])
        self.limits = kept_limits
        segments = filled[self.segment_object]
        lengths = np.diff(self.start)[segments]
        self.start = np.concatenate(([0], np.cumsum(lengths)))
        self.segment_object = new_index[self.segment_object[segments]]
        self.segment_band = self.segment_band[segments]
        if self.softening is not None:
            self.softening = self.softening[segments]
        self.objects = [found for found, full in zip(self.objects, filled, strict=True) if full]

    def epochs_per_band(self) -> NDArray[np.int64]:
        """Return the number of epochs, object by band."""
        counts = np.zeros((len(self.objects), len(self.bands)), dtype=np.int64)
        counts[self.segment_object, self.segment_band] = np.diff(self.start)
        return counts

    def to_arrow(self) -> pa.Table:
        """Return the block as the epochs table."""
        lengths = np.diff(self.start)
        ids = pa.array([found.object_id for found in self.objects], pa.string())
        object_codes = np.repeat(self.segment_object.astype(np.int32), lengths)
        band_codes = np.repeat(self.segment_band.astype(np.int32), lengths)
        columns = [  # the codes were just made: checking that they fit their dictionaries would cost more
            pa.DictionaryArray.from_arrays(object_codes, ids, safe=False),
            pa.DictionaryArray.from_arrays(band_codes, pa.array(self.bands, pa.string()), safe=False),
            pa.array(self.mjd),
            pa.array(self.mag),
            pa.array(self.err),
        ]
        names = EPOCHS_SCHEMA.names
        if self.softening is not None:
            columns += [pa.array(values, from_pandas=True) for values in self.fluxes()]
            names = [*names, FLUX, FLUX_ERR]
        return pa.table(columns, names=names)

    def count_fluxes_below_zero(self) -> int:
        """Return how many fluxes are zero or below; none where magnitudes were read."""
        return 0 if self.softening is None else int(np.count_nonzero(self.fluxes()[0] <= 0))

    def fluxes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return each epoch's flux and its error; NaN where it was read as a magnitude."""
        softening = np.full(len(self.start) - 1, np.nan) if self.softening is None else self.softening
        each = np.repeat(softening, np.diff(self.start))
        return fluxes(self.mag, self.err, each, self.flux_zero_point)


def block_from_raw(survey: Survey, curves: RawCurves) -> EpochBlock:
    """Turn raw curves into sorted epochs in MJD and magnitudes, without sentinels and nonsense."""
    objects, new_object = _merged_by_id(curves)
    raw = curves.epochs
    # Rows on disk are sorted by the band's name, while the survey lists its bands from blue to red.
    by_name = np.argsort(np.array(survey.bands))
    wanted = kernels.Wanted(
        new_object=new_object,
        band_rank=np.argsort(by_name),
        n_objects=len(objects),
        mag_sentinels=np.stack(with_tolerance(survey.mag_sentinels)),
        err_sentinels=np.stack(with_tolerance(survey.err_sentinels)),
        offset=float(survey.time.offset_to_mjd),
        dates=PLAUSIBLE_MJD if survey.time.system != ANY_DAYS else (-np.inf, np.inf),
    )
    (start, mjd, mag, err), is_limit, counts = kernels.arrange(
        raw.object_index, raw.band_index, raw.time, raw.mag, raw.err, wanted
    )
    limits = sorted_limits(
        new_object[raw.object_index[is_limit]].astype(np.int64),
        raw.band_index[is_limit].astype(np.int64),
        wanted.band_rank,
        raw.time[is_limit] + wanted.offset,
        raw.err[is_limit],
    )
    counts[kernels.REPEATED] += counts[kernels.UPPER_LIMIT] - len(limits)
    filled = np.flatnonzero(np.diff(start))
    block = EpochBlock(
        objects=objects,
        bands=survey.bands,
        segment_object=filled // by_name.size,
        segment_band=by_name[filled % by_name.size],
        start=np.append(start[filled], mjd.size),
        mjd=mjd,
        mag=mag,
        err=err,
        limits=limits,
        dropped_epochs=curves.dropped_epochs
        + Counter({name: int(counts[code]) for code, name in _REASONS.items() if counts[code]}),
        dropped_objects=curves.dropped_objects,
    )
    if survey.keeps_flux:
        _take_as_fluxes(block, survey.flux_zero_point)
    block.drop_empty_objects(NEVER_SEEN)
    return block


def _take_as_fluxes(block: EpochBlock, zero_point: float) -> None:
    """Turn the fluxes of the objects that were read as fluxes into asinh magnitudes."""
    in_flux = np.array([found.in_flux for found in block.objects], dtype=bool)
    segments = in_flux[block.segment_object] if block.objects else np.zeros(0, dtype=bool)
    block.softening = np.where(segments, softenings(block.err, block.start), np.nan)
    block.flux_zero_point = zero_point
    here = np.repeat(segments, np.diff(block.start))
    each = np.repeat(block.softening, np.diff(block.start))[here]
    block.mag[here], block.err[here] = asinh_magnitudes(block.mag[here], block.err[here], each, zero_point)


def epochs_schema(survey: Survey) -> pa.Schema:
    """Return the columns of a survey's epochs table."""
    return pa.schema([*EPOCHS_SCHEMA, *FLUX_FIELDS]) if survey.keeps_flux else EPOCHS_SCHEMA


def _merged_by_id(curves: RawCurves) -> tuple[list[RawObject], NDArray[np.int32]]:
    """Sort objects by id; a star's files of different bands become one object, other repetitions are refused.

    Files of a format that may be `joined` become one object in the same band too. What has upper limits alone stays an
    object of its own, which has no epoch: whoever puts parts together brings its limits to the star.
    """
    only_limits = _have_only_limits(curves)
    by_id: dict[str, list[int]] = {}
    for position, found in enumerate(curves.objects):
        if not only_limits[position]:
            by_id.setdefault(found.object_id, []).append(position)
    new_index = np.full(len(curves.objects), -1, dtype=np.int32)
    unseen = np.flatnonzero(only_limits)
    new_index[unseen] = np.arange(len(unseen))
    objects = [curves.objects[position] for position in unseen]
    for object_id in sorted(by_id):
        first, *others = by_id[object_id]
        new_index[first] = len(objects)
        bands = set(curves.objects[first].bands_in_file)
        sources = [curves.objects[first].source]
        for other in others:
            more = set(curves.objects[other].bands_in_file)
            joined = curves.objects[first].joined and curves.objects[other].joined
            if more and bands and (joined or not more & bands):
                new_index[other] = len(objects)
                bands |= more
                sources.append(curves.objects[other].source)
            else:
                curves.problems.append(
                    f"{curves.objects[other].source}: object {object_id} was already read from "
                    f"{curves.objects[first].source}; this file is skipped: give each object once."
                )
                curves.dropped_objects["read before"] += 1
        found = curves.objects[first]
        objects.append(found._replace(source=SOURCES_SEPARATOR.join(sources)) if len(sources) > 1 else found)
    return objects, new_index


def _have_only_limits(curves: RawCurves) -> NDArray[np.bool_]:
    """Say of each object as read whether it has upper limits and nothing else."""
    raw, objects = curves.epochs, len(curves.objects)
    is_limit = np.isposinf(raw.mag)
    if not is_limit.any():
        return np.zeros(objects, dtype=bool)
    limits, others = (np.bincount(raw.object_index[rows], minlength=objects) for rows in (is_limit, ~is_limit))
    return (limits > 0) & (others == 0)


def epochs_metadata(survey: Survey) -> dict[str, str]:
    """Return what a Parquet file of epochs says of itself: units, time system, citation, version."""
    units = UNITS | (dict.fromkeys((FLUX, FLUX_ERR), survey.flux_unit) if survey.keeps_flux else {})
    return table_metadata(survey, "epochs", epochs_schema(survey).names, units)


def check_epochs(table: pa.Table, where: str) -> None:
    """Refuse a table that is not an epochs table: schema, finite values, positive errors, order."""
    values = checked_numbers(table, "an epochs table", EPOCHS_SCHEMA, (MJD, MAG, MAG_ERR), where)
    if not (values[MAG_ERR] > 0).all():
        raise WorkspaceError(f"{where}: {MAG_ERR} holds values that are not positive.")
    check_order(table, values[MJD], where)
