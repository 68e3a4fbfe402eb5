"""Look at the beginning of one light-curve file: its format, and its columns as a table."""

import io
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd

from lcdvt.catalogs.detect import HEAD_BYTES, head_text
from lcdvt.catalogs.files import open_stream, read_whole
from lcdvt.catalogs.survey import SEPARATOR_NAMES
from lcdvt.errors import LcdvtError, SurveyError

BYTES_LOOKED_AT: Final = 1 << 20
ROWS_LOOKED_AT: Final = 20_000
LINES_FOR_SEPARATOR: Final = 50
MOST_HEADER_LINES: Final = 4
"""Names, types, units, dashes: beyond that, lines without a number are no header."""
COMMENT_MARKS: Final = "#%!\\"
PARQUET_MAGIC: Final = b"PAR1"
_LIMIT_LINE: Final = re.compile(rb"(?m)^[^\n]*[<>]=?[ \t]*[0-9.][^\n]*\n?")


@dataclass(frozen=True)
class Sample:
    """What was seen of a file."""

    path: Path
    content: bytes
    """The bytes seen, a readable file in themselves: whole lines of a text, whole rows of a table."""
    is_whole_file: bool
    format_lines: tuple[str, ...]
    """The TOML lines that say how the file is laid out."""
    table: pd.DataFrame
    """Columns with a name of their own; those without one have their number, counted from 1, as name."""
    has_names: bool
    number_of: dict[str, int] | None = None
    """Columns the description must call by number, because no header line of the file can serve; None: by name."""

    def without_limits(self) -> bytes:
        """Return the content without the lines that hold an upper or lower limit such as >18.2."""
        return _LIMIT_LINE.sub(b"", self.content) if self.format_lines[0].startswith("separator") else self.content


def look_at(path: Path) -> Sample:
    """Look at the first rows of a file; of text no more than a mebibyte is read, however large the file is."""
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
    elif b"\0" in content[:HEAD_BYTES]:
        raise SurveyError(f"{path} is neither text nor Parquet, FITS or VOTable: convert it first.")
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
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise SurveyError(f"{path} is a damaged {kind} file: {reason} Fetch it again.") from error
    return sample


def _parquet_sample(path: Path, kind: str) -> Sample:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with path.open("rb") as raw:
        is_plain = raw.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
    with pq.ParquetFile(path if is_plain else io.BytesIO(read_whole(str(path)))) as file:
        batch = next(file.iter_batches(batch_size=ROWS_LOOKED_AT), None)
        rows = file.metadata.num_rows
    if batch is None:
        return Sample(path, b"", True, (f'type = "{kind}"',), pd.DataFrame(), True)
    first_rows = pa.Table.from_batches([batch])
    content = io.BytesIO()
    pq.write_table(first_rows, content)
    # An index that pandas wrote is a column like any other here, and integers with gaps stay integers.
    table = first_rows.to_pandas(ignore_metadata=True, integer_object_nulls=True)
    return Sample(path, content.getvalue(), batch.num_rows == rows, (f'type = "{kind}"',), _once(table), True)


def _astropy_sample(path: Path, kind: str) -> Sample:
    from astropy.table import Table

    content = read_whole(str(path))
    found = Table.read(io.BytesIO(content), format=kind)
    found.convert_bytestring_to_unicode()
    plain = [name for name in found.colnames if found[name].ndim == 1]
    return Sample(path, content, True, (f'type = "{kind}"',), found[plain].to_pandas(), True)


def _once(table: pd.DataFrame) -> pd.DataFrame:
    return table.loc[:, ~table.columns.duplicated()]


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
    character = _separator([line for _, line in rows[:LINES_FOR_SEPARATOR]])
    spoken = next(name for name, value in SEPARATOR_NAMES.items() if value == character)
    described = [f'separator = "{spoken}"']
    if comment:
        described.append(f"comment = '{comment}'")
    split = [_fields(line, character) for _, line in rows]
    header_lines = _header_lines(split)
    data = split[header_lines:]
    width = Counter(len(fields) for fields in data).most_common(1)[0][0]
    data = [fields for fields in data if len(fields) == width]
    by_name = False
    if header_lines:
        header = split[0]
        by_name = header_lines == 1 and len(header) == (len(data[0]) - (len(header) < width and not data[0][-1]))
        described.append(
            "header = true" if by_name else f"skip_lines = {rows[header_lines][0]}  # guess: the lines before the data"
        )
    else:
        above = [line for number, line in numbered if number < rows[0][0]]
        header = _fields(above[-1].strip().removeprefix(comment).strip(), character) if above else []
        by_name = len(header) == width and not any(is_number(value) for value in header)
        described.append('header = "comment"' if by_name else "header = false")
        header = header if by_name else []
    names = _names(header, width)
    columns = {name: [fields[place] for fields in data] for place, name in enumerate(names or _numbers(width)) if name}
    number_of = None if by_name else {name: place for place, name in _first_places(names or _numbers(width)).items()}
    return Sample(path, content, is_whole, tuple(described), pd.DataFrame(columns), bool(names), number_of)
