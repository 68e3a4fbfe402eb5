"""Narrow eclipses: three or four numbers where a Fourier series needs sixteen.

A detached binary is constant most of the time. Where few nights fall into its eclipses, eight harmonics fit them at
many wrong frequencies as well as at the right one, swinging freely through the gaps between. One dip, or two half a
turn apart, with the same light everywhere else, has no such freedom. It is tried only on light curves that look like
it: where a faint minority of the epochs makes most of the variance.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lcdvt.compiled.kernel import fast_part, kernel, part, small_part
from lcdvt.features.period.fit import LARGEST_GAIN_RATIO, Bands
from lcdvt.features.period.median import median
from lcdvt.features.period.normal import Floats, Integers
from lcdvt.features.waves import wave

# A Gaussian's median absolute deviation, to its standard deviation.
MAD_TO_SIGMA = 1.4826
# Beyond so many widths a dip is over (1 % of its depth is left).
DIP_ENDS = 3.0
# Length of the mean vector of the faint epochs' phases, 1 where all are the same, below which they lie in no dip: two
# dips of the largest width have 0.75.
CONCENTRATION = 0.6
# Weighted squares of a dip, of 1 in all, below which its depth is not known: one epoch in a thousand at the middle.
LEAST_SQUARE = 1e-3
# What else the winner may be: two dips taken for one, or a dip that by chance was seen in every second or third turn.
RELATIVES = np.array((1.0, 0.5, 2.0, 1.0 / 3.0, 3.0))
# What is near a dip, often a handful of epochs, is filled up with epochs of no weight: the processor takes so many at a
# time, and what is left over one by one, each as long as all of these.
ABREAST = 8
# More than the last digits of a share of the variance.
ROUNDING = 1e-9


class Dips(NamedTuple):
    """The dips that are tried at a frequency.

    Attributes
    ----------
    widths
        Standard deviations of a dip, which is Gaussian in magnitude, in turns. Wider ones are tides and contact, which
        harmonics describe well; narrower ones are caught by chance only.
    shifts
        Where the middle of the dip is, in widths from the mean phase of the faint epochs, which may lie on one side.
    """

    widths: Floats
    shifts: Floats


COARSE = Dips(np.geomspace(0.01, 0.06, 5), np.linspace(-1.6, 1.6, 5))
ROUGH = Dips(COARSE.widths[::2].copy(), COARSE.shifts[::2].copy())
FINE = Dips(np.geomspace(0.01, 0.06, 10), np.linspace(-1.6, 1.6, 11))


@dataclass(frozen=True)
class EclipseConfig:
    """When and how eclipses are looked for.

    Attributes
    ----------
    faint_sigma
        Epochs fainter than the median by more robust standard deviations than this are faint.
    faint_variance
        Smallest share of the variance about the median that the faint epochs make.
    faint_epochs, most_faint_epochs, faint_share
        Fewest and most faint epochs, and their largest share of all. Where there are many of them, at all phases of the
        eclipses, harmonics have no gaps left to swing through.
    step, fine_step
        Distance of the frequencies tried around each candidate, then around the best, in units of 1 / baseline:
        over the baseline a dip shifts by that share of a turn.
    tried
        How many frequencies are tried with more than a few widths and shifts, the best by these.
    refined
        How many of the candidates are tried again in fine steps.
    worth
        Share of the best score that a frequency needs to be tried with all widths and shifts.
    tie
        Of periods that are multiples of one another the shortest is taken whose score is less than this share below
        the best: real eclipses are no Gaussians, and a dip that is twice as narrow or two that may differ fit any shape
        a little better.
    margin
        By how much eclipses must be better than the Fourier series to overrule it (logarithm of the likelihood,
        penalised): beyond what the one family's imperfect shape can make.
    """

    faint_sigma: float = 4.0
    faint_variance: float = 0.7
    faint_epochs: int = 5
    most_faint_epochs: int = 60
    faint_share: float = 0.35
    step: float = 0.05
    fine_step: float = 0.01
    tried: int = 48
    refined: int = 6
    worth: float = 0.6
    tie: float = 0.1
    margin: float = 10.0


class Eclipses(NamedTuple):
    """The best eclipses: their frequency, and the logarithm of their likelihood, penalised as `choice` does."""

    frequency: float
    score: float


def find_eclipses(
    bands: Bands,
    excess: Floats,
    candidates: tuple[Floats, Floats],
    baseline: float,
    limits: tuple[float, float],
    memory: float,
    chosen: float,
    config: EclipseConfig,
) -> Eclipses | None:
    """Fit eclipses at all candidates; None where none fits.

    Parameters
    ----------
    bands
        The light curves.
    excess
        By how much the faint epochs are fainter than the median, 0 for others, as `faint_excess` fills it.
    candidates
        Frequencies, and how far to each side the best one may lie.
    baseline
        Days from the first to the last epoch.
    limits
        Lowest and highest frequency that may be found.
    memory
        How many epochs tell as much as one independent epoch.
    chosen
        The frequency that harmonics prefer.
    config
        When and how eclipses are looked for.
    """
    curve = _Curve.of(bands, excess, memory)
    frequencies = _around(*candidates, config.step / baseline, limits)
    scores = _scores(curve, frequencies, ROUGH)
    tried = np.argsort(-scores, kind="stable")[: config.tried]
    scores[tried] = _scores(curve, frequencies[tried], COARSE)
    best = frequencies[_best_apart(frequencies, scores, config.refined, config.step / baseline)]
    centres = np.append(best, chosen)
    for reach, step in ((config.step, config.fine_step), (config.fine_step, 0.2 * config.fine_step)):
        reaches = np.full(centres.size, reach / baseline)
        frequencies = _around(centres, reaches, step / baseline, limits)
        scores = _scores(curve, frequencies, COARSE)
        # Closer dips fit a little better; they make no winner of a frequency that is far behind.
        worth = scores >= config.worth * scores.max()
        scores[worth] = _scores(curve, frequencies[worth], FINE)
        # The top of the best, and what it may be instead, are looked at once more.
        centres = frequencies[np.argmax(scores)] * RELATIVES
    if not scores.max() > 0.0:
        return None
    shortest = frequencies[scores >= (1.0 - config.tie) * scores.max()].max()
    near = np.abs(frequencies - shortest) < 2.0 * config.step / baseline
    top = int(np.argmax(np.where(near, scores, -np.inf)))
    return Eclipses(float(frequencies[top]), float(scores[top]))


@small_part
def faint_excess(
    w: Floats, y: Floats, bounds: Integers, faint_sigma: float, faint_variance: float, faint_epochs: float,
    most_faint_epochs: float, faint_share: float, work: Floats, excess: Floats,
) -> bool:  # fmt: skip
    """Fill by how much the faint epochs are fainter than the median, 0 for others; say whether they may be eclipses."""
    made, faint = 0.0, 0
    for b in range(bounds.size - 1):
        begin, end = bounds[b], bounds[b + 1]
        for i in range(begin, end):
            work[i] = y[i]
        middle = median(work, begin, end)
        for i in range(begin, end):
            work[i] = abs(y[i] - middle)
        limit = faint_sigma * MAD_TO_SIGMA * median(work, begin, end)
        squares, faint_squares = 0.0, 0.0
        for i in range(begin, end):
            fainter = y[i] - middle
            squares += w[i] * fainter * fainter
            excess[i] = 0.0
            if fainter > limit:
                excess[i] = fainter
                faint_squares += w[i] * fainter * fainter
                faint += 1
        made += faint_squares / squares * (end - begin)
    is_some = faint_epochs <= faint <= most_faint_epochs and faint <= faint_share * y.size
    return is_some and made >= faint_variance * y.size


def _around(centres: Floats, reaches: Floats, step: float, limits: tuple[float, float]) -> Floats:
    """Return frequencies at most `step` apart around each centre, those within the limits."""
    counts = 2 * np.ceil(reaches / step).astype(np.int64) + 1
    ends = np.cumsum(counts)
    first, last = centres - reaches, centres + reaches
    # all of them at once: np.linspace would take longer than the fits of a sparse curve
    places = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
    every = places * np.repeat((last - first) / np.maximum(counts - 1, 1), counts) + np.repeat(first, counts)
    every[ends - 1] = last
    return every[(every >= limits[0]) & (every <= limits[1])]


def _best_apart(frequencies: Floats, scores: Floats, count: int, apart: float) -> Integers:
    """Return the places of the highest scores whose frequencies are not those of one peak."""
    chosen: list[int] = []
    for place in np.argsort(-scores, kind="stable").tolist():
        if all(abs(frequencies[place] - frequencies[other]) > apart for other in chosen):
            chosen.append(place)
        if len(chosen) == count:
            break
    return np.array(chosen, dtype=np.int64)


class _Curve(NamedTuple):
    """What eclipses are fitted to, in the order in which the kernel gets it.

    Attributes
    ----------
    t, w, y, bounds
        As in `Bands`.
    variance
        Of each band.
    faint_t, excess
        Of the faint epochs.
    memory, first, second
        How many epochs tell as much as one independent epoch, and the penalties of one dip and of a second one.
    near, near_bounds, least_left
        Room for the epochs near a dip and what fills them up, and for the least that one dip and two have left of a
        single band's variance.
    """

    t: Floats
    w: Floats
    y: Floats
    bounds: Integers
    variance: Floats
    faint_t: Floats
    excess: Floats
    memory: float
    first: float
    second: float
    near: Floats
    near_bounds: Integers
    least_left: Floats

    @classmethod
    def of(cls, bands: Bands, excess: Floats, memory: float) -> "_Curve":
        """Return what `find_eclipses` got, made ready."""
        t, w, y, bounds, _ = bands
        variance = np.add.reduceat(w * y**2, bounds[:-1])
        per_number = 0.5 * np.log(np.maximum(np.diff(bounds) / memory, 3.0))
        # A depth in each band; phase and width once.
        second = float(per_number.sum())
        first = second + 2.0 * float(per_number.max())
        faint, most_near = excess > 0.0, t.size + ABREAST * (bounds.size - 1)
        room = np.empty((4, most_near)), np.empty_like(bounds), np.empty(2)
        return cls(t, w, y, bounds, variance, t[faint], excess[faint], memory, first, second, *room)


def _scores(curve: _Curve, frequencies: Floats, dips: Dips) -> Floats:
    """Return the penalised log-likelihood above a constant's of the best eclipses at each frequency."""
    scores = np.full(frequencies.size, -np.inf)
    _fit_eclipses(*curve, frequencies, *dips, scores)
    return scores


