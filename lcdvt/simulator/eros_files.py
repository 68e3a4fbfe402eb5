"""EROS-2 `.time` files in the survey's own folder tree."""

from pathlib import Path

import numpy as np

from lcdvt.simulator.files import write_file
from lcdvt.simulator.observation import Observation

FIELDS, CHIPS, QUARTERS = 88, 8, "klmn"
STARS_PER_QUARTER = 25
# Star numbers of a real quarter run into the ten thousands.
NUMBER_STEP = 400
NO_MAG, NO_ERR = 99.999, 9.999
HJD_ZERO = 50000.0 - 0.5  # the files count days from HJD 2450000; we take the observatory's MJD for it

_ROW = "%12.5f  %6.3f  %5.3f  %6.3f  %5.3f \n"


class TimeFiles:
    """One file per star, red before blue, sentinels where a band was not measured."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @staticmethod
    def field_of(index: int) -> int:
        """Return the number of the field that star `index` lies in."""
        return index // STARS_PER_QUARTER % FIELDS + 1

    @staticmethod
    def address(observation: Observation) -> tuple[str, str, str, str]:
        """Return field, chip, quarter of the chip, and star: each name begins with the one before."""
        block, place = divmod(observation.index, STARS_PER_QUARTER)
        block //= FIELDS
        chip, quarter = block % CHIPS, QUARTERS[block // CHIPS % len(QUARTERS)]
        # When every quarter has its stars, the numbers of the next ones follow on.
        earlier = block // (CHIPS * len(QUARTERS)) * STARS_PER_QUARTER
        number = (earlier + place) * NUMBER_STEP + int(observation.rng.integers(1, NUMBER_STEP))
        field = f"lm{observation.field:03d}"
        return field, f"{field}{chip}", f"{field}{chip}{quarter}", f"{field}{chip}{quarter}{number}"

    def write(self, observation: Observation) -> str:
        """Write the star's file and return its identifier."""
        field, chip, quarter, object_id = self.address(observation)
        text = _header(observation, object_id) + _rows(observation)
        write_file(self._directory / field / chip / quarter / f"{object_id}.time", text)
        return object_id

    def close(self) -> None:
        """Nothing is left open."""


def _header(observation: Observation, object_id: str) -> str:
    columns = []
    x, y = observation.rng.uniform(20, 1000), observation.rng.uniform(20, 2000)
    for band, shift in (("R", 0.0), ("B", 45.0)):
        measured = observation.measured[band]
        mags = measured.mag[measured.seen]
        mean, spread = (mags.mean(), mags.std()) if mags.size else (NO_MAG, NO_ERR)
        columns.append(f"{mean:6.3f}  {spread:5.3f} {x + shift:.2f} {y + shift / 2:.2f}")
    return (
        "# star:  erosid      MagR    ErrMR   XR      YR     MagB    ErrMB   XB      YB \n"
        f"#        {object_id}   {columns[0]}  {columns[1]}\n"
        "#\n"
        "#   date      MagR    ErMagR MagB    ErMagB\n"
    )


def _rows(observation: Observation) -> str:
    red, blue = observation.measured["R"], observation.measured["B"]
    table = np.stack(
        [
            observation.visits.mjd - HJD_ZERO,
            np.where(red.seen, red.mag, NO_MAG),
            np.where(red.seen, red.err, NO_ERR),
            np.where(blue.seen, blue.mag, NO_MAG),
            np.where(blue.seen, blue.err, NO_ERR),
        ],
        axis=1,
    )[red.seen | blue.seen]
    return _ROW * len(table) % tuple(table.ravel().tolist())
