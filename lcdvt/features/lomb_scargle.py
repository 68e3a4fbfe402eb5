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

from lcdvt.compiled.kernel import fast_kernel, fast_part
from lcdvt.features.waves import wave

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
UPSAMPLING: Final = 1.25


class Grid(NamedTuple):
    """FATS' frequencies: `lowest + k * step` for k below `size`."""

    lowest: float
    step: float
    size: int


class Highest(NamedTuple):
    """The highest point of a periodogram: its place on the grid, −1 if there is none, and the mean square explained."""

    place: int
    power: float


def fats_grid(baseline: float, epochs: int) -> Grid:
    """Return FATS' grid, in the same floating-point steps, so that both give the same last digit."""
    if not baseline > 0.0:
        return Grid(0.0, 0.0, 0)
    step = 1.0 / baseline / SAMPLES_PER_PEAK
    lowest = 0.5 * step
    highest = NYQUIST_FACTOR * (0.5 * epochs / baseline)
    if not (step > 0.0 and math.isfinite(step) and math.isfinite(highest)):
        return Grid(0.0, 0.0, 0)
    return Grid(lowest, step, 1 + round((highest - lowest) / step))


@fast_part
def _power(cc: float, ss: float, cs: float, yc: float, ys: float) -> float:
    """Return the reduction of χ² by a sinusoid, from its normal equations with the mean taken out."""
    determinant = cc * ss - cs * cs
    trace = cc + ss
    if determinant <= RANK_ONE * trace * trace:
        return (yc * yc + ys * ys) / trace if trace > RANK_ONE else 0.0
    return (ss * yc * yc + cc * ys * ys - 2.0 * cs * yc * ys) / determinant


class DirectSums:
    """Sums of one short curve at every frequency, each epoch's phase rotated from one frequency to the next."""

    def __init__(self, since: np.ndarray, grid: Grid) -> None:
        first, turn = 2.0 * math.pi * grid.lowest * since, 2.0 * math.pi * grid.step * since
        self._start = np.stack((np.cos(first), np.sin(first), np.cos(turn), np.sin(turn)))
        self._window, self._signal = np.empty((grid.size, 4)), np.empty((grid.size, 2))
        _sum_window(*self._start.copy(), self._window)

    def highest(self, signal: np.ndarray) -> Highest:
        """Return the highest point for a signal of zero mean."""
        # The signal rides along in the rotated vector: one multiplication fewer per epoch and frequency.
        phases = self._start.copy()
        phases[:2] *= signal
        return Highest(*_highest_of_all(*phases, self._window, self._signal))


@fast_kernel
def _sum_window(
    cosine: np.ndarray, sine: np.ndarray, cos_turn: np.ndarray, sin_turn: np.ndarray, window: np.ndarray
) -> None:
    """Fill the means of cos, sin, cos² and cos·sin at every frequency."""
    epochs = cosine.size
    for k in range(window.shape[0]):
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
        window[k, 0] = c / epochs
        window[k, 1] = s / epochs
        window[k, 2] = c_square / epochs
        window[k, 3] = product / epochs


@fast_kernel
def _highest_of_all(
    cosine: np.ndarray,
    sine: np.ndarray,
    cos_turn: np.ndarray,
    sin_turn: np.ndarray,
    window: np.ndarray,
    signal: np.ndarray,
) -> tuple[int, float]:
    """Return index and power of the highest point where every frequency is summed."""
    epochs = cosine.size
    for k in range(window.shape[0]):
        yc = 0.0
        ys = 0.0
        for i in range(epochs):
            here_cos, here_sin = cosine[i], sine[i]
            yc += here_cos
            ys += here_sin
            cosine[i] = here_cos * cos_turn[i] - here_sin * sin_turn[i]
            sine[i] = here_sin * cos_turn[i] + here_cos * sin_turn[i]
        signal[k, 0] = yc / epochs
        signal[k, 1] = ys / epochs
    best_index = -1
    best_power = -1.0
    for k in range(window.shape[0]):
        c, s, c_square = window[k, 0], window[k, 1], window[k, 2]
        power = _power(c_square - c * c, 1.0 - c_square - s * s, window[k, 3] - c * s, signal[k, 0], signal[k, 1])
        if power > best_power:
            best_index, best_power = k, power
    return best_index, best_power


