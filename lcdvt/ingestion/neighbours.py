"""How many stored stars lie so close to another that they may be one star under several ids."""

from typing import Final

import numpy as np
import pyarrow as pa

from lcdvt.disk.parquet import open_streamed
from lcdvt.names import DEC, RA
from lcdvt.workspace.folder import SurveyFolder

NEIGHBOUR_ARCSEC: Final = 1.0
"""Positions of one star in a survey from the ground agree to this, two stars are hardly told apart below it."""
OBJECTS_LOOKED_AT: Final = 100_000
"""It is a hint: more objects would only cost time, and memory that grows with the survey."""
OBJECTS_AT_ONCE: Final = 1 << 12
"""Answers of the search that are in memory together."""


def count_neighbours(folder: SurveyFolder) -> int:
    """Return how many of the first objects lie within an arcsecond of another."""
    from scipy.spatial import KDTree

    batches: list[pa.RecordBatch] = []
    with open_streamed(folder.objects) as file:
        for batch in file.iter_batches(columns=[RA, DEC]):
            batches.append(batch)
            if sum(each.num_rows for each in batches) >= OBJECTS_LOOKED_AT:
                break
    table = pa.Table.from_batches(batches)
    ra, dec = (table[axis].to_numpy() for axis in (RA, DEC))
    placed = np.isfinite(ra) & np.isfinite(dec) & (np.abs(dec) <= 90)
    if np.count_nonzero(placed) < 2:
        return 0
    longitude, latitude = np.radians(ra[placed]), np.radians(dec[placed])
    sky = np.column_stack(
        (np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude))
    )
    # Trees that are not balanced stay quick where many have one position.
    tree = KDTree(sky, compact_nodes=False, balanced_tree=False)
    farthest = 2.0 * np.sin(np.radians(NEIGHBOUR_ARCSEC / 3600.0) / 2.0)
    count = 0
    for start in range(0, len(sky), OBJECTS_AT_ONCE):
        # The nearest but itself; to list all pairs would take memory without end where many have one position.
        apart, _ = tree.query(sky[start : start + OBJECTS_AT_ONCE], k=2)
        count += int(np.count_nonzero(apart[:, 1] <= farthest))
    return count
