"""How a compiled function is declared.

A compiled function costs most where nobody looks: before its first call. numba types and lowers every operation, and
every numpy function in it is itself a program in Python to be compiled: a sort, a median or a slice set to an
expression costs more than a page of plain arithmetic. So kernels are loops over flat arrays; what numpy does well, as
sorting, it does before they are called; arrays to work in are the caller's; and one kernel does a whole family of
features, because each way in from Python has a price too. A literal number as an argument makes numba compile the
called part for that number alone, so numbers are passed in variables or constant arrays. `benchmarks/start.py
--functions` prints what each costs.
"""

from collections.abc import Callable
from typing import Any, Final

import numba
from numba.core.compiler import Compiler

from lcdvt.compiled.cache import kernels_folder

Function = Callable[..., Any]

# Sums may be reordered (SIMD); NaN and infinity keep their meaning. A part that may do so is also inlined by force:
# compiled on its own and again within its caller it would sum in two orders, and the process that compiles would differ
# in the last digit from all those that find the kernels on disk.
REORDERED_SUMS: Final = {"reassoc", "contract", "arcp", "nsz"}

KERNELS: Final[list[Any]] = []
"""All kernels of the modules that were imported."""

SHORTENED: Final = ("0.68",)
"""Versions of numba that the shorter way through its compiler was tried with."""


def _compilers() -> tuple[type, type, type, type, type]:
    """Return who compiles kernels and their parts, the same for small ones, and who parts whose arrays are apart."""
    if numba.__version__.rpartition(".")[0] not in SHORTENED:
        return Compiler, Compiler, Compiler, Compiler, Compiler
    from lcdvt.compiled.compiler import (
        ApartPartCompiler,
        KernelCompiler,
        PartCompiler,
        SmallKernelCompiler,
        SmallPartCompiler,
    )

    return KernelCompiler, PartCompiler, SmallKernelCompiler, SmallPartCompiler, ApartPartCompiler


_OF_KERNELS, _OF_PARTS, _OF_SMALL_KERNELS, _OF_SMALL_PARTS, _OF_APART_PARTS = _compilers()
# Their types leave out what is used here.
_njit: Final[Any] = numba.njit
_config: Final[Any] = numba.config
# Without numba's runtime nobody counts who holds an array: less to compile, and no array can be made.
_LEAN: Final[dict[str, Any]] = {
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "_nrt": False,
    "pipeline_class": _OF_KERNELS,
}
_PART: Final[dict[str, Any]] = {**_LEAN, "no_cpython_wrapper": True, "pipeline_class": _OF_PARTS}
# Array expressions, too, are for numba's own compiler.
_MAKES_ARRAYS: Final[dict[str, Any]] = {"_nrt": True, "pipeline_class": Compiler}


def _declare(function: Function, **options: Any) -> Any:
    folder = kernels_folder()
    elsewhere = _config.CACHE_DIR
    # numba asks where to keep a function when it is declared; other packages keep theirs where they did.
    _config.CACHE_DIR = str(folder or "")
    try:
        compiled = _njit(cache=folder is not None, **{**_LEAN, **options})(function)
    finally:
        _config.CACHE_DIR = elsewhere
    KERNELS.append(compiled)
    return compiled


def kernel(function: Function) -> Any:
    """Declare a function that Python calls: compiled once, kept on disk."""
    return _declare(function)


def small_kernel(function: Function) -> Any:
    """Declare a kernel that leaves long loops to its parts: its own code is kept small, which compiles in less time."""
    return _declare(function, pipeline_class=_OF_SMALL_KERNELS)


def roomy_kernel(function: Function) -> Any:
    """Declare a kernel that makes arrays of its own."""
    return _declare(function, **_MAKES_ARRAYS)


def fast_kernel(function: Function) -> Any:
    """Declare a kernel whose sums may be reordered, all of them."""
    return _declare(function, fastmath=REORDERED_SUMS)


def fast_roomy_kernel(function: Function) -> Any:
    """Declare a kernel that makes arrays of its own and whose sums may be reordered."""
    return _declare(function, fastmath=REORDERED_SUMS, **_MAKES_ARRAYS)


def part(function: Function) -> Any:
    """Declare a function that only kernels call: kept within them, without a way in from Python."""
    return _njit(**_PART)(function)


def small_part(function: Function) -> Any:
    """Declare a part in which little time is spent: its code is kept small, which compiles in less time."""
    return _njit(**{**_PART, "pipeline_class": _OF_SMALL_PARTS})(function)


def apart_part(function: Function) -> Any:
    """Declare a part none of whose arrays overlaps another: so its loops are SIMD also where they are short."""
    return _njit(**{**_PART, "pipeline_class": _OF_APART_PARTS})(function)


def inlined_part(function: Function) -> Any:
    """Declare a part so small, or so often run, that calling it would cost more than what it does."""
    return _njit(**_PART, forceinline=True)(function)


def fast_part(function: Function) -> Any:
    """Declare a part whose sums may be reordered."""
    return _njit(**_PART, forceinline=True, fastmath=REORDERED_SUMS)(function)


def reordered_part(function: Function) -> Any:
    """Declare a part whose sums may be reordered, too large to stand wherever it is called; it may make arrays."""
    return _njit(**{**_PART, **_MAKES_ARRAYS}, fastmath=REORDERED_SUMS)(function)


def compiled_names() -> frozenset[str]:
    """Return the names of the kernels that are compiled in this process."""
    return frozenset(f"{each.py_func.__module__}.{each.py_func.__name__}" for each in KERNELS if each.signatures)
