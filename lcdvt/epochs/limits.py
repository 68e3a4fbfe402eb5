"""Upper limits: when a star was looked for and not seen, and how bright it can have been at most.

They are no epochs: they are kept in a table of their own, which nothing that computes from epochs reads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lcdvt.catalogs.survey import Survey
from lcdvt.epochs.stored import check_order, checked_numbers, table_metadata
from lcdvt.names import BAND, MAG_LIMIT, MJD, OBJECT_ID

LIMITS_SCHEMA: Final = pa.schema(
    [
        pa.field(OBJECT_ID, pa.string()),
        pa.field(BAND, pa.string()),
        pa.field(MJD, pa.float64()),
        pa.field(MAG_LIMIT, pa.float64()),
    ]
)
UNITS: Final = {MJD: "d", MAG_LIMIT: "mag"}


@dataclass(frozen=True)
class UpperLimits:
    """Upper limits of some objects, sorted by object, band, date and limit.

    Parameters
    ----------
    of_object, band
        Places in the list of objects, and in that of the bands' names.
    mjd, mag_limit
        The dates, and the magnitudes that the star was not brighter than.
    """

    of_object: NDArray[np.int64]
    band: NDArray[np.int64]
    mjd: NDArray[np.float64]
    mag_limit: NDArray[np.float64]

    def __len__(self) -> int:
        return int(self.mjd.size)

    def of(self, new_place: NDArray[np.int64]) -> "UpperLimits":
        """Return the limits of some objects alone: the new place of each in their list, -1 for one that is gone."""
        place = new_place[self.of_object]
        kept = place >= 0
        return UpperLimits(place[kept], self.band[kept], self.mjd[kept], self.mag_limit[kept])

    def to_arrow(self, object_ids: Sequence[str], bands: Sequence[str]) -> pa.Table:
        """Return the table that is stored."""
        ids, names = pa.array(object_ids, pa.string()), pa.array(bands, pa.string())
        columns = [ids.take(self.of_object), names.take(self.band), pa.array(self.mjd), pa.array(self.mag_limit)]
        return pa.Table.from_arrays(columns, schema=LIMITS_SCHEMA)


def sorted_limits(
    of_object: NDArray[np.int64],
    band: NDArray[np.int64],
    band_rank: NDArray[np.int64],
    mjd: NDArray[np.float64],
    mag_limit: NDArray[np.float64],
) -> UpperLimits:
    """Return upper limits in their order, each once.

    Parameters
    ----------
    of_object, band, mjd, mag_limit
        In any order.
    band_rank
        For each band its place in the order of the bands' names.
    """
    keys = (of_object, band_rank[band], mjd, mag_limit)
    is_before, is_same = _compared(keys)
    if is_before.all():  # most files are in order
        return UpperLimits(of_object, band, mjd, mag_limit)
    order = np.arange(mjd.size)
    if not (is_before | is_same).all():
        order = np.lexsort(keys[::-1])
        _, is_same = _compared(tuple(key[order] for key in keys))
    chosen = order[np.concatenate(([True], ~is_same))]
    return UpperLimits(of_object[chosen], band[chosen], mjd[chosen], mag_limit[chosen])


def _compared(keys: tuple[NDArray[Any], ...]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say of each row but the last whether it comes before the next by these keys, and whether it is the same."""
    size = max(keys[0].size - 1, 0)
    is_before, is_same = np.zeros(size, dtype=bool), np.ones(size, dtype=bool)
    for key in keys:
        is_before |= is_same & (key[:-1] < key[1:])
        is_same &= key[:-1] == key[1:]
    return is_before, is_same


def limits_metadata(survey: Survey) -> dict[str, str]:
    """Return what a Parquet file of upper limits says of itself."""
    return table_metadata(survey, "limits", LIMITS_SCHEMA.names, UNITS)


def check_limits(table: pa.Table, where: str) -> None:
    """Refuse a table that is not one of upper limits: columns, finite values, order."""
    values = checked_numbers(table, "a table of upper limits", LIMITS_SCHEMA, tuple(UNITS), where)
    check_order(table, values[MJD], where)
