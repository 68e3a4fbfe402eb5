"""The likelihood of a batch in one compiled pass over memory.

The features of all rows, members and surveys are the widest array of a step. As separate operations the
Gaussian likelihood and its gradient pass over it a dozen times; here each number is read once.
"""

import math

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_LOG2_E = np.float32(1 / math.log(2))
# ln 2 in two parts, the first of few digits, so that subtracting a multiple of it loses nothing
_LN_2_HIGH = np.float32(0.693359375)
_LN_2_LOW = np.float32(math.log(2) - 0.693359375)
_TAYLOR = tuple(np.float32(1 / math.factorial(power)) for power in range(7, -1, -1))


@numba.njit(cache=True, fastmath={"contract", "nsz", "arcp"}, inline="always")
def _exponential(x: np.float32) -> np.float32:
    """Return exp(x) for |x| < 80 to float32 precision, in operations that a compiler can vectorise.

    x = n ln 2 + r with |r| < 0.35; exp(r) by its series, 2ⁿ by writing n into a float's exponent bits.
    """
    n = np.floor(x * _LOG2_E + np.float32(0.5))
    r = x - n * _LN_2_HIGH - n * _LN_2_LOW
    series = _TAYLOR[0]
    for coefficient in _TAYLOR[1:]:
        series = series * r + coefficient
    power_of_two = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    return series * power_of_two


@numba.njit(cache=True, fastmath=True, error_model="numpy")
def gaussian_cost(output: Floats, x: Floats, observed: Floats, low: float, high: float, gradient: Floats) -> Floats:
    """Return twice −log N(x; mean, exp logvar), without its constant, of each row; fill in the gradient.

    Parameters
    ----------
    output
        (rows, 2 × features): means, then log variances before they are limited to [low, high].
    x
        (rows, features).
    observed
        Like `x`, 1 where observed; no rows at all when everything is.
    low, high
        The limits, beyond which the log variance has no gradient.
    gradient
        Like `output`: the gradient of −log N is written here.
    """
    rows, features = x.shape
    masked = observed.shape[0] > 0
    cost = np.empty(rows, dtype=np.float32)
    lowest, highest, half, zero = np.float32(low), np.float32(high), np.float32(0.5), np.float32(0)
    for row in range(rows):
        total = zero
        for feature in range(features):
            free = output[row, features + feature]
            logvar = min(max(free, lowest), highest)
            residual = output[row, feature] - x[row, feature]
            pull = residual * _exponential(-logvar)
            square = residual * pull
            gradient[row, feature] = pull
            gradient[row, features + feature] = half - half * square if free == logvar else zero
            total += square + logvar
        # apart from the loop above, which the compiler can only vectorise without a choice in it
        if masked:
            for feature in range(features):
                seen = observed[row, feature]
                residual = output[row, feature] - x[row, feature]
                logvar = min(max(output[row, features + feature], lowest), highest)
                total -= (np.float32(1) - seen) * (residual * gradient[row, feature] + logvar)
                gradient[row, feature] *= seen
                gradient[row, features + feature] *= seen
        cost[row] = total
    return cost
