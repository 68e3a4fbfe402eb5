"""Exact weighted least-squares fits of harmonics at candidate frequencies, compiled.

A model is a set of harmonics of one frequency (`normal`), the same in every band, each band with its own offset and
coefficients.
"""

import math
from typing import NamedTuple

import numpy as np

from lcdvt.compiled.kernel import apart_part, part, small_part
from lcdvt.features.period.normal import (
    CHAIN_HIGHEST,
    CHAIN_SHORTEST,
    CHAINS,
    COSINES,
    EQUATION,
    EVEN_REDUCTIONS,
    HIGHEST_HARMONIC,
    LANES,
    MODEL_CHAINS,
    MODEL_HARMONICS,
    MODEL_HIGHEST,
    N_MODELS,
    NORMAL,
    NOW,
    OF_EVEN_MODELS,
    PIVOTS,
    REDUCTIONS,
    RESIDUALS,
    RIGHT,
    SCALED,
    SHARES,
    SIDE_BY_SIDE,
    SINES,
    SINES_NOW,
    SUMS,
    TAIL,
    TAIL_REDUCTIONS,
    Floats,
    Integers,
    Singles,
    eliminate,
    fill_few_moments,
    fill_moments,
    fill_normal,
    reduce,
)
from lcdvt.features.waves import wave

LARGEST_GAIN_RATIO = 1e12
ONE_SINE, NO_MODEL = 0, -1
LONGEST_LAG = 40
SHARPENING_POINTS = 5
# Nearer than the next frequency tried, whatever the last digit.
INSIDE = 0.999
# Each sharpening halves the distance to a top and so leaves a quarter of what is still to be gained there. Candidates
# that gained less than this log-likelihood by the last one are near enough to their tops to be compared; a noise of a
# millionth of the wave takes so many.
NEAR_THE_TOP, MOST_SHARPENINGS = 1.0, 20
# Log-likelihood by which a period of nearly a day has to be better than the slow change that it looks like: periods of
# months are a tenth of the stars on a hundredth of the frequencies. Two and three days, which slow changes look like
# less often, would cost a Cepheid in thirty its period.
NEARLY_A_DAY_IS_RARE = 2.0
# Of the coefficients, the columns of the weighted mean squares before and after.
WHOLE, LEFT = 2 * HIGHEST_HARMONIC, 2 * HIGHEST_HARMONIC + 1
# After the numbers of the fits side by side: which candidate, frequency and band these are, then one fit's gains of all
# models, or one model's coefficients.
CANDIDATE, FREQUENCY, BAND, GAINS = 0, LANES, 2 * LANES, 3 * LANES
ROOM = SIDE_BY_SIDE + GAINS + 2 * HIGHEST_HARMONIC


# Rows in single precision, after cosines, sines and by how much they turn.
WEIGHTS, MAGNITUDES, ROUGH_ROWS = range(4, 7)


class Bands(NamedTuple):
    """The bands one after the other, ready to be fitted.

    Attributes
    ----------
    t
        Days from the middle of the observations.
    w
        Inverse variances, normalised to sum 1 in each band.
    y
        Magnitudes minus their weighted mean in the band.
    bounds
        Band b is `bounds[b]:bounds[b + 1]`.
    max_harmonics
        How many harmonics each band has epochs for.
    """

    t: Floats
    w: Floats
    y: Floats
    bounds: Integers
    max_harmonics: Integers


class FitWork(NamedTuple):
    """Arrays that the fits fill.

    Attributes
    ----------
    epochs
        Rows of one number per epoch; `RESIDUALS` are one of them.
    rough
        Of rough fits, the first four rows of `epochs`, weights and magnitudes in single precision.
    small
        Sums, normal equations and what comes of them, of the fits that `normal` has side by side.
    coefficients
        A row for each band: of the harmonics, and the weighted mean squares of magnitudes and residuals.
    places
        Chosen candidates and their models.
    table
        Best frequency, gain and score of each candidate and model, the least share of the squares left where there is
        one band, around which frequency the candidate was sharpened last, and its gain before that.
    window
        The spectral window's power at each candidate.
    """

    epochs: Floats
    rough: Singles
    small: Floats
    coefficients: Floats
    places: Integers
    table: Floats
    window: Floats

    @classmethod
    def of(cls, epochs: int, bands: int, candidates: int) -> "FitWork":
        """Return arrays for at most so many epochs, bands and candidates."""
        return cls(
            np.empty((SCALED + 1, epochs)),
            np.empty((ROUGH_ROWS, epochs), dtype=np.float32),
            _SMALL,
            np.empty((bands, 2 * HIGHEST_HARMONIC + 2)),
            np.empty((2, candidates), dtype=np.int64),
            np.empty((6, candidates, N_MODELS)),
            np.empty(candidates),
        )


