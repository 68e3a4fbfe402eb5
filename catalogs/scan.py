"""A compiled scanner of delimited text: bytes in, numbers and text positions out.

Every text format of every survey goes through this one function, so that a file of ten lines and a
dump of ten million are read by the same rules. `lcdvt.catalogs.numbers` reads the numbers.
"""

from functools import lru_cache
from typing import Final, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from lcdvt.catalogs.numbers import BAD, HARD, NUMBER, plain_number, read_number

WHITESPACE_RUNS: Final = 0
"""The separator code for "any run of blanks"."""

# What is wrong with a line.
TOO_FEW_COLUMNS: Final = 1
TOO_MANY_COLUMNS: Final = 2
NOT_A_NUMBER: Final = 3
LINE_FAULTS: Final = {
    TOO_FEW_COLUMNS: "too few columns",
    TOO_MANY_COLUMNS: "too many columns",
    NOT_A_NUMBER: "a value that is not a number",
}

_TAB, _NEWLINE, _RETURN, _SPACE, _QUOTE = 9, 10, 13, 32, 34
_FNV_OFFSET, _FNV_PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)


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
    values, start, stop, text_hash, line_start, line_number, fault, hard = _scan(
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


@numba.njit(cache=True)
def _scan(data, lines, separator, comment, wanted, text_at, n_numeric, n_text, n_identity, column_count):  # type: ignore[no-untyped-def]
    size = data.size
    values = np.full((n_numeric, lines), np.nan)  # column by column, as they are used
    text_start = np.zeros((lines, n_text), dtype=np.int64)
    text_stop = np.zeros((lines, n_text), dtype=np.int64)
    # Positions and hashes only where objects must be told apart: touching memory costs more than reading numbers.
    many = n_identity > 0
    text_hash = np.zeros(lines if many else 0, dtype=np.uint64)
    line_start = np.zeros(lines if many else 0, dtype=np.int64)
    line_number = np.zeros(lines, dtype=np.int32)
    fault = np.zeros(lines, dtype=np.int8)
    hard = [(0, 0, 0, 0)]
    hard.pop()
    last_wanted = wanted.size - 1
    row = 0
    number = 0
    position = 0
    while position < size:
        begin = position
        number += 1
        i = begin
        while i < size and (data[i] == _SPACE or data[i] == _TAB or data[i] == _RETURN):
            if separator == data[i]:
                break
            i += 1
        if i >= size or data[i] == _NEWLINE or data[i] == comment:
            while i < size and data[i] != _NEWLINE:
                i += 1
            position = i + 1
            continue
        column = 0
        identity_hash = _FNV_OFFSET
        line_fault = 0
        trailing_empty = False
        while True:
            if column <= last_wanted and wanted[column] >= 0 and text_at[column] < 0:
                # Nearly every field: a plain number that ends where the field ends is read in one go.
                value, end = plain_number(data, i, size)
                if end > 0:
                    after = _NEWLINE if end >= size else data[end]
                    blank = after in (_SPACE, _TAB, _RETURN)
                    if after in (separator, _NEWLINE) or (blank and separator == WHITESPACE_RUNS):
                        values[wanted[column], row] = value
                        column += 1
                        trailing_empty = False
                        i = end
                        if separator == WHITESPACE_RUNS:
                            while i < size and (data[i] == _SPACE or data[i] == _TAB or data[i] == _RETURN):
                                i += 1
                            if i >= size or data[i] == _NEWLINE:
                                break
                        else:
                            if after == _NEWLINE:
                                break
                            i += 1
                        continue
            quoted = i < size and data[i] == _QUOTE
            if quoted:
                i += 1
            token_start = i
            if quoted:
                while i < size and data[i] != _NEWLINE:
                    if data[i] == _QUOTE:
                        if i + 1 >= size or data[i + 1] != _QUOTE:
                            break
                        i += 1  # a doubled quote stands for one
                    i += 1
                token_stop = i
                if i < size and data[i] == _QUOTE:
                    i += 1
                while i < size and data[i] != separator and data[i] != _NEWLINE and separator != WHITESPACE_RUNS:
                    i += 1
            elif separator == WHITESPACE_RUNS:
                while i < size and data[i] != _SPACE and data[i] != _TAB and data[i] != _NEWLINE and data[i] != _RETURN:
                    i += 1
                token_stop = i
            else:
                while i < size and data[i] != separator and data[i] != _NEWLINE:
                    i += 1
                token_stop = i
                while token_stop > token_start and (data[token_stop - 1] == _SPACE or data[token_stop - 1] == _RETURN):
                    token_stop -= 1
                while token_start < token_stop and data[token_start] == _SPACE:
                    token_start += 1
            trailing_empty = token_stop == token_start
            if column <= last_wanted:
                at = wanted[column]
                if at >= 0 and token_stop > token_start:
                    value, kind = read_number(data, token_start, token_stop)
                    if kind == NUMBER:
                        values[at, row] = value
                    elif kind == HARD:
                        hard.append((row, at, token_start, token_stop))
                    elif kind == BAD:
                        line_fault = NOT_A_NUMBER
                at = text_at[column]
                if at >= 0:
                    text_start[row, at] = token_start
                    text_stop[row, at] = token_stop
                    if at < n_identity:
                        for j in range(token_start, token_stop):
                            identity_hash = (identity_hash ^ np.uint64(data[j])) * _FNV_PRIME
                        identity_hash = (identity_hash ^ np.uint64(255)) * _FNV_PRIME
            column += 1
            if separator == WHITESPACE_RUNS:
                while i < size and (data[i] == _SPACE or data[i] == _TAB or data[i] == _RETURN):
                    i += 1
                if i >= size or data[i] == _NEWLINE:
                    break
            else:
                if i >= size or data[i] == _NEWLINE:
                    break
                i += 1
        position = i + 1
        # A separator at the end of a line is common and means nothing.
        counted = column - 1 if trailing_empty and column_count > 0 and column == column_count + 1 else column
        if column_count == 0:
            column_count = counted
        if counted < column_count or column <= last_wanted:
            line_fault = TOO_FEW_COLUMNS
        elif counted > column_count:
            line_fault = TOO_MANY_COLUMNS
        if many:
            text_hash[row] = identity_hash
            line_start[row] = begin
        line_number[row] = number
        fault[row] = line_fault
        row += 1
    return (
        values[:, :row].T,
        text_start[:row],
        text_stop[:row],
        text_hash[:row],
        line_start[:row],
        line_number[:row],
        fault[:row],
        hard,
    )
