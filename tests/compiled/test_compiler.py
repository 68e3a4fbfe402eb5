"""The shorter way through numba's compiler gives what Python gives, and leaves other people's functions alone."""

import gc
import json
import os
import subprocess
import sys

import numba
import numpy as np
import pandas as pd
import pytest
from numba.core import types

from lcdvt.compiled.collecting import no_collecting
from lcdvt.compiled.compiler import (
    ApartPartCompiler,
    KernelCompiler,
    PartCompiler,
    SmallKernelCompiler,
    SmallPartCompiler,
)

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


@numba.njit(pipeline_class=PartCompiler, no_cpython_wrapper=True, **OPTIONS)
def _add_rows(table, flags, codes, out):
    for i in range(table.shape[0]):
        row = table[i]
        for j in range(row.size):
            if flags[j]:
                out[codes[j]] += row[j] * table.size + out.size + row.strides[0] + table.strides[0]


def _views(cube, flags, codes, out):
    for i in range(cube.shape[0]):
        _add_rows(cube[i], flags, codes, out)
    table = cube[1]
    for begin in range(-9, 10):
        for end in range(-9, 10):
            piece = table[0][begin:end]
            out[piece.size] += 1.0
            if piece.size > 0:
                out[0] += piece[0] * begin + piece[piece.size - 1] * end
    for begin in range(3):
        out[5] += table[1][begin:].size + table[1][:begin].size + table[1][::2].size + table[-1][0]
        _add_rows(cube[0], flags[begin:], codes[begin:], out)


@pytest.mark.parametrize("strided", [False, True])
def test_rows_and_pieces_of_arrays_are_those_of_python(strided):
    cube = np.random.default_rng(0).normal(size=(2, 3, 8))
    cube = cube[:, :, ::2] if strided else np.ascontiguousarray(cube[:, :, :4])
    flags, codes = np.array((True, False, True, True, True, True)), np.array((1, 0, 2, 4, 1, 2), dtype=np.uint16)
    compiled, expected = np.zeros(10), np.zeros(10)
    kernel(_views)(cube, flags, codes, compiled)
    add_rows = _add_rows.py_func
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "_add_rows", add_rows)
        _views(cube, flags, codes, expected)
    assert compiled == pytest.approx(expected, rel=1e-12)


def _loops(start, stop, out):
    number = -5
    for number in range(start, stop):
        if number % 3 == 0:
            continue
        for inner in range(number):
            out[0] += inner
            if inner > 4:
                break
        else:
            out[1] += 1
        number = number + 100
        out[2] += number
    out[3] = number
    for number in range(stop, start, -2):
        out[4] += number
    for _ in range(3):
        for again in range(stop):
            out[5] += again
    for of_constants in range(2, 6):
        out[6] += of_constants


@pytest.mark.parametrize("number", [np.int32, np.int64, np.uint8, np.uint64])
@pytest.mark.parametrize(("start", "stop"), [(0, 12), (2, 3), (4, 4), (7, 3)])
def test_loops_count_as_python_does(number, start, stop):
    compiled, expected = np.zeros(7), np.zeros(7)
    kernel(_loops)(number(start), number(stop), compiled)
    _loops(start, stop, expected)
    assert compiled.tolist() == expected.tolist()


def test_loops_begin_below_zero():
    compiled, expected = np.zeros(7), np.zeros(7)
    kernel(_loops)(-6, -2, compiled)
    _loops(-6, -2, expected)
    assert compiled.tolist() == expected.tolist()


def test_a_range_that_is_chosen_is_refused_and_not_taken_for_another():
    def chosen(is_short, out):
        numbers = range(3) if is_short else range(5)
        for number in numbers:
            out[number] = 1.0

    with pytest.raises(NotImplementedError, match="looped over where it is made"):
        kernel(chosen)(True, np.zeros(5))


def _exchanges(values, out):
    a, b, c, d = values[0], values[1], values[2], values[3]
    for i in range(values.size):
        a, b, c, d = d, a, b + i, c
        out[3], out[2], out[1], out[0] = a, b, c, d
        values[0], values[1], values[2], values[3] = values[3], values[0], values[1], values[2]
    pair = a, c
    out[4], out[5] = pair


@pytest.mark.parametrize("compiler", [KernelCompiler, SmallKernelCompiler])
def test_numbers_are_exchanged_all_at_once(compiler):
    found = {}
    for name, function in (("compiled", numba.njit(pipeline_class=compiler, **OPTIONS)(_exchanges)), ("", _exchanges)):
        values, out = np.arange(1.0, 8.0), np.zeros(6)
        function(values, out)
        found[name] = [*values, *out]
    assert found["compiled"] == found[""]


