"""Read a catalogue's table: CSV and its relatives, Parquet, FITS or VOTable."""

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import pandas as pd

from lcdvt.catalogs.reading.files import ExpansionGuard, open_stream
from lcdvt.errors import InputFileError, LcdvtError, first_line

FITS_SUFFIXES: Final = (".fits", ".fit")
VOTABLE_SUFFIXES: Final = (".vot", ".xml", ".votable")
SEPARATORS: Final = (",", ";", "\t", "|", " ")
"""In the order of preference where several split the lines alike; the blank stands for any run of blanks."""
LINES_FOR_SEPARATOR: Final = 50
"""A separator shows in the first lines or not at all."""
CHUNK_BYTES: Final = 1 << 20
"""A catalogue of millions is read in pieces of this size."""
ROWS_AT_ONCE: Final = 1 << 10
"""Rows that are lists of Python texts at a time, which take ten times the bytes of the file."""
_OGLE_LINE: Final = re.compile(r"(?P<star>OGLE-[A-Z0-9]+-(?P<type>[A-Z0-9]+)-\d+)\s")
_OGLE_POSITION: Final = re.compile(r"\s(\d\d)[: ](\d\d)[: ](\d\d\.\d+)\s+([-+])(\d\d)[: ](\d\d)[: ](\d\d\.\d+)(?:\s|$)")
MISSING_WORDS: Final = ("", "N/A", "NA", "NULL", "NaN", "None", "<NA>", "n/a", "nan", "null")


def read_catalogue_table(path: Path) -> pd.DataFrame:
    """Read a catalogue; the columns of a text file stay text."""
    if not path.is_file():
        raise InputFileError(f"catalogue {path} does not exist.")
    try:
        kind = path.name.lower().removesuffix(".gz")
        if kind.endswith(".parquet"):
            return _read_parquet(path)
        if kind.endswith((*FITS_SUFFIXES, *VOTABLE_SUFFIXES)):
            return _read_astropy(path, "fits" if kind.endswith(FITS_SUFFIXES) else "votable")
        return _read_text(path)
    except LcdvtError:
        raise
    except Exception as error:  # each library raises its own kinds for a damaged file
        reason = first_line(error)
        raise InputFileError(f"catalogue {path} cannot be read: {reason}") from error


def as_text(values: pd.Series) -> pd.Series:
    """Return a column as text without blanks around it, missing where it says nothing.

    Ids and classes are text even where they look like numbers: 007 is not 7.
    """
    if pd.api.types.is_float_dtype(values.dtype):
        known = values.dropna()
        # Many tools keep whole numbers with gaps as floats; the id in the light curves is still 7, not 7.0.
        if len(known) and (known % 1 == 0).all() and (known.abs() < 2**53).all():
            values = values.astype("Int64")
    text = values.astype("string").str.strip()
    return text.mask(text.isin(MISSING_WORDS))


def _read_parquet(path: Path) -> pd.DataFrame:
    import pyarrow.parquet as pq

    # An index that pandas wrote is a column like any other here, and integers with gaps stay integers.
    return pq.read_table(path).to_pandas(ignore_metadata=True, integer_object_nulls=True)


def _read_astropy(path: Path, kind: str) -> pd.DataFrame:
    from astropy.table import Table

    table = Table.read(path, format=kind)
    table.convert_bytestring_to_unicode()
    return table[[name for name in table.colnames if table[name].ndim == 1]].to_pandas()


def _read_text(path: Path) -> pd.DataFrame:
    content = _content_of(path)
    sample = [line for _, line in islice(_lines(content), LINES_FOR_SEPARATOR)]
    if not sample:
        raise InputFileError(f"catalogue {path} is empty: give a table with a header line.")
    if all(_OGLE_LINE.match(line) for line in sample):
        return _read_ogle(content)
    separator = _separator(sample)
    place = 0

    def lines() -> Iterator[str]:
        nonlocal place
        for number, line in _lines(content):
            place = number
            yield _evened(line, separator)

    reader = csv.reader(lines(), delimiter=separator, skipinitialspace=True)
    header = next(reader)
    # A column is found by its name; thousands without one, as a torn line has, cost their time and can tell nothing.
    named = [number for number, name in enumerate(header) if name.strip()]
    names = pd.Index([header[number] for number in named])
    tables = []
    rows: list[list[str]] = []
    for row in reader:
        if any(row[len(header) :]):
            raise InputFileError(
                f"catalogue {path}:{place}: {len(row)} values under {len(header)} columns: "
                "put values that hold the separator between double quotes."
            )
        rows.append([row[number] if number < len(row) else "" for number in named])
        if len(rows) == ROWS_AT_ONCE:
            tables.append(pd.DataFrame(rows, columns=names, dtype="string"))
            rows = []
    tables.append(pd.DataFrame(rows, columns=names, dtype="string"))
    return pd.concat(tables, ignore_index=True)


def _read_ogle(content: bytes) -> pd.DataFrame:
    """Read ident.dat, cepF.dat and their like: no header, the name tells the class, some give the position."""
    rows = []
    for _, line in _lines(content):
        found = _OGLE_LINE.match(line)
        if found is None:
            continue
        place = _OGLE_POSITION.search(line)
        ra = dec = None
        if place:
            hours, minutes, seconds, sign, degrees, arcmin, arcsec = place.groups()
            ra = f"{15 * (int(hours) + int(minutes) / 60 + float(seconds) / 3600):.7f}"
            dec = f"{sign}{int(degrees) + int(arcmin) / 60 + float(arcsec) / 3600:.7f}"
        rows.append((found["star"], found["type"], ra, dec))
    return pd.DataFrame(rows, columns=pd.Index(["id", "class", "ra", "dec"]), dtype="string")


def _content_of(path: Path) -> bytes:
    content = bytearray()
    guard = ExpansionGuard(path)
    with open_stream(path) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            guard.add(len(chunk))
            content += chunk
    return bytes(content)


def _lines(content: bytes) -> Iterator[tuple[int, str]]:
    """Give the lines that are neither empty nor comments, with their numbers; a # further on belongs to a value."""
    for number, line in enumerate(io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", "replace"), start=1):
        if line.strip() and not line.startswith("#"):
            yield number, line


def _evened(line: str, separator: str) -> str:
    """Where any run of blanks separates, leave none at the ends and make tabs blanks."""
    return line.strip().replace("\t", " ") + "\n" if separator == " " else line


def _separator(lines: list[str]) -> str:
    """Return what splits the header into the most fields, among what splits the most lines as it splits the header.

    A blank may stand inside a name or value, so it separates only where nothing else does as well.
    """

    def fits(separator: str) -> tuple[float, bool, int]:
        rows = list(
            csv.reader((_evened(line, separator) for line in lines), delimiter=separator, skipinitialspace=True)
        )
        fields = len(rows[0])
        alike = sum(len(row) == fields or (len(row) > fields and not any(row[fields:])) for row in rows)
        return (alike / len(rows) if fields > 1 else 0.0), separator != " ", fields

    return max(SEPARATORS, key=fits)
