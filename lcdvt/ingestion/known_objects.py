"""Which objects a survey has already, in eight bytes each, and in which part each of them lies."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcdvt.names import OBJECT_ID, SOURCE
from lcdvt.workspace.folder import PARTS, SurveyFolder, part_name, read_part
from lcdvt.workspace.objects import PART, hashed_ids, objects_folder

_PART_MASK: Final = np.uint64((1 << 24) - 1)
"""Sixteen million parts, which no folder holds."""


class Place(NamedTuple):
    """Where a known object lies, and what it was read from."""

    part: int
    source: str


class KnownObjects:
    """The ids of all committed parts, hashed; a hit is looked up in its part before it counts.

    A number for each object has the hash of its id in front and its part behind, so that sorting needs no second
    array. Forty bits of a hash meet by chance in every twentieth part where there are a hundred million objects.
    """

    def __init__(self, folder: SurveyFolder):
        self._folder = objects_folder(folder)
        self._runs: list[NDArray[np.uint64]] = []
        for path in sorted(self._folder.glob(PARTS)):
            table = read_part(path, columns=[OBJECT_ID, PART])
            if table.num_rows:
                self.add(table[OBJECT_ID].to_pylist(), table[PART][0].as_py())

    def add(self, object_ids: list[str], part: int) -> None:
        """Remember the objects of a part."""
        self._runs.append(_first_with_hash(hashed_ids(object_ids)) | np.uint64(part))
        # Runs grow like powers of two, so that n objects cost n log n in all.
        while len(self._runs) > 1 and self._runs[-1].size >= self._runs[-2].size:
            merged = np.concatenate((self._runs.pop(), self._runs.pop()))
            merged.sort(kind="stable")  # which merges two sorted runs
            self._runs.append(merged)

    def places_of(self, object_ids: list[str]) -> dict[str, Place]:
        """Return which of the ids are known, and where."""
        lowest = _first_with_hash(hashed_ids(object_ids))
        parts: set[int] = set()
        for run in self._runs:
            # An object that came again stands in a run more than once: from its first entry to behind its last.
            first = np.searchsorted(run, lowest, side="left")
            behind = np.searchsorted(run, lowest | _PART_MASK, side="right")
            for begin, end in zip(first[behind > first], behind[behind > first], strict=True):
                parts.update((run[begin:end] & _PART_MASK).tolist())
        return places_in(set(object_ids), [self._folder / part_name(part) for part in sorted(parts)])


def _first_with_hash(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the lowest numbers with these hashes in front: those of part 0."""
    return hashes & ~_PART_MASK


def places_in(object_ids: set[str], parts: Iterable[Path]) -> dict[str, Place]:
    """Return which of the ids these parts of objects have, and where."""
    found: dict[str, Place] = {}
    for path in parts:
        table = read_part(path, columns=[OBJECT_ID, SOURCE, PART])
        for object_id, source, part in zip(*(table[name].to_pylist() for name in table.column_names), strict=True):
            if object_id in object_ids:
                found[object_id] = Place(part, source)
    return found
