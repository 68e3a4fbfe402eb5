"""The journal of an ingest: what is finished, so that a killed one resumes and a grown one adds only what is new."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from lcdvt.catalogs.reading.file_list import InputFile
from lcdvt.catalogs.reading.files import absolute_name
from lcdvt.disk.atomic import writable, write_text
from lcdvt.disk.checksums import checksum, file_checksum
from lcdvt.disk.locks import alone, no_writer
from lcdvt.errors import WorkspaceError
from lcdvt.features.config import FeatureConfig
from lcdvt.workspace.folder import WRITTEN_BY_EVERY_INGEST

JOURNAL_VERSION: Final = 1
"""Raised when the journal's form changes, so that an old lcdvt refuses it."""
JOURNAL_FILE: Final = "journal.jsonl"
LOCK_FILE: Final = "lock"
_SUMS, _SUM = "sums", "sum"
"""In the first line: every line ends with its checksum; and the name of that."""
ANEW: Final = "use force=True to ingest it again from the beginning"
REPLACED: Final = "replaced by a newer reading"
"""Why the epochs of an object that was read again are no longer where they were."""


@dataclass
class PartRecord:
    """What one part is made of and what was dropped on the way; a line of the journal."""

    number: int
    finished_inputs: list[list[Any]]
    """Path, size, modification time and checksum of each input that is done with this batch.

    `Journal` keeps none of them in memory; an early version of lcdvt wrote no checksum.
    """
    stream: list[Any] | None
    """For a batch cut from a large file or archive: the input, and how many batches of it are done."""
    files: int
    files_skipped: int
    objects: int
    epochs_read: int
    epochs: int
    dropped_epochs: dict[str, int]
    dropped_objects: dict[str, int]
    feature_gaps: dict[str, int] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)
    """What else is to be known of what was read, with how many light curves or epochs it is about."""
    problems: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """Each object that cleaning dropped, and why; not kept in memory either."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Bytes of each file of the part."""
    checksums: dict[str, str] = field(default_factory=dict)
    """Checksum of each file of the part."""
    incomplete: dict[str, dict[str, str]] = field(default_factory=dict)
    """Objects of which some file could not be read: which, and why. An empty entry ends an earlier one."""
    read_again: list[str] = field(default_factory=list)
    """Inputs that were read before, when they were others: what was said of them then no longer holds."""
    replaced: dict[str, list[int]] = field(default_factory=dict)
    """How many objects, epochs and upper limits left each older part, because they were read again and are in this one.

    An early version of lcdvt knew no upper limits.
    """
    refused: list[str] = field(default_factory=list)
    """Inputs with objects that other inputs had given before: read once more, they may be asked for with update."""
    limits: int = 0
    """How many upper limits are kept, apart from the epochs."""
    limits_brought: dict[str, int] = field(default_factory=dict)
    """How many upper limits each older part has more than before: they are of its stars, and lay in other files."""
    rewritten: dict[str, list[Any]] = field(default_factory=dict)
    """Files of older parts without what left them: size, checksum, and the name under which each waits."""


def input_key(file: InputFile) -> list[Any]:
    """Return what identifies an input: the same path with other bytes is another input."""
    path = absolute_name(file.name)
    if not path.isascii():  # Python reads the name as other text in another locale; the bytes on disk are the same
        path = os.fsencode(path).decode("utf-8", "surrogateescape")
    return [path, file.size, file.mtime_ns]


class WrittenFile(NamedTuple):
    """A file of the survey as it was written."""

    size: int
    checksum: str = ""
    """Empty where an early version of lcdvt wrote the file."""

    def is_whole(self, path: Path) -> bool:
        """Say whether the file still is what was written."""
        return self.has_its_size(path) and (not self.checksum or file_checksum(path) == self.checksum)

    def has_its_size(self, path: Path) -> bool:
        """Say whether the file is there and as long as it was written, without reading it."""
        try:
            return path.is_file() and path.stat().st_size == self.size
        except OSError:  # a name that no file can have
            return False


def written_file(path: Path) -> WrittenFile:
    """Describe a file that is in place."""
    return WrittenFile(path.stat().st_size, file_checksum(path))


