"""A file in the format of a built-in survey is described by that survey's own TOML, under a new name."""

import json
import re
from pathlib import Path
from typing import Final

from lcdvt.catalogs.describing.look import BYTES_LOOKED_AT
from lcdvt.catalogs.file_format import Format
from lcdvt.catalogs.reading.detect import HEAD_BYTES, Match, match_survey
from lcdvt.catalogs.reading.files import open_stream, read_whole
from lcdvt.catalogs.reading.peek import peek
from lcdvt.catalogs.registry import builtin_surveys
from lcdvt.catalogs.survey import Survey

_FORMATS: Final = re.compile(r"(?<=\n\n)(?=(?:#[^\n]*\n)*\[\[formats\]\])")
_NAME: Final = re.compile(r'(?m)^name = "[^"\n]*"$')


def known_format(path: Path) -> tuple[Survey, Format] | None:
    """Return the one built-in survey that reads this file, and its format; None if there is none, or several."""
    if not path.is_file():
        return None
    with open_stream(path) as stream:
        head = stream.read(HEAD_BYTES)
    table = peek(head, path)
    found = [(survey, match_survey(survey, str(path), head, table)) for survey in builtin_surveys()]
    claims = [(survey, match.format) for survey, match in found if isinstance(match, Match)]
    return claims[0] if len(claims) == 1 else None


def describe_known(name: str, path: Path, survey: Survey, form: Format) -> str:
    """Return the built-in survey's description with another name and only the format that reads the file."""
    top, *formats = _FORMATS.split(survey.toml)
    chosen = formats[survey.formats.index(form)]
    # A function, because a backslash in a replacement text would mean something.
    top = _NAME.sub(lambda _: f"name = {_as_toml(name)}", top, count=1)
    note = f"# {_as_toml(path.name)} has the format {form.name!r} of the built-in survey {survey.name!r}:\n"
    return f"{note}# this is its description.\n{top}{chosen}"


def _as_toml(text: str) -> str:
    """Write a text as a TOML string; a file name's bytes that are no text become question marks."""
    return json.dumps(text.encode("utf-8", "replace").decode())


def beginning(path: Path, form: Format) -> tuple[bytes, bool]:
    """Return enough of a file to try its description on, and whether that is all of it."""
    if form.type != "text":
        return read_whole(str(path)), True
    with open_stream(path) as stream:
        content = stream.read(BYTES_LOOKED_AT)
    if len(content) < BYTES_LOOKED_AT:
        return content, True
    return content[: content.rfind(b"\n") + 1], False