def room_for_one() -> tuple[Integers, Floats, Floats]:
    """Return the last three arrays that `fit_model` takes."""
    return np.empty((2, 1), dtype=np.int64), np.empty((6, 1, N_MODELS)), np.empty(2)


# One for all threads: a kernel holds the interpreter's lock.
_SMALL = np.zeros(ROOM)


@small_part
def fill_scores(
    bounds: Integers, max_harmonics: Integers, count: int, frequencies: Floats, gains: Floats, window: Floats,
    memory: float, baseline: float, near_a_day: float, cycles_per_harmonic: float, window_penalty: float,
    scores: Floats,
) -> None:  # fmt: skip
    """Fill log-likelihoods minus penalties, both for the effective number of epochs; −∞ for models not allowed.

    A period so near to a day shows a telescope that observes night by night no more cycles than the slow change that it
    would be mistaken for.
    """
    of_epochs, per_number = np.int64(0), 0.0
    for model in range(N_MODELS):
        wanted, penalty, is_determined = MODEL_HARMONICS[model], 0.0, False
        for b in range(bounds.size - 1):
            used = wanted if wanted < max_harmonics[b] else max_harmonics[b]
            is_determined = is_determined or used == wanted
            if bounds[b + 1] - bounds[b] != of_epochs:
                of_epochs = bounds[b + 1] - bounds[b]
                effective = of_epochs / memory
                per_number = math.log(effective if effective > 3.0 else 3.0)
            penalty += used * per_number
        for place in range(count):
            beside = abs(frequencies[place, model] - 1.0)
            is_nearly_a_day = beside < near_a_day
            seen = beside if is_nearly_a_day else frequencies[place, model]
            most = seen * baseline / cycles_per_harmonic
            is_allowed = is_determined and (most >= MODEL_HIGHEST[model] or MODEL_HIGHEST[model] == 1)
            scores[place, model] = -np.inf
            if is_allowed and gains[place, model] > 0.0:
                scores[place, model] = gains[place, model] / memory - penalty - window_penalty * window[place]
                scores[place, model] -= NEARLY_A_DAY_IS_RARE if is_nearly_a_day else 0.0


@small_part
def fill_best(scores: Floats, count: int, wanted: int, places: Integers) -> None:
    """Fill the candidates with the highest scores, highest first, and in the second row the best model of each."""
    kept = 0
    for place in range(count):
        model = 0
        for other in range(1, scores.shape[1]):
            if scores[place, other] > scores[place, model]:
                model = other
        rank = kept
        while rank > 0 and scores[place, model] > scores[places[0, rank - 1], places[1, rank - 1]]:
            if rank < wanted:
                places[0, rank], places[1, rank] = places[0, rank - 1], places[1, rank - 1]
            rank -= 1
        if rank < wanted:
            places[0, rank], places[1, rank] = place, model
        kept += 1 if kept < wanted else 0


@small_part
def _correlation_length(epochs: Floats, w: Floats, bounds: Integers) -> float:
    """Return 1 + 2 Σ autocorrelation of the residuals in units of their errors, the mean of all bands' epochs."""
    total = 0.0
    for b in range(bounds.size - 1):
        begin, end = bounds[b], bounds[b + 1]
        n = end - begin
        variance = 0.0
        for i in range(begin, end):
            scaled = epochs[RESIDUALS, i] * math.sqrt(w[i])
            epochs[SCALED, i] = scaled
            variance += scaled * scaled
        length = 1.0
        longest = n // 3 if n // 3 < LONGEST_LAG else LONGEST_LAG
        for lag in range(1, longest if variance > 0.0 else 1):
            correlation = 0.0
            for i in range(begin, end - lag):
                correlation += epochs[SCALED, i + lag] * epochs[SCALED, i]
            correlation /= variance
            if correlation < 1.0 / math.sqrt(n):
                break
            length += 2.0 * correlation
        total += length * n
    return total / w.size


