"""Which survey, and which of its formats, is this file from? Content first, name second."""

import csv
import re
from functools import lru_cache
from typing import NamedTuple

from lcdvt.catalogs.file_format import SEPARATOR_NAMES, Column, Format
from lcdvt.catalogs.reading.files import COMPRESSION_SUFFIXES, MEMBER_SEPARATOR, absolute_name, bare_name
from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.vocabulary import MISSING_WORDS

HEAD_BYTES = 8192
"""Headers and comments of every known format end before."""
PATTERN_BYTES = 2048  # what a format looks for stands in its very first lines
_BOM = b"\xef\xbb\xbf"
TABLE_MAGIC = {"parquet": (b"PAR1",), "fits": (b"SIMPLE  =",), "votable": (b"<?xml", b"<VOTABLE")}
TABLE_MAGIC |= {"json": (b"{", b"["), "avro": (b"Obj\x01",)}


_POSITION_KEYWORDS = {"RA_OBJ": "ra", "DEC_OBJ": "dec"}


class TableHead(NamedTuple):
    """What a table says of itself before its rows."""

    columns: tuple[str, ...]
    keywords: dict[str, str]
    """Header cards of a FITS file, PARAMs of a VOTable."""


class TextLayout(NamedTuple):
    """Where a text file's data begin and in which columns its values stand (counted from 0)."""

    body: int
    """Byte at which the data begin."""
    body_line: int
    """How many lines come before it."""
    column_of: dict[Column, int]
    column_count: int


class Match(NamedTuple):
    """A file recognised as one of a survey's formats."""

    format: Format
    groups: dict[str, str]
    """What the file's name and first lines tell: parts of the id, band, position."""
    layout: TextLayout | None


class TextFile(NamedTuple):
    """The content of a text file, or of a block of one, whose format is known."""

    name: str
    content: bytes
    match: Match

    @property
    def layout(self) -> TextLayout:
        """Where the data begin and in which columns they stand."""
        assert self.match.layout is not None  # a text format's match always carries the layout
        return self.match.layout

    def is_like(self, other: "TextFile") -> bool:
        """Say whether both files have the same values in the same columns."""
        mine, others = self.layout, other.layout
        same_columns = mine.column_of is others.column_of or mine.column_of == others.column_of
        same_columns = same_columns and mine.column_count == others.column_count
        return self.match.format is other.match.format and same_columns


def separator_byte(form: Format) -> int:
    """Return the separator as the scanner wants it (0: any run of blanks)."""
    character = SEPARATOR_NAMES.get(form.separator, form.separator)
    return ord(character) if character else 0


def split_line(line: str, form: Format) -> list[str]:
    """Split a header line as the scanner would split a data line."""
    character = SEPARATOR_NAMES.get(form.separator, form.separator)
    if character is None:
        fields = line.split()
        # Some write quotes, or commas into the header line only.
        return [field.strip('",') for field in fields] if '"' in line or "," in line else fields
    try:
        fields = next(csv.reader([line], delimiter=character, skipinitialspace=True), [])
    except csv.Error:  # a carriage return within the line, or a field beyond all measure
        fields = line.split(character)
    return [field.strip() for field in fields]


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


def match_survey(survey: Survey, name: str, head: bytes, table: TableHead | None = None) -> Match | str:
    """Return which format of the survey this file has, or the reasons why it has none.

    Parameters
    ----------
    survey, name
        The survey, and the file's name with its folders.
    head
        The file's first bytes, decompressed.
    table
        What `lcdvt.catalogs.reading.peek` found in a file that is no text; None to go by the first bytes alone.
    """
    reasons: dict[str, list[str]] = {}
    for form in survey.formats:
        match = match_format(form, name, head, table)
        if isinstance(match, Match):
            return match
        reasons.setdefault(match, []).append(form.name)
    if len(reasons) == 1:
        return next(iter(reasons))
    return "; ".join(f"{names[0]}: {reason}" for reason, names in reasons.items())


def _is_there(form: Format, column: str, columns: tuple[str, ...]) -> bool:
    """Say whether a table has a column; an alert without a history has it in its newest epoch alone."""
    history, _, field = column.partition(".")
    return column in columns or bool(form.newest and history in columns and f"{form.newest}.{field}" in columns)


def match_format(form: Format, name: str, head: bytes, table: TableHead | None = None) -> Match | str:
    """Return the match of a file with a format, or the reason why it does not match."""
    if not head or head.isspace():
        return "the file is empty"
    groups: dict[str, str] = {}
    if form.path:
        where = _compiled(form.path).search(whole_path(name))
        if where is None:
            return "its name and folder do not look like this format's"
        groups = {key: value for key, value in where.groupdict().items() if value is not None}
    if form.type != "text":
        if not head.lstrip().startswith(TABLE_MAGIC[form.type]):
            return f"it does not begin like a {form.type} file"
        if form.type == "json" and b"\0" in head:  # its first byte alone says little
            return "it is binary, not text"
        groups |= _name_groups(form, name)
        if table is not None:
            absent = [str(column) for column in form.used_columns if not _is_there(form, str(column), table.columns)]
            if absent:
                return f"it has no column {absent[0]!r}"
            groups |= {key: table.keywords[key] for key in form.keywords if key in table.keywords}
            groups |= {group: groups[key] for key, group in _POSITION_KEYWORDS.items() if key in groups}
            if (
                form.head
                and _compiled(form.head).search("\n".join(f"{k}={v}" for k, v in table.keywords.items())) is None
            ):
                return "its header does not look like this format's"
        return _missing_group(form, name, groups) or Match(form, groups, None)
    if b"\0" in head:
        return "it is binary, not text"
    groups |= _name_groups(form, name)
    if form.head:
        text = head_text(head[:PATTERN_BYTES])
        found = _compiled(form.head).search(text.replace("\r\n", "\n") if "\r" in text else text)
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


