"""MACHO stars as `.mjd` pairs in class folders, as archive CSV, or as the bulk dump."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lcdvt.catalogs.time_zone import local_from_utc
from lcdvt.simulator.files import write_file
from lcdvt.simulator.noise import Measured
from lcdvt.simulator.observation import Observation
from lcdvt.simulator.star import Array

FIELDS = 82  # in the Large Magellanic Cloud
STARS_PER_TILE = 50
SEQUENCE_STEP = 30
FIRST_TILE = 3319
CLASS_FOLDERS = {"CEPH": "periodic/CEPH", "EB": "periodic/EB", "LPV": "periodic/LPV", "RRL": "periodic/RRL"}
# The clocks by which the real `.mjd` files give their dates: lcdvt.catalogs.time_zone.
MJD_FILE_ZONE = "America/New_York"

ARCHIVE_BAND_COLUMNS = (
    "mag", "err", "normsky", "type", "crowd", "chi2", "mpix", "cosmicrf", "amp", "xpix", "ypix", "avesky", "fwhm",
    "tobs", "cut",
)  # fmt: skip
ARCHIVE_COLUMNS = (
    "fieldid", "tileid", "seqn", "obsid", "dateobs", "exposure", "airmass",
    *(colour + name for colour in "rb" for name in ARCHIVE_BAND_COLUMNS),
)  # fmt: skip
# A band that was not measured, column by column of ARCHIVE_BAND_COLUMNS.
_NOT_MEASURED = (
    "-99.0", "-99.0", "999.0", "999.0", "999.0", "999.0", "999.0", "999.0", "-1.0", "-99.0", "-99.0", "-99.0", "-99.0",
    "0", "0",
)  # fmt: skip
_NEGATIVE_ERROR_CHANCE = 0.003


class _Tiles:
    """How stars are numbered: a field, a tile of the sky, a sequence within the tile."""

    @staticmethod
    def field_of(index: int) -> int:
        """Return the number of the field that star `index` lies in."""
        return index // STARS_PER_TILE % FIELDS + 1

    @staticmethod
    def address(observation: Observation) -> tuple[int, int, int]:
        """Return field, tile and sequence number."""
        block, place = divmod(observation.index, STARS_PER_TILE)
        # Tiles are numbered over the whole sky: no two fields of ours share one.
        tile = FIRST_TILE + observation.field + block // FIELDS * FIELDS
        return observation.field, tile, place * SEQUENCE_STEP + int(observation.rng.integers(1, SEQUENCE_STEP))


class MjdFiles(_Tiles):
    """Two small files per star, one per band, in the folder of its class."""

    def __init__(self, directory: Path) -> None:
        self._root = directory / "macho_training_lightcurves"

    def write(self, observation: Observation) -> str:
        """Write the bands that were measured; a star may lack one."""
        field, tile, sequence = self.address(observation)
        folder = self._root / CLASS_FOLDERS.get(observation.survey_label, observation.survey_label)
        means = {band: _mean_and_median(observation, band) for band in "BR"}
        colour = [b - r for b, r in zip(means["B"], means["R"], strict=True)]
        for band, measured in observation.measured.items():
            if not measured.seen.any():
                continue
            header = (
                "#Field Tile Seq RA(hour) Dec(deg) Filter mean_Mag med_Mag mean_(B-R) med_(B-R)\n"
                f"#{field} {tile} {sequence} {observation.ra / 15:.6g} {observation.dec:.6g} {band} "
                f"{means[band][0]:.3f} {means[band][1]:.3f} {colour[0]:.3f} {colour[1]:.3f}\n"
                "#MJD Mag Err\n"
            )
            dates = local_from_utc(observation.visits.mjd, MJD_FILE_ZONE)
            table = np.stack([dates, measured.mag, measured.err], axis=1)
            values = table[measured.seen].ravel().tolist()
            rows = "%.6f %r %r\n" * (len(values) // 3) % tuple(values)
            write_file(folder / f"lc_{field}.{tile}.{sequence}.{band}.mjd", header + rows)
        return f"{field}.{tile}.{sequence}"

    def close(self) -> None:
        """Nothing is left open."""


class ArchiveCsv(_Tiles):
    """One wide CSV file of 37 columns per star."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def write(self, observation: Observation) -> str:
        """Write every exposure, with sentinels where a band was not measured."""
        field, tile, sequence = self.address(observation)
        lines = [",".join(ARCHIVE_COLUMNS)]
        for obsid, date, airmass, red, blue in _exposures(observation, ","):
            lines.append(f"{field},{tile},{sequence},{obsid},{date},300.0,{airmass},{red},{blue}")
        write_file(self._directory / f"LC_{field}.{tile}.{sequence}.csv", "\n".join(lines) + "\n")
        return f"{field}.{tile}.{sequence}"

    def close(self) -> None:
        """Nothing is left open."""


