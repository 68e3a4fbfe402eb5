"""The highest point of a Lomb–Scargle periodogram on FATS' frequency grid.

FATS takes the periodogram with floating mean and equal weights at the frequencies (k+½)/(5·baseline) up to 100
average Nyquist frequencies: about 250 per epoch. For short curves all of it is summed, each epoch's phase rotated
from one frequency to the next. For long ones a non-uniform FFT gives every third frequency, and that is enough: the
grid's highest point lies at most one step (a fifth of the resolution) from such a coarse frequency, and a function
whose spectrum is limited to the baseline does not fall below cos²(π/5) = 0.65 of its maximum over that distance. The
few coarse frequencies that could neighbour the maximum are then computed exactly.

The window's sums are computed once and serve every whitening step.
"""

import math
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numba import njit

from lcdvt.features.families.moments import REORDERED_SUMS

SAMPLES_PER_PEAK: Final = 5.0
NYQUIST_FACTOR: Final = 100.0
COARSE_STEP: Final = 3
# Below cos²(π/5) = 0.65, because the floating mean makes the periodogram only nearly a band-limited function's square.
NEIGHBOUR_SHARE: Final = 0.45
# Where the epochs see a sinusoid as nearly constant or one-dimensional (the lowest frequencies, multiples of one per
# day) the power is a ratio of two small numbers and not band-limited at all: always computed exactly. A quarter is
# the determinant of phases spread evenly; one frequency in several hundred lies below this.
DEGENERATE: Final = 0.1
RANK_ONE: Final = 1e-10
# The recurrence costs N² and the FFT N log N: they cross near here.
LONGEST_DIRECT: Final = 60
NUFFT_TOLERANCE: Final = 1e-6
PLANS_KEPT: Final = 8


class Grid(NamedTuple):
    """FATS' frequencies: `lowest + k * step` for k below `size`."""

    lowest: float
    step: float
    size: int


class WindowSums(NamedTuple):
    """Mean of cos and sin of the phase, and of twice the phase, at every frequency summed: the window."""

    cos: np.ndarray
    sin: np.ndarray
    cos_double: np.ndarray
    sin_double: np.ndarray


