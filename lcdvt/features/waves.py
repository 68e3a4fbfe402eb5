"""Sines and decays in a loop over epochs: unlike the library's functions, all of it is SIMD."""

import math

from lcdvt.compiled.kernel import fast_part


@fast_part
def wave(cycles: float) -> tuple[float, float]:
    """Return cosine and sine of so many turns: the quarter angle by its power series, doubled twice."""
    quarter = 0.5 * math.pi * (cycles - math.floor(cycles + 0.5))
    z = quarter * quarter
    odd = -1 / 1307674368000.0 * z + 1 / 6227020800.0
    odd = ((((odd * z - 1 / 39916800.0) * z + 1 / 362880.0) * z - 1 / 5040.0) * z + 1 / 120.0) * z - 1 / 6.0
    sine = quarter * (odd * z + 1.0)
    even = -1 / 87178291200.0 * z + 1 / 479001600.0
    even = ((((even * z - 1 / 3628800.0) * z + 1 / 40320.0) * z - 1 / 720.0) * z + 1 / 24.0) * z - 0.5
    cosine = even * z + 1.0
    sine, cosine = 2.0 * sine * cosine, 1.0 - 2.0 * sine * sine
    return 1.0 - 2.0 * sine * sine, 2.0 * sine * cosine


@fast_part
def decay(x: float) -> float:
    """Return exp(−x) of x ≥ 0, by the power series of its 64th root; beyond 40 that of 40: nothing beside 1."""
    z = -0.015625 * (x if x < 40.0 else 40.0)
    root = 1 / 3628800.0 * z + 1 / 362880.0
    root = (((root * z + 1 / 40320.0) * z + 1 / 5040.0) * z + 1 / 720.0) * z + 1 / 120.0
    root = ((((root * z + 1 / 24.0) * z + 1 / 6.0) * z + 0.5) * z + 1.0) * z + 1.0
    square = root * root
    square *= square
    square *= square
    square *= square
    square *= square
    return square * square
