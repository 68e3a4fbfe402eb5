import numpy as np

from lcdvt.features.waves import decay

# Of the power series and six squarings; where the series' own error is larger, the value is next to nothing.
ROUNDING, NEXT_TO_NOTHING = 1e-13, 1e-18


def test_decay_is_the_exponential_function():
    x = np.concatenate(([0.0], np.geomspace(1e-12, 40.0, 200)))
    assert np.allclose([decay.py_func(each) for each in x], np.exp(-x), rtol=ROUNDING, atol=NEXT_TO_NOTHING)


def test_a_long_decay_leaves_nothing():
    assert 0.0 <= decay.py_func(1e300) < 1e-17
    assert 0.0 <= decay.py_func(np.inf) < 1e-17
