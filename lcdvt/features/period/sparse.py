"""Periods of stars with few epochs in each of many bands: one model for all bands, shapes from a small library.

With five epochs a band there is nothing to fit harmonics to. What is known instead: the bands share period and phase,
amplitudes go with wavelength as a power law, and pulsating and eclipsing stars have few shapes. So

1. a sine with tied amplitudes and a free offset per band scans the whole period range;
2. at the frequencies that it likes best the templates (`templates.json`, made by benchmarks/templates.py) are compared
   at all phases, each within the periods and amplitudes of the stars that it was learned from; the sine stays in for
   all other periods;
3. the best are looked at again at closer frequencies and phases.

Everything is kept as a posterior probability, offsets and amplitude integrated out, next to the chance that the star
is not periodic (a damped random walk, the same offsets). `Period_fap` is one minus the probability of the chosen period
within one per cent: a star with five equally good periods says so. The approach is that of Sesar et al. 2017, AJ 153,
204, with shapes of more classes and without their colours; the scan is VanderPlas & Ivezić 2015, ApJ 812, 18, with tied
amplitudes.
"""

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

import numpy as np

from lcdvt.compiled.kernel import part, reordered_part, roomy_kernel
from lcdvt.features.families.joint_curve import walk_evidence
from lcdvt.features.period.normal import Floats, Integers
from lcdvt.features.period.search import PeriodResult
from lcdvt.features.waves import wave

TABLE_PHASES: Final = 256
REFERENCE_WAVELENGTH: Final = 600.0
# Epochs beyond one for each band's offset: amplitude, phase and period, and one to judge them by.
FEWEST_FREE: Final = 4
# Around each alias this many frequencies are compared, a tenth of a peak apart.
ALIAS_STEPS: Final = 11
SCAN_BLOCK: Final = 128


class Templates(NamedTuple):
    """The library of shapes; the last one is a sine for every period.

    Attributes
    ----------
    coarse, middle, fine
        (templates, TABLE_PHASES / n, 2 n) with n = 16, 32 and 64 phases compared: magnitudes, mean zero, range one.
        Row r holds the phases r, r + TABLE_PHASES / n, … twice, so that a star's n shifted phases are neighbours in
        memory.
    slopes
        Amplitude ∝ λ^slope.
    log_period, log_period_width, log_amplitude, log_amplitude_width
        log10 of days and magnitudes: what its stars have. The sine's period is uniform in frequency.
    prior
        How common the shape is among variable stars.
    harmonics
        (templates, 5): amplitude of the fundamental, R21, φ21, R31, φ31 of the shape.
    """

    coarse: Floats
    middle: Floats
    fine: Floats
    slopes: Floats
    log_period: Floats
    log_period_width: Floats
    log_amplitude: Floats
    log_amplitude_width: Floats
    prior: Floats
    harmonics: Floats


@dataclass(frozen=True)
class SparseConfig:
    """How sparse stars are searched.

    Attributes
    ----------
    merge_days
        Epochs of one band this close are averaged: they tell one phase.
    samples_per_peak
        Scanned frequencies per peak width, which is 1 / baseline.
    model_error
        Magnitudes by which real stars differ from their template, added to the errors in quadrature.
    kept_share, enough_epochs
        Share of the scanned frequencies at which templates are compared. With more epochs than are enough the scan
        tells more: the share falls with their square, the finalists with their number.
    finalists
        How many frequencies and shapes are looked at again more closely.
    max_frequencies
        Longest grid; a longer baseline raises the shortest period.
    """

    merge_days: float = 0.02
    samples_per_peak: int = 5
    model_error: float = 0.025
    kept_share: float = 0.1
    enough_epochs: int = 20
    finalists: int = 150
    max_frequencies: int = 400_000


DEFAULT_SPARSE: Final = SparseConfig()


