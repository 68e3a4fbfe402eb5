"""Which survey, and which of its formats, is this file from? Content first, name second."""

import csv
import re
from dataclasses import dataclass
from functools import lru_cache

from lcdvt.catalogs.files import bare_name
from lcdvt.catalogs.missing import MISSING_WORDS
from lcdvt.catalogs.survey import SEPARATOR_NAMES, Column, Format, Survey

HEAD_BYTES = 8192
PATTERN_BYTES = 2048  # what a format looks for stands in its very first lines
_BOM = b"\xef\xbb\xbf"
_TABLE_MAGIC = {"parquet": (b"PAR1",), "fits": (b"SIMPLE  =",), "votable": (b"<?xml", b"<VOTABLE")}


@dataclass(frozen=True)
class TextLayout:
    """Where a text file's data begin and in which columns its values stand (counted from 0)."""

    body: int
    """Byte at which the data begin."""
    body_line: int
    """How many lines come before it."""
    column_of: dict[Column, int]
    column_count: int


@dataclass(frozen=True)
class Match:
    """A file recognised as one of a survey's formats."""

    format: Format
    groups: dict[str, str]
    """What the file's name and first lines tell: parts of the id, band, position."""
    layout: TextLayout | None


def separator_byte(form: Format) -> int:
    """Return the separator as the scanner wants it (0: any run of blanks)."""
    character = SEPARATOR_NAMES.get(form.separator, form.separator)
    return ord(character) if character else 0


def split_line(line: str, form: Format) -> list[str]:
    """Split a header line as the scanner would split a data line."""
    character = SEPARATOR_NAMES.get(form.separator, form.separator)
    if character is None:
        return [field.strip('"') for field in line.split()]
    return [field.strip() for field in next(csv.reader([line], delimiter=character, skipinitialspace=True), [])]


def head_text(head: bytes) -> str:
    """Decode a file's first bytes for looking at: UTF-8, or Latin-1 where it is not."""
    head = head.removeprefix(_BOM)
    try:
        return head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(head) - 3:  # the cut after so many bytes went through a character
            return head[: error.start].decode("utf-8")
        return head.decode("latin-1")


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def match_survey(survey: Survey, name: str, head: bytes) -> Match | str:
    """Return which format of the survey this file has, or the reasons why it has none."""
    reasons = []
    for form in survey.formats:
        match = match_format(form, name, head)
        if isinstance(match, Match):
            return match
        reasons.append(f"{form.name}: {match}" if len(survey.formats) > 1 else match)
    return "; ".join(reasons)


def match_format(form: Format, name: str, head: bytes) -> Match | str:
    """Return the match of a file with a format, or the reason why it does not match."""
    if not head or head.isspace():
        return "the file is empty"
    if form.type != "text":
        if not head.lstrip().startswith(_TABLE_MAGIC[form.type]):
            return f"it does not begin like a {form.type} file"
        groups = _name_groups(form, name)
        return _missing_group(form, name, groups) or Match(form, groups, None)
    if b"\0" in head:
        return "it is binary, not text"
    groups = _name_groups(form, name)
    if form.head:
        found = _compiled(form.head).search(head_text(head[:PATTERN_BYTES]).replace("\r\n", "\n"))
        if found is None:
            return "its first lines do not look like this format's"
        groups |= {key: value for key, value in found.groupdict().items() if value is not None}
    missing = _missing_group(form, name, groups)
    if missing:
        return missing
    layout = _text_layout(form, head)
    return layout if isinstance(layout, str) else Match(form, groups, layout)


def _missing_group(form: Format, name: str, groups: dict[str, str]) -> str:
    """Take the file's name for the id's only part where the pattern fails; say what else is missing."""
    missing = [field for field in form.id_fields if field in form.pattern_groups and field not in groups]
    if len(form.id_fields) == 1 and missing:
        groups[missing[0]] = bare_name(name).rsplit(".", 1)[0]
    elif missing:
        return f"its name does not tell {missing[0]!r} of the id"
    needs_band = not (form.band or form.wide or form.band_column is not None)
    return "its name and first lines do not tell the band" if needs_band and "band" not in groups else ""


def _name_groups(form: Format, name: str) -> dict[str, str]:
    found = _compiled(form.file_name).search(bare_name(name)) if form.file_name else None
    return {key: value for key, value in found.groupdict().items() if value is not None} if found else {}


def _text_layout(form: Format, head: bytes) -> TextLayout | str:
    position = len(_BOM) if head.startswith(_BOM) else 0
    line_number = 0
    header: list[str] | None = None
    comment = form.comment.encode()
    while position < len(head):
        end = head.find(b"\n", position)
        line = head[position : end if end >= 0 else len(head)]
        is_comment = bool(comment) and line.lstrip().startswith(comment)
        wanted = line_number >= form.skip_lines and bool(line.strip())
        if wanted and is_comment and form.header == "comment":
            header = split_line(head_text(line).strip().removeprefix(form.comment).strip(), form)
        if wanted and not is_comment:
            if form.header is not True or header is not None:
                return _columns(form, header, split_line(head_text(line).strip("\r\n"), form), position, line_number)
            header = split_line(head_text(line).strip("\r\n"), form)
        if end < 0:
            break
        position = end + 1
        line_number += 1
    looked_at = f" in its first {HEAD_BYTES >> 10} KiB" if len(head) >= HEAD_BYTES else ""
    if form.header is True and header is None:
        return f"it has no header line{looked_at}"
    if header is None and form.header is False:
        return f"it has no data line{looked_at}"
    return _columns(form, header, None, len(head), line_number)


def _columns(
    form: Format, header: list[str] | None, first: list[str] | None, body: int, body_line: int
) -> TextLayout | str:
    count = form.columns or (len(header) if header else len(first or ()))
    if first is not None:
        width = len(first) - (len(first) == count + 1 and not first[-1])
        if width != count:
            return f"its first data line has {width} columns, not {count}"
    column_of: dict[Column, int] = {}
    for column in form.used_columns:
        if isinstance(column, int):
            if column > count:
                return f"it has {count} columns, column {column} is missing"
            column_of[column] = column - 1
        elif header is None or column not in header:
            return f"it has no column {column!r}"
        else:
            column_of[column] = header.index(column)
    if first is not None and not _looks_numeric(first[column_of[form.time]]):
        return f"column {form.time!r} of its first data line is no date: {first[column_of[form.time]][:20]!r}"
    return TextLayout(body, body_line, column_of, count)


def _looks_numeric(text: str) -> bool:
    if text.strip().lower().encode() in (b"", *MISSING_WORDS):
        return True  # no date in the first line costs that line, not the file
    try:
        float(text)
    except ValueError:
        return False
    return True
