"""The compiled half of the scanner: lines to columns, and decimal numbers, exact.

It is one file on purpose: numba keeps compiled code beside the source and does not notice that a function called from
another file has changed.

A token with at most 15 digits and a small exponent is computed here in a way that is correctly rounded (an integer
below 2**53 times or divided by a power of ten that a double holds exactly); anything else is left to Python's `float`.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.catalogs.vocabulary import MISSING_WORDS
from lcdvt.compiled.kernel import inlined_part, kernel, part

# How far to trust what was read: a number; a word for none; nonsense; a number only Python's float reads exactly; a
# limit such as >18.2, whose number is left to the caller, too.
NUMBER: Final = 0
MISSING: Final = 1
BAD: Final = 2
HARD: Final = 3
LIMIT: Final = 4

WHITESPACE_RUNS: Final = 0
"""The separator code for "any run of blanks"."""

# What is wrong with a line.
TOO_FEW_COLUMNS: Final = 1
TOO_MANY_COLUMNS: Final = 2
NOT_A_NUMBER: Final = 3

_TAB, _NEWLINE, _RETURN, _SPACE, _QUOTE = 9, 10, 13, 32, 34
LIMIT_SIGNS: Final = (60, 62)
"""The bytes < and >, which stand before a limit."""
_FNV_OFFSET, _FNV_PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)
_POWERS_OF_TEN = 10.0 ** np.arange(23)
_NINE, _TEN, _HUNDRED = np.uint64(9), np.uint64(10), np.uint64(100)


# The words padded with zeros, because an array is quicker to compile than as many constants.
_MISSING: Final = np.array(
    [list(word.ljust(max(map(len, MISSING_WORDS)) + 1, b"\0")) for word in MISSING_WORDS], dtype=np.uint8
)


@part
def _is_missing_word(data: NDArray[np.uint8], start: int, stop: int) -> bool:
    if stop - start >= _MISSING.shape[1]:
        return False
    for word in range(_MISSING.shape[0]):
        same = _MISSING[word, stop - start] == 0
        for i in range(stop - start):
            byte = data[start + i]
            if 65 <= byte <= 90:
                byte += 32
            same = same and byte == _MISSING[word, i]
        if same:
            return True
    return False


@part
def read_number(data: NDArray[np.uint8], start: int, stop: int) -> tuple[float, int]:
    """Read a decimal number; the second value says how far to trust the first."""
    i = start
    negative = False
    if i < stop and (data[i] == 45 or data[i] == 43):
        negative = data[i] == 45
        i += 1
    mantissa = np.int64(0)
    digits = 0
    seen = 0
    exponent = 0
    after_point = False
    while i < stop:
        byte = data[i]
        if 48 <= byte <= 57:
            seen += 1
            if digits > 0 or byte != 48:
                digits += 1
            if digits > 18:
                return 0.0, HARD
            mantissa = mantissa * 10 + (byte - 48)
            if after_point:
                exponent -= 1
        elif byte == 46 and not after_point:
            after_point = True
        else:
            break
        i += 1
    if seen == 0:
        if start < stop and (data[start] == 60 or data[start] == 62):
            return np.nan, LIMIT
        missing = start == stop or _is_missing_word(data, start, stop)
        return np.nan, MISSING if missing else BAD
    if i < stop:
        if data[i] != 101 and data[i] != 69:
            return np.nan, BAD
        i += 1
        sign = 1
        if i < stop and (data[i] == 45 or data[i] == 43):
            sign = -1 if data[i] == 45 else 1
            i += 1
        power = 0
        first = i
        while i < stop and 48 <= data[i] <= 57:
            power = power * 10 + (data[i] - 48)
            if power > 100000:
                power = 100000  # beyond any double: Python's float decides
            i += 1
        if i == first or i < stop:
            return np.nan, BAD
        exponent += sign * power
    if mantissa > 9007199254740992 or exponent > 22 or exponent < -22:
        return 0.0, HARD
    value = float(mantissa)
    value = value / _POWERS_OF_TEN[-exponent] if exponent < 0 else value * _POWERS_OF_TEN[exponent]
    return -value if negative else value, NUMBER


@inlined_part
def _byte(data: NDArray[np.uint8], position: int) -> int:
    """Return a byte; an unsigned position spares numba's check for one counted from the end."""
    return data[np.uint64(position)]


@inlined_part
def _is_blank(byte: int) -> bool:
    return (byte == _SPACE) | (byte == _TAB) | (byte == _RETURN)


@inlined_part
def _digit(data: NDArray[np.uint8], position: int) -> np.uint64:
    """Return the digit that a byte stands for; of any other byte more than nine, as nothing unsigned is below zero."""
    return np.uint64(_byte(data, position)) - np.uint64(48)


@inlined_part
def plain_number(data: NDArray[np.uint8], start: int) -> tuple[float, int]:
    """Read a number written in the usual way (sign, digits, point, digits) and say where it ends; -1: not so.

    Some byte after `start` must be no digit, as the newline that ends every text is.
    """
    i = start
    negative = _byte(data, i) == 45
    if negative:
        i += 1
    mantissa = np.uint64(0)
    first = i
    digit = _digit(data, i)
    while digit <= _NINE:
        mantissa = mantissa * _TEN + digit
        i += 1
        digit = _digit(data, i)
    digits = i - first
    decimals = 0
    if _byte(data, i) == 46:
        i += 1
        first = i
        digit = _digit(data, i)
        while digit <= _NINE:
            # Two at a time: there are more digits behind the point than before it.
            second = _digit(data, i + 1)
            if second > _NINE:
                mantissa = mantissa * _TEN + digit
                i += 1
                break
            mantissa = mantissa * _HUNDRED + digit * _TEN + second
            i += 2
            digit = _digit(data, i)
        decimals = i - first
        digits += decimals
    if digits == 0 or digits > 15:
        return 0.0, -1
    value = np.int64(mantissa) / _POWERS_OF_TEN[np.uint64(decimals)]
    return -value if negative else value, i