@cache
def load_templates() -> Templates:
    """Read the library, and add the sine."""
    text = resources.files("lcdvt.features.period").joinpath("templates.json").read_text(encoding="utf-8")
    records = json.loads(text)
    phases = np.arange(TABLE_PHASES) / TABLE_PHASES
    sine = {
        "shape": (0.5 * np.cos(2.0 * np.pi * phases)).tolist(),
        "amplitude_slope": -0.5,
        "log_period": [0.0, math.inf],
        "log_amplitude": [-0.5, 0.3],
    }
    records = [*records, sine]
    shapes = np.empty((len(records), TABLE_PHASES))
    harmonics = np.empty((len(records), 5))
    for row, record in enumerate(records):
        known = np.array(record["shape"])
        shapes[row] = np.interp(phases, np.arange(len(known) + 1) / len(known), np.append(known, known[0]))
        shapes[row] -= shapes[row].mean()
        spectrum = np.fft.rfft(shapes[row])[1:4] * 2.0 / TABLE_PHASES
        relative = [spectrum[k - 1] / abs(spectrum[0]) * (abs(spectrum[0]) / spectrum[0]) ** k for k in (2, 3)]
        harmonics[row] = [
            abs(spectrum[0]),
            *(value for each in relative for value in (abs(each), np.angle(each) % (2.0 * np.pi))),
        ]
    prior = np.array([record.get("prior", 1.0) for record in records])

    def column(name: str, part: int) -> Floats:
        return np.array([record[name][part] for record in records], dtype=np.float64)

    return Templates(
        coarse=_by_shift(shapes, 16),
        middle=_by_shift(shapes, 32),
        fine=_by_shift(shapes, 64),
        slopes=np.array([record["amplitude_slope"] for record in records]),
        log_period=column("log_period", 0),
        log_period_width=column("log_period", 1),
        log_amplitude=column("log_amplitude", 0),
        log_amplitude_width=column("log_amplitude", 1),
        prior=prior / prior.sum(),
        harmonics=harmonics,
    )


def _by_shift(shapes: Floats, phases: int) -> Floats:
    """Return (templates, TABLE_PHASES / phases, 2 phases): the shapes as `Templates` describes them."""
    rows = shapes.reshape(len(shapes), phases, -1).transpose(0, 2, 1)
    return np.ascontiguousarray(np.concatenate((rows, rows), axis=2))


def find_sparse_period(
    time: Floats,
    mag: Floats,
    err: Floats,
    bounds: Integers,
    wavelengths: Floats,
    period_range: tuple[float, float],
    config: SparseConfig = DEFAULT_SPARSE,
) -> PeriodResult | None:
    """Find the period of one star; None where its epochs allow none.

    Parameters
    ----------
    time, mag, err
        Epochs, band after band; errors are those of the survey's own error model.
    bounds
        Band b is `bounds[b]:bounds[b + 1]`.
    wavelengths
        Nanometres of each band; NaN where unknown (the amplitude is then that at 600 nm).
    period_range
        Shortest and longest period in days.
    config
        How to search.
    """
    t, y, variance, band = _merged(time, mag, err, bounds, config.merge_days)
    if t.size < np.unique(band).size + FEWEST_FREE:
        t, y, variance, band = _merged(time, mag, err, bounds, 0.0)
    if t.size < np.unique(band).size + FEWEST_FREE:
        return None
    baseline = float(t.max() - t.min())
    lowest = max(1.0 / period_range[1], 1.5 / baseline) if baseline > 0.0 else math.inf
    df = 1.0 / (config.samples_per_peak * baseline) if baseline > 0.0 else 1.0
    n_grid = int(min((1.0 / period_range[0] - lowest) / df, config.max_frequencies)) if lowest < math.inf else 0
    if n_grid < 10 or np.ptp(y) == 0.0:
        return None
    t = t - 0.5 * (t.max() + t.min())
    variance = variance + config.model_error**2
    relative = np.where(np.isfinite(wavelengths), wavelengths, REFERENCE_WAVELENGTH) / REFERENCE_WAVELENGTH
    templates = load_templates()
    needed = min(1.0, config.enough_epochs / t.size)
    order, inverse = np.unique(band, return_inverse=True)
    best = _search(
        t,
        y,
        1.0 / variance,
        inverse.astype(np.int64),
        relative[order],
        lowest,
        df,
        n_grid,
        config.kept_share * needed**2,
        int(config.finalists * needed),
        templates,
    )
    frequencies, shapes, log_weights, amplitudes, explained = best
    if not np.isfinite(log_weights).any():
        return None
    top = log_weights.max()
    weights = np.exp(log_weights - top)
    # The period with the greatest probability within one per cent, not the highest single point.
    near = np.abs(np.log(frequencies[:, None] / frequencies[None, :])) < 0.01
    shares = near @ weights
    group = int(np.argmax(shares))
    winner = int(np.argmax(np.where(near[group], weights, 0.0)))
    aperiodic = walk_evidence(t, y, variance - config.model_error**2, inverse.astype(np.int64))
    total = weights.sum() + math.exp(min(aperiodic - top, 700.0))
    shape = templates.harmonics[shapes[winner]]
    return PeriodResult(
        1.0 / float(frequencies[winner]),
        float(min(max(1.0 - shares[group] / total, 0.0), 1.0)),
        float(min(max(explained[winner], 0.0), 1.0)),
        1,
        float(amplitudes[winner] * shape[0]),
        *(float(value) for value in shape[1:]),
    )


