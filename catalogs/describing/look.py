"""Look at the beginning of one light-curve file: its format, and its columns as a table."""

import csv
import io
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd

from lcdvt.catalogs.file_format import SEPARATOR_NAMES
from lcdvt.catalogs.reading.detect import HEAD_BYTES, head_text
from lcdvt.catalogs.reading.files import open_stream, read_whole
from lcdvt.catalogs.reading.hats_folder import hats_partitions
from lcdvt.catalogs.reading.nested import flat_names, flattened
from lcdvt.catalogs.reading.records import curve_names, record_table
from lcdvt.errors import InputFileError, LcdvtError, SurveyError, first_line

BYTES_LOOKED_AT: Final = 1 << 20
"""Some thousand lines: enough to tell columns apart, read at once."""
ROWS_LOOKED_AT: Final = 20_000
"""As many rows of a table."""
NESTED_ROWS_LOOKED_AT: Final = 100
"""Each of them is a whole light curve."""
LINES_FOR_SEPARATOR: Final = 50
"""A separator shows in the first lines or not at all."""
MOST_HEADER_LINES: Final = 4
"""Names, types, units, dashes: beyond that, lines without a number are no header."""
COMMENT_MARKS: Final = "#%!\\"
PARQUET_MAGIC: Final = b"PAR1"
AVRO_MAGIC: Final = b"Obj\x01"
IPAC_BAR: Final = "|"
COMMENT_HEADER: Final = 'header = "comment"'
_LIMIT_LINE: Final = re.compile(rb"(?m)^[^\n]*[<>]=?[ \t]*[0-9.][^\n]*\n?")


@dataclass(frozen=True)
class Sample:
    """What was seen of a file."""

    path: Path
    type: str
    """As a description's `type` says it: text, parquet, fits, votable, json or avro."""
    content: bytes
    """The bytes seen, a readable file in themselves: whole lines of a text, whole rows of a table."""
    is_whole_file: bool
    table: pd.DataFrame
    """Where the file names no columns, their numbers, counted from 1, are the names."""
    has_names: bool = True
    number_of: dict[str, int] | None = None
    """The columns' numbers where the reader cannot find them by name, because no header line can serve it."""
    layout_lines: tuple[str, ...] = ()
    """The TOML lines that say how a text's lines are laid out."""

    def without_limits(self) -> bytes:
        """Return the content without the lines that hold an upper or lower limit such as >18.2."""
        return _LIMIT_LINE.sub(b"", self.content) if self.type == "text" else self.content


def look_at(path: Path) -> Sample:
    """Look at the first rows of a file; of text no more than a mebibyte is read, however large the file is.

    Of a HATS catalogue the first partition is looked at.
    """
    partitions = hats_partitions(path) if path.is_dir() else None
    path = Path(partitions[0]) if partitions else path
    with open_stream(path) as stream:
        content = stream.read(BYTES_LOOKED_AT)
    if not content.strip():
        raise SurveyError(f"{path} is empty: give a light-curve file with data.")
    if content.startswith(PARQUET_MAGIC):
        sample = _damage_said(path, "parquet", _parquet_sample)
    elif content.startswith(b"SIMPLE  ="):
        sample = _damage_said(path, "fits", _astropy_sample)
    elif content.lstrip().startswith((b"<?xml", b"<VOTABLE")):
        sample = _damage_said(path, "votable", _astropy_sample)
    elif content.startswith(AVRO_MAGIC):
        sample = _damage_said(path, "avro", _record_sample)
    elif b"\0" in content[:HEAD_BYTES]:
        raise SurveyError(f"{path} is neither text nor Parquet, FITS, VOTable or Avro: convert it first.")
    elif content.lstrip().startswith((b"{", b"[")):
        sample = _damage_said(path, "json", _record_sample)
    else:
        sample = _text_sample(path, content)
    if sample.table.empty:
        raise SurveyError(f"{path} holds no rows: give a light-curve file with data.")
    return sample


def _damage_said(path: Path, kind: str, reader: Any) -> Sample:
    try:
        sample: Sample = reader(path, kind)
    except LcdvtError:
        raise
    except Exception as error:  # the libraries raise a dozen kinds for a damaged file
        reason = first_line(error)
        raise SurveyError(f"{path} is a damaged {kind} file: {reason} Fetch it again.") from error
    return sample


def _parquet_sample(path: Path, kind: str) -> Sample:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with path.open("rb") as raw:
        is_plain = raw.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
    with pq.ParquetFile(path if is_plain else io.BytesIO(read_whole(str(path)))) as file:
        is_nested = flat_names(file.schema_arrow) != file.schema_arrow.names
        batch = next(file.iter_batches(NESTED_ROWS_LOOKED_AT if is_nested else ROWS_LOOKED_AT), None)
        rows = file.metadata.num_rows
    if batch is None:
        return Sample(path, kind, b"", True, pd.DataFrame())
    first_rows = pa.Table.from_batches([batch])
    content = io.BytesIO()
    pq.write_table(first_rows, content)
    # An index that pandas wrote is a column like any other here, and integers with gaps stay integers.
    table = flattened(first_rows).to_pandas(ignore_metadata=True, integer_object_nulls=True)
    table = table.loc[:, ~table.columns.duplicated()]
    return Sample(path, kind, content.getvalue(), batch.num_rows == rows, table)


