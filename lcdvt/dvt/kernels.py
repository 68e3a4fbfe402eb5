"""The likelihood of a batch in one compiled pass over memory.

The features of all rows, members and surveys are the widest array of a step. As separate operations the
Gaussian likelihood and its gradient pass over it a dozen times; here each number is read once.
"""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@numba.njit(cache=True, fastmath=True, error_model="numpy")
def gaussian_cost(
    output: Floats, x: Floats, precision: Floats, observed: Floats, low: float, high: float, gradient: Floats
) -> Floats:
    """Return twice −log N(x; mean, exp logvar), without its constant, of each row; fill in the gradient.

    Parameters
    ----------
    output
        (rows, 2 × features): means, then log variances before they are limited to [low, high].
    x
        (rows, features).
    precision
        exp(−log variance) within the limits, like `x`; computed by torch, whose exponential is vectorised.
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
            pull = residual * precision[row, feature]
            square = residual * pull
            gradient[row, feature] = pull
            gradient[row, features + feature] = half - half * square if free == logvar else zero
            if masked:
                seen = observed[row, feature]
                gradient[row, feature] *= seen
                gradient[row, features + feature] *= seen
                total += seen * (square + logvar)
            else:
                total += square + logvar
        cost[row] = total
    return cost
