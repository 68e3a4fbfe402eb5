"""ZTF light curves as IRSA's service answers for a position: one CSV file per star, all its `oid`s in it."""

from pathlib import Path

import numpy as np

from lcdvt.simulator.files import calendar_dates, write_file
from lcdvt.simulator.observation import Observation

FIELDS, CCDS, QUADRANTS = 300, 16, 4
STARS_PER_FIELD = 40
FIRST_FIELD = 400
JD_OF_MJD_ZERO = 2400000.5
FILTERS = {"g": ("zg", 1, 26.2, -0.05), "r": ("zr", 2, 26.3, 0.08), "i": ("zi", 3, 25.8, 0.0)}
NOT_TO_BE_USED = 32768  # the bit of catflags
# Clouds and moonlight that spoil a whole exposure: the brightness is right, but flagged.
_FLAGGED_CHANCE = 0.04
COLUMNS = (
    "oid,expid,hjd,mjd,mag,magerr,catflags,filtercode,ra,dec,chi,sharp,filefracday,field,ccdid,qid,limitmag,magzp,"
    "magzprms,clrcoeff,clrcounc,exptime,airmass,programid"
)
_ROW = "%d,%d,%.10f,%.7f,%.7f,%.8f,%d,%s,%.7f,%.7f,%.3f,%.3f,%d,%d,%d,%d,%.4f,%.4f,%.6f,%.6f,%.4e,30.0,%.3f,%d\n"


class IrsaCsv:
    """A file per star; an `oid` is a star in one field, quadrant of a CCD and band, so a star has one a band."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @staticmethod
    def field_of(index: int) -> int:
        """Return the number of the field that star `index` lies in."""
        return index // STARS_PER_FIELD % FIELDS + 1

    @staticmethod
    def oid(observation: Observation, band: str) -> int:
        """Return the identifier: field, band, CCD, quadrant, and a number of eight digits."""
        ccd, quadrant = observation.index % CCDS + 1, observation.index // CCDS % QUADRANTS + 1
        return int(f"{FIRST_FIELD + observation.field}{FILTERS[band][1]}{ccd:02d}{quadrant}{observation.index + 1:08d}")

    def write(self, observation: Observation) -> tuple[str, ...]:
        """Write the bands in which the star was seen and return their identifiers."""
        oids = {band: self.oid(observation, band) for band, one in observation.flux.items() if one.seen.any()}
        rows = "".join(_rows(observation, band, oid) for band, oid in oids.items())
        folder = self._directory / f"ztf_{FIRST_FIELD + observation.field}"
        write_file(folder / f"{observation.ra:.5f}{observation.dec:+.5f}.csv", f"{COLUMNS}\n{rows}")
        return tuple(map(str, oids.values()))

    def close(self) -> None:
        """Nothing is left open."""


def _rows(observation: Observation, band: str, oid: int) -> str:
    measured, rng = observation.flux[band], observation.rng
    code, number, zero_point, colour_term = FILTERS[band]
    seen = np.flatnonzero(measured.seen)
    mjd = observation.visits.mjd[seen]
    flagged = measured.spoiled[seen] | (rng.random(seen.size) < _FLAGGED_CHANCE)
    scatter = rng.standard_normal((4, seen.size))
    degrees = 0.05 / 3600  # of a detection
    ccd, quadrant = observation.index % CCDS + 1, observation.index // CCDS % QUADRANTS + 1
    fraction = (mjd % 1.0 * 1_000_000).astype(np.int64)
    columns = (
        np.full(seen.size, oid),
        # The survey numbers its exposures, some 700 a night.
        ((mjd - 58000.0) * 700).astype(np.int64) * 10 + number,
        # The way of the light within the Earth's orbit is left out.
        mjd + JD_OF_MJD_ZERO,
        mjd,
        measured.mag[seen],
        measured.err[seen],
        np.where(flagged, NOT_TO_BE_USED, 0),
        [code] * seen.size,
        observation.ra + degrees * scatter[0],
        observation.dec + degrees * scatter[1],
        np.exp(0.3 * scatter[2]),
        0.1 * scatter[3],
        calendar_dates(mjd) * 1_000_000 + fraction,
        np.full(seen.size, FIRST_FIELD + observation.field),
        np.full(seen.size, ccd),
        np.full(seen.size, quadrant),
        20.6 - 2.5 * np.log10(observation.visits.error_factor[seen]),
        np.full(seen.size, zero_point),
        np.full(seen.size, 0.02),
        np.full(seen.size, colour_term),
        np.full(seen.size, 7e-6),
        observation.visits.airmass[seen],
        np.full(seen.size, 2 if band == "i" else 1),
    )
    return "".join(_ROW % values for values in zip(*columns, strict=True))
