"""Upper limits: when a star was looked for and not seen, and how bright it can have been at most.

They are no epochs: they are kept in a table of their own, which nothing that computes from epochs reads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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
    order = np.lexsort((mag_limit, mjd, band_rank[band], of_object))
    is_new = np.ones(order.size, dtype=bool)
    ordered = (column[order] for column in (of_object, band, mjd, mag_limit))
    is_new[1:] = np.any([column[1:] != column[:-1] for column in ordered], axis=0)
    chosen = order[is_new]
    return UpperLimits(of_object[chosen], band[chosen], mjd[chosen], mag_limit[chosen])


def limits_metadata(survey: Survey) -> dict[str, str]:
    """Return what a Parquet file of upper limits says of itself."""
    return table_metadata(survey, "limits", LIMITS_SCHEMA.names, UNITS)


def check_limits(table: pa.Table, where: str) -> None:
    """Refuse a table that is not one of upper limits: columns, finite values, order."""
    values = checked_numbers(table, "a table of upper limits", LIMITS_SCHEMA, tuple(UNITS), where)
    check_order(table, values[MJD], where)
