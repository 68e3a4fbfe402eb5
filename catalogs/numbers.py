"""Decimal numbers from bytes, compiled and exact.

A token with at most 15 digits and a small exponent is computed here in a way that is correctly rounded (an integer
below 2**53 times or divided by a power of ten that a double holds exactly); anything else is left to Python's `float`.
"""

from typing import Final

import numba
import numpy as np
from numpy.typing import NDArray

from lcdvt.catalogs.missing import MISSING_WORDS

# How far to trust what was read: a number; a word for none; nonsense; a number only Python's float reads exactly.
NUMBER: Final = 0
MISSING: Final = 1
BAD: Final = 2
HARD: Final = 3
_POWERS_OF_TEN = 10.0 ** np.arange(23)


@numba.njit(cache=True, inline="always")
def _is_missing_word(data: NDArray[np.uint8], start: int, stop: int) -> bool:
    for word in MISSING_WORDS:
        if len(word) == stop - start:
            same = True
            for i in range(len(word)):
                byte = data[start + i]
                if 65 <= byte <= 90:
                    byte += 32
                if byte != word[i]:
                    same = False
                    break
            if same:
                return True
    return False


@numba.njit(cache=True)
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
        # An upper limit such as >18.2 is no measurement.
        missing = data[start] in (60, 62) or _is_missing_word(data, start, stop)
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
            power = min(power * 10 + (data[i] - 48), 100000)  # beyond any double: Python's float decides
            i += 1
        if i == first or i < stop:
            return np.nan, BAD
        exponent += sign * power
    if mantissa > 9007199254740992 or exponent > 22 or exponent < -22:
        return 0.0, HARD
    value = float(mantissa)
    value = value / _POWERS_OF_TEN[-exponent] if exponent < 0 else value * _POWERS_OF_TEN[exponent]
    return -value if negative else value, NUMBER


@numba.njit(cache=True, inline="always")
def plain_number(data: NDArray[np.uint8], start: int, size: int) -> tuple[float, int]:
    """Read a number written in the usual way (sign, digits, point, digits) and say where it ends; -1: not so."""
    i = start
    negative = False
    if i < size and data[i] == 45:
        negative = True
        i += 1
    mantissa = np.int64(0)
    first = i
    while i < size:
        digit = np.int64(data[i]) - 48
        if digit < 0 or digit > 9:
            break
        mantissa = mantissa * 10 + digit
        i += 1
    digits = i - first
    decimals = 0
    if i < size and data[i] == 46:
        i += 1
        first = i
        while i < size:
            digit = np.int64(data[i]) - 48
            if digit < 0 or digit > 9:
                break
            mantissa = mantissa * 10 + digit
            i += 1
        decimals = i - first
        digits += decimals
    if digits == 0 or digits > 15:
        return 0.0, -1
    value = mantissa / _POWERS_OF_TEN[decimals]
    return -value if negative else value, i