@njit(cache=True, error_model="numpy")
def fats_grid(baseline: float, epochs: int) -> Grid:
    """Return FATS' grid, in the same floating-point steps, so that both give the same last digit."""
    step = 1.0 / baseline / SAMPLES_PER_PEAK
    lowest = 0.5 * step
    highest = NYQUIST_FACTOR * (0.5 * epochs / baseline)
    size = 1.0 + np.round((highest - lowest) / step)
    if not (math.isfinite(size) and step > 0.0 and math.isfinite(highest)):
        return Grid(0.0, 0.0, 0)
    return Grid(lowest, step, int(size))


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def _power(cc: float, ss: float, cs: float, yc: float, ys: float) -> float:
    """Return the reduction of χ² by a sinusoid, from its normal equations with the mean taken out."""
    determinant = cc * ss - cs * cs
    trace = cc + ss
    if determinant <= RANK_ONE * trace * trace:
        return (yc * yc + ys * ys) / trace if trace > RANK_ONE else 0.0
    return (ss * yc * yc + cc * ys * ys - 2.0 * cs * yc * ys) / determinant


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def direct_window(since: np.ndarray, grid: Grid) -> WindowSums:
    """Sum the window at every frequency by rotating every epoch's phase from one frequency to the next."""
    number = grid.size
    cos_sum, sin_sum, cos_double, sin_double = np.empty(number), np.empty(number), np.empty(number), np.empty(number)
    epochs = len(since)
    first = 2.0 * math.pi * grid.lowest * since
    turn = 2.0 * math.pi * grid.step * since
    cosine, sine, cos_turn, sin_turn = np.cos(first), np.sin(first), np.cos(turn), np.sin(turn)
    for k in range(number):
        c = 0.0
        s = 0.0
        c_square = 0.0
        product = 0.0
        for i in range(epochs):
            here_cos, here_sin = cosine[i], sine[i]
            c += here_cos
            s += here_sin
            c_square += here_cos * here_cos
            product += here_cos * here_sin
            cosine[i] = here_cos * cos_turn[i] - here_sin * sin_turn[i]
            sine[i] = here_sin * cos_turn[i] + here_cos * sin_turn[i]
        cos_sum[k] = c / epochs
        sin_sum[k] = s / epochs
        cos_double[k] = 2.0 * c_square / epochs - 1.0
        sin_double[k] = 2.0 * product / epochs
    return WindowSums(cos_sum, sin_sum, cos_double, sin_double)


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def direct_signal(since: np.ndarray, signal: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Sum signal·cos and signal·sin at every frequency by recurrence."""
    number = grid.size
    signal_cos, signal_sin = np.empty(number), np.empty(number)
    epochs = len(since)
    first = 2.0 * math.pi * grid.lowest * since
    turn = 2.0 * math.pi * grid.step * since
    # The signal rides along in the rotated vector: one multiplication fewer per epoch and frequency.
    cosine, sine, cos_turn, sin_turn = signal * np.cos(first), signal * np.sin(first), np.cos(turn), np.sin(turn)
    for k in range(number):
        c = 0.0
        s = 0.0
        for i in range(epochs):
            here_cos, here_sin = cosine[i], sine[i]
            c += here_cos
            s += here_sin
            cosine[i] = here_cos * cos_turn[i] - here_sin * sin_turn[i]
            sine[i] = here_sin * cos_turn[i] + here_cos * sin_turn[i]
        signal_cos[k] = c / epochs
        signal_sin[k] = s / epochs
    return signal_cos, signal_sin


@lru_cache(maxsize=PLANS_KEPT)
def _plan(modes: int) -> Any:
    import finufft

    # One thread: batches are spread over processes already.
    return finufft.Plan(1, (modes,), n_trans=1, eps=NUFFT_TOLERANCE, isign=1, nthreads=1, dtype="complex128")


class FourierSums:
    """Coarse sums of one long curve by non-uniform FFT."""

    def __init__(self, since: np.ndarray, grid: Grid) -> None:
        self._number = -(-grid.size // COARSE_STEP)
        # Few sizes, so that plans are shared between curves of nearly the same length.
        quantum = 1 << max(self._number.bit_length() - 5, 1)
        self._modes = -(-self._number // quantum) * quantum
        self._plan = _plan(self._modes)
        spacing = 2.0 * math.pi * COARSE_STEP * grid.step
        self._turn = spacing * since
        # The transform's modes run from −M/2: the shift brings the first coarse frequency there.
        self._shift = np.exp(1j * (2.0 * math.pi * (grid.lowest + grid.step) + spacing * (self._modes // 2)) * since)
        self._shift /= len(since)

    def window(self) -> WindowSums:
        """Return the window's sums, and make the plan ready for `signal`."""
        self._plan.setpts(2.0 * self._turn)
        double = self._plan.execute(self._shift * self._shift * len(self._turn))[: self._number]
        self._plan.setpts(self._turn)
        single = self._plan.execute(self._shift)[: self._number]
        return WindowSums(single.real, single.imag, double.real, double.imag)

    def signal(self, signal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of signal·cos and signal·sin."""
        transform = self._plan.execute(self._shift * signal)[: self._number]
        return transform.real, transform.imag


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def _coarse_power(window: WindowSums, signal_cos: np.ndarray, signal_sin: np.ndarray) -> np.ndarray:
    """Return the power at the coarse frequencies, infinite where it has to be computed exactly."""
    power = np.empty(len(signal_cos))
    for k in range(len(power)):
        c, s = window.cos[k], window.sin[k]
        cc = 0.5 * (1.0 + window.cos_double[k]) - c * c
        ss = 0.5 * (1.0 - window.cos_double[k]) - s * s
        cs = 0.5 * window.sin_double[k] - c * s
        yc, ys = signal_cos[k], signal_sin[k]
        determinant = cc * ss - cs * cs
        value = (ss * yc * yc + cc * ys * ys - 2.0 * cs * yc * ys) / determinant
        power[k] = value if determinant > DEGENERATE else np.inf
    return power


@njit(cache=True, error_model="numpy")
def highest_of_all(window: WindowSums, signal_cos: np.ndarray, signal_sin: np.ndarray) -> tuple[int, float]:
    """Return index and power (mean square explained) of the highest point where every frequency was summed."""
    best_index = -1
    best_power = -1.0
    for k in range(len(signal_cos)):
        c, s = window.cos[k], window.sin[k]
        cc = 0.5 * (1.0 + window.cos_double[k]) - c * c
        ss = 0.5 * (1.0 - window.cos_double[k]) - s * s
        cs = 0.5 * window.sin_double[k] - c * s
        power = _power(cc, ss, cs, signal_cos[k], signal_sin[k])
        if power > best_power:
            best_index, best_power = k, power
    return best_index, best_power


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS, forceinline=True)
def _exact_sums(
    since: np.ndarray,
    signal: np.ndarray,
    frequency: float,
    turn_cos: np.ndarray,
    turn_sin: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Sum window and signal at a frequency and at its two neighbours on the grid, one turn before and after."""
    c = s = c_square = product = yc = ys = 0.0
    before_c = before_s = before_c_square = before_product = before_yc = before_ys = 0.0
    after_c = after_s = after_c_square = after_product = after_yc = after_ys = 0.0
    for i in range(len(since)):
        cycles = frequency * since[i]
        cycles -= math.floor(cycles + 0.5)
        # The quarter angle by its power series, doubled twice: unlike the library's functions, all of it is SIMD.
        quarter = 0.5 * math.pi * cycles
        z = quarter * quarter
        odd = -1 / 1307674368000.0 * z + 1 / 6227020800.0
        odd = ((((odd * z - 1 / 39916800.0) * z + 1 / 362880.0) * z - 1 / 5040.0) * z + 1 / 120.0) * z - 1 / 6.0
        sine = quarter * (odd * z + 1.0)
        even = -1 / 87178291200.0 * z + 1 / 479001600.0
        even = ((((even * z - 1 / 3628800.0) * z + 1 / 40320.0) * z - 1 / 720.0) * z + 1 / 24.0) * z - 0.5
        cosine = even * z + 1.0
        sine, cosine = 2.0 * sine * cosine, 1.0 - 2.0 * sine * sine
        sine, cosine = 2.0 * sine * cosine, 1.0 - 2.0 * sine * sine
        value = signal[i]
        c += cosine
        s += sine
        c_square += cosine * cosine
        product += cosine * sine
        yc += value * cosine
        ys += value * sine
        here_cos = cosine * turn_cos[i] + sine * turn_sin[i]
        here_sin = sine * turn_cos[i] - cosine * turn_sin[i]
        before_c += here_cos
        before_s += here_sin
        before_c_square += here_cos * here_cos
        before_product += here_cos * here_sin
        before_yc += value * here_cos
        before_ys += value * here_sin
        here_cos = cosine * turn_cos[i] - sine * turn_sin[i]
        here_sin = sine * turn_cos[i] + cosine * turn_sin[i]
        after_c += here_cos
        after_s += here_sin
        after_c_square += here_cos * here_cos
        after_product += here_cos * here_sin
        after_yc += value * here_cos
        after_ys += value * here_sin
    sums[0, :] = before_c, before_s, before_c_square, before_product, before_yc, before_ys
    sums[1, :] = c, s, c_square, product, yc, ys
    sums[2, :] = after_c, after_s, after_c_square, after_product, after_yc, after_ys
    sums /= len(since)


@njit(cache=True, error_model="numpy")
def _best_of_three(
    since: np.ndarray,
    signal: np.ndarray,
    grid: Grid,
    coarse: int,
    turn_cos: np.ndarray,
    turn_sin: np.ndarray,
    sums: np.ndarray,
) -> tuple[int, float]:
    """Return the highest of the grid points that a coarse frequency stands for."""
    centre = COARSE_STEP * coarse + 1
    _exact_sums(since, signal, grid.lowest + grid.step * centre, turn_cos, turn_sin, sums)
    best_index = -1
    best_power = -1.0
    for place in range(COARSE_STEP):
        c, s, c_square, product, yc, ys = sums[place]
        power = _power(c_square - c * c, 1.0 - c_square - s * s, product - c * s, yc, ys)
        if power > best_power and centre - 1 + place < grid.size:
            best_index, best_power = centre - 1 + place, power
    return best_index, best_power


@njit(cache=True, error_model="numpy")
def highest_of_coarse(
    since: np.ndarray,
    signal: np.ndarray,
    grid: Grid,
    window: WindowSums,
    signal_cos: np.ndarray,
    signal_sin: np.ndarray,
) -> tuple[int, float]:
    """Return index and power (mean square explained) of the highest point of the whole grid; −1 if there is none."""
    turn = 2.0 * math.pi * grid.step * since
    turn_cos, turn_sin = np.cos(turn), np.sin(turn)
    sums = np.empty((COARSE_STEP, 6))
    coarse_power = _coarse_power(window, signal_cos, signal_sin)
    top = 0
    for k in range(len(coarse_power)):
        if coarse_power[top] == np.inf or coarse_power[top] < coarse_power[k] < np.inf:
            top = k
    best_index, best_power = _best_of_three(since, signal, grid, top, turn_cos, turn_sin, sums)
    for k in range(len(coarse_power)):
        if coarse_power[k] > NEIGHBOUR_SHARE * best_power and k != top:
            index, power = _best_of_three(since, signal, grid, k, turn_cos, turn_sin, sums)
            if power > best_power or (power == best_power and index < best_index):
                best_index, best_power = index, power
    return best_index, best_power
