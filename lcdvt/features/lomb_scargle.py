"""The highest point of a Lomb–Scargle periodogram on FATS' frequency grid, without computing all of it.

FATS takes the periodogram with floating mean and equal weights at the frequencies (k+½)/(5·baseline) up to 100
average Nyquist frequencies: about 250 per epoch. Every third of them is enough to find the peaks: the grid's highest
point lies at most one step (a fifth of the resolution) from such a coarse frequency, and a function whose spectrum
is limited to the baseline cannot fall from its maximum by more than cos²(π/5) = 0.65 over that distance.
The few coarse frequencies that could neighbour the maximum are then computed exactly.

The sums at the coarse frequencies come from a recurrence for short curves and from a non-uniform FFT for long
ones; those of the window are computed once and serve every whitening step.
"""

import math
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numba import njit

from lcdvt.features.moments import REORDERED_SUMS

SAMPLES_PER_PEAK: Final = 5.0
NYQUIST_FACTOR: Final = 100.0
COARSE_STEP: Final = 3
# Below cos²(π/5) = 0.65, because the floating mean makes the periodogram only nearly a band-limited function's square.
NEIGHBOUR_SHARE: Final = 0.6
# Frequencies at which a sinusoid at the epochs is nearly a constant or nearly one-dimensional are computed exactly.
DEGENERATE: Final = 1e-4
RANK_ONE: Final = 1e-10
# The recurrence costs N² and the FFT N log N: they cross near here.
LONGEST_DIRECT: Final = 110
NUFFT_TOLERANCE: Final = 1e-6
PLANS_KEPT: Final = 8


class Grid(NamedTuple):
    """FATS' frequencies: `lowest + k * step` for k below `count`."""

    lowest: float
    step: float
    count: int


class CoarseSums(NamedTuple):
    """Mean of cos and sin of the phase, and of twice the phase, at every coarse frequency: the window."""

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
    count = 1.0 + np.round((highest - lowest) / step)
    if not (math.isfinite(count) and step > 0.0 and math.isfinite(highest)):
        return Grid(0.0, 0.0, 0)
    return Grid(lowest, step, int(count))