class Journal:
    """Append-only lines of JSON; a line torn by a kill is cut off at the next opening, unless it is only to be read."""

    def __init__(self, folder: Path, *, only_read: bool = False):
        self.folder = folder
        self.path = folder / JOURNAL_FILE
        self.settings: dict[str, Any] | None = None
        self.batch_objects: int | None = None
        self.records: list[PartRecord] = []
        """Without what grows with the input: `whole_records` reads that."""
        self._earlier = _EarlierRecords()
        self._finished: set[bytes] = set()
        self._last: dict[int, bytes] = {}
        """Of inputs that were read more than once the last version, which alone counts."""
        self._refused: set[str] = set()
        self.incomplete: dict[str, dict[str, str]] = {}
        """Objects of which some file could not be read: object -> file -> why."""
        self.waiting: dict[str, str] = {}
        """Files that are to be replaced by others, which wait under these names."""
        self.files: dict[str, WrittenFile] = {}
        """Every file that was written, by its path in the survey's folder; the last writing counts."""
        self.completed = False
        self._has_sums = False
        """An early version wrote lines without checksums; such a journal goes on so."""
        if self.path.exists():
            self._read(only_read)

    def _read(self, only_read: bool) -> None:
        good = 0
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    if not line.endswith(b"\n"):
                        break
                    self._take(self._checked(line))
                except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                    # A kill tears the last line only. To go on from here would throw away parts that are whole.
                    raise WorkspaceError(
                        f"{self.path}:{number} is damaged: bring it back from a copy, or ingest again with force=True."
                    ) from error
                good += len(line)
        if not only_read and good < self.path.stat().st_size:
            os.truncate(self.path, good)

    def _checked(self, line: bytes) -> dict[str, Any]:
        """Return a line's content; where lines end with their own checksum it must be right."""
        content: dict[str, Any] = json.loads(line)
        self._has_sums = self._has_sums or bool(content.get(_SUMS))
        if self._has_sums and line != _summed(line[: -len(_summed(b"{}")) + 1] + b"}"):
            raise ValueError("its checksum is another")
        return content

    def _take(self, line: dict[str, Any]) -> None:
        if "settings" in line:
            if line.get("journal") != JOURNAL_VERSION:
                raise WorkspaceError(
                    f"{self.path} was written by another version of lcdvt (journal {line.get('journal')}): "
                    "use force=True to ingest again."
                )
            self.settings = line["settings"]
        elif "change" in line:
            self.settings = (self.settings or {}) | line["change"]
        elif "plan" in line:
            self.batch_objects, self.completed = line["plan"]["batch_objects"], False
        elif "completed" in line:
            self.completed = bool(line["completed"])
        elif "touched" in line:
            self._note_finished(line["touched"])
        elif "files" in line:
            self.files |= {name: WrittenFile(*values) for name, values in line["files"].items()}
        else:
            record = PartRecord(**line["batch"])
            read_again = set(record.read_again)
            for path, size, mtime, *_ in record.finished_inputs:
                self._note_finished([path, size, mtime], is_another=path in read_again)
            self._refused.difference_update(read_again.intersection(key[0] for key in record.finished_inputs))
            self._refused.update(record.refused)
            self._take_record(record)

    def _note_finished(self, key: list[Any], *, is_another: bool = False) -> None:
        digest = _digest(key)
        self._finished.add(digest)
        if is_another or (self._last and _path_hash(key[0]) in self._last):
            self._last[_path_hash(key[0])] = digest

    def _take_record(self, record: PartRecord) -> None:
        self._earlier.forget_what_was_read_again(record)
        self.records.append(replace(record, finished_inputs=[], left_out={}, incomplete={}, rewritten={}, refused=[]))
        self._earlier.add(self.records[-1])
        self.files |= {name: WrittenFile(size, record.checksums.get(name, "")) for name, size in record.sizes.items()}
        self.files |= {name: WrittenFile(size, crc) for name, (size, crc, _) in record.rewritten.items()}
        self.waiting |= {name: waits for name, (_, _, waits) in record.rewritten.items()}
        for object_id, files in record.incomplete.items():
            if files:
                self.incomplete[object_id] = files
            else:
                self.incomplete.pop(object_id, None)

    def _append(self, line: dict[str, Any]) -> None:
        with writable(self.folder), self.path.open("ab") as journal:
            journal.write(_with_sum(line) if self._has_sums else json.dumps(line).encode() + b"\n")

    def begin(self, settings: dict[str, Any]) -> None:
        """Write the settings once, when the survey is new."""
        if self.settings is None:
            self.settings = json.loads(json.dumps(settings))  # as they will be read back: tuples become lists
            self._has_sums = True
            self._append({"journal": JOURNAL_VERSION, _SUMS: True, "settings": self.settings})

    def change(self, **settings: Any) -> None:
        """Record a setting that was changed later, as features are by `lcdvt extract`."""
        self._append({"change": settings})
        self.settings = (self.settings or {}) | json.loads(json.dumps(settings))

    def restart(self, **settings: Any) -> None:
        """Forget all parts but keep the settings, some of them changed; all at once, so that a kill loses neither."""
        self.settings = (self.settings or {}) | json.loads(json.dumps(settings))
        self._has_sums = True
        header = {"journal": JOURNAL_VERSION, _SUMS: True, "settings": self.settings}
        write_text(self.path, _with_sum(header).decode())
        self.records, self.files, self.batch_objects, self.completed = [], {}, None, False
        self.incomplete, self.waiting, self._earlier = {}, {}, _EarlierRecords()
        self._finished.clear()
        self._last.clear()
        self._refused.clear()

    def note_files(self, files: Mapping[str, WrittenFile]) -> None:
        """Record files that were written again: features, repaired parts, the objects table."""
        changed = {name: written for name, written in files.items() if self.files.get(name) != written}
        if changed:
            self._append({"files": changed})
            self.files |= changed

    def check_parts(self, root: Path) -> None:
        """Refuse to add to a survey of which a part is missing or not as long as it was written."""
        for name, written in self.files.items():
            # An early version's features may have been computed again without a note of it.
            known = written.checksum or not name.startswith("features")
            if known and name not in WRITTEN_BY_EVERY_INGEST and not written.has_its_size(root / name):
                raise WorkspaceError(
                    f"{root / name} is missing or damaged: run the same command with repair=True to rebuild it, "
                    "or with force=True to ingest everything again."
                )

    def plan(self, batch_objects: int) -> int:
        """Return the batch size of the interrupted plan, or write a new plan's."""
        if self.batch_objects is None or self.completed:
            self._append({"plan": {"batch_objects": batch_objects}})
            self.batch_objects, self.completed = batch_objects, False
        return self.batch_objects

    def add(self, record: PartRecord) -> None:
        """Record a finished batch."""
        self._append({"batch": vars(record)})
        self._take_record(record)

    def reopen(self) -> None:
        """Record that files outside the parts are about to be written again."""
        if self.completed:
            self._append({"completed": False})
            self.completed = False

    def complete(self) -> None:
        """Record that every input of the plan is done."""
        if not self.completed:
            self._append({"completed": True})
            self.completed = True

    def was_finished(self, file: InputFile) -> bool:
        """Say whether the input was done when the journal was opened."""
        if not self._finished:
            return False
        key = input_key(file)
        digest = _digest(key)
        if digest in self._finished and (not self._last or self._last.get(_path_hash(key[0]), digest) == digest):
            return True
        # A file that is put back as it once had been is an earlier version, and not the one that was read last.
        return self._has_same_bytes(file, key)

    def was_refused(self, file: InputFile) -> bool:
        """Say whether an object of the input was left out because another input had given it before."""
        return bool(self._refused) and input_key(file)[0] in self._refused

    def _has_same_bytes(self, file: InputFile, key: list[Any]) -> bool:
        """Say whether only the date of an input is another: its bytes are not read as light curves again."""
        path, size, _ = key
        last = next(reversed(self._versions.of(path)), WrittenFile(-1))
        try:
            if last.size != size or not last.checksum or file_checksum(file.path) != last.checksum:
                return False
        except OSError:  # it cannot be read: whoever reads it as a light curve says so
            return False
        self._append({"touched": key})
        self._note_finished(key)
        return True

    def was_read(self, file: InputFile) -> bool:
        """Say whether an input of this path was done when the journal was opened, with these or other bytes."""
        return bool(self._finished) and bool(self._versions.of(input_key(file)[0]))

    @cached_property
    def _versions(self) -> "_InputVersions":
        return _InputVersions(self.folder)

    def stream_progress(self, *, but_refused: bool = False) -> dict[tuple[Any, ...], int]:
        """Return how many batches of each large file or archive are done, maybe but for those with refused objects."""
        streams = (record.stream for record in self.records if record.stream)
        return {tuple(key): batches for key, batches in streams if not (but_refused and key[0] in self._refused)}

    def totals(self) -> dict[str, Any]:
        """Add up what all batches did."""
        counted = ("files", "files_skipped", "objects", "epochs_read", "epochs", "limits")
        totals: dict[str, Any] = {key: sum(getattr(record, key) for record in self.records) for key in counted}
        for key in ("dropped_epochs", "dropped_objects", "feature_gaps", "notes"):
            sums: Counter[str] = Counter()
            for record in self.records:
                sums.update(getattr(record, key))
            totals[key] = {name: count for name, count in sorted(sums.items()) if count}
        return totals