class Transform:
    """Sums Σ value·exp(i (first + k·step) t) for k = 0, 1, … number − 1 by non-uniform FFT.

    Parameters
    ----------
    number
        Frequencies wanted.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        # Few sizes, so that plans are shared between curves of nearly the same length.
        quantum = 1 << max(number.bit_length() - 5, 1)
        self._modes = -(-number // quantum) * quantum
        self._plan = _plan(self._modes)

    def at(self, first: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Take the epochs' phases at the first frequency and their steps; return what every value is multiplied with.

        The transform's modes run from −M/2: the shift brings the first frequency there.
        """
        self._plan.setpts(step)
        return np.exp(1j * (first + (self._modes // 2) * step))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return real and imaginary parts, a row for each frequency, of values that were shifted."""
        found = self._plan.execute(values)
        return np.ascontiguousarray(found[: self._number]).view(np.float64).reshape(-1, 2)


@lru_cache(maxsize=PLANS_KEPT)
def _plan(modes: int) -> Any:
    import finufft

    # One thread: batches are spread over processes already. Few epochs and many frequencies: the inner FFT is all of
    # the cost, and a quarter more frequencies are enough for it at this tolerance, instead of twice as many.
    return finufft.Plan(1, (modes,), n_trans=1, eps=NUFFT_TOLERANCE, isign=1, nthreads=1, upsampfac=UPSAMPLING)


class FourierSums:
    """Coarse sums of one long curve by non-uniform FFT."""

    def __init__(self, since: np.ndarray, grid: Grid) -> None:
        self._since, self._grid = since, grid
        number = -(-grid.size // COARSE_STEP)
        self._transform = Transform(number)
        first, step = 2.0 * math.pi * (grid.lowest + grid.step) * since, 2.0 * math.pi * COARSE_STEP * grid.step * since
        self._double = self._transform.sums(self._transform.at(2.0 * first, 2.0 * step) / len(since))
        self._shift = self._transform.at(first, step) / len(since)
        self._single = self._transform.sums(self._shift)
        neighbour = 2.0 * math.pi * grid.step * since
        self._turn_cos, self._turn_sin = np.cos(neighbour), np.sin(neighbour)
        self._coarse_power = np.empty(number)

    def highest(self, signal: np.ndarray) -> Highest:
        """Return the highest point of the whole grid for a signal of zero mean."""
        return Highest(
            *_highest_of_coarse(
                self._since,
                signal,
                self._grid.lowest,
                self._grid.step,
                self._grid.size,
                self._single,
                self._double,
                self._transform.sums(self._shift * signal),
                self._turn_cos,
                self._turn_sin,
                self._coarse_power,
            )
        )


@fast_kernel
def _highest_of_coarse(
    since: np.ndarray,
    signal: np.ndarray,
    lowest: float,
    step: float,
    size: int,
    single: np.ndarray,
    double: np.ndarray,
    transform: np.ndarray,
    turn_cos: np.ndarray,
    turn_sin: np.ndarray,
    coarse_power: np.ndarray,
) -> tuple[int, float]:
    """Return index and power of the highest point: exact at every coarse frequency that may neighbour it."""
    top = 0
    for k in range(coarse_power.size):
        c, s, yc, ys = single[k, 0], single[k, 1], transform[k, 0], transform[k, 1]
        cc = 0.5 * (1.0 + double[k, 0]) - c * c
        ss = 0.5 * (1.0 - double[k, 0]) - s * s
        cs = 0.5 * double[k, 1] - c * s
        determinant = cc * ss - cs * cs
        power = (ss * yc * yc + cc * ys * ys - 2.0 * cs * yc * ys) / determinant
        # Infinite where it has to be computed exactly.
        coarse_power[k] = power if determinant > DEGENERATE else np.inf
    for k in range(coarse_power.size):
        if coarse_power[top] == np.inf or coarse_power[top] < coarse_power[k] < np.inf:
            top = k
    best_index = -1
    best_power = -1.0
    # The highest coarse frequency comes first: it sets the limit for the others.
    for turn in range(-1, coarse_power.size):
        k = turn if turn >= 0 else top
        if turn >= 0 and (turn == top or not coarse_power[k] > NEIGHBOUR_SHARE * best_power):
            continue
        centre = COARSE_STEP * k + 1
        frequency = lowest + step * centre
        c = s = c_square = product = yc = ys = 0.0
        before_c = before_s = before_c_square = before_product = before_yc = before_ys = 0.0
        after_c = after_s = after_c_square = after_product = after_yc = after_ys = 0.0
        for i in range(since.size):
            cosine, sine = wave(frequency * since[i])
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
        share = 1.0 / since.size
        for place in range(COARSE_STEP):
            if place == 1:
                before_c, before_s, before_c_square = c, s, c_square
                before_product, before_yc, before_ys = product, yc, ys
            elif place == 2:
                before_c, before_s, before_c_square = after_c, after_s, after_c_square
                before_product, before_yc, before_ys = after_product, after_yc, after_ys
            mean_c, mean_s, mean_square = before_c * share, before_s * share, before_c_square * share
            power = _power(
                mean_square - mean_c * mean_c,
                1.0 - mean_square - mean_s * mean_s,
                before_product * share - mean_c * mean_s,
                before_yc * share,
                before_ys * share,
            )
            index = centre - 1 + place
            if index < size and (power > best_power or (power == best_power and index < best_index)):
                best_index, best_power = index, power
    return best_index, best_power