def _branches(values, out):
    last, count = -1.0, 0
    for i in range(values.size):
        once = 2.0 * values[i]
        if once > 0.0:
            inside = once + i
            if inside > 3.0:
                last = inside - last
            count += 1
            while inside > 4.0:
                inside -= once
                out[0] += inside
        elif once < -4.0:
            break
        out[1] += once + last
    out[2], out[3] = last, count


def test_variables_keep_their_values_from_block_to_block():
    values = np.array((0.5, 1.5, -1.0, 3.0, 0.0, 2.5, -3.0, 7.0))
    compiled, expected = np.zeros(4), np.zeros(4)
    kernel(_branches)(values, compiled)
    _branches(values, expected)
    assert compiled.tolist() == expected.tolist()


@numba.njit(pipeline_class=SmallPartCompiler, no_cpython_wrapper=True, **OPTIONS)
def _larger_sum(values, factor):
    return max(_weighted(values, 0, factor), _weighted(values, 1, factor))


def test_a_kernel_that_goes_numbas_own_way_gets_what_its_parts_call():
    @numba.njit
    def sums(values):
        return np.array((_larger_sum(values, 1.0), _larger_sum(values, -1.0)))

    assert sums(np.arange(6.0).reshape(2, 3)).tolist() == [12.0, -3.0]


def test_a_statement_that_cannot_be_compiled_is_named():
    def wrong(values):
        values[0] = values.sum(axis=None).real_part

    with pytest.raises(numba.core.errors.NumbaError, match="real_part"):
        kernel(wrong)(np.zeros(3))


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


STARS = """
import json, sys
import numba

if sys.argv[1] != "as it is":
    numba.__version__ = sys.argv[1]
import numpy as np
import pandas as pd

import lcdvt
from lcdvt.compiled.kernel import KERNELS

rng = np.random.default_rng(1)
bands = []
for star in range(3):
    for band in "BR":
        mjd = np.sort(rng.uniform(0, 300, 150))
        mag = 15 + star / 2 * np.sin(2 * np.pi * mjd / (0.6 + star)) + rng.normal(0, 0.05, 150)
        bands.append(pd.DataFrame({"object_id": f"s{star}", "band": band, "mjd": mjd, "mag": mag, "mag_err": 0.05}))
features = lcdvt.extract(pd.concat(bands), jobs=1, period_range=(0.2, 100))
ways = {each.targetoptions.get("pipeline_class", each._compiler.pipeline_class).__name__ for each in KERNELS}
print(json.dumps({"ways": sorted(ways), "features": features.drop(columns="object_id").fillna(-99).to_dict("list")}))
"""


@pytest.mark.slow
def test_another_numba_goes_its_own_way_and_finds_the_same_features(tmp_path):
    found = {}
    # what was compiled as it is lies in the cache, under the very sources; the other way must not get there
    for version, cache in (("as it is", {}), ("99.0.0", {"LCDVT_CACHE": str(tmp_path)})):
        environment = os.environ | cache
        command = [sys.executable, "-c", STARS, version]
        answer = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        found[version] = json.loads(answer.stdout.splitlines()[-1])
    assert "KernelCompiler" in found["as it is"]["ways"]
    assert found["99.0.0"]["ways"] == ["Compiler"]
    short, plain = (pd.DataFrame(each["features"]) for each in found.values())
    # what is left is the order in which SIMD sums add up
    pd.testing.assert_frame_equal(short, plain, rtol=1e-8, atol=1e-10)


def _add_scaled(row, factors, out, at, width):
    for lane in range(width):
        out[at + lane] += factors[lane] * row[at + lane]


@pytest.mark.parametrize(("compiler", "looks"), [(PartCompiler, True), (ApartPartCompiler, False)])
def test_nobody_looks_whether_arrays_overlap_that_are_declared_apart(compiler, looks):
    add_scaled = numba.njit(pipeline_class=compiler, no_cpython_wrapper=True, **OPTIONS)(_add_scaled)

    @kernel
    def add(row, factors, out, width):
        for at in range(0, out.size, width):
            add_scaled(row, factors, out, at, width)

    row, factors, out = np.arange(24.0), np.linspace(1.0, 2.0, 8), np.ones(24)
    add(row, factors, out, 8)
    np.testing.assert_array_equal(out, 1.0 + np.tile(factors, 3) * row)
    written = next(iter(add.inspect_llvm().values()))
    # What the compiler knows after such a look has a name of its own.
    assert ("LVerDomain" in written) == looks
    assert "vector.body" in written
