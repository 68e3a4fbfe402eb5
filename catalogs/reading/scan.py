"""A compiled scanner of delimited text: bytes in, numbers and text positions out.

Every text format of every survey goes through this one function, so that a file of ten lines and a
dump of ten million are read by the same rules. It takes many small files at once, because calling it costs as much as
reading a few hundred lines. `lcdvt.catalogs.reading.scan_kernel` is the compiled half.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lcdvt.catalogs.reading.scan_kernel import (
    LIMIT_SIGNS,
    NOT_A_NUMBER,
    TOO_FEW_COLUMNS,
    TOO_MANY_COLUMNS,
    WHITESPACE_RUNS,
    gather_tokens,
    scan_lines,
)

__all__ = [
    "LINE_FAULTS",
    "NOT_A_NUMBER",
    "TOO_FEW_COLUMNS",
    "TOO_MANY_COLUMNS",
    "WHITESPACE_RUNS",
    "Scan",
    "scan_texts",
]

LINE_FAULTS: Final = {
    TOO_FEW_COLUMNS: "too few columns",
    TOO_MANY_COLUMNS: "too many columns",
    NOT_A_NUMBER: "a value that is not a number",
}
_NEWLINE: Final = ord("\n")


class Scan(NamedTuple):
    """What the scanner found; one row per data line, faulty lines included."""

    buffer: bytes
    """All texts, one after the other."""
    values: NDArray[np.float64]
    """Row by numeric column; NaN where the field is empty or says so."""
    text_start: NDArray[np.int64]
    text_stop: NDArray[np.int64]
    """Row by text column: where in the buffer the field stands."""
    text_hash: NDArray[np.uint64]
    """Row: a hash of all text columns marked as identity (see `identity_columns`); empty without any."""
    line_start: NDArray[np.int64]
    """Row: where in the buffer its line begins; empty without identity columns."""
    line_number: NDArray[np.int32]
    """Row: its line in its text, counted from 1 behind the skipped bytes."""
    fault: NDArray[np.int8]
    """Row: 0, or one of the codes in LINE_FAULTS."""
    row_start: NDArray[np.int64]
    """Text: its first row; the last entry is the number of all rows."""
    limits: dict[int, tuple[NDArray[np.int64], NDArray[np.float64]]]
    """Column of the file: the rows where it says a limit such as >18.2 instead of a value, and the limits."""


def scan_texts(
    texts: Sequence[bytes],
    skipped: Sequence[int],
    *,
    separator: int,
    comment: int,
    numeric_columns: tuple[int, ...],
    text_columns: tuple[int, ...] = (),
    identity_columns: int = 0,
    column_count: int = 0,
) -> Scan:
    """Read the wanted columns of every data line of some texts that are laid out alike.

    Parameters
    ----------
    texts
        Whole lines; the last one may lack its newline.
    skipped
        How many bytes of each text come before its first data line.
    separator
        The separator's byte, or WHITESPACE_RUNS.
    comment
        The byte that begins a comment line, or -1.
    numeric_columns, text_columns
        Wanted columns, counted from 0.
    identity_columns
        How many of the first `text_columns` together name the object a row belongs to.
    column_count
        How many columns a line must have; 0 takes that of each text's first data line.
    """
    buffer = b"\n".join([*texts, b""])
    data = np.frombuffer(buffer, dtype=np.uint8)
    sizes = np.array([len(text) for text in texts], dtype=np.int64)
    stops = np.cumsum(sizes + 1) - 1
    numeric, text = tuple(dict.fromkeys(numeric_columns)), tuple(dict.fromkeys(text_columns))
    wanted, text_at, only_number = _places(numeric, text)
    lines = int(np.count_nonzero(data == _NEWLINE))
    n_identity = len(set(text_columns[:identity_columns]))
    tracked = lines if n_identity else 0
    values = np.empty((len(numeric), lines))  # column by column, as they are used
    text_start, text_stop = (np.zeros((lines, len(text)), dtype=np.int64) for _ in range(2))
    text_hash, line_start = np.zeros(tracked, dtype=np.uint64), np.zeros(tracked, dtype=np.int64)
    line_number, fault = np.empty(lines, dtype=np.int32), np.empty(lines, dtype=np.int8)
    row_start = np.empty(len(texts) + 1, dtype=np.int64)
    # Room for all numbers, though hardly any is hard: memory that nobody touches costs nothing.
    hard = np.empty((lines * len(numeric), 4), dtype=np.int64)
    rows, n_hard = scan_lines(
        data,
        stops - sizes + np.asarray(skipped, dtype=np.int64),
        stops,
        separator,
        comment,
        wanted,
        text_at,
        only_number,
        n_identity,
        column_count,
        values,
        text_start,
        text_stop,
        text_hash,
        line_start,
        line_number,
        fault,
        row_start,
        hard,
    )
    scan = Scan(
        buffer,
        values[:, :rows].T,
        text_start[:rows],
        text_stop[:rows],
        text_hash[:rows],
        line_start[:rows],
        line_number[:rows],
        fault[:rows],
        row_start,
        {},
    )
    hard = hard[:n_hard]
    if hard.size:
        is_limit = np.isin(data[hard[:, 2]], LIMIT_SIGNS)
        _read_limits(scan, data, hard[is_limit], numeric)
        _read_hard(scan, data, hard[~is_limit])
    if numeric == numeric_columns and text == text_columns:
        return scan
    # One column may be wanted twice, once by its name and once by its number.
    of_text = [text.index(column) for column in text_columns]
    return scan._replace(
        values=scan.values[:, [numeric.index(column) for column in numeric_columns]],
        text_start=scan.text_start[:, of_text],
        text_stop=scan.text_stop[:, of_text],
    )


def _read_hard(scan: Scan, data: NDArray[np.uint8], hard: NDArray[np.int64]) -> None:
    """Read the numbers with more digits than the kernel reads exactly: Arrow does it as exactly as Python's float."""
    values = _numbers(scan.buffer, data, hard)
    # A number beyond all doubles is no value, and must not be taken for the mark of something else.
    scan.values[hard[:, 0], hard[:, 1]] = np.where(np.isinf(values), np.nan, values)
    scan.fault[hard[np.isnan(values), 0]] = NOT_A_NUMBER


