"""Labels that people gave by looking: one append-only file of JSON lines for each survey of the workspace.

Each answer is one line, written in one piece and forced to the disk before anybody is told that it is saved. Nothing
is ever changed: to undo is a line of its own, and a person's later answer about a star replaces the earlier one. A
process that is killed while it writes leaves a line without its end, which was never told to be saved; the next writer
cuts it off. Every answer has a key that the one who asks makes up, so that an answer that is sent twice counts once,
and files of several people are merged by taking each key once.

What counts in the end is the verdict on each star. Everybody's last answer is a voice; "unsure" is none. The class that
more than half of the voices name is the verdict; without such a class the star is disputed, and nobody learns from it.
"""

import errno
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from lcdvt.disk.atomic import writable
from lcdvt.errors import InputFileError, WorkspaceError
from lcdvt.workspace.folder import workspace_folder

VERSION: Final = 1
"""Raised when the lines' form changes, so that an old lcdvt refuses them."""
ANSWERS_FOLDER: Final = "answers"
OTHER: Final = "OTHER"
"""The class of a star that is none of those asked for; surveys with such a class call it so, too."""
SURE, LIKELY = "sure", "likely"
CONFIDENCES: Final = (SURE, LIKELY)
LONGEST_TEXT: Final = 2000
"""Characters of a note, an id or a name: far above any of ours, far below what fills a disk."""


@dataclass(frozen=True)
class Answer:
    """What one person said of one star.

    Parameters
    ----------
    key
        Made up by the one who asks: the same key twice is the same answer.
    star, label
        The star's id and its class; None for "unsure".
    who, when
        The person, and the time (ISO 8601, UTC).
    confidence
        "sure" or "likely".
    period
        Days, as chosen when the light curve was folded; None where none was.
    note
        Free text.
    run
        The run that asked, if one did.
    model
        What it had said of the star: `predicted`, `probability` by class, `disagreement`, `other_score`.
    """

    key: str
    star: str
    label: str | None
    who: str = ""
    when: str = ""
    confidence: str = SURE
    period: float | None = None
    note: str = ""
    run: str | None = None
    model: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        texts = (self.key, self.star, self.label or "-", self.who, self.when, self.note, self.run or "")
        if not all(isinstance(text, str) and len(text) <= LONGEST_TEXT for text in texts):
            raise InputFileError(f"an answer's texts have at most {LONGEST_TEXT} characters.")
        if not self.key or not self.star or self.label == "":
            raise InputFileError("an answer names its key, its star and a class (null for unsure).")
        if self.confidence not in CONFIDENCES:
            raise InputFileError(f"confidence {self.confidence!r}: one of {', '.join(CONFIDENCES)}.")
        longest = sys.float_info.max  # JSON has whole numbers of any length
        if self.period is not None and not (isinstance(self.period, float | int) and 0 < self.period <= longest):
            raise InputFileError(f"period {self.period!r}: a positive number of days, or null.")
        if not isinstance(self.model, Mapping):
            raise InputFileError("what the model said is a table of names and values.")


@dataclass(frozen=True)
class Undo:
    """An answer taken back: `undoes` is its key."""

    key: str
    undoes: str
    who: str = ""
    when: str = ""


@dataclass(frozen=True)
class Verdict:
    """What all people together say of a star.

    Parameters
    ----------
    star
        Its id.
    label
        The class; None where they are unsure or disagree.
    voices
        Each person's last answer.
    """

    star: str
    label: str | None
    voices: Mapping[str, str | None]

    @property
    def is_disputed(self) -> bool:
        """Whether two people named different classes, whoever won."""
        return len({label for label in self.voices.values() if label is not None}) > 1


