"""OGLE-IV `.dat` files: one per star and band, in a folder per band, as the OGLE collection has them."""

from pathlib import Path

import numpy as np

from lcdvt.simulator.files import write_file
from lcdvt.simulator.observation import Observation

FIELDS, CHIPS = 116, 32
STARS_PER_FIELD = 30
FIRST_FIELD = 500
HJD_ZERO = 50000.0 - 0.5  # the files count days from HJD 2450000; we take the observatory's MJD for it

_ROW = "%10.5f %6.3f %5.3f\n"


class BandFolders:
    """`phot/I` and `phot/V`: the folder says the band, the file's name the star, the name of a collection the class."""

    def __init__(self, directory: Path) -> None:
        self._root = directory / "phot"

    @staticmethod
    def field_of(index: int) -> int:
        """Return the number of the field that star `index` lies in."""
        return index // STARS_PER_FIELD % FIELDS + 1

    @staticmethod
    def name(observation: Observation) -> str:
        """Return the star's name."""
        number = observation.index + 1
        if observation.label == "QSO":
            # The collection has no quasars: theirs is the number of the star in OGLE's own database.
            return f"LMC{FIRST_FIELD + observation.field}.{number % CHIPS + 1:02d}.{number}"
        return f"OGLE-LMC-{observation.survey_label}-{number:05d}"

    def write(self, observation: Observation) -> str:
        """Write the bands in which the star was seen."""
        name = self.name(observation)
        for band, measured in observation.measured.items():
            if not measured.seen.any():
                continue
            err = np.maximum(measured.err, 0.001)
            table = np.stack([observation.visits.mjd - HJD_ZERO, measured.mag, err], axis=1)[measured.seen]
            write_file(self._root / band / f"{name}.dat", _ROW * len(table) % tuple(table.ravel().tolist()))
        return name

    def close(self) -> None:
        """Nothing is left open."""
