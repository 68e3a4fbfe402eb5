"""How simulated surveys reach the disk."""

from pathlib import Path
from typing import Protocol

from lcdvt.simulator.observation import Observation


class RawFiles(Protocol):
    """A survey's raw files, written one star at a time."""

    @staticmethod
    def field_of(index: int) -> int:
        """Return the number of the field that star `index` lies in."""

    def write(self, observation: Observation) -> str:
        """Write the star and return its identifier in the survey."""

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
