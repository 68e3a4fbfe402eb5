"""Which objects a survey has already, in eight bytes each: a repeated id is refused, whatever batch it comes in."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lcdvt.ingestion.part import MadePart
from lcdvt.names import OBJECT_ID, SOURCE
from lcdvt.workspace.folder import PARTS, SurveyFolder, read_part
from lcdvt.workspace.objects import hashed_ids, objects_folder


class KnownObjects:
    """The ids of all committed parts, hashed; a hit is looked up before it counts."""

    def __init__(self, folder: SurveyFolder):
        self._folder = objects_folder(folder)
        self._runs: list[NDArray[np.uint64]] = []
        for part in sorted(self._folder.glob(PARTS)):
            self._add(hashed_ids(read_part(part, columns=[OBJECT_ID])[OBJECT_ID].to_pylist()))

    def _add(self, hashes: NDArray[np.uint64]) -> None:
        self._runs.append(hashes)
        # Runs grow like powers of two, so that n objects cost n log n in all.
        while len(self._runs) > 1 and self._runs[-1].size >= self._runs[-2].size:
            last = self._runs.pop()
            self._runs[-1] = np.sort(np.concatenate((self._runs[-1], last)), kind="stable")

    def refuse_repeated(self, part: MadePart) -> None:
        """Drop from the part what is known already, and remember the rest."""
        hashes = hashed_ids(part.object_ids)
        suspicious = sum(int(np.isin(hashes, run, assume_unique=True).sum()) for run in self._runs)
        if suspicious:
            repeated = sources_of(set(part.object_ids), sorted(self._folder.glob(PARTS)))
            if repeated:
                part.drop(repeated)
                hashes = hashed_ids(part.object_ids)
        self._add(hashes)


def sources_of(object_ids: set[str], parts: Iterable[Path]) -> dict[str, str]:
    """Return which of the ids these parts of objects have, and the file each was read from."""
    found: dict[str, str] = {}
    for path in parts:
        table = read_part(path, columns=[OBJECT_ID, SOURCE])
        for object_id, source in zip(table[OBJECT_ID].to_pylist(), table[SOURCE].to_pylist(), strict=True):
            if object_id in object_ids:
                found[object_id] = source
    return found
