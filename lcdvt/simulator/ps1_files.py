"""Pan-STARRS1 detections as MAST answers for a position: one CSV file per object, flux in jansky."""

from pathlib import Path

import numpy as np

from lcdvt.simulator.files import write_file
from lcdvt.simulator.observation import Observation

FIELDS = 400
STARS_PER_FIELD = 20
FILTER_NUMBERS = {"g": 1, "r": 2, "i": 3, "z": 4, "y": 5}
JANSKY_AT_ZERO = 3631.0  # AB magnitude zero
ZONE_HEIGHT = 1 / 120  # degrees
NOT_MEASURED = -999.0
# The point-spread function could not be fitted; the flux in the aperture is there all the same.
_NO_FIT_CHANCE = 0.02
COLUMNS = (
    "objID,detectID,filterID,obsTime,ra,dec,psfFlux,psfFluxErr,psfMajorFWHM,psfMinorFWHM,psfQfPerfect,apFlux,"
    "apFluxErr,infoFlag,infoFlag2,infoFlag3"
)


class Detections:
    """A file per object, its detections in time order."""

    def __init__(self, directory: Path) -> None:
        self._root = directory / "detections"

    @staticmethod
    def field_of(index: int) -> int:
        """Return the number of the field that star `index` lies in."""
        return index // STARS_PER_FIELD % FIELDS + 1

    @staticmethod
    def object_id(observation: Observation) -> str:
        """Return the identifier of 18 digits: zone of declination, right ascension, a number."""
        zone = int((observation.dec + 90) / ZONE_HEIGHT)
        return f"{zone:05d}{round(observation.ra * 1e6):09d}{observation.index % 10_000:04d}"

    def write(self, observation: Observation) -> str:
        """Write the object's file and return its identifier."""
        object_id = self.object_id(observation)
        rows = sorted(row for band in FILTER_NUMBERS for row in _rows(observation, band, object_id))
        text = "".join(row for _, row in rows)
        write_file(self._root / f"ps1_{object_id}.csv", f"{COLUMNS}\n{text}")
        return object_id

    def close(self) -> None:
        """Nothing is left open."""


def _rows(observation: Observation, band: str, object_id: str) -> list[tuple[float, str]]:
    """Return time and text of each detection in a band."""
    measured, rng = observation.flux[band], observation.rng
    seen = np.flatnonzero(measured.seen)
    mjd = observation.visits.mjd[seen]
    flux, err = JANSKY_AT_ZERO * measured.flux[seen], JANSKY_AT_ZERO * measured.flux_err[seen]
    aperture = flux + 0.5 * err * rng.standard_normal(seen.size)
    fitted = rng.random(seen.size) >= _NO_FIT_CHANCE
    offset = 0.03 / 3600 * rng.standard_normal((2, seen.size))
    width = 1.1 * observation.visits.error_factor[seen] ** 0.5
    columns = (
        mjd,
        ((mjd - 50000.0) * 1e13).astype(np.int64) + FILTER_NUMBERS[band],
        observation.ra + offset[0],
        observation.dec + offset[1],
        np.where(fitted, flux, NOT_MEASURED),
        np.where(fitted, err, NOT_MEASURED),
        width,
        np.where(measured.spoiled[seen], rng.uniform(0.3, 0.8, seen.size), rng.uniform(0.97, 1.0, seen.size)),
        aperture,
        1.3 * err,
    )
    return [
        (
            time,
            f"{object_id},{detection},{FILTER_NUMBERS[band]},{time:.8f},{ra:.8f},{dec:.8f},{psf:.6g},{psf_err:.6g},"
            f"{seeing:.4f},{0.93 * seeing:.4f},{quality:.5f},{in_aperture:.6g},{aperture_err:.6g},102760453,128,7808\n",
        )
        for time, detection, ra, dec, psf, psf_err, seeing, quality, in_aperture, aperture_err in zip(
            *columns, strict=True
        )
    ]