@part
def fit_all(
    t: Floats, w: Floats, y: Floats, bounds: Integers, max_harmonics: Integers, frequencies: Floats, reaches: Floats,
    count: int, n_points: int, highest: int, model: int, sharpenings: int, sharpened: int, baseline: float,
    near_a_day: float, cycles_per_harmonic: float, window_penalty: float, is_rough: bool, epochs: Floats,
    rough: Singles, small: Floats, coefficients: Floats, places: Integers, table: Floats, window: Floats,
) -> float:  # fmt: skip
    """Fit every model with harmonics up to `highest` at `n_points` frequencies around each of `count` candidates.

    Of each candidate and model the best frequency and its log-likelihood above a constant's, summed over bands,
    ½ n ln(χ²₀/χ²), the noise level being free, go to the first two rows of `table`, and the spectral window's power, 0
    to 1, to `window`. With a model instead of `NO_MODEL`, its residuals (magnitudes) at the first frequency and its
    coefficients are filled, and how many epochs tell as much as one independent epoch is returned.

    `sharpened` of the candidates, the best by the rules of `fill_scores`, are fitted again, `sharpenings` times ever
    closer to their tops, and more often where that still gains something: strong signals with many harmonics have tops
    much narrower than a peak of the scan, and without this, chance on the grid would decide between them. One loop for
    all, because it holds the one place where models are fitted: first every candidate; then, for each sharpening, the
    best sine, whose residuals measure the noise's memory, and the best candidates.

    Rough fits, of at most `FEW_HARMONICS`, take their sums in single precision, which is twice as fast: enough to tell
    which candidates are worth exact ones.
    """
    n, n_bands = t.size, bounds.size - 1
    # A number that the compiler does not know: loops over lanes of known length would be no SIMD.
    width = small.size * LANES // ROOM
    sums, normal, tail = small[SUMS:NORMAL], small[NORMAL:TAIL], small[TAIL:PIVOTS]
    pivots, shares, reductions = small[PIVOTS:SHARES], small[SHARES:REDUCTIONS], small[REDUCTIONS:EVEN_REDUCTIONS]
    even_reductions, tail_reductions = small[EVEN_REDUCTIONS:TAIL_REDUCTIONS], small[TAIL_REDUCTIONS:OF_EVEN_MODELS]
    of_even_models, fits = small[OF_EVEN_MODELS:SIDE_BY_SIDE], small[SIDE_BY_SIDE:ROOM]
    best_frequency, best_gain, scores, least_left, sharpened_at = table[0], table[1], table[2], table[3], table[4]
    gain_before = table[5]
    most_of_all = np.int64(0)
    for b in range(n_bands):
        most_of_all = max_harmonics[b] if max_harmonics[b] > most_of_all else most_of_all
        total = 0.0
        for i in range(bounds[b], bounds[b + 1]):
            total += w[i] * y[i] * y[i]
        coefficients[b, WHOLE] = total
    for i in range(n if is_rough else 0):
        rough[WEIGHTS, i], rough[MAGNITUDES, i] = w[i], y[i]
    for candidate in range(count):
        window[candidate] = 0.0
        for each in range(N_MODELS):
            best_frequency[candidate, each], best_gain[candidate, each] = 0.0, -np.inf
            least_left[candidate, each] = np.inf
    memory, step, shrinking = 1.0, -1.0, 1.0
    for turn in range(1 + 2 * MOST_SHARPENINGS if sharpenings > 0 else 1):
        items, points, most_harmonics, residual_model = count, n_points, highest, model
        if turn % 2 == 1:
            items, points, most_harmonics, residual_model = 1, 1, 1, ONE_SINE
            places[0, 0], places[1, 0] = 0, ONE_SINE
            for candidate in range(count):
                if best_gain[candidate, ONE_SINE] > best_gain[places[0, 0], ONE_SINE]:
                    places[0, 0] = candidate
        elif turn > 0:
            shrinking *= 2.0 / (points - 1) if turn == 2 else 2.0 / (SHARPENING_POINTS - 1)
            items = sharpened if sharpened < count else count
            points, residual_model = SHARPENING_POINTS, NO_MODEL
        gathered = np.int64(0)
        for item in range(items):
            candidate = places[0, item] if turn > 0 else item
            centre = best_frequency[candidate, places[1, item]] if turn > 0 else frequencies[item]
            reach = shrinking * reaches[candidate] if points > 1 else 0.0
            if turn > 0 and turn % 2 == 0:
                # Where its neighbours to both sides are known, only what lies between is new.
                is_inside = abs(centre - frequencies[candidate]) < INSIDE * reaches[candidate]
                is_near = turn == 2 or abs(centre - sharpened_at[candidate, 0]) < 2.0 * INSIDE * reach
                is_between = is_inside and is_near
                points, reach = 2 if is_between else SHARPENING_POINTS, 0.5 * reach if is_between else reach
                sharpened_at[candidate, 0] = centre
                gain_before[candidate, 0] = best_gain[candidate, places[1, item]]
            lowest, wanted_step = centre - reach, 2.0 * reach / (points - 1) if points > 1 else 0.0
            if points > 1 and step != wanted_step:
                # Candidates come in groups of equal reach, so this is rarely done again.
                step = wanted_step
                for i in range(n):
                    epochs[2, i], epochs[3, i] = wave(step * t[i])
                for i in range(n if is_rough else 0):
                    rough[2, i], rough[3, i] = epochs[2, i], epochs[3, i]
            for i in range(n):
                epochs[0, i], epochs[1, i] = wave(lowest * t[i])
            for i in range(n if is_rough else 0):
                rough[0, i], rough[1, i] = epochs[0, i], epochs[1, i]
            for point in range(points):
                for b in range(n_bands):
                    lo, hi, most = bounds[b], bounds[b + 1], max_harmonics[b]
                    needed = most if most < most_harmonics and residual_model == NO_MODEL else most_harmonics
                    for chain in range(1, CHAIN_HIGHEST.size):
                        is_fitted = CHAIN_HIGHEST[chain] <= most_harmonics and CHAIN_SHORTEST[chain] <= most
                        if is_fitted and CHAIN_HIGHEST[chain] > needed:
                            needed = CHAIN_HIGHEST[chain]
                    if is_rough:
                        fill_few_moments(rough, rough[WEIGHTS], rough[MAGNITUDES], lo, hi, sums, gathered)
                    else:
                        fill_moments(epochs, w, y, lo, hi, needed, sums, gathered)
                    if turn == 0 and point == points // 2:
                        c, s = sums[COSINES + LANES + gathered], sums[SINES + LANES + gathered]
                        window[candidate] += (c * c + s * s) * (hi - lo) / n
                    if residual_model != NO_MODEL:
                        _subtract(
                            residual_model, most, epochs, w, y, b, lo, hi, sums, normal, pivots, shares, reductions,
                            fits, coefficients,
                        )  # fmt: skip
                        continue
                    fits[CANDIDATE + gathered], fits[BAND + gathered] = candidate, b
                    fits[FREQUENCY + gathered] = lowest + point * step
                    gathered += 1
                    is_last = item == items - 1 and point == points - 1 and b == n_bands - 1
                    if gathered == LANES or is_last:
                        reduce(
                            sums, most_harmonics, most_of_all, normal, tail, pivots, shares, reductions,
                            even_reductions, tail_reductions, of_even_models, width,
                        )  # fmt: skip
                        if n_bands == 1:
                            _keep_least_left(
                                most, most_harmonics, gathered, coefficients[0, WHOLE], reductions, of_even_models,
                                fits, best_frequency, least_left, width,
                            )  # fmt: skip
                        else:
                            _keep_best(
                                bounds, max_harmonics, most_harmonics, gathered, coefficients, reductions,
                                of_even_models, fits, best_frequency, best_gain,
                            )  # fmt: skip
                        gathered = np.int64(0)
                if residual_model != NO_MODEL or point == points - 1:
                    continue
                for i in range(n if is_rough else 0):
                    rough_c, rough_s = rough[0, i], rough[1, i]
                    rough[0, i] = rough_c * rough[2, i] - rough_s * rough[3, i]
                    rough[1, i] = rough_s * rough[2, i] + rough_c * rough[3, i]
                for i in range(0 if is_rough else n):
                    c, s = epochs[0, i], epochs[1, i]
                    epochs[0, i] = c * epochs[2, i] - s * epochs[3, i]
                    epochs[1, i] = s * epochs[2, i] + c * epochs[3, i]
        if n_bands == 1 and residual_model == NO_MODEL:
            for item in range(items):
                candidate = places[0, item] if turn > 0 else item
                _fill_gains(n, least_left[candidate], best_gain[candidate])
        if residual_model != NO_MODEL:
            memory = _correlation_length(epochs, w, bounds)
        if turn > 0 and turn % 2 == 0 and turn >= 2 * sharpenings:
            gained = 0.0
            for item in range(items):
                more = best_gain[places[0, item], places[1, item]] - gain_before[places[0, item], 0]
                gained = more if more > gained else gained
            if gained < NEAR_THE_TOP * memory:
                break
        if turn % 2 == 1:
            fill_scores(
                bounds, max_harmonics, count, best_frequency, best_gain, window, memory, baseline, near_a_day,
                cycles_per_harmonic, window_penalty, scores,
            )  # fmt: skip
            fill_best(scores, count, sharpened, places)
    return memory


