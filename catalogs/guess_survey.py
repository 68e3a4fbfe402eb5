"""Tell from a few files which survey they come from."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from lcdvt.catalogs.reading.detect import HEAD_BYTES, Match, TableHead, head_text, match_format, match_survey
from lcdvt.catalogs.reading.files import InputFile, archive_members, open_stream
from lcdvt.catalogs.reading.peek import peek
from lcdvt.catalogs.registry import builtin_surveys
from lcdvt.catalogs.survey import Survey
from lcdvt.errors import InputFileError, SurveyError

FILES_LOOKED_AT = 25
"""Files of other kinds may lie among them; more would delay every ingest."""
FAR = 0.5
"""Share of a format's columns that a file lacks which is no longer worth comparing with it."""
MOST_NEAR_MISSES = 3
"""More would hide the sentence."""
MEMBERS_LOOKED_AT = 5
"""Of each archive: to get further in, it has to be unpacked."""


def guess_survey(files: Sequence[InputFile]) -> Survey:
    """Return the one survey whose formats the files have.

    Content decides; only where several surveys share a format does a folder named like one of them.
    """
    sample = [
        files[i * len(files) // min(len(files), FILES_LOOKED_AT)] for i in range(min(len(files), FILES_LOOKED_AT))
    ]
    candidates: dict[str, Survey] = {}
    refusal = ""
    for name, head, table in _heads(sample):
        answers = {survey.name: match_survey(survey, name, head, table) for survey in builtin_surveys()}
        matching = [survey for survey in builtin_surveys() if isinstance(answers[survey.name], Match)]
        if len(matching) > 1:
            named = [survey for survey in matching if survey.name.removesuffix("-csv") in _folder_names(name)]
            matching = named if len(named) == 1 else matching
        candidates |= {survey.name: survey for survey in matching}
        if not matching and not refusal:
            refusal = (
                f"{name} is from no survey known here{_near_misses(name, head, table)}: describe it "
                "(`lcdvt surveys new NAME FILE` writes NAME.toml for survey=NAME.toml)."
            )
    if len(candidates) == 1:
        return next(iter(candidates.values()))
    if candidates:
        raise SurveyError(f"the files may be from {' or '.join(sorted(candidates))}: say which with survey=….")
    raise SurveyError(refusal or "no file could be read to tell the survey: name it with survey=….")


def _near_misses(name: str, head: bytes, table: TableHead | None) -> str:
    """Tell of surveys most of whose columns the file has, those with most columns first, and what else they want."""
    words = set(table.columns if table else re.findall(r"[\w.:]+", head_text(head)))
    near: dict[str, tuple[int, str]] = {}
    for survey in builtin_surveys():
        for form in survey.formats:
            columns = [column for column in form.used_columns if isinstance(column, str)]
            lacking = [column for column in columns if column not in words]
            found = len(columns) - len(lacking)
            if len(lacking) < len(columns) * FAR and found > -near.get(survey.name, (0, ""))[0]:
                reason = f"it has no column {lacking[0]!r}" if lacking else match_format(form, name, head, table)
                near[survey.name] = (-found, f"{survey.name} ({reason})")
    told = [sentence for _, sentence in sorted(near.values())[:MOST_NEAR_MISSES]]
    return f"; nearest: {', '.join(told)}" if told else ""


def _folder_names(name: str) -> set[str]:
    return {part.lower() for part in Path(name).absolute().parts}


def _heads(files: list[InputFile]) -> Iterator[tuple[str, bytes, TableHead | None]]:
    for file in files:
        try:
            if file.is_archive:
                for count, member in enumerate(archive_members(file.path)):
                    if not member.refused:
                        head = member.content[:HEAD_BYTES]
                        yield member.name, head, peek(head, member.content)
                    if count >= MEMBERS_LOOKED_AT:
                        break
            else:
                with open_stream(file.path) as stream:
                    head = stream.read(HEAD_BYTES)
                yield str(file.path), head, peek(head, file.path)
        except InputFileError:
            continue  # ingest itself names every file it cannot read
