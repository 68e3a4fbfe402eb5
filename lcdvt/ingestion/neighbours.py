"""How many stored stars lie so close to another that they may be one star under several ids."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lcdvt.names import DEC, RA
from lcdvt.workspace.folder import SurveyFolder

NEIGHBOUR_ARCSEC: Final = 1.0
"""Positions of one star in a survey from the ground agree to this, two stars are hardly told apart below it."""
OBJECTS_LOOKED_AT: Final = 100_000
"""It is a hint: more objects would only cost time, and memory that grows with the survey."""


def count_neighbours(folder: SurveyFolder) -> int:
    """Return how many of the first objects lie within an arcsecond of another."""
    import astropy.units as u
    from astropy.coordinates import SkyCoord, match_coordinates_sky

    batches: list[pa.RecordBatch] = []
    with pq.ParquetFile(folder.objects) as file:
        for batch in file.iter_batches(columns=[RA, DEC]):
            batches.append(batch)
            if sum(each.num_rows for each in batches) >= OBJECTS_LOOKED_AT:
                break
    table = pa.Table.from_batches(batches)
    ra, dec = (table[axis].to_numpy() for axis in (RA, DEC))
    placed = np.isfinite(ra) & np.isfinite(dec) & (np.abs(dec) <= 90)
    if np.count_nonzero(placed) < 2:
        return 0
    sky = SkyCoord(ra[placed] * u.deg, dec[placed] * u.deg)
    # The nearest but itself; to list all pairs would take memory without end where many have one position.
    _, apart, _ = match_coordinates_sky(sky, sky, nthneighbor=2)
    return int(np.count_nonzero(apart.arcsec <= NEIGHBOUR_ARCSEC))
