"""What a kernel selects is what stands there in the sorted array."""

import numpy as np
import pytest

from lcdvt.features.period.median import select


@pytest.mark.parametrize("distinct", [1, 2, 5, 1000])
@pytest.mark.parametrize("count", [1, 2, 3, 10, 101])
def test_selection_is_that_of_a_sort(count: int, distinct: int) -> None:
    values = np.random.default_rng(count).integers(0, distinct, count + 2).astype(np.float64)
    inside = np.sort(values[1:-1])
    for place in range(count):
        work = values.copy()
        assert select.py_func(work, 1, count + 1, 1 + place) == inside[place]
        # in another order, and nothing outside is touched
        np.testing.assert_array_equal(np.sort(work[1:-1]), inside)
        np.testing.assert_array_equal(work[[0, -1]], values[[0, -1]])
