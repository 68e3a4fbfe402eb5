"""What a user did or gave that cannot work, said in one sentence."""

import operator
import os
from pathlib import Path
from typing import Any


class LcdvtError(Exception):
    """A problem the user can solve: what is wrong, where, what to do.

    The command line prints the message without a traceback and ends with exit code 2. The children are as many as
    somebody has a reason to tell apart; a new verb needs none of its own.
    """


class InputFileError(LcdvtError):
    """A file that the user gave cannot be read as what it should be."""


class SurveyError(LcdvtError):
    """A survey is unknown, ambiguous or wrongly described."""


class WorkspaceError(LcdvtError):
    """The workspace, or a run in it, lacks something, or holds something damaged."""


class SettingsError(LcdvtError):
    """An option or a configuration that cannot be used, alone or with the others."""


class DatasetError(LcdvtError):
    """Features, labels or predictions from which nothing can be learned or scored."""


class TrainingError(LcdvtError):
    """Training that broke down on the way."""


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or its kind where it says nothing: libraries like to write pages."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def whole_number(name: str, given: Any) -> int:
    """Return a whole number, one of numpy's too; another thing that a user gives as `name` is refused."""
    try:
        return operator.index(given)
    except TypeError:
        raise SettingsError(f"{name}={given!r}: give a whole number.") from None


def named_or_path(given: Any, what: str, wanted: str) -> Path:
    """Return a name or path as a path; a table, a number or another object that a user gives as `what` is refused."""
    if not isinstance(given, str | os.PathLike):
        raise SettingsError(f"{what} is given as {type(given).__name__}: give {wanted}.")
    return Path(given)