@part
def _cut_field(data: NDArray[np.uint8], start: int, separator: int) -> tuple[int, int, int]:
    """Return where the field's text begins and ends, without quotes and padding, and where the field itself ends."""
    i = start
    if separator != WHITESPACE_RUNS:
        while (data[i] == _SPACE or data[i] == _TAB) and data[i] != separator:
            i += 1
        start = i
    if data[i] == _QUOTE:
        i += 1
        while data[i] != _NEWLINE:
            if data[i] == _QUOTE:
                if data[i + 1] != _QUOTE:
                    break
                i += 1  # a doubled quote stands for one
            i += 1
        stop = i
        if data[i] == _QUOTE:
            i += 1
        while data[i] != separator and data[i] != _NEWLINE and separator != WHITESPACE_RUNS:
            i += 1
        return start + 1, stop, i
    if separator == WHITESPACE_RUNS:
        while not _is_blank(data[i]) and data[i] != _NEWLINE:
            i += 1
        return start, i, i
    while data[i] != separator and data[i] != _NEWLINE:
        i += 1
    stop = i
    while stop > start and _is_blank(data[stop - 1]):
        stop -= 1
    return start, stop, i


@kernel
def scan_lines(  # type: ignore[no-untyped-def]
    data, starts, stops, separator, comment, wanted, text_at, only_number, n_identity, column_count, values,
    text_start, text_stop, text_hash, line_start, line_number, fault, row_start, hard,
):  # fmt: skip
    """Cut the lines of each text into fields and read the wanted ones; `scan_texts` says what the arguments mean.

    The byte after each text must be a newline: no loop below looks for the text's end, every one stops there.

    Returns
    -------
    How many rows were found, and how many numbers are left to the caller: row, place, start and stop of each in `hard`.
    """
    # Positions and hashes only where objects must be told apart: touching memory costs more than reading numbers.
    many = n_identity > 0
    n_hard = 0
    last_wanted = wanted.size - 1
    by_blanks = separator == WHITESPACE_RUNS
    row = 0
    for text in range(starts.size):
        row_start[text] = row
        number = 0
        expected = column_count
        position = starts[text]
        while position < stops[text]:
            begin = position
            number += 1
            i = begin
            while _is_blank(_byte(data, i)) and _byte(data, i) != separator:
                i += 1
            if _byte(data, i) == _NEWLINE or _byte(data, i) == comment:
                while _byte(data, i) != _NEWLINE:
                    i += 1
                position = i + 1
                continue
            column = 0
            identity_hash = _FNV_OFFSET
            line_fault = 0
            trailing_empty = False
            while True:
                at = only_number[column] if column <= last_wanted else -1
                value, end = plain_number(data, i) if at >= 0 else (0.0, -1)
                after = _byte(data, end) if end > 0 else 0
                ends_here = (after == separator) | (after == _NEWLINE)
                if end > 0 and (ends_here or (by_blanks and _is_blank(after))):
                    # Nearly every field: a plain number that ends where the field ends.
                    values[at, row] = value
                    trailing_empty = False
                    i = end
                else:
                    token_start, token_stop, i = _cut_field(data, i, separator)
                    trailing_empty = token_stop == token_start
                    if column <= last_wanted:
                        at = wanted[column]
                        if at >= 0:
                            values[at, row], kind = read_number(data, token_start, token_stop)
                            if kind >= HARD:  # or a limit
                                hard[n_hard, 0], hard[n_hard, 1] = row, at
                                hard[n_hard, 2], hard[n_hard, 3] = token_start, token_stop
                                n_hard += 1
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
                if by_blanks:
                    while _is_blank(_byte(data, i)):
                        i += 1
                if _byte(data, i) == _NEWLINE:
                    break
                if not by_blanks:
                    i += 1
            position = i + 1
            # A separator at the end of a line is common and means nothing.
            counted = column - 1 if trailing_empty and expected > 0 and column == expected + 1 else column
            if expected == 0:
                expected = counted
            if counted < expected or column <= last_wanted:
                line_fault = TOO_FEW_COLUMNS
                for at in range(values.shape[0]):
                    values[at, row] = np.nan  # some were not there to be read
            elif counted > expected:
                line_fault = TOO_MANY_COLUMNS
            if many:
                text_hash[row] = identity_hash
                line_start[row] = begin
            line_number[row] = number
            fault[row] = line_fault
            row += 1
    row_start[starts.size] = row
    return row, n_hard


@kernel
def gather_tokens(data, hard, begins, text):  # type: ignore[no-untyped-def]
    """Fill the texts of some tokens, one after the other, each at its place in `begins`."""
    for number in range(hard.shape[0]):
        for i in range(hard[number, 3] - hard[number, 2]):
            text[begins[number] + i] = data[hard[number, 2] + i]
