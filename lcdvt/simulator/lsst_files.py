"""Rubin's forced photometry: tables ForcedSource in Parquet, one per field, and the dates in the table Visit."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lcdvt.simulator.files import calendar_dates
from lcdvt.simulator.observation import Observation
from lcdvt.simulator.star import Array

FIELDS = 1000
STARS_PER_FIELD = 20
FIRST_TRACT = 4000
OBJECTS_PER_TRACT = 1 << 40
NANOJANSKY_AT_ZERO = 3631e9  # AB magnitude zero
QUARTERS_OF_AN_HOUR = 96
DETECTORS = 189


class ForcedSources:
    """`ForcedSource_<tract>_<patch>.parquet` with a row per object and visit; it has no dates, as Rubin's has none."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path: Path | None = None
        self._stars: list[pa.Table] = []
        # Number of each visit of each field so far -> its middle and its filter.
        self._visits: dict[int, tuple[float, str]] = {}

    @staticmethod
    def field_of(index: int) -> int:
        """Return the number of the field that star `index` lies in."""
        return index // STARS_PER_FIELD % FIELDS + 1

    def write(self, observation: Observation) -> str:
        """Add the object to its field's table, which is written when the next field begins."""
        tract, patch = FIRST_TRACT + observation.field, observation.index // (STARS_PER_FIELD * FIELDS)
        path = self._directory / f"ForcedSource_{tract}_{patch}.parquet"
        if path != self._path:
            self._write_field()
            self._path = path
        object_id = tract * OBJECTS_PER_TRACT + observation.index
        self._stars.append(self._rows(observation, object_id, tract, patch))
        return str(object_id)

    def _rows(self, observation: Observation, object_id: int, tract: int, patch: int) -> pa.Table:
        rng, flux = observation.rng, observation.flux
        visit, band = _visit_numbers(observation.visits.mjd, observation.field), observation.visits.filters
        assert band is not None and flux  # one filter at a time, in flux
        self._visits.update(
            zip(visit.tolist(), zip(observation.visits.mjd.tolist(), band.tolist(), strict=True), strict=True)
        )
        seen = np.any([one.seen for one in flux.values()], axis=0)
        in_filter = [band == name for name in flux]
        psf, err, spoiled = (
            np.select(in_filter, [getattr(one, column) for one in flux.values()])[seen]
            for column in ("flux", "flux_err", "spoiled")
        )
        means = [np.full(band.size, 10 ** (-0.4 * mean)) for mean in observation.mean_mag.values()]
        template = np.select(in_filter, means)[seen]
        rows = int(seen.sum())
        return pa.table(
            {
                "objectId": np.full(rows, object_id),
                "coord_ra": np.full(rows, observation.ra),
                "coord_dec": np.full(rows, observation.dec),
                "visit": visit[seen],
                "detector": rng.integers(DETECTORS, size=rows).astype(np.int16),
                "band": pa.array(band[seen].tolist(), pa.string()),
                "psfFlux": (NANOJANSKY_AT_ZERO * psf).astype(np.float32),
                "psfFluxErr": (NANOJANSKY_AT_ZERO * err).astype(np.float32),
                "psfFlux_flag": spoiled.astype(bool),
                "psfDiffFlux": (NANOJANSKY_AT_ZERO * (psf - template)).astype(np.float32),
                "psfDiffFluxErr": (NANOJANSKY_AT_ZERO * err).astype(np.float32),
                "tract": np.full(rows, tract),
                "patch": np.full(rows, patch),
            }
        )

    def _write_field(self) -> None:
        if self._path is not None:
            pq.write_table(pa.concat_tables(self._stars), self._path)
        self._path, self._stars = None, []

    def close(self) -> None:
        """Write the field under way, and the dates of all visits."""
        self._write_field()
        numbers = sorted(self._visits)
        dates, bands = zip(*(self._visits[number] for number in numbers), strict=True) if numbers else ((), ())
        table = pa.table(
            {
                "visit": pa.array(numbers, pa.int64()),
                "band": pa.array(bands, pa.string()),
                "expMidptMJD": pa.array(dates, pa.float64()),
                "expTime": pa.array([30.0] * len(numbers), pa.float64()),
            }
        )
        pq.write_table(table, self._directory / "Visit.parquet")


def _visit_numbers(mjd: Array, field: int) -> NDArray[np.int64]:
    """Return a number per visit: the day that begins at noon in Chile, the field, and the quarter of an hour."""
    quarter = (mjd % 1.0 * QUARTERS_OF_AN_HOUR).astype(np.int64)
    return calendar_dates(mjd - 0.5) * 100_000 + field % FIELDS * 100 + quarter