@fast_part
def _dip(widths: float) -> float:
    """Return exp(−½ widths²) within `DIP_ENDS`: a power series of the 64th part, which unlike math.exp is SIMD."""
    x = -widths * widths / 128.0
    series = 1.0 + x * (
        1.0 + x * (1 / 2.0 + x * (1 / 6.0 + x * (1 / 24.0 + x * (1 / 120.0 + x * (1 / 720.0 + x / 5040.0)))))
    )
    series *= series
    series *= series
    series *= series
    series *= series
    series *= series
    return series * series


@fast_part
def _mean_phases(t: Floats, excess: Floats, frequency: float) -> tuple[float, float, float, float]:
    """Return the sums of cosine and sine of the epochs' phases and of twice the phases, weighted by the excess."""
    c1, s1, c2, s2 = 0.0, 0.0, 0.0, 0.0
    for i in range(t.size):
        c, s = wave(frequency * t[i])
        c1 += excess[i] * c
        s1 += excess[i] * s
        c2 += excess[i] * (c * c - s * s)
        s2 += excess[i] * 2.0 * c * s
    return c1, s1, c2, s2


@kernel
def _fit_eclipses(
    t: Floats, w: Floats, y: Floats, bounds: Integers, variance: Floats, faint_t: Floats, excess: Floats,
    memory: float, first: float, second: float, near: Floats, near_bounds: Integers, least_left: Floats,
    frequencies: Floats, widths: Floats, shifts: Floats, scores: Floats,
) -> None:  # fmt: skip
    """Fill the best score of each frequency; `near` has room for phases, and for what is near a dip."""
    total, phase, farthest, is_single = 0.0, near[3], DIP_ENDS + shifts[shifts.size - 1], bounds.size == 2
    for i in range(excess.size):
        total += excess[i]
    for k in range(frequencies.size):
        c1, s1, c2, s2 = _mean_phases(faint_t, excess, frequencies[k])
        is_folded = False
        least_left[0], least_left[1] = np.inf, np.inf
        for number in range(2):
            # The faint epochs lie around one phase, or around two that are half a turn apart.
            c, s = (c1, s1) if number == 0 else (c2, s2)
            if c * c + s * s < CONCENTRATION * CONCENTRATION * total * total:
                continue
            if not is_folded:
                # At most frequencies the faint epochs lie anywhere, and the others' phases are not needed.
                is_folded = True
                for i in range(t.size):
                    cycles = frequencies[k] * t[i]
                    phase[i] = cycles - math.floor(cycles)
            middle = math.atan2(s, c) / ((number + 1.0) * 2.0 * math.pi)
            near_bounds[0] = 0
            for b in range(bounds.size - 1):
                begin, place = bounds[b], near_bounds[b]
                for i in range(bounds[b + 1] - begin):
                    near[0, place + i], near[1, place + i] = phase[begin + i], w[begin + i]
                    near[2, place + i] = y[begin + i]
                near_bounds[b + 1] = _fill_up(near, place + bounds[b + 1] - begin, middle)
            for place in range(widths.size):
                # The widest first: what is too far from it is too far from all others.
                width = widths[widths.size - 1 - place]
                _keep_near(near, near_bounds, middle, farthest * width)
                if is_single:
                    most = _most_gain(near[1], near[2], near_bounds[1], bounds[1], variance[0])
                    if most / memory - first <= scores[k]:
                        break
                for shift in shifts:
                    centre = middle + shift * width
                    one, two = _eclipse_gains(
                        near[0], near[1], near[2], near_bounds, bounds, variance, centre, width, least_left
                    )
                    score = one / memory - first
                    if two / memory - second > one / memory:
                        score = two / memory - first - second
                    if score > scores[k]:
                        scores[k] = score