@njit(cache=True)
def coarse_count(grid: Grid) -> int:
    """Return how many coarse frequencies it takes to have each of the grid's at most one step away."""
    return (grid.count + COARSE_STEP - 1) // COARSE_STEP


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS)
def _power(cc: float, ss: float, cs: float, yc: float, ys: float) -> float:
    """Return the reduction of χ² by a sinusoid, from its normal equations with the mean taken out."""
    determinant = cc * ss - cs * cs
    trace = cc + ss
    if determinant <= RANK_ONE * trace * trace:
        return (yc * yc + ys * ys) / trace if trace > RANK_ONE else 0.0
    return (ss * yc * yc + cc * ys * ys - 2.0 * cs * yc * ys) / determinant


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS)
def direct_window(since: np.ndarray, grid: Grid) -> CoarseSums:
    """Sum the window at the coarse frequencies by rotating every epoch's phase from one frequency to the next."""
    number = coarse_count(grid)
    cos_sum, sin_sum, cos_double, sin_double = np.empty(number), np.empty(number), np.empty(number), np.empty(number)
    epochs = len(since)
    first = 2.0 * math.pi * (grid.lowest + grid.step) * since
    turn = 2.0 * math.pi * COARSE_STEP * grid.step * since
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
    return CoarseSums(cos_sum, sin_sum, cos_double, sin_double)


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS)
def direct_signal(since: np.ndarray, signal: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Sum signal·cos and signal·sin at the coarse frequencies by recurrence."""
    number = coarse_count(grid)
    signal_cos, signal_sin = np.empty(number), np.empty(number)
    epochs = len(since)
    first = 2.0 * math.pi * (grid.lowest + grid.step) * since
    turn = 2.0 * math.pi * COARSE_STEP * grid.step * since
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
        self._number = coarse_count(grid)
        # Few sizes, so that plans are shared between curves of nearly the same length.
        quantum = 1 << max(self._number.bit_length() - 5, 1)
        self._modes = -(-self._number // quantum) * quantum
        self._plan = _plan(self._modes)
        spacing = 2.0 * math.pi * COARSE_STEP * grid.step
        self._turn = spacing * since
        # The transform's modes run from −M/2: the shift brings the first coarse frequency there.
        self._shift = np.exp(1j * (2.0 * math.pi * (grid.lowest + grid.step) + spacing * (self._modes // 2)) * since)
        self._shift /= len(since)

    def window(self) -> CoarseSums:
        """Return the window's sums, and make the plan ready for `signal`."""
        self._plan.setpts(2.0 * self._turn)
        double = self._plan.execute(self._shift * self._shift * len(self._turn))[: self._number]
        self._plan.setpts(self._turn)
        single = self._plan.execute(self._shift)[: self._number]
        return CoarseSums(single.real, single.imag, double.real, double.imag)

    def signal(self, signal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of signal·cos and signal·sin."""
        transform = self._plan.execute(self._shift * signal)[: self._number]
        return transform.real, transform.imag


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS)
def _coarse_power(window: CoarseSums, signal_cos: np.ndarray, signal_sin: np.ndarray) -> np.ndarray:
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


@njit(cache=True, error_model="numpy", fastmath=REORDERED_SUMS)
def exact_power(since: np.ndarray, signal: np.ndarray, frequency: float) -> float:
    """Return the mean squared signal that a sinusoid of this frequency explains; the signal has zero mean."""
    c = s = c_square = product = yc = ys = 0.0
    epochs = len(since)
    for i in range(epochs):
        phase = 2.0 * math.pi * frequency * since[i]
        cosine, sine = math.cos(phase), math.sin(phase)
        c += cosine
        s += sine
        c_square += cosine * cosine
        product += cosine * sine
        yc += signal[i] * cosine
        ys += signal[i] * sine
    c, s, c_square, product, yc, ys = (
        c / epochs,
        s / epochs,
        c_square / epochs,
        product / epochs,
        yc / epochs,
        ys / epochs,
    )
    return _power(c_square - c * c, 1.0 - c_square - s * s, product - c * s, yc, ys)


@njit(cache=True, error_model="numpy")
def _best_of_three(since: np.ndarray, signal: np.ndarray, grid: Grid, coarse: int) -> tuple[int, float]:
    """Return the highest of the grid points that a coarse frequency stands for."""
    best_index = -1
    best_power = -1.0
    for index in range(COARSE_STEP * coarse, min(COARSE_STEP * (coarse + 1), grid.count)):
        power = exact_power(since, signal, grid.lowest + grid.step * index)
        if power > best_power:
            best_index, best_power = index, power
    return best_index, best_power


@njit(cache=True, error_model="numpy")
def highest_peak(
    since: np.ndarray,
    signal: np.ndarray,
    grid: Grid,
    window: CoarseSums,
    signal_cos: np.ndarray,
    signal_sin: np.ndarray,
) -> tuple[int, float]:
    """Return index and power (mean square explained) of the highest point of the whole grid; −1 if there is none."""
    coarse_power = _coarse_power(window, signal_cos, signal_sin)
    top = 0
    for k in range(len(coarse_power)):
        if math.isfinite(coarse_power[k]) and (
            coarse_power[k] > coarse_power[top] or not math.isfinite(coarse_power[top])
        ):
            top = k
    best_index, best_power = _best_of_three(since, signal, grid, top)
    bound = NEIGHBOUR_SHARE * best_power
    for k in range(len(coarse_power)):
        if coarse_power[k] > bound and k != top:
            index, power = _best_of_three(since, signal, grid, k)
            if power > best_power or (power == best_power and index < best_index):
                best_index, best_power = index, power
                bound = NEIGHBOUR_SHARE * best_power
    return best_index, best_power
