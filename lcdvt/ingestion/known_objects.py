"""Which objects a survey has already, in twelve bytes each, and in which part each of them lies."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcdvt.names import OBJECT_ID, SOURCE
from lcdvt.workspace.folder import PARTS, SurveyFolder, part_name, read_part
from lcdvt.workspace.objects import PART, hashed_ids, objects_folder


class Place(NamedTuple):
    """Where a known object lies, and what it was read from."""

    part: int
    source: str


class _Run(NamedTuple):
    """Hashes of ids, sorted, and the part of each."""

    hashes: NDArray[np.uint64]
    parts: NDArray[np.int32]


class KnownObjects:
    """The ids of all committed parts, hashed; a hit is looked up in its part before it counts."""

    def __init__(self, folder: SurveyFolder):
        self._folder = objects_folder(folder)
        self._runs: list[_Run] = []
        for path in sorted(self._folder.glob(PARTS)):
            table = read_part(path, columns=[OBJECT_ID, PART])
            if table.num_rows:
                self.add(table[OBJECT_ID].to_pylist(), table[PART][0].as_py())

    def add(self, object_ids: list[str], part: int) -> None:
        """Remember the objects of a part."""
        hashes = hashed_ids(object_ids)
        self._runs.append(_Run(hashes, np.full(hashes.size, part, dtype=np.int32)))
        # Runs grow like powers of two, so that n objects cost n log n in all.
        while len(self._runs) > 1 and self._runs[-1].hashes.size >= self._runs[-2].hashes.size:
            last, before = self._runs.pop(), self._runs.pop()
            hashes = np.concatenate((before.hashes, last.hashes))
            order = np.argsort(hashes, kind="stable")
            self._runs.append(_Run(hashes[order], np.concatenate((before.parts, last.parts))[order]))

    def places_of(self, object_ids: list[str]) -> dict[str, Place]:
        """Return which of the ids are known, and where."""
        hashes = hashed_ids(object_ids)
        parts: set[int] = set()
        for run in self._runs:
            # An object that came again stands in a run more than once: from its first entry to behind its last.
            first, behind = (np.searchsorted(run.hashes, hashes, side=side) for side in ("left", "right"))
            for begin, end in zip(first[behind > first], behind[behind > first], strict=True):
                parts.update(run.parts[begin:end].tolist())
        return places_in(set(object_ids), [self._folder / part_name(part) for part in sorted(parts)])


def places_in(object_ids: set[str], parts: Iterable[Path]) -> dict[str, Place]:
    """Return which of the ids these parts of objects have, and where."""
    found: dict[str, Place] = {}
    for path in parts:
        table = read_part(path, columns=[OBJECT_ID, SOURCE, PART])
        for object_id, source, part in zip(*(table[name].to_pylist() for name in table.column_names), strict=True):
            if object_id in object_ids:
                found[object_id] = Place(part, source)
    return found