@dataclass
class AnswerLog:
    """The lines of a file, in memory.

    Parameters
    ----------
    survey
        Whose stars they are about.
    answers, undos
        By key, in the order in which they were given.
    """

    survey: str
    answers: dict[str, Answer] = field(default_factory=dict)
    undos: dict[str, Undo] = field(default_factory=dict)

    def take(self, record: Answer | Undo) -> None:
        """Add a record."""
        if isinstance(record, Answer):
            self.answers.setdefault(record.key, record)
        else:
            self.undos.setdefault(record.key, record)

    def holds(self, record: Answer | Undo) -> bool:
        """Say whether a record of that key is there."""
        return record.key in (self.answers if isinstance(record, Answer) else self.undos)

    def standing(self) -> list[Answer]:
        """Return the answers that were not undone, in their order."""
        undone = {undo.undoes for undo in self.undos.values()}
        return [answer for answer in self.answers.values() if answer.key not in undone]

    def by_star(self, who: str | None = None) -> dict[str, Answer]:
        """Return the last standing answer about each star, of one person or of all."""
        return {answer.star: answer for answer in self.standing() if who is None or answer.who == who}

    def last_of(self, who: str) -> Answer | None:
        """Return a person's last standing answer."""
        return next((answer for answer in reversed(self.standing()) if answer.who == who), None)

    def verdicts(self) -> dict[str, Verdict]:
        """Return what counts of each star that was looked at."""
        voices: dict[str, dict[str, str | None]] = {}
        for answer in sorted(self.standing(), key=lambda each: each.when):
            voices.setdefault(answer.star, {})[answer.who] = answer.label
        return {star: Verdict(star, _majority(said.values()), said) for star, said in voices.items()}

    def labels(self) -> dict[str, str]:
        """Return the class of each star on which there is a verdict."""
        return {star: verdict.label for star, verdict in self.verdicts().items() if verdict.label is not None}

    def disputed(self) -> list[Verdict]:
        """Return the stars that people call by different names."""
        return [verdict for verdict in self.verdicts().values() if verdict.is_disputed]


def _majority(voices: Iterable[str | None]) -> str | None:
    named = Counter(label for label in voices if label is not None)
    if not named:
        return None
    label, count = named.most_common(1)[0]
    return label if 2 * count > named.total() else None


def answers_path(survey: str, data: str | Path | None = None) -> Path:
    """Return where the answers about a survey's stars are kept: beside the surveys, which may be ingested again."""
    return workspace_folder(data) / ANSWERS_FOLDER / f"{survey}.jsonl"


def read_answers(path: str | Path, survey: str | None = None) -> AnswerLog:
    """Read a file of answers; nothing is written, and a line that a kill tore is left alone.

    Parameters
    ----------
    path
        The file.
    survey
        Whose stars the answers must be about; None takes any.
    """
    path = Path(path)
    if not path.is_file():
        raise InputFileError(f"{path} does not exist: `lcdvt label` writes such a file.")
    log, _ = _read(path, path.read_bytes(), None, 0, AnswerLog(survey or ""))
    if survey is not None and log.survey not in ("", survey):
        raise InputFileError(f"{path} has answers about {log.survey}, not about {survey}: give the file of {survey}.")
    return log


def stored_answers(survey: str, data: str | Path | None = None) -> AnswerLog:
    """Return the workspace's answers about a survey; none where nobody has looked yet."""
    path = answers_path(survey, data)
    return read_answers(path, survey) if path.is_file() else AnswerLog(survey)