@small_part
def _keep_best(
    bounds: Integers, max_harmonics: Integers, highest: int, count: int, coefficients: Floats, reductions: Floats,
    of_even_models: Floats, fits: Floats, best_frequency: Floats, best_gain: Floats,
) -> None:  # fmt: skip
    """Add the gains of the fits side by side over their bands, and keep each candidate's and model's best."""
    for lane in range(count):
        b, candidate = np.int64(fits[BAND + lane]), np.int64(fits[CANDIDATE + lane])
        n, most = bounds[b + 1] - bounds[b], max_harmonics[b]
        if b == 0:
            for each in range(N_MODELS):
                fits[GAINS + each] = 0.0
        gain, of_reduction, reduced = 0.0, 0.0, -1.0
        for each in range(N_MODELS):
            if each >= HIGHEST_HARMONIC:
                told = of_even_models[(each - HIGHEST_HARMONIC) * LANES + lane]
                reduced = told if MODEL_HARMONICS[each] <= most else -1.0
            elif each < most and each < highest:
                # Beyond what is determined, models are all alike.
                told = reductions[(each + 1) * LANES + lane]
                reduced = told if told > -np.inf else reduced
            if not reduced >= 0.0:
                continue
            if reduced != of_reduction:
                of_reduction = reduced
                left = 1.0 - of_reduction / coefficients[b, WHOLE]
                if not left > 1.0 / LARGEST_GAIN_RATIO:
                    left = 1.0 / LARGEST_GAIN_RATIO
                gain = -0.5 * n * math.log(left)
            fits[GAINS + each] += gain
        if b < bounds.size - 2:
            continue
        for each in range(N_MODELS):
            if fits[GAINS + each] > best_gain[candidate, each]:
                best_gain[candidate, each] = fits[GAINS + each]
                best_frequency[candidate, each] = fits[FREQUENCY + lane]