def stored_features(journal: Journal) -> FeatureConfig | None:
    """Return which features the survey has, if any."""
    stored = (journal.settings or {}).get("features")
    if stored is None:
        return None
    try:
        values: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in stored.items()}
        return FeatureConfig(**values)
    except (AttributeError, TypeError, ValueError) as error:
        raise WorkspaceError(f"{journal.path} names features that are not known ({error}): {ANEW}.") from error


def whole_records(folder: Path) -> Iterator[PartRecord]:
    """Yield what each batch did, with its inputs and what it left out; the journal is never in memory as a whole."""
    path = folder / JOURNAL_FILE
    if not path.is_file():
        return
    with path.open("rb") as lines:
        for line in lines:
            try:
                if batch := json.loads(line).get("batch"):
                    yield PartRecord(**batch)
            except (ValueError, TypeError, AttributeError, RecursionError):  # torn by a kill: `Journal` cuts it off
                return


def _with_sum(line: dict[str, Any]) -> bytes:
    """Return a line of the journal that ends with the checksum of what stands before."""
    return _summed(json.dumps(line).encode())


def _summed(text: bytes) -> bytes:
    return text[:-1] + f', "{_SUM}": "{checksum(text)}"}}\n'.encode()


class _InputVersions:
    """Which inputs were read, as they were then; 32 bytes each, loaded only when some input is not as before."""

    def __init__(self, folder: Path):
        kinds = [("path", np.uint64), ("size", np.int64), ("checksum", "S16")]
        known = (
            (_path_hash(path), size, (rest[1] if len(rest) > 1 else "").encode())
            for record in whole_records(folder)
            for path, size, *rest in record.finished_inputs
        )
        versions = np.fromiter(known, dtype=kinds)
        self._sorted = versions[np.argsort(versions["path"], kind="stable")]

    def of(self, path: str) -> list[WrittenFile]:
        """Return size and checksum of each version of an input, the last one last."""
        wanted = np.uint64(_path_hash(path))
        first, behind = (np.searchsorted(self._sorted["path"], wanted, side=side) for side in ("left", "right"))
        return [WrittenFile(int(size), crc.decode()) for _, size, crc in self._sorted[first:behind]]