def whole_path(name: str) -> str:
    """Return a file's path from the root, through an archive too, without a compression suffix."""
    whole = absolute_name(name).replace(MEMBER_SEPARATOR, "/")
    return whole.rpartition(".")[0] if whole.lower().endswith(COMPRESSION_SUFFIXES) else whole


def _name_groups(form: Format, name: str) -> dict[str, str]:
    found = _compiled(form.file_name).search(bare_name(name)) if form.file_name else None
    return {key: value for key, value in found.groupdict().items() if value is not None} if found else {}


def _text_layout(form: Format, head: bytes) -> TextLayout | str:
    position = len(_BOM) if head.startswith(_BOM) else 0
    for _ in range(form.skip_lines):
        position = head.find(b"\n", position) + 1 or len(head)
    body = _after_comments(form, head, position)
    header: list[str] | None = None
    if form.header == "comment":
        header = _last_comment(form, head[position:body])
    elif form.header == "ipac" and head.startswith(b"|", body):
        header, body = _ipac_header(head, body)
    elif form.header and body < len(head):
        header, end = _fields_at(form, head, body)
        body = _after_comments(form, head, end)
    if body < len(head):
        return _columns(form, header, _fields_at(form, head, body)[0], body, head.count(b"\n", 0, body))
    looked_at = f" in its first {HEAD_BYTES >> 10} KiB" if len(head) >= HEAD_BYTES else ""
    if form.header is True and header is None:
        return f"it has no header line{looked_at}"
    if looked_at or (header is None and form.header is False):
        return f"it has no data line{looked_at}"
    return _columns(form, header, None, body, head.count(b"\n"))


@lru_cache(maxsize=256)
def _comment_lines(comment: str) -> re.Pattern[bytes]:
    """Return the pattern of blank lines and comment lines, as many as there are."""
    text = rb"(?:" + re.escape(comment.encode()) + rb"[^\n]*)?" if comment else b""
    return re.compile(rb"(?:[^\S\n]*" + text + rb"(?:\n|\Z))*+")


def _after_comments(form: Format, head: bytes, position: int) -> int:
    found = _comment_lines(form.comment).match(head, position)
    return found.end() if found else position


def _ipac_header(head: bytes, position: int) -> tuple[list[str], int]:
    """Return the names between the bars of an IPAC table's first header line, and where the last such line ends."""
    end = head.find(b"\n", position) + 1 or len(head)
    names = [name.strip() for name in head_text(head[position:end]).strip().strip("|").split("|")]
    while head.startswith(b"|", end):
        end = head.find(b"\n", end) + 1 or len(head)
    return names, end


def _last_comment(form: Format, lines: bytes) -> list[str] | None:
    last = lines.rstrip().rpartition(b"\n")[2]
    return split_line(head_text(last).strip().lstrip(form.comment).strip(), form) if last.strip() else None


def _fields_at(form: Format, head: bytes, position: int) -> tuple[list[str], int]:
    """Return the fields of the line that begins here, and where the next line begins."""
    end = head.find(b"\n", position) + 1 or len(head)
    return split_line(head_text(head[position:end]).strip("\r\n"), form), end


def _columns(
    form: Format, header: list[str] | None, first: list[str] | None, body: int, body_line: int
) -> TextLayout | str:
    count = form.columns or (len(header) if header else len(first or ()))
    if first is not None:
        width = len(first) - (len(first) == count + 1 and not first[-1])
        if width != count:
            return f"its first data line has {width} columns, not {count}"
    for place in form.numbered_columns.values():
        if place >= count:
            return f"it has {count} columns, column {place + 1} is missing"
    column_of = form.numbered_columns
    if form.named_columns:
        if missing := [name for name in form.named_columns if header is None or name not in header]:
            return f"it has no column {missing[0]!r}"
        column_of = column_of | {name: header.index(name) for name in form.named_columns if header is not None}
    time = form.time_column(form.measurements[0])
    if first is not None and not _looks_numeric(first[column_of[time]]):
        return f"column {time!r} of its first data line is no date: {first[column_of[time]][:20]!r}"
    return TextLayout(body, body_line, column_of, count)


def _looks_numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        # No date in the first line costs that line, not the file.
        return text.strip().lower().encode() in (b"", *MISSING_WORDS)
    return True
