"""Which stars are learned from, where a survey has more of them than memory should hold.

A star's place in the order of choice is a hash of its id and the seed: the same stars are chosen wherever they are
stored, on every machine. The target's sample does not look at labels, because those outside the draw are not known to
anybody who trains; the drawn ones are learned from anyway. A source's sample is stratified by its drawn labels: half
of it is dealt out evenly, so that a rare class stays whole, and the other half in proportion.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from lcdvt.dataset.dataset import UNLABELLED
from lcdvt.errors import WorkspaceError
from lcdvt.names import LABEL, OBJECT_ID
from lcdvt.workspace.folder import read_part
from lcdvt.workspace.survey import FeaturePart, StoredSurvey

TRAINING_STARS: Final = 200_000
"""Of a survey, by default: their features take some hundred megabytes, and trees and network learn little from more."""
NOT_ASKED: Final = -2


@dataclass(frozen=True)
class StarRoll:
    """Every star of a survey that has features, without them: twelve bytes a star, in the order of the parts.

    Parameters
    ----------
    names
        The classes that `label` and `answer` number.
    label
        The class in the catalogue, −1 for none.
    answer
        What people said of it, −2 where nobody did.
    key
        A hash of id and seed.
    """

    names: tuple[str, ...]
    label: NDArray[np.int16]
    answer: NDArray[np.int16]
    key: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.label)

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Of which stars people said something."""
        return self.answer != NOT_ASKED

    def known_classes(self) -> set[str]:
        """Return the classes of which there are labels; people's word counts, not the catalogue's."""
        found = np.unique(np.where(self.answered, self.answer, self.label))
        return {self.names[number] for number in found.tolist() if number >= 0}

    def catalogued(self, classes: tuple[str, ...]) -> NDArray[np.int16]:
        """Return the catalogue's labels as numbers of these classes, −1 for every other star."""
        return self._numbered(self.label, classes)

    def labelled(self, classes: tuple[str, ...]) -> NDArray[np.int16]:
        """Return the labels, people's before the catalogue's, as numbers of these classes; −1 for every other star."""
        return self._numbered(np.where(self.answered, self.answer, self.label), classes)

    def _numbered(self, label: NDArray[np.int16], classes: tuple[str, ...]) -> NDArray[np.int16]:
        numbers = {name: number for number, name in enumerate(classes)}
        by_name = [numbers.get(name, UNLABELLED) for name in self.names]
        # the last entries serve for −1 and −2
        return np.array([*by_name, UNLABELLED, UNLABELLED], dtype=np.int16)[label]


def read_roll(stored: StoredSurvey, seed: int, answers: Mapping[str, str] | None = None) -> StarRoll:
    """Read ids and labels of all stars that have features, part by part.

    Parameters
    ----------
    stored
        The survey.
    seed
        Decides the order of choice.
    answers
        What people said of stars.
    """
    answers = answers or {}
    numbers: dict[str | None, int] = {None: UNLABELLED}
    labels, said, keys = [], [], []
    for part in stored.feature_parts():
        for name in (*part.labels, *(answers[star] for star in part.object_ids if star in answers)):
            numbers.setdefault(name, len(numbers) - 1)
        labels.append(np.array([numbers[name] for name in part.labels], dtype=np.int16))
        said.append(
            np.array([numbers[answers[star]] if star in answers else NOT_ASKED for star in part.object_ids], np.int16)
        )
        keys.append(star_keys(part.object_ids, seed))
    if not labels:
        raise WorkspaceError(f"survey {stored.name!r} has no features: run `lcdvt extract {stored.name}`.")
    names = tuple(name for name in numbers if name is not None)
    return StarRoll(names, np.concatenate(labels), np.concatenate(said), np.concatenate(keys))


def star_keys(object_ids: list[str], seed: int) -> NDArray[np.uint64]:
    """Return a number for each star, by its id and the seed alone; the lowest are chosen first."""
    salt = seed.to_bytes(16, "little")
    digests = b"".join(hashlib.blake2b(star.encode(), digest_size=8, salt=salt).digest() for star in object_ids)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def first_by_key(key: NDArray[np.uint64], count: int) -> NDArray[np.int64]:
    """Return the places of so many stars, those of the lowest keys, in ascending order."""
    if count >= len(key):
        return np.arange(len(key))
    return np.sort(np.argpartition(key, count)[:count])


def stratified_by_key(drawn: NDArray[np.integer], key: NDArray[np.uint64], most: int) -> NDArray[np.int64]:
    """Return the places of at most so many stars, in ascending order, with every drawn class among them.

    Parameters
    ----------
    drawn
        Classes of the drawn labels, −1 for every other star: these are a stratum, too.
    key
        The stars' order of choice.
    most
        How many; all where there are no more.
    """
    if len(drawn) <= most:
        return np.arange(len(drawn))
    strata, sizes = np.unique(drawn, return_counts=True)
    chosen = []
    for stratum, count in zip(strata, _shares(sizes, most), strict=True):
        places = np.flatnonzero(drawn == stratum)
        chosen.append(places[first_by_key(key[places], int(count))])
    return np.sort(np.concatenate(chosen))


def _shares(sizes: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Deal out half of the places evenly among the strata, and what is left in proportion to what they still have."""
    given = np.minimum(sizes, max(most // (2 * len(sizes)), 1))
    waiting = sizes - given
    return given + waiting * (most - given.sum()) // waiting.sum()


@dataclass(frozen=True, eq=False)
class SampledSurvey(StoredSurvey):
    """A survey of which some stars are looked at, as if the others had not been ingested.

    Parameters
    ----------
    rows
        The places of these stars among all that have features, in ascending order.
    """

    rows: NDArray[np.int64] = field(kw_only=True, repr=False)

    def objects(self) -> pd.DataFrame:
        """Return the stars' ids and labels."""
        ids: list[str] = []
        labels: list[str | None] = []
        for part, rows in self._parts():
            ids += [part.object_ids[row] for row in rows]
            labels += [part.labels[row] for row in rows]
        return pa.table({OBJECT_ID: pa.array(ids, pa.string()), LABEL: pa.array(labels, pa.string())}).to_pandas()

    def features(self) -> pd.DataFrame:
        """Return the stars' features."""
        tables = [read_part(part.path).take(rows).replace_schema_metadata() for part, rows in self._parts()]
        return pa.concat_tables(tables).to_pandas()

    def ids_by_part(self) -> dict[str, list[str]]:
        """Return the stars' ids by the name of their part."""
        return {part.path.name: [part.object_ids[row] for row in rows] for part, rows in self._parts()}

    def _parts(self) -> Iterator[tuple[FeaturePart, NDArray[np.int64]]]:
        """Yield the parts that hold any of the stars, and their rows there."""
        start = 0
        for part in self.feature_parts():
            first, last = np.searchsorted(self.rows, [start, start + len(part.object_ids)])
            if last > first:
                yield part, self.rows[first:last] - start
            start += len(part.object_ids)


def sampled(stored: StoredSurvey, rows: NDArray[np.int64]) -> SampledSurvey:
    """Return the survey with some of its stars alone."""
    return SampledSurvey(stored.name, stored.folder, stored.survey, rows=rows)
