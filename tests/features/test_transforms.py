"""A long transform gives the same sums whether it is done whole or in parts."""

import numpy as np
import pytest

from lcdvt.features.transforms import LONGEST_WHOLE, MOST_PARTS, SHORTEST_PART, LongTransform


@pytest.mark.parametrize("number", [LONGEST_WHOLE // 5, LONGEST_WHOLE + 1, MOST_PARTS * SHORTEST_PART + 1])
def test_parts_follow_each_other(number: int) -> None:
    rng = np.random.default_rng(number)
    start, step = 100.0 * rng.uniform(size=300), np.sort(rng.uniform(0.0, 3.8, size=300))
    values = rng.normal(size=300)
    transform = LongTransform(number)
    transform.at(step.astype(np.float32))
    middle, between = np.exp(1j * (start + transform.modes // 2 * step)), np.exp(1j * transform.modes * step)
    found = transform.sums(transform.turns(values * middle, between)).view(np.complex64)
    assert len(found) >= number
    # beside the seams between parts, and some others
    places = np.unique((*range(0, number, 997), *range(number - 3, number), *range(transform.modes - 3, number, 5120)))
    wanted = np.exp(1j * (start + places[:, None] * step)) @ values
    # a float's rounding of the points, times the place in its part, of sums of about seventeen
    np.testing.assert_allclose(found[places], wanted, atol=0.1)