def _read_limits(scan: Scan, data: NDArray[np.uint8], limits: NDArray[np.int64], columns: tuple[int, ...]) -> None:
    """Read the numbers behind the signs < and >; one that is none is NaN."""
    behind_sign = limits + np.array([0, 0, 1, 0])
    for place in np.unique(limits[:, 1]).tolist():
        here = behind_sign[limits[:, 1] == place]
        scan.limits[columns[place]] = (here[:, 0], _numbers(scan.buffer, data, here))


def _numbers(buffer: bytes, data: NDArray[np.uint8], tokens: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the numbers in some tokens; NaN for one that is none, infinite for one beyond all doubles."""
    if not len(tokens):
        return np.empty(0)
    begins = np.concatenate(([0], np.cumsum(tokens[:, 3] - tokens[:, 2])))
    text = np.empty(begins[-1], dtype=np.uint8)
    gather_tokens(data, tokens, begins, text)
    words = pa.LargeStringArray.from_buffers(len(tokens), pa.py_buffer(begins), pa.py_buffer(text))
    try:
        return np.asarray(words.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:  # a sign in front, or a number beyond all doubles: one of them sends all to Python
        return np.array([_number(buffer[start:stop]) for start, stop in tokens[:, 2:].tolist()])


def _number(token: bytes) -> float:
    try:
        return float(token)
    except ValueError:
        return np.nan


@lru_cache(maxsize=256)
def _places(
    numeric_columns: tuple[int, ...], text_columns: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return for each column of a line its place among the numbers, the texts, and those that are numbers alone.

    -1 stands for the others.
    """
    last = max((*numeric_columns, *text_columns), default=0)
    wanted = np.full(last + 1, -1, dtype=np.int64)
    text_at = np.full(last + 1, -1, dtype=np.int64)
    wanted[list(numeric_columns)] = np.arange(len(numeric_columns))
    text_at[list(text_columns)] = np.arange(len(text_columns))
    return wanted, text_at, np.where(text_at < 0, wanted, -1)
