"""Gaia epoch photometry as DataLink gave it until 2024: one CSV file per source, a row per transit and band."""

from pathlib import Path

import numpy as np

from lcdvt.simulator.files import write_file
from lcdvt.simulator.observation import Observation

FIELDS = 400
STARS_PER_FIELD = 20
FIRST_SOURCE, SOURCE_STEP = 1_300_000_000_000_000_000, 1 << 37
FIRST_TRANSIT = 17_000_000_000_000_000
SOLUTION = 375316653866487564
MJD_OF_ZERO = 55197.0  # the files count days from barycentric JD 2455197.5
SECONDS_PER_DAY = 86400.0
# Zero point of the flux in electrons a second (Riello et al. 2021), and how many seconds after G the band is seen.
BANDS = {"G": (25.6874, 0.0), "BP": (25.3385, 25.4), "RP": (24.7479, 33.0)}
COLUMNS = (
    "source_id,transit_id,band,time,mag,flux,flux_error,flux_over_error,rejected_by_photometry,"
    "rejected_by_variability,other_flags,solution_id"
)
# Transits that the photometric pipeline rejects though nothing is wrong with them.
_REJECTED_CHANCE = 0.01


class EpochPhotometry:
    """The files of a DataLink archive, blanks in their names and all."""

    def __init__(self, directory: Path) -> None:
        self._root = directory / "epoch_photometry"

    @staticmethod
    def field_of(index: int) -> int:
        """Return the number of the field that star `index` lies in."""
        return index // STARS_PER_FIELD % FIELDS + 1

    def write(self, observation: Observation) -> str:
        """Write the source's file and return its identifier."""
        source = str(FIRST_SOURCE + observation.index * SOURCE_STEP)
        rows = "".join(_rows(observation, band, source) for band in BANDS)
        write_file(self._root / f"EPOCH_PHOTOMETRY-Gaia DR3 {source}.csv", f"{COLUMNS}\n{rows}")
        return source

    def close(self) -> None:
        """Nothing is left open."""


def _rows(observation: Observation, band: str, source: str) -> str:
    measured, rng = observation.flux[band], observation.rng
    zero_point, delay = BANDS[band]
    electrons = 10 ** (0.4 * zero_point)
    seen = np.flatnonzero(measured.seen)
    rejected = rng.random(seen.size) < _REJECTED_CHANCE
    time = observation.visits.mjd[seen] - MJD_OF_ZERO
    columns = (
        FIRST_TRANSIT + (time * 1e11).astype(np.int64),
        time + delay / SECONDS_PER_DAY,
        measured.mag[seen],
        measured.flux[seen] * electrons,
        measured.flux_err[seen] * electrons,
        measured.flux[seen] / measured.flux_err[seen],
        np.where(rejected, "true", "false"),
        np.where(measured.spoiled[seen], "true", "false"),
    )
    return "".join(
        f"{source},{transit},{band},{day:.10f},{mag:.10f},{flux:.8g},{error:.8g},{ratio:.6g},{bad},{outlier},1,{SOLUTION}\n"
        for transit, day, mag, flux, error, ratio, bad, outlier in zip(*columns, strict=True)
    )