def _path_hash(path: str) -> int:
    return int.from_bytes(blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "little")


class _EarlierRecords:
    """The parts by all that a later one may say again: a survey that is read again as a whole has as many of both."""

    def __init__(self) -> None:
        self._by_number: dict[str, PartRecord] = {}
        self._of_stream: dict[str, list[PartRecord]] = {}
        self._with_problems: list[PartRecord] = []

    def add(self, record: PartRecord) -> None:
        """Remember a part."""
        self._by_number[str(record.number)] = record
        if record.stream is not None:
            self._of_stream.setdefault(record.stream[0][0], []).append(record)
        if record.problems:
            self._with_problems.append(record)

    def forget_what_was_read_again(self, record: PartRecord) -> None:
        """Take from the earlier parts' records what a later one says again."""
        for number, (objects, epochs, *of_limits) in record.replaced.items():
            earlier = self._by_number.get(number)
            if objects and earlier is not None:
                limits = sum(of_limits)
                earlier.objects -= objects
                earlier.epochs -= epochs
                earlier.limits -= limits
                earlier.dropped_epochs[REPLACED] = earlier.dropped_epochs.get(REPLACED, 0) + epochs + limits
        for number, limits in record.limits_brought.items():
            if (earlier := self._by_number.get(number)) is not None:
                earlier.limits += limits
        if not record.read_again:
            return
        read_again = set(record.read_again)
        for path in read_again & self._of_stream.keys():
            self._of_stream[path] = [one for one in self._of_stream[path] if not _forget_older_stream(one, record)]
        for earlier in self._with_problems:
            if earlier.stream is None or earlier.stream[0][0] not in read_again:
                _forget_problems(earlier, record.read_again)
        self._with_problems = [earlier for earlier in self._with_problems if earlier.problems]


def _forget_older_stream(earlier: PartRecord, record: PartRecord) -> bool:
    """Forget what was said of a large file as it was before, if that is what an earlier part is of."""
    assert earlier.stream is not None  # only such parts are asked about
    if record.stream is not None and earlier.stream[0] == record.stream[0]:
        return False
    earlier.files = earlier.files_skipped = 0
    earlier.problems = []
    return True


def _forget_problems(earlier: PartRecord, read_again: list[str]) -> None:
    """Forget what was said of files that could not be read, and were read again."""
    outdated = {
        name: [problem for problem in earlier.problems if problem.startswith((f"{name}:", f"{name} "))]
        for name in read_again
    }
    gone = {problem for problems in outdated.values() for problem in problems}
    earlier.files_skipped -= min(sum(map(bool, outdated.values())), earlier.files_skipped)
    earlier.problems = [problem for problem in earlier.problems if problem not in gone]


def _digest(key: Sequence[Any]) -> bytes:
    """Return what stands for an input in memory; 16 bytes never meet by chance."""
    return blake2b(json.dumps(key).encode(), digest_size=16).digest()


def locked(folder: Path) -> AbstractContextManager[None]:
    """Hold the survey for this process; a second ingest of it is told so at once."""
    return alone(folder / LOCK_FILE, f"another process is writing {folder.parent}: wait for it, or use name=….")


def while_nobody_writes(folder: Path) -> AbstractContextManager[None]:
    """Hold the survey against writers, but not against other readers."""
    return no_writer(folder / LOCK_FILE, f"another process is writing {folder.parent}: wait for it.")
