"""The shorter way through numba's compiler gives what Python gives, and leaves other people's functions alone."""

import gc

import numba
import numpy as np
import pytest
from numba.core import types

from lcdvt.compiled.compiler import KernelCompiler, PartCompiler, no_collecting

FEW, MANY = 3, 7
OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False}


def kernel(function):
    """Declare a kernel that is not kept on disk."""
    return numba.njit(pipeline_class=KernelCompiler, **OPTIONS)(function)


@numba.njit(pipeline_class=PartCompiler, no_cpython_wrapper=True, **OPTIONS)
def _weighted(values, row, factor):
    total = 0.0
    for i in range(values.shape[1]):
        total += factor * values[row, i]
    return total


def _named_numbers(flags, out):
    for i in range(flags.size):
        kind = 0
        if flags[i] > 0:
            kind = FEW
        elif flags[i] < 0:
            kind = MANY
        out[i] = kind


def _elements(cube, codes, out):
    place = out.size - 1
    for i in range(cube.shape[0]):
        for j in range(cube.shape[1]):
            for k in range(cube.shape[2]):
                out[place] += cube[i, j, k] * (i + 1) - cube[i, j, codes[k]]
    out[0] = cube[-1, 0, -1]
    out[1], out[2] = codes[-1], cube[1][0, 1]
    row = cube[0, 1]
    out[3] = row[2] + row.size


@pytest.mark.parametrize("number", [np.int8, np.int64, np.float32])
def test_a_variable_may_be_given_several_named_numbers(number):
    flags = np.array((0, 2, -1), dtype=number)
    out = np.empty(3, dtype=np.int64)
    kernel(_named_numbers)(flags, out)
    assert out.tolist() == [0, FEW, MANY]


@pytest.mark.parametrize("code", [np.uint8, np.int8, np.int64])
@pytest.mark.parametrize("strided", [False, True])
def test_elements_are_where_python_finds_them(code, strided):
    cube = np.random.default_rng(0).normal(size=(2, 3, 8))
    cube = cube[:, :, ::2] if strided else np.ascontiguousarray(cube[:, :, :4])
    codes = np.array((3, 0, 2, 1), dtype=code)
    compiled, expected = np.zeros(5), np.zeros(5)
    kernel(_elements)(cube, codes, compiled)
    _elements(cube, codes, expected)
    assert compiled == pytest.approx(expected, rel=1e-12)


def test_a_part_serves_several_kernels():
    values = np.arange(6.0).reshape(2, 3)

    def both(values):
        return _weighted(values, 0, 2.0) + _weighted(values, 1, 1.0)

    def second(values):
        return _weighted(values, 1, 3.0)

    assert kernel(both)(values) == 2.0 * 3.0 + 12.0
    assert kernel(second)(values) == 36.0


def test_nothing_is_left_behind():
    find = types.BaseFunction.get_call_type

    def wrong(values):
        return values + "text"

    with pytest.raises(numba.TypingError):
        kernel(wrong)(np.zeros(3))
    assert types.BaseFunction.get_call_type is find and gc.isenabled()
    with no_collecting():
        with no_collecting():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