@apart_part
def _keep_least_left(
    most: int, highest: int, count: int, whole: float, reductions: Floats, of_even_models: Floats, fits: Floats,
    best_frequency: Floats, least_left: Floats, width: int,
) -> None:  # fmt: skip
    """Keep each candidate's and model's best of the fits side by side, of a band with epochs for `most` harmonics.

    It is the only band. What is left of the squares tells which fit is the best: a logarithm of each would cost as much
    as the fits of sparse curves, and so would a branch, which the processor guesses wrong as often as not. Models that
    the band has no epochs for, or that need harmonics beyond the highest, are left out: simpler ones reduce as much.
    """
    least_of_all = 1.0 / LARGEST_GAIN_RATIO
    for lane in range(width):
        reductions[lane] = np.inf
    for each in range(N_MODELS):
        if MODEL_HARMONICS[each] > most or MODEL_HIGHEST[each] > highest:
            continue
        if each < HIGHEST_HARMONIC:
            at = (each + 1) * LANES
            for lane in range(width):
                told = reductions[at + lane]
                left = 1.0 - told / whole
                left = left if left > least_of_all else least_of_all
                # Beyond what is determined, models are all alike.
                fits[GAINS + lane] = left if told >= 0.0 else reductions[at - LANES + lane]
            for lane in range(width):
                reductions[at + lane] = fits[GAINS + lane]
        else:
            at = (each - HIGHEST_HARMONIC) * LANES
            for lane in range(width):
                told = of_even_models[at + lane]
                left = 1.0 - told / whole
                left = left if left > least_of_all else least_of_all
                fits[GAINS + lane] = left if told >= 0.0 else np.inf
        begin = 0
        while begin < count:
            candidate, lane, best = fits[CANDIDATE + begin], begin, -1
            least = least_left[np.int64(candidate), each]
            while lane < count and fits[CANDIDATE + lane] == candidate:
                best = lane if fits[GAINS + lane] < least else best
                least = fits[GAINS + lane] if fits[GAINS + lane] < least else least
                lane += 1
            if best >= 0:
                least_left[np.int64(candidate), each] = least
                best_frequency[np.int64(candidate), each] = fits[FREQUENCY + best]
            begin = lane