def _astropy_sample(path: Path, kind: str) -> Sample:
    from astropy.table import Table

    content = read_whole(str(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a warning says of a cut file, the error after it says again
        found = Table.read(io.BytesIO(content), format=kind)
    found.convert_bytestring_to_unicode()
    plain = [name for name in found.colnames if found[name].ndim == 1]
    return Sample(path, kind, content, True, found[plain].to_pandas())


def _record_sample(path: Path, kind: str) -> Sample:
    """Look at the longest list in the records: of several only one can be the light curve."""
    content = read_whole(str(path))
    try:
        names = curve_names(kind, content)
        table = flattened(record_table(kind, content, names), names).to_pandas()
    except InputFileError as error:
        raise SurveyError(f"{path}: {error}") from error
    return Sample(path, kind, content, True, table)


def _text_sample(path: Path, content: bytes) -> Sample:
    is_whole = len(content) < BYTES_LOOKED_AT
    if not is_whole:
        content = content[: content.rfind(b"\n") + 1]
    numbered = [(number, line) for number, line in enumerate(head_text(content).split("\n")) if line.strip()]
    starts = {line.lstrip()[0] for _, line in numbered}
    comment = next((mark for mark in COMMENT_MARKS if mark in starts), "")
    rows = [(number, line) for number, line in numbered if not (comment and line.lstrip().startswith(comment))]
    if not rows:
        what = "comment lines only" if numbered else "no line that ends"
        raise SurveyError(f"{path} holds {what}: give a light-curve file with data.")
    if rows[0][1].startswith(IPAC_BAR) and not rows[-1][1].startswith(IPAC_BAR):
        return _ipac_sample(path, content, is_whole, comment, [line for _, line in rows])
    first_lines = [line for _, line in rows[:LINES_FOR_SEPARATOR]]
    character = _separator(first_lines) or _separator(first_lines[1:])  # a title has none
    spoken = next(name for name, value in SEPARATOR_NAMES.items() if value == character)
    described = [f'separator = "{spoken}"']
    if comment:
        described.append(f"comment = '{comment}'")
    split = [_fields(line, character) for _, line in rows]
    header_lines = _header_lines(split)
    data = split[header_lines:]
    width = Counter(len(fields) for fields in data).most_common(1)[0][0]
    data = [fields for fields in data if len(fields) == width]
    between = [line for number, line in numbered if rows[0][0] < number < rows[header_lines][0]] if header_lines else []
    named_by_comment = _comment_names(between, comment, character, width) if len(split[0]) != width else []
    if named_by_comment:
        # What stands in the first lines is about the star; the names stand in a comment below.
        header, by_name = named_by_comment, True
        described += [f"skip_lines = {rows[header_lines - 1][0] + 1}  # guess: what is about the star", COMMENT_HEADER]
    elif header_lines:
        header = split[0]
        ends_empty = not any(fields[-1] for fields in data)
        by_name = header_lines == 1 and len(header) in ((width, width - 1) if ends_empty else (width,))
        skipped = f"skip_lines = {rows[header_lines][0]}  # guess: the lines before the data"
        described.append("header = true" if by_name else skipped)
        header = header[:-1] if len(header) == width + 1 and not header[-1] else header
    else:
        above = [line for number, line in numbered if number < rows[0][0]]
        header = _comment_names(above, comment, character, width)
        by_name = bool(header)
        described.append(COMMENT_HEADER if by_name else "header = false")
    has_names = len(header) in (width, width - 1)
    places: dict[str, int] = {}
    for place, name in enumerate(header if has_names else map(str, range(1, width + 1))):
        if name:  # a line that begins or ends with its separator has a column without name there
            places.setdefault(name, place)
    table = pd.DataFrame({name: [fields[place] for fields in data] for name, place in places.items()})
    number_of = None if by_name else {name: place + 1 for name, place in places.items()}
    return Sample(path, "text", content, is_whole, table, has_names, number_of, tuple(described))


def _comment_names(lines: list[str], comment: str, character: str | None, width: int) -> list[str]:
    """Return the columns' names, if the last of some lines above the data holds as many as there are columns."""
    last = lines[-1].strip() if lines else ""
    names = _fields(last.lstrip(comment or None).strip(), character) if lines else []
    return names if len(names) == width and not any(is_number(value) for value in names) else []


def _ipac_sample(path: Path, content: bytes, is_whole: bool, comment: str, rows: list[str]) -> Sample:
    """Look at an IPAC table: names, types, units and what stands for nothing between bars, then rows of blanks."""
    header = [name.strip() for name in rows[0].strip().strip(IPAC_BAR).split(IPAC_BAR)]
    data = [fields for line in rows if not line.startswith(IPAC_BAR) and len(fields := line.split()) == len(header)]
    described = ['separator = "whitespace"', *([f"comment = '{comment}'"] if comment else []), 'header = "ipac"']
    table = pd.DataFrame({name: [fields[place] for fields in data] for place, name in enumerate(header)})
    return Sample(path, "text", content, is_whole, table, layout_lines=tuple(described))


def _header_lines(split: list[list[str]]) -> int:
    """Count the lines before the data: names, and perhaps units below; only data lines hold numbers."""
    for count, fields in enumerate(split[: MOST_HEADER_LINES + 1]):
        if any(is_number(value) for value in fields):
            return count
    return 1 if len(split) > 1 else 0


def _fields(line: str, character: str | None) -> list[str]:
    """Split a line as the reader splits a header line."""
    if character is None:
        return [value.strip('",') for value in line.split()]  # some write commas into the header line only
    try:
        values = next(csv.reader([line], delimiter=character, skipinitialspace=True), [])
    except csv.Error:  # a carriage return within the line, or a field beyond all measure
        values = line.split(character)
    return [value.strip() for value in values]


def _separator(lines: list[str]) -> str | None:
    for character in (";", "\t", ",", "|"):
        counts = {line.count(character) for line in lines}
        if counts and min(counts) > 0 and len(counts) <= 2:
            return character
    return None


def is_number(value: str) -> bool:
    """Say whether the text is a number."""
    try:
        float(value)
    except ValueError:
        return False
    return True
