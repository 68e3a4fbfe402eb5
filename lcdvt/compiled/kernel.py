"""How a compiled function is declared.

A compiled function costs most where nobody looks: before its first call. numba types and lowers every operation, and
every numpy function in it is itself a program in Python to be compiled: a sort, a median or a slice set to an
expression costs more than a page of plain arithmetic. So kernels are loops over flat arrays; what numpy does well, as
sorting, it does before they are called; and one kernel does a whole family of features, because each way in from
Python has a price too. A literal number as an argument makes numba compile the called part for that number alone, so
numbers are passed in variables or constant arrays. `benchmarks/start.py --functions` prints what each costs.
"""

from typing import Final

from numba import njit

# Sums may be reordered (SIMD); NaN and infinity keep their meaning. A part that may do so is also inlined by force:
# compiled on its own and again within its caller it would sum in two orders, and the process that compiles would differ
# in the last digit from all those that find the kernels on disk.
REORDERED_SUMS: Final = {"reassoc", "contract", "arcp", "nsz"}

kernel: Final = njit(cache=True, error_model="numpy", no_cfunc_wrapper=True)
"""A function that Python calls: compiled once, kept on disk."""

fast_kernel: Final = njit(cache=True, error_model="numpy", no_cfunc_wrapper=True, fastmath=REORDERED_SUMS)
"""A kernel whose sums may be reordered, all of them."""

part: Final = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""A function that only kernels call: kept within them, without a way in from Python."""

inlined_part: Final = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)
"""A part so small, or so often run, that calling it would cost more than what it does."""

fast_part: Final = njit(
    error_model="numpy",
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
    fastmath=REORDERED_SUMS,
    forceinline=True,
)
"""A part whose sums may be reordered."""
