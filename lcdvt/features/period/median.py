"""Medians within kernels, by selection: numpy's own sort would need a way out of the kernel for each."""

import numpy as np

from lcdvt.compiled.kernel import small_part


@small_part
def select(values: np.ndarray, begin: int, end: int, place: int) -> float:
    """Return what would stand at `place` if `values[begin:end]` were sorted; it changes their order.

    Smaller values change places with those at the front whatever they are: of a branch the processor would guess every
    other one wrong, which takes longer than to move them.
    """
    low, high = begin, end - 1
    while low < high:
        pivot = values[(low + high) // 2]
        front = low
        for i in range(low, high + 1):
            value = values[i]
            values[i], values[front] = values[front], value
            front += 1 if value < pivot else 0
        if place < front:
            high = front - 1
        elif front > low:
            low = front
        else:
            # None is smaller: all that are equal are in their place.
            for i in range(low, high + 1):
                value = values[i]
                values[i], values[front] = values[front], value
                front += 0 if pivot < value else 1
            if place < front:
                return pivot
            low = front
    return values[place]


@small_part
def median(values: np.ndarray, begin: int, end: int) -> float:
    """Return the median of `values[begin:end]`, at least one; their order changes."""
    middle = begin + (end - begin - 1) // 2
    lower = select(values, begin, end, middle)
    if (end - begin) % 2 == 1:
        return lower
    upper = values[middle + 1]
    for i in range(middle + 2, end):
        if values[i] < upper:
            upper = values[i]
    return 0.5 * (lower + upper)
