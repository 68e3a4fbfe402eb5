"""The verb `surveys new`: a description of a survey that lcdvt has never heard of, from one of its files."""

from dataclasses import dataclass, field
from pathlib import Path

from lcdvt.catalogs.describing.describe import describe
from lcdvt.catalogs.describing.known import beginning, describe_known, known_format
from lcdvt.catalogs.describing.look import look_at
from lcdvt.catalogs.reading.reader import read_file
from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.survey_toml import survey_from_toml
from lcdvt.disk.atomic import write_text
from lcdvt.epochs.block import block_from_raw
from lcdvt.errors import SettingsError, SurveyError


@dataclass(frozen=True)
class NewSurvey:
    """A description that was written, and what it reads of the file it was made from.

    Parameters
    ----------
    path, survey
        The TOML file, and what it says.
    guesses
        Its lines that were guessed: check them.
    objects, epochs
        What it reads of the file.
    is_whole_file
        Whether all of the file was looked at, or its beginning.
    problems
        What of the file will be skipped, in a sentence each.
    """

    path: Path
    survey: Survey = field(repr=False)
    guesses: tuple[str, ...]
    objects: int
    epochs: int
    is_whole_file: bool
    problems: tuple[str, ...] = ()


def new_survey(name: str, file: str | Path, out: str | Path | None = None, *, force: bool = False) -> NewSurvey:
    """Look at a light-curve file and write a TOML description that reads it, guesses marked.

    A file in the format of a built-in survey gets that survey's description, under the new name.

    Parameters
    ----------
    name
        The new survey's name.
    file
        One of its light-curve files.
    out
        Where to write; NAME.toml here by default.
    force
        Whether to overwrite a description that is there.
    """
    file, target = Path(file), Path(out) if out is not None else Path(f"{name}.toml")
    if target.exists() and not force:
        raise SettingsError(f"{target} exists: use force=True to overwrite it, or out=… for another place.")
    known = known_format(file)
    if known is not None:
        text = describe_known(name, file, *known)
        content, is_whole = beginning(file, known[1])
        without_limits = content
    else:
        sample = look_at(file)
        text = describe(name, sample)
        content, is_whole, without_limits = sample.content, sample.is_whole_file, sample.without_limits()
    survey = survey_from_toml(text, str(target))
    curves = read_file(survey, content, str(file))
    block = block_from_raw(survey, curves)
    if not block.objects:
        # Limits such as >18.2 are the file's trouble, not the description's: it is tried on the other lines.
        block = block_from_raw(survey, read_file(survey, without_limits, str(file)))
    if not block.objects:
        reason = curves.problems[0] if curves.problems else "no valid epoch was found"
        raise SurveyError(f"{file} could not be described: {reason}")
    write_text(target, text)
    return NewSurvey(
        path=target,
        survey=survey,
        guesses=tuple(line for line in text.splitlines() if "guess" in line and not line.startswith("#")),
        objects=len(block.objects),
        epochs=block.mjd.size,
        is_whole_file=is_whole,
        problems=tuple(curves.problems),
    )