def compare_periods(time: Floats, mag: Floats, err: Floats, frequencies: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return the best frequency near each candidate, and the templates' log evidence there above a constant.

    Parameters
    ----------
    time, mag, err
        One curve, sorted in time.
    frequencies
        Candidates.
    noise
        Magnitudes by which the star differs from a smooth periodic curve, added to the errors in quadrature.
    """
    t, y, variance, _ = _merged(time, mag, err, np.array([0, time.size]), DEFAULT_SPARSE.merge_days)
    t = t - 0.5 * (t[0] + t[-1])
    weight = 1.0 / (variance + max(noise, DEFAULT_SPARSE.model_error) ** 2)
    y = y - np.sum(weight * y) / np.sum(weight)
    return _compare_candidates(t, y, weight, frequencies, load_templates())


@roomy_kernel
def _compare_candidates(
    t: Floats, y: Floats, w: Floats, frequencies: Floats, templates: Templates
) -> tuple[Floats, Floats]:
    weight_of, scale = np.array([np.sum(w)]), np.ones(1)
    # A template tells no two epochs in the same column apart: their weighted mean stands for all of them.
    columns, means = np.empty(TABLE_PHASES, dtype=np.int64), np.empty(TABLE_PHASES)
    weights, products = np.empty(TABLE_PHASES), np.empty(TABLE_PHASES)
    step = 0.1 / (t[t.size - 1] - t[0])
    best, evidence = frequencies.copy(), np.full(frequencies.size, -np.inf)
    for place in range(frequencies.size):
        for number in range(ALIAS_STEPS):
            f = frequencies[place] + (number - ALIAS_STEPS // 2) * step
            highest = -np.inf
            weights[:] = 0.0
            products[:] = 0.0
            for i in range(t.size):
                cycles = f * t[i]
                # A whole turn is none: rounded, what is left of a cycle may be 1.
                column = int((cycles - math.floor(cycles)) * TABLE_PHASES) % TABLE_PHASES
                weights[column] += w[i]
                products[column] += w[i] * y[i]
            filled = 0
            for column in range(TABLE_PHASES):
                if weights[column] > 0.0:
                    columns[filled], means[filled] = column, products[column] / weights[column]
                    weights[filled] = weights[column]
                    filled += 1
            starts = np.array([0, filled])
            for k in range(templates.slopes.size - 1):
                prior = _log_prior(f, step, k, 0.0, templates)
                if prior > -np.inf:
                    value, _, _ = _compare(
                        columns[:filled], means[:filled], weights[:filled], starts, weight_of, scale, k,
                        templates.middle[k], templates, max(highest, evidence[place]) - prior,
                    )  # fmt: skip
                    highest = max(highest, value + prior)
            if highest > evidence[place]:
                best[place], evidence[place] = f, highest
    return best, evidence


@roomy_kernel
def _merged(
    time: Floats, mag: Floats, err: Floats, bounds: Integers, merge_days: float
) -> tuple[Floats, Floats, Floats, Integers]:
    """Average epochs of a band that follow each other within `merge_days` of the first of them."""
    n = bounds[len(bounds) - 1] - bounds[0]
    t, y, variance, band = np.empty(n), np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
    count = 0
    for b in range(len(bounds) - 1):
        i = bounds[b]
        while i < bounds[b + 1]:
            weight, sum_t, sum_y, members = 0.0, 0.0, 0.0, 0
            start = time[i]
            while i < bounds[b + 1] and time[i] - start <= merge_days:
                w = 1.0 / err[i] ** 2
                weight += w
                sum_t += w * (time[i] - start)
                sum_y += w * mag[i]
                members += 1
                i += 1
            t[count], y[count], variance[count], band[count] = start + sum_t / weight, sum_y / weight, 1.0 / weight, b
            count += 1
    return t[:count], y[:count], variance[:count], band[:count]


@roomy_kernel
def _search(
    t: Floats,
    y: Floats,
    w: Floats,
    band: Integers,
    relative: Floats,
    lowest: float,
    df: float,
    n_grid: int,
    kept_share: float,
    n_finalists: int,
    templates: Templates,
) -> tuple[Floats, Integers, Floats, Floats, Floats]:
    """Return frequency, template, log evidence, amplitude and share of variance explained of the best candidates."""
    n, bands, shapes = t.size, relative.size, templates.slopes.size
    weight_of = np.zeros(bands)
    starts = np.searchsorted(band, np.arange(bands + 1))
    centred = y.copy()
    means = np.zeros(bands)
    for i in range(n):
        weight_of[band[i]] += w[i]
        means[band[i]] += w[i] * y[i]
    for i in range(n):
        centred[i] -= means[band[i]] / weight_of[band[i]]
    constant = 0.0
    for i in range(n):
        constant += math.log(w[i]) - w[i] * centred[i] ** 2
    for b in range(bands):
        constant -= math.log(weight_of[b])
    total = np.sum(w * centred**2)
    scales = np.empty((shapes, bands))
    for k in range(shapes):
        scales[k] = relative ** templates.slopes[k]

    power = _sine_scan(t, centred, w, starts, weight_of, scales[shapes - 1], lowest, df, n_grid)
    threshold = int((1.0 - kept_share) * (n_grid - 1))
    limit = np.partition(power, threshold)[threshold]
    # A heap would be quicker; the list is short.
    found_f, found_k = np.empty(n_finalists), np.empty(n_finalists, dtype=np.int64)
    found_value = np.full(n_finalists, -np.inf)
    worst = 0
    column = np.empty(n, dtype=np.int64)
    log_range = math.log(n_grid * 1.0)
    for g in range(n_grid):
        if power[g] < limit:
            continue
        f = lowest + g * df
        for i in range(n):
            cycles = f * t[i]
            column[i] = int((cycles - math.floor(cycles)) * TABLE_PHASES)
        for k in range(shapes):
            prior = _log_prior(f, df, k, log_range, templates)
            if prior == -np.inf:
                continue
            value, _, _ = _compare(
                column,
                centred,
                w,
                starts,
                weight_of,
                scales[k],
                k,
                templates.coarse[k],
                templates,
                found_value[worst] - prior,
            )
            value += prior
            if value > found_value[worst]:
                found_f[worst], found_k[worst], found_value[worst] = f, k, value
                worst = int(np.argmin(found_value))
    amplitudes, explained = np.zeros(n_finalists), np.zeros(n_finalists)
    for place in range(n_finalists):
        if found_value[place] == -np.inf:
            continue
        k = found_k[place]
        centre = found_f[place]
        best, best_f = -np.inf, centre
        mass = 0.0
        for step in range(-2, 3):
            f = centre + 0.25 * step * df
            for i in range(n):
                cycles = f * t[i]
                column[i] = int((cycles - math.floor(cycles)) * TABLE_PHASES)
            value, amplitude, left = _compare(
                column, centred, w, starts, weight_of, scales[k], k, templates.fine[k], templates, -np.inf
            )
            mass = _log_add(mass, value) if step > -2 else value
            if value > best:
                best, best_f = value, f
                amplitudes[place], explained[place] = amplitude, 1.0 - left / total
        found_f[place] = best_f
        found_value[place] = mass - math.log(5.0) + _log_prior(best_f, df, k, log_range, templates) + 0.5 * constant
        # `constant` already holds the χ² of the offsets alone.
    return found_f, found_k, found_value, amplitudes, explained


@part
def _log_add(a: float, b: float) -> float:
    high, low = max(a, b), min(a, b)
    return high + math.log1p(math.exp(low - high))


@part
def _log_prior(f: float, df: float, k: int, log_range: float, templates: Templates) -> float:
    """Return the log of the prior probability of a template in one step of the grid."""
    if k == templates.slopes.size - 1:
        return math.log(templates.prior[k]) - log_range
    width = templates.log_period_width[k]
    off = (-math.log10(f) - templates.log_period[k]) / width
    if abs(off) > 3.5:
        return -np.inf
    density = -0.5 * off * off - math.log(width * math.sqrt(2.0 * math.pi))
    return math.log(templates.prior[k]) + density + math.log(df / (f * math.log(10.0)))


@reordered_part
def _compare(
    column: Integers,
    y: Floats,
    w: Floats,
    starts: Integers,
    weight_of: Floats,
    scale: Floats,
    k: int,
    table: Floats,
    templates: Templates,
    least: float,
) -> tuple[float, float, float]:
    """Return the log evidence above constant bands, the best phase's amplitude, and the χ² that it leaves.

    The mean over the phases of `table`, a template's rows; the amplitude has a normal prior and is integrated out.
    Where the evidence cannot reach `least`, it is −∞.
    """
    n, bands, rows = y.size, weight_of.size, table.shape[0]
    n_phases = table.shape[1] // 2
    expected = 10.0 ** templates.log_amplitude[k]
    width = expected * max(min(2.3 * templates.log_amplitude_width[k], 0.7), 0.25)
    precision = 1.0 / (width * width)
    sums = np.zeros((5, n_phases))
    square, cross, mean, band_square, band_cross = sums[0], sums[1], sums[2], sums[3], sums[4]
    # All phases of an epoch at once: neighbours in memory, which the processor takes several at a time.
    for b in range(bands):
        mean[:] = 0.0
        band_square[:] = 0.0
        band_cross[:] = 0.0
        for i in range(starts[b], starts[b + 1]):
            shifted = table[column[i] % rows]
            first = column[i] // rows
            wi, yi = w[i], y[i]
            for turn in range(n_phases):
                m = shifted[first + turn]
                wm = wi * m
                mean[turn] += wm
                band_square[turn] += wm * m
                band_cross[turn] += wm * yi
        squared, share = scale[b] * scale[b], 1.0 / weight_of[b]
        for turn in range(n_phases):
            square[turn] += (band_square[turn] - mean[turn] * mean[turn] * share) * squared
            cross[turn] += band_cross[turn] * scale[b]
    gain = band_square
    start = expected * precision
    highest, smallest = 0.0, np.inf
    for turn in range(n_phases):
        whole = square[turn] + precision
        gain[turn] = (cross[turn] + start) * (cross[turn] + start) / whole
        highest, smallest = max(highest, gain[turn]), min(smallest, whole)
    # The logarithms cost more than all the sums before: most frequencies are told hopeless by a single one.
    if 0.5 * (highest - expected * start - math.log(smallest / precision)) < least:
        return -np.inf, 0.0, 0.0
    best, best_turn = -np.inf, 0
    values = mean
    for turn in range(n_phases):
        value = 0.5 * (gain[turn] - expected * start - math.log((square[turn] + precision) / precision))
        values[turn] = value if cross[turn] + start > 0.0 else -1e3
        if values[turn] > best:
            best, best_turn = values[turn], turn
    evidence = 0.0
    for turn in range(n_phases):
        if values[turn] > best - 20.0:
            evidence += math.exp(values[turn] - best)
    amplitude = (cross[best_turn] + start) / (square[best_turn] + precision)
    left = -2.0 * amplitude * cross[best_turn] + amplitude * amplitude * square[best_turn]
    for i in range(n):
        left += w[i] * y[i] * y[i]
    return best + math.log(evidence / n_phases), amplitude, left


@reordered_part
def _sine_scan(
    t: Floats,
    y: Floats,
    w: Floats,
    starts: Integers,
    weight_of: Floats,
    scale: Floats,
    lowest: float,
    df: float,
    n_grid: int,
) -> Floats:
    """Return the reduction of χ² by one sine with tied amplitudes and free offsets at every frequency."""
    n, bands = t.size, weight_of.size
    power = np.zeros(n_grid)
    # Frequencies side by side, which the processor takes several at a time: the first of a block by sine and cosine,
    # the others by turning it. Single precision tells which of them are worth templates, at half of the cost.
    turn_c, turn_s = np.empty((n, SCAN_BLOCK), dtype=np.float32), np.empty((n, SCAN_BLOCK), dtype=np.float32)
    for i in range(n):
        for k in range(SCAN_BLOCK):
            turn_c[i, k], turn_s[i, k] = np.cos(2.0 * np.pi * df * k * t[i]), np.sin(2.0 * np.pi * df * k * t[i])
    sums, parts = np.empty((5, SCAN_BLOCK)), np.empty((6, SCAN_BLOCK), dtype=np.float32)
    for first in range(0, n_grid, SCAN_BLOCK):
        sums[:] = 0.0
        for b in range(bands):
            parts[:] = 0.0
            for i in range(starts[b], starts[b + 1]):
                c, s = wave((lowest + first * df) * t[i])
                # Weights that sum to one: what survey and band make of their size is put back below.
                wi = np.float32(w[i] / weight_of[b])
                c0, s0, yi = np.float32(c), np.float32(s), np.float32(y[i])
                for k in range(SCAN_BLOCK):
                    cosine = c0 * turn_c[i, k] - s0 * turn_s[i, k]
                    sine = s0 * turn_c[i, k] + c0 * turn_s[i, k]
                    wc, ws = wi * cosine, wi * sine
                    parts[0, k] += wc
                    parts[1, k] += ws
                    parts[2, k] += wc * cosine
                    parts[3, k] += wc * sine
                    parts[4, k] += wc * yi
                    parts[5, k] += ws * yi
            # The squares of sine and cosine are one together.
            factor, weight = scale[b] * scale[b] * weight_of[b], scale[b] * weight_of[b]
            for k in range(SCAN_BLOCK):
                mean_c, mean_s = np.float64(parts[0, k]), np.float64(parts[1, k])
                sums[0, k] += (parts[2, k] - mean_c * mean_c) * factor
                sums[1, k] += (1.0 - parts[2, k] - mean_s * mean_s) * factor
                sums[2, k] += (parts[3, k] - mean_c * mean_s) * factor
                sums[3, k] += parts[4, k] * weight
                sums[4, k] += parts[5, k] * weight
        for k in range(min(SCAN_BLOCK, n_grid - first)):
            cc, ss, cs, yc, ys = sums[0, k], sums[1, k], sums[2, k], sums[3, k], sums[4, k]
            determinant = cc * ss - cs * cs
            if determinant > 1e-4 * (cc + ss) ** 2:
                power[first + k] = (ss * yc * yc + cc * ys * ys - 2.0 * cs * yc * ys) / determinant
    return power