class AnswerFile:
    """The answers about one survey, open to be added to; several processes may add to the same file."""

    def __init__(self, path: Path, survey: str) -> None:
        self.path, self.survey = path, survey
        self.log = AnswerLog(survey)
        self._read_until = 0
        self._inode: tuple[int, int] | None = None
        if path.is_file():
            with self._locked() as file:
                self._refresh(file)

    def refresh(self) -> AnswerLog:
        """Read what others have added, and return everything."""
        if self.path.is_file():
            with self._locked() as file:
                self._refresh(file)
        return self.log

    def add(self, record: Answer | Undo) -> Answer | Undo:
        """Save a record and return it as it stands in the file; one of the same key is there already and stays."""
        self.add_all([record])
        return (self.log.answers if isinstance(record, Answer) else self.log.undos)[record.key]

    def add_all(self, records: Iterable[Answer | Undo]) -> int:
        """Save the records that are not there yet, and return how many these were."""
        with self._locked() as file:
            self._refresh(file)
            new: dict[tuple[bool, str], Answer | Undo] = {
                (isinstance(record, Answer), record.key): record for record in records if not self.log.holds(record)
            }
            if new:
                self._append(file, list(new.values()))
            return len(new)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        import fcntl  # here, because not every system that can import lcdvt has it

        with writable(self.path.parent):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)  # held for the moment of one write, so that waiting is no wait
            yield file
        finally:
            os.close(file)

    def _refresh(self, file: int) -> None:
        """Read what is new; cut off a line that a kill tore."""
        about = os.fstat(file)
        if (about.st_dev, about.st_ino) != self._inode or about.st_size < self._read_until:
            self._inode, self._read_until, self.log = (about.st_dev, about.st_ino), 0, AnswerLog(self.survey)
        if about.st_size == self._read_until:
            return
        new = os.pread(file, about.st_size - self._read_until, self._read_until)
        self.log, whole = _read(self.path, new, self.survey, self._read_until, self.log)
        self._read_until += whole
        if whole < len(new):
            os.ftruncate(file, self._read_until)

    def _append(self, file: int, records: list[Answer | Undo]) -> None:
        lines = [_line(record) for record in records]
        if self._read_until == 0:
            lines.insert(0, _as_line({"answers": VERSION, "survey": self.survey}))
        content = b"".join(lines)
        with writable(self.path.parent):
            try:
                written = os.write(file, content)
                if written < len(content):  # a full disk takes a part: none of it counts
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file)
                if self._read_until == 0:
                    _force_folder(self.path.parent)
            except OSError:
                os.ftruncate(file, self._read_until)
                raise
        for record in records:
            self.log.take(record)
        self._read_until += len(content)


def _force_folder(folder: Path) -> None:
    """Force the entry of a new file to the disk: its own bytes are of no use without a name."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _line(record: Answer | Undo) -> bytes:
    return _as_line({"answer" if isinstance(record, Answer) else "undo": asdict(record)})


def _as_line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=True, allow_nan=False).encode() + b"\n"


def _read(path: Path, content: bytes, survey: str | None, start: int, log: AnswerLog) -> tuple[AnswerLog, int]:
    """Add the whole lines of `content` to the log; return it, and how many bytes they have."""
    whole = content.rfind(b"\n") + 1
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            record = json.loads(line)
            if start == 0 and number == 1:
                log.survey = _survey_of(path, record, survey)
            elif "answer" in record:
                log.take(Answer(**_known(Answer, record["answer"])))
            elif "undo" in record:
                log.take(Undo(**_known(Undo, record["undo"])))
            else:
                raise ValueError("neither an answer nor an undo")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, InputFileError) as error:
            # a kill tears the last line only, which has no end: anything else was done to the file by hand
            raise WorkspaceError(
                f"{path}: line {number} from byte {start} on is no answer of ours: mend that line, or bring the file "
                "back from a copy."
            ) from error
    return log, whole


def _known(kind: type[Answer] | type[Undo], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what this version knows; a later one may write more."""
    names = {each.name for each in fields(kind)}
    return {name: value for name, value in given.items() if name in names}


def _survey_of(path: Path, header: Mapping[str, Any], survey: str | None) -> str:
    if header["answers"] != VERSION:
        raise WorkspaceError(
            f"{path} has answers of version {header['answers']}, this lcdvt reads {VERSION}: update it."
        )
    if survey is not None and header["survey"] != survey:
        raise WorkspaceError(f"{path} has answers about {header['survey']}, not about {survey}: move it away.")
    return str(header["survey"])


def now() -> str:
    """Return the time as answers have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
