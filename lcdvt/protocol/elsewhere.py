"""The target's stars outside the sample that is learned from: read, classified and scored some thousands at a time."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lcdvt.dataset.alignment import aligned_values
from lcdvt.dataset.dataset import UNLABELLED
from lcdvt.names import OBJECT_ID
from lcdvt.workspace.folder import read_part
from lcdvt.workspace.survey import StoredSurvey

STARS_AT_ONCE: Final = 1 << 13
"""Enough that what a call costs is small beside its stars; their features take some megabytes."""


@dataclass(frozen=True)
class StarsAtOnce:
    """Some stars of the target.

    Parameters
    ----------
    object_ids
        Their ids.
    values
        (objects, features), not scaled, NaN where missing.
    truth
        Their classes by the catalogue, −1 where it has none of the run's.
    """

    object_ids: NDArray[np.object_]
    values: NDArray[np.float64]
    truth: NDArray[np.int64]


@dataclass(frozen=True)
class StarsElsewhere:
    """Where the stars are that a sample leaves out.

    Parameters
    ----------
    surveys
        Sources first, the target last, all of their stars.
    features, classes
        Names of the dataset's columns and class numbers.
    stars, labelled
        How many stars the target has, and how many of them with a label of these classes.
    fingerprint
        Changes with the target's labels and features.
    """

    surveys: tuple[StoredSurvey, ...]
    features: tuple[str, ...]
    classes: tuple[str, ...]
    stars: int
    labelled: int
    fingerprint: str

    def labelled_outside(self, inside: Collection[str]) -> Iterator[StarsAtOnce]:
        """Yield the labelled stars that are not among some; parts without any are not read."""
        return self._stars(
            lambda ids, truth: np.array([star not in inside for star in ids], dtype=bool) & (truth != UNLABELLED)
        )

    def everything(self) -> Iterator[StarsAtOnce]:
        """Yield all stars of the target, in the order of its parts."""
        return self._stars(lambda ids, truth: np.ones(len(ids), dtype=bool))

    def _stars(self, is_wanted: Callable[[list[str], NDArray[np.int64]], NDArray[np.bool_]]) -> Iterator[StarsAtOnce]:
        numbers = {name: number for number, name in enumerate(self.classes)}
        waiting: list[tuple[pa.Table, NDArray[np.int64]]] = []
        for part in self.surveys[-1].feature_parts():
            truth = np.array([numbers.get(label or "", UNLABELLED) for label in part.labels], dtype=np.int64)
            rows = np.flatnonzero(is_wanted(part.object_ids, truth))
            if len(rows):
                waiting.append((read_part(part.path).take(rows).replace_schema_metadata(), truth[rows]))
            if sum(len(known) for _, known in waiting) >= STARS_AT_ONCE:
                yield self._together(waiting)
                waiting = []
        if waiting:
            yield self._together(waiting)

    def _together(self, waiting: Sequence[tuple[pa.Table, NDArray[np.int64]]]) -> StarsAtOnce:
        table = pa.concat_tables([features for features, _ in waiting]).to_pandas()
        object_ids = table[OBJECT_ID].astype(str).to_numpy(dtype=object)
        values = aligned_values(table, object_ids, self.surveys, len(self.surveys) - 1, self.features)
        return StarsAtOnce(object_ids, values, np.concatenate([truth for _, truth in waiting]))
