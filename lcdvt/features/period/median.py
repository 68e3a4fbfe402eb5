"""Medians within kernels, by selection: numpy's own sort would need a way out of the kernel for each."""

import numpy as np

from lcdvt.compiled.kernel import small_part


@small_part
def select(values: np.ndarray, begin: int, end: int, place: int) -> float:
    """Return what would stand at `place` if `values[begin:end]` were sorted; it changes their order (Hoare)."""
    low, high = begin, end - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if j < place:
            low = i
        if place < i:
            high = j
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
