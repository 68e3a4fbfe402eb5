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
from typing import Final, NamedTuple

import numpy as np

from lcdvt.compiled.kernel import fast_kernel, fast_part
from lcdvt.features.transforms import LongTransform
from lcdvt.features.waves import wave

SAMPLES_PER_PEAK: Final = 5.0
NYQUIST_FACTOR: Final = 100.0
COARSE_STEP: Final = 3
# Below cos²(π/5) = 0.65, because the floating mean makes the periodogram only nearly a band-limited function's square.
NEIGHBOUR_SHARE: Final = 0.45
# Where the epochs see a sinusoid as nearly constant or one-dimensional (the lowest frequencies, multiples of one per
# day) the power is a ratio of two small numbers and not band-limited at all: always computed exactly. A quarter is
# the determinant of phases spread evenly; one frequency in several hundred lies below this.
DEGENERATE: Final = np.float32(0.1)
RANK_ONE: Final = 1e-10
# The recurrence costs N² and the FFT N log N. They cross near 30, but for curves this short one in a thousand has its
# highest point where the coarse frequencies do not show it; of 12,000 longer real ones none had.
LONGEST_DIRECT: Final = 60


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
        first, turn = 2.0 * math.pi * (grid.lowest + grid.step) * since, 2.0 * math.pi * grid.step * since
        # What a phase turns by from one frequency to its neighbour, and from one group of three to the next.
        turns = np.array((turn, COARSE_STEP * turn))
        self._first = np.cos(first), np.sin(first)
        self._turns = np.cos(turns), np.sin(turns)
        groups = -(-grid.size // COARSE_STEP)
        self._size = grid.size
        self._single, self._double, self._signal = np.empty((3, COARSE_STEP * groups, 2))
        share = np.full(len(since), 1.0 / len(since))
        self._sum(share, self._single)
        doubled, by = 2.0 * first, 2.0 * turns
        _sum_groups(share * np.cos(doubled), share * np.sin(doubled), np.cos(by), np.sin(by), self._double)

    def _sum(self, values: np.ndarray, sums: np.ndarray) -> None:
        _sum_groups(values * self._first[0], values * self._first[1], *self._turns, sums)

    def highest(self, signal: np.ndarray) -> Highest:
        """Return the highest point for a signal of zero mean."""
        self._sum(signal / len(signal), self._signal)
        return Highest(*_highest_of_all(self._single, self._double, self._signal, self._size))


@fast_kernel
def _sum_groups(
    cosine: np.ndarray, sine: np.ndarray, cos_turns: np.ndarray, sin_turns: np.ndarray, sums: np.ndarray
) -> None:
    """Fill Σ value·cos and Σ value·sin at every frequency from what they are at the second, which is used up.

    Three frequencies at a time: the middle one's phases are rotated from group to group, and to its neighbours, before
    and after, it is the same rotation but for a sign.
    """
    for middle in range(1, sums.shape[0], COARSE_STEP):
        c = s = cos_c = sin_s = cos_s = sin_c = 0.0
        for i in range(cosine.size):
            here_cos, here_sin = cosine[i], sine[i]
            turn_cos, turn_sin = cos_turns[0, i], sin_turns[0, i]
            c += here_cos
            s += here_sin
            cos_c += turn_cos * here_cos
            sin_s += turn_sin * here_sin
            cos_s += turn_cos * here_sin
            sin_c += turn_sin * here_cos
            turn_cos, turn_sin = cos_turns[1, i], sin_turns[1, i]
            cosine[i] = here_cos * turn_cos - here_sin * turn_sin
            sine[i] = here_sin * turn_cos + here_cos * turn_sin
        sums[middle - 1, 0], sums[middle - 1, 1] = cos_c + sin_s, cos_s - sin_c
        sums[middle, 0], sums[middle, 1] = c, s
        sums[middle + 1, 0], sums[middle + 1, 1] = cos_c - sin_s, cos_s + sin_c


@fast_kernel
def _highest_of_all(single: np.ndarray, double: np.ndarray, signal: np.ndarray, size: int) -> tuple[int, float]:
    """Return index and power of the highest of the first points, from the window's means and the signal's."""
    best_index = -1
    best_power = -1.0
    for k in range(size):
        c, s = single[k, 0], single[k, 1]
        power = _power(
            0.5 * (1.0 + double[k, 0]) - c * c,
            0.5 * (1.0 - double[k, 0]) - s * s,
            0.5 * double[k, 1] - c * s,
            signal[k, 0],
            signal[k, 1],
        )
        if power > best_power:
            best_index, best_power = k, power
    return best_index, best_power


class FourierSums:
    """Coarse sums of one long curve by non-uniform FFT.

    Single precision does: they only tell where the exact sums are worth their cost, and leave a wide margin.
    """

    def __init__(self, since: np.ndarray, grid: Grid) -> None:
        self._since, self._grid = since, grid
        number = -(-grid.size // COARSE_STEP)
        self._transform = LongTransform(number)
        first, step = 2.0 * math.pi * (grid.lowest + grid.step) * since, 2.0 * math.pi * COARSE_STEP * grid.step * since
        modes = self._transform.modes
        middle, between = np.exp(1j * (first + (modes // 2) * step)), np.exp(1j * (modes * step))
        share = 1.0 / len(since)
        # Copied, because the next sums stand in the same place.
        self._transform.at((2.0 * step).astype(np.float32))
        self._double = self._transform.sums(self._transform.turns(share * middle**2, between**2)).copy()
        self._transform.at(step.astype(np.float32))
        self._shift = self._transform.turns(share * middle, between)
        self._single = self._transform.sums(self._shift).copy()
        neighbour = 2.0 * math.pi * grid.step * since
        self._turn_cos, self._turn_sin = np.cos(neighbour), np.sin(neighbour)
        self._coarse_power = np.empty(number, dtype=np.float32)

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
                self._transform.sums(self._shift * signal.astype(np.float32)),
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
    half, one, infinite = np.float32(0.5), np.float32(1.0), np.float32(np.inf)
    top = 0
    for k in range(coarse_power.size):
        # Flat, real and imaginary parts in turn: of an axis of two the compiler would not know that it is two.
        c, s, yc, ys = single[2 * k], single[2 * k + 1], transform[2 * k], transform[2 * k + 1]
        cc = half * (one + double[2 * k]) - c * c
        ss = half * (one - double[2 * k]) - s * s
        cs = half * double[2 * k + 1] - c * s
        determinant = cc * ss - cs * cs
        power = (ss * yc * yc + cc * ys * ys - (cs + cs) * yc * ys) / determinant
        # Infinite where it has to be computed exactly.
        coarse_power[k] = power if determinant > DEGENERATE else infinite
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