@part
def _keep_near(near: Floats, near_bounds: Integers, middle: float, reach: float) -> None:
    """Leave out the epochs further than `reach` turns from a phase and from its opposite, where all dips are over."""
    # A little further, for the last digit.
    reach *= 1.0 + 1e-9
    if reach >= 0.25:
        return
    kept, begin = near_bounds[0], near_bounds[0]
    for b in range(near_bounds.size - 1):
        end = near_bounds[b + 1]
        for i in range(begin, end):
            phase, weight, magnitude = near[0, i], near[1, i], near[2, i]
            away = abs(phase - middle - math.floor(phase - middle + 0.5))
            near[0, kept], near[1, kept], near[2, kept] = phase, weight, magnitude
            kept += 1 if (away if away < 0.25 else 0.5 - away) < reach else 0
        begin = end
        kept = _fill_up(near, kept, middle)
        near_bounds[b + 1] = kept


@part
def _fill_up(near: Floats, end: int, middle: float) -> np.int64:
    """Put epochs of no weight, far from a phase and from its opposite, after those of a band; return where they end."""
    filled = (end + ABREAST - 1) // ABREAST * ABREAST
    for i in range(end, filled):
        near[0, i], near[1, i], near[2, i] = middle + 0.25, 0.0, 0.0
    return np.int64(filled)


