"""How simulated surveys reach the disk."""

from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lcdvt.simulator.observation import Observation
from lcdvt.simulator.star import Array

_MJD_ZERO = np.datetime64("1858-11-17")


class RawFiles(Protocol):
    """A survey's raw files, written one star at a time."""

    @staticmethod
    def field_of(index: int) -> int:
        """Return the number of the field that star `index` lies in."""

    def write(self, observation: Observation) -> str | tuple[str, ...]:
        """Write the star and return its identifier in the survey; some give a star one in each band."""

    def close(self) -> None:
        """Finish files that hold many stars."""


def write_file(path: Path, text: str) -> None:
    """Write a small file, making its folder on the first need only."""
    try:
        handle = open(path, "wb", buffering=0)  # noqa: SIM115, PTH123 (opened in one of two ways, closed below)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = open(path, "wb", buffering=0)  # noqa: SIM115, PTH123
    with handle:
        handle.write(text.encode("ascii"))


def calendar_dates(mjd: Array) -> NDArray[np.int64]:
    """Return the day as a number of eight digits, such as 20260401."""
    days = _MJD_ZERO + np.floor(mjd).astype("timedelta64[D]")
    return np.char.replace(days.astype(str), "-", "").astype(np.int64)
