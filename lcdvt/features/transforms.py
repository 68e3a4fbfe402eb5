"""Several non-uniform FFTs of the same epochs at once, or a long one in parts, in single precision."""

from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

# A float's seven digits, times a phase of ten thousand turns: less would not be more exact.
TOLERANCE: Final = 1e-4
# Few epochs and many frequencies: the inner FFT is all of the cost, and a quarter more frequencies are enough for it at
# this tolerance, instead of twice as many.
UPSAMPLING: Final = 1.25
PLANS_KEPT: Final = 16
# Beyond so many frequencies an FFT does not fit into the processor's cache, and is done in parts.
LONGEST_WHOLE: Final = 40_960
# The parts have so many modes, or twice, four times … as many: with the upsampling that is an FFT of 25·2ᵏ numbers,
# which takes less time than those of other lengths nearby.
SHORTEST_PART: Final = 10_240
# All epochs are spread once for each part, so that many parts cost more than their short FFTs save.
MOST_PARTS: Final = 8


class Transforms:
    """Sums Σ value·exp(i k point) for k = −modes/2 … modes/2 − 1 of each row of values.

    Parameters
    ----------
    number
        Frequencies wanted: `modes` are as many or a few more.
    rows
        How many transforms at once.
    """

    def __init__(self, number: int, rows: int) -> None:
        # Few sizes, so that plans are shared between curves of nearly the same length.
        quantum = 1 << max(number.bit_length() - 5, 1)
        self.modes: Final = -(-number // quantum) * quantum
        self._plan, self._found = _plan(self.modes, rows)

    def at(self, points: NDArray[np.float32]) -> None:
        """Take the points that hold until others are given."""
        self._plan.setpts(points)

    def sums(self, values: NDArray[np.complex64]) -> NDArray[np.float32]:
        """Return the sums, row after row, real and imaginary parts in turn; the next sums stand in the same place."""
        self._plan.execute(values, self._found)
        return self._found.reshape(-1).view(np.float32)


class LongTransform(Transforms):
    """Sums Σ value·exp(i (start + k step)) for k = 0 … number − 1; where they are many, by FFTs of a part of them each.

    Parameters
    ----------
    number
        Frequencies wanted: a few more are summed.
    """

    def __init__(self, number: int) -> None:
        modes = SHORTEST_PART if number > LONGEST_WHOLE else number
        while number > MOST_PARTS * modes:
            modes *= 2
        self._parts = -(-number // modes)
        super().__init__(modes, self._parts)

    def turns(self, middle: NDArray[np.complex128], between: NDArray[np.complex128]) -> NDArray[np.complex64]:
        """Return what a value is multiplied with in each part.

        Parameters
        ----------
        middle
            exp(i (start + modes/2 · step)), because modes run from the middle of a transform.
        between
            exp(i modes · step), which leads from one part to the next.
        """
        turns = np.empty((self._parts, len(middle)), dtype=np.complex128)
        turns[0] = middle
        for part in range(1, self._parts):
            np.multiply(turns[part - 1], between, out=turns[part])
        return turns.astype(np.complex64)


@lru_cache(maxsize=PLANS_KEPT)
def _plan(modes: int, rows: int) -> tuple[Any, NDArray[np.complex64]]:
    """Return a plan and the place for what it finds: fresh memory would be faulted in page by page each time."""
    import finufft

    # One thread: batches are spread over processes already.
    plan = finufft.Plan(
        1, (modes,), n_trans=rows, eps=TOLERANCE, isign=1, nthreads=1, dtype="complex64", upsampfac=UPSAMPLING
    )
    return plan, np.empty((rows, modes) if rows > 1 else modes, dtype=np.complex64)
