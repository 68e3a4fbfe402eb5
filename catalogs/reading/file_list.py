"""The files of an input, kept small: a survey may come as a million of them."""

import os
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, overload

import numpy as np

_GROUPS_AT_ONCE: Final = 1 << 10
"""Made Python's own numbers at a time: numpy's, one by one, cost more than the file they stand for."""
_ENCODING, _ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
TAR_SUFFIXES: Final = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_ARCHIVE_SUFFIXES: Final = (*TAR_SUFFIXES, ".zip")


class InputFile(NamedTuple):
    """A file on disk as it was when it was listed."""

    name: str
    size: int
    mtime_ns: int

    @property
    def path(self) -> Path:
        """The file's path."""
        return Path(self.name)

    @property
    def is_archive(self) -> bool:
        """Say whether the name is that of a tar or zip archive."""
        return is_archive_name(self.name)


def is_archive_name(name: str) -> bool:
    """Say whether a file of this name holds other files."""
    return name.lower().endswith(_ARCHIVE_SUFFIXES)


class FileList(Sequence[InputFile]):
    """Files in their order; each costs the bytes of its name and 24 more, a quarter of what Python objects would."""

    def __init__(self, files: Iterable[InputFile] = ()):
        self._names = bytearray()
        self._ends, self._sizes, self._times = array("q"), array("q"), array("q")
        for file in files:
            self.append(file)

    def append(self, file: InputFile) -> None:
        """Put a file at the end."""
        self._names += os.fsencode(file.name)
        self._ends.append(len(self._names))
        self._sizes.append(file.size)
        self._times.append(file.mtime_ns)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> InputFile: ...
    @overload
    def __getitem__(self, index: slice) -> "FileList": ...
    def __getitem__(self, index: int | slice) -> "InputFile | FileList":
        if isinstance(index, slice):
            return FileList(self[number] for number in range(*index.indices(len(self))))
        return self.at(range(len(self))[index])

    def at(self, number: int) -> InputFile:
        """Return the file at a place counted from the first."""
        begin = self._ends[number - 1] if number else 0
        # As os.fsdecode would, which looks at its argument for longer than that takes.
        name = self._names[begin : self._ends[number]].decode(_ENCODING, _ERRORS)
        return InputFile(name, self._sizes[number], self._times[number])

    def __iter__(self) -> Iterator[InputFile]:
        begin = 0
        for end, size, changed in zip(self._ends, self._sizes, self._times, strict=True):
            yield InputFile(self._names[begin:end].decode(_ENCODING, _ERRORS), size, changed)
            begin = end


class FileGroups:
    """The files of each object, by their numbers in a list; objects in the order of their first file."""

    def __init__(self, files: FileList, numbers: Sequence[int], group_of_number: Sequence[int]):
        groups = np.asarray(group_of_number, dtype=np.int64)
        self._files = files
        self._numbers = np.asarray(numbers, dtype=np.int64)[np.argsort(groups, kind="stable")]
        self._ends = np.cumsum(np.bincount(groups))

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[list[InputFile]]:
        begin = 0
        for place in range(0, len(self._ends), _GROUPS_AT_ONCE):
            ends = self._ends[place : place + _GROUPS_AT_ONCE].tolist()
            numbers = iter(self._numbers[begin : ends[-1]].tolist())
            for end in ends:
                yield [self._files.at(number) for number in islice(numbers, end - begin)]
                begin = end