@fast_part
def _most_gain(w: Floats, y: Floats, end: int, epochs: int, variance: float) -> float:
    """Return the gain that no dips among the first `end` epochs of a single band exceed: that of any light in them."""
    inside, mean, squares = 0.0, 0.0, 0.0
    for i in range(end):
        inside += w[i]
        mean += w[i] * y[i]
        squares += w[i] * y[i] * y[i]
    # A constant is left for the others; a little is taken off for the last digits.
    left = 1.0 - (squares + mean * mean / (1.0 - inside)) / variance - ROUNDING if inside < 1.0 - ROUNDING else 0.0
    return -0.5 * epochs * math.log(max(left, 1.0 / LARGEST_GAIN_RATIO))


@fast_part
def _eclipse_gains(
    phase: Floats, w: Floats, y: Floats, near_bounds: Integers, bounds: Integers, variance: Floats, centre: float,
    width: float, least_left: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Return the log-likelihood gain of one dip a turn, and of two half a turn apart; −∞ where a dip is not seen.

    Epochs are those near the dips, which are `near_bounds`, of all, which are `bounds`. Of a single band no logarithm
    is taken, and −∞ is returned, where not less of the variance is left than `least_left`.
    """
    one, two, is_single = 0.0, 0.0, bounds.size == 2
    for b in range(bounds.size - 1):
        p, pp, py, s, ss, sy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(near_bounds[b], near_bounds[b + 1]):
            away = phase[i] - centre
            away = abs(away - math.floor(away + 0.5))
            is_first = away < 0.25
            widths = (away if is_first else 0.5 - away) / width
            dip = _dip(widths) if widths < DIP_ENDS else 0.0
            weight = w[i] * dip
            first = weight if is_first else 0.0
            second = weight - first
            p += first
            pp += first * dip
            py += first * y[i]
            s += second
            ss += second * dip
            sy += second * y[i]
        n = bounds[b + 1] - bounds[b]
        # Least squares with a floating mean.
        pp, ss, ps = pp - p * p, ss - s * s, -p * s
        if pp < LEAST_SQUARE or py <= 0.0:
            return -np.inf, -np.inf
        left = max(1.0 - py * py / (pp * variance[b]), 1.0 / LARGEST_GAIN_RATIO)
        if is_single and left >= least_left[0]:
            one = -np.inf
        else:
            least_left[0] = left
            one -= 0.5 * n * math.log(left)
        determinant = pp * ss - ps * ps
        if ss < LEAST_SQUARE or determinant <= 0.0:
            two = -np.inf
            continue
        depth, second = (ss * py - ps * sy) / determinant, (pp * sy - ps * py) / determinant
        if depth <= 0.0 or second <= 0.0:
            two = -np.inf
            continue
        left = max(1.0 - (depth * py + second * sy) / variance[b], 1.0 / LARGEST_GAIN_RATIO)
        if is_single and left >= least_left[1]:
            two = -np.inf
        else:
            least_left[1] = left
            two -= 0.5 * n * math.log(left)
    return one, two