class BulkDump(_Tiles):
    """Gzipped files of 39 `;`-separated columns (the first blank), one per tile, many stars in each."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path: Path | None = None
        self._file: gzip.GzipFile | None = None

    def write(self, observation: Observation) -> str:
        """Append the star to its tile."""
        field, tile, sequence = self.address(observation)
        pier = "East" if observation.rng.random() < 0.5 else "West"
        lines = [
            f";{field};{tile};{sequence};{date};{obsid};{pier};300.0;{airmass};{red};{blue}\n"
            for obsid, date, airmass, red, blue in _exposures(observation, ";")
        ]
        dump = self._open(self._directory / f"F_{field}" / f"F_{field}.{tile}.gz")
        dump.write("".join(lines).encode("ascii"))
        return f"{field}.{tile}.{sequence}"

    def _open(self, path: Path) -> gzip.GzipFile:
        """Return the tile's file, which stays open while its stars come one after the other."""
        if self._file is None or path != self._path:
            self.close()
            path.parent.mkdir(parents=True, exist_ok=True)
            # No time stamp: the same seed gives the same bytes.
            self._path, self._file = path, gzip.GzipFile(path, "wb", compresslevel=4, mtime=0)
        return self._file

    def close(self) -> None:
        """Finish the tile under way."""
        if self._file is not None:
            self._file.close()
        self._file = None


def _mean_and_median(observation: Observation, band: str) -> tuple[float, float]:
    measured = observation.measured[band]
    # The real headers give a colour even where one band's file is missing.
    mags = measured.mag[measured.seen] if measured.seen.any() else measured.mag
    return float(mags.mean()), float(np.median(mags))


def _exposures(observation: Observation, separator: str) -> Iterator[tuple[int, str, str, str, str]]:
    """Yield observation number, date, airmass, red columns and blue columns of each exposure, as text."""
    mjd = observation.visits.mjd
    # The survey numbered all its exposures, of all fields, about 35 a day.
    numbers = ((mjd - mjd[0]) * 35 + 278).astype(int).tolist()
    dates = map("%.4f".__mod__, mjd.tolist())
    airmass = map("%.4f".__mod__, observation.visits.airmass.tolist())
    red = _band_columns(observation, observation.measured["R"], 5, separator)
    blue = _band_columns(observation, observation.measured["B"], 11, separator)
    return zip(numbers, dates, airmass, red, blue, strict=True)


def _band_columns(observation: Observation, measured: Measured, amplifier: int, separator: str) -> list[str]:
    """Return the text of ARCHIVE_BAND_COLUMNS for each exposure."""
    rng, epochs = observation.rng, measured.mag.size
    # A few good magnitudes of faint stars come with an error that failed: negative thousands.
    failed = rng.random(epochs) < _NEGATIVE_ERROR_CHANCE * (np.median(measured.err) > 0.05)
    err: Array = np.where(failed, -rng.integers(100, 4000, epochs).astype(float), measured.err)
    table = np.column_stack(
        [
            measured.mag,
            err,
            rng.integers(-120, 10, epochs),
            rng.choice([1, 1, 3, 5], epochs),
            rng.integers(60, 180, epochs),
            rng.integers(55, 250, epochs),
            rng.integers(1500, 12000, epochs),
            np.round(rng.uniform(2.4, 6.0, epochs), 3),
        ]
    )
    row = separator.join(
        ("%r", "%r", "%r", "%r", "%r", "%r", "0.0", "0.0", f"{amplifier}.0", "-99.0", "-99.0", "%r", "%r", "2418", "1")
    )
    lost = separator.join(_NOT_MEASURED)
    return [row % tuple(values) if seen else lost for seen, values in zip(measured.seen, table.tolist(), strict=True)]