@small_part
def _fill_gains(n: int, least_left: Floats, gains: Floats) -> None:
    """Fill the gains of a candidate's models from the shares of the squares that they leave in so many epochs."""
    of_share, gain = np.inf, -np.inf
    for each in range(N_MODELS):
        if least_left[each] != of_share:
            of_share = least_left[each]
            gain = -0.5 * n * math.log(of_share)
        gains[each] = gain


@small_part
def _subtract(
    model: int, most: int, epochs: Floats, w: Floats, y: Floats, band: int, begin: int, end: int, sums: Floats,
    normal: Floats, pivots: Floats, shares: Floats, reductions: Floats, fits: Floats, coefficients: Floats,
) -> None:  # fmt: skip
    """Fill a model's residuals and coefficients in a band, which has epochs for `most` harmonics, from its sums."""
    none, one, determined, solution = np.int64(0), np.int64(1), np.int64(0), fits[GAINS:]
    chain, harmonics = CHAINS[MODEL_CHAINS[model]], MODEL_HARMONICS[model]
    harmonics = harmonics if harmonics < most else most
    reductions[0] = 0.0
    fill_normal(sums, chain, harmonics, normal, one)
    eliminate(normal, none, harmonics, harmonics, pivots, shares, reductions, one)
    while determined < harmonics and reductions[(determined + 1) * LANES] > -np.inf:
        determined += 1
    for k in range(2 * HIGHEST_HARMONIC):
        coefficients[band, k] = 0.0
    for turn in range(determined):
        harmonic = determined - 1 - turn
        at = 2 * harmonic * EQUATION
        y_one, y_two = normal[at + RIGHT], normal[at + EQUATION + RIGHT]
        for i in range(2 * harmonic + 2, 2 * determined):
            y_one -= normal[at + i * LANES] * solution[i]
            y_two -= normal[at + EQUATION + i * LANES] * solution[i]
        at += 2 * harmonic * LANES
        a, b, d = normal[at], normal[at + LANES], normal[at + EQUATION + LANES]
        determinant = a * d - b * b
        solution[2 * harmonic] = (d * y_one - b * y_two) / determinant
        solution[2 * harmonic + 1] = (a * y_two - b * y_one) / determinant
    for i in range(begin, end):
        epochs[RESIDUALS, i] = y[i]
    reached = np.int64(HIGHEST_HARMONIC)
    for position in range(determined):
        k = chain[position]
        cosine, sine = solution[2 * position], solution[2 * position + 1]
        coefficients[band, 2 * k - 2], coefficients[band, 2 * k - 1] = cosine, sine
        # On from the harmonic before, unless it is a higher one.
        row, sine_row, turns = (NOW, SINES_NOW, k - reached) if k > reached else (0, 1, k - 1)
        for i in range(begin, end):
            first_c, first_s = epochs[0, i], epochs[1, i]
            c, s = epochs[row, i], epochs[sine_row, i]
            for _ in range(turns):
                c, s = c * first_c - s * first_s, s * first_c + c * first_s
            epochs[NOW, i], epochs[SINES_NOW, i] = c, s
            epochs[RESIDUALS, i] -= cosine * (c - sums[COSINES + k * LANES]) + sine * (s - sums[SINES + k * LANES])
        reached = k
    coefficients[band, LEFT] = 0.0
    for i in range(begin, end):
        coefficients[band, LEFT] += w[i] * epochs[RESIDUALS, i] * epochs[RESIDUALS, i]


@small_part
def fit_model(
    t: Floats, w: Floats, y: Floats, bounds: Integers, max_harmonics: Integers, frequency: float, model: int,
    epochs: Floats, rough: Singles, small: Floats, coefficients: Floats, place: Integers, row: Floats, single: Floats,
) -> float:  # fmt: skip
    """Fill residuals and coefficients of one model at one frequency; return the noise's memory, as `fit_all` does.

    `place` and `row` have room for one candidate, `single` for its frequency and window.
    """
    single[0] = frequency
    one, none, is_rough = np.int64(1), np.int64(0), np.bool_(False)
    return fit_all(
        t, w, y, bounds, max_harmonics, single[0:1], single[0:1], one, one, MODEL_HIGHEST[model], model, none, none,
        0.0, 0.0, 1.0, 0.0, is_rough, epochs, rough, small, coefficients, place, row, single[1:2],
    )  # fmt: skip
