"""A compiled scanner of delimited text: bytes in, numbers and text positions out.

Every text format of every survey goes through this one function, so that a file of ten lines and a
dump of ten million are read by the same rules. `lcdvt.catalogs.scan_kernel` is the compiled half.
"""

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcdvt.catalogs.scan_kernel import NOT_A_NUMBER, TOO_FEW_COLUMNS, TOO_MANY_COLUMNS, WHITESPACE_RUNS, scan_lines

__all__ = ["LINE_FAULTS", "NOT_A_NUMBER", "TOO_FEW_COLUMNS", "TOO_MANY_COLUMNS", "WHITESPACE_RUNS", "Scan", "scan_text"]

LINE_FAULTS: Final = {
    TOO_FEW_COLUMNS: "too few columns",
    TOO_MANY_COLUMNS: "too many columns",
    NOT_A_NUMBER: "a value that is not a number",
}


class Scan(NamedTuple):
    """What the scanner found; one row per data line, faulty lines included."""

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
    """Row: its line in the buffer, counted from 1."""
    fault: NDArray[np.int8]
    """Row: 0, or one of the codes in LINE_FAULTS."""


def scan_text(
    buffer: bytes,
    *,
    separator: int,
    comment: int,
    numeric_columns: tuple[int, ...],
    text_columns: tuple[int, ...] = (),
    identity_columns: int = 0,
    column_count: int = 0,
) -> Scan:
    """Read the wanted columns of every data line of `buffer`.

    Parameters
    ----------
    buffer
        Whole lines; header lines already cut off.
    separator
        The separator's byte, or WHITESPACE_RUNS.
    comment
        The byte that begins a comment line, or -1.
    numeric_columns, text_columns
        Wanted columns, counted from 0.
    identity_columns
        How many of the first `text_columns` together name the object a row belongs to.
    column_count
        How many columns a line must have; 0 takes the first data line's count.
    """
    data = np.frombuffer(buffer, dtype=np.uint8)
    wanted, text_at = _places(numeric_columns, text_columns)
    values, start, stop, text_hash, line_start, line_number, fault, hard = scan_lines(
        data,
        buffer.count(b"\n") + 1,
        separator,
        comment,
        wanted,
        text_at,
        len(numeric_columns),
        len(text_columns),
        identity_columns,
        column_count,
    )
    for row, position, token_start, token_stop in hard:
        try:
            values[row, position] = float(buffer[token_start:token_stop])
        except ValueError:
            fault[row] = NOT_A_NUMBER
    return Scan(values, start, stop, text_hash, line_start, line_number, fault)


@lru_cache(maxsize=256)
def _places(
    numeric_columns: tuple[int, ...], text_columns: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each column of a line its place among the wanted ones, -1 for the others."""
    last = max((*numeric_columns, *text_columns), default=0)
    wanted = np.full(last + 1, -1, dtype=np.int64)
    text_at = np.full(last + 1, -1, dtype=np.int64)
    wanted[list(numeric_columns)] = np.arange(len(numeric_columns))
    text_at[list(text_columns)] = np.arange(len(text_columns))
    return wanted, text_at
