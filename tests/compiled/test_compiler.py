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
from lcdvt.compiled.compiler import KernelCompiler, PartCompiler

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
