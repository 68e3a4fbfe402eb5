"""Choose one candidate frequency and its number of harmonics by penalised likelihood.

The score is the log-likelihood gain over a constant minus the Bayesian information criterion's penalty, both for
the effective number of epochs: real residuals are correlated (several exposures a night share one calibration,
long-period variables never repeat exactly), and correlated epochs counted in full let a long period with many
harmonics, or twice the true period, fit whatever is left.

Where the two minima of a binary are alike, twice the period cannot win by likelihood. What is left is geometry:
`lcdvt.features.period.shape`. Where a few narrow eclipses are all that varies, harmonics fit at many frequencies:
`lcdvt.features.period.eclipse` then has a word.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from lcdvt.compiled.kernel import small_kernel, small_part
from lcdvt.features.period.eclipse import MAD_TO_SIGMA, EclipseConfig, faint_excess, find_eclipses
from lcdvt.features.period.fit import (
    NO_MODEL,
    ONE_SINE,
    FitWork,
    fill_best,
    fill_scores,
    fit_all,
    fit_model,
    room_for_one,
)
from lcdvt.features.period.fourier import FOUR_HARMONICS, RELATIVE, fill_fourier_parameters, relative_harmonics
from lcdvt.features.period.median import median
from lcdvt.features.period.normal import (
    FEW_HARMONICS,
    HIGHEST_HARMONIC,
    MODEL_HARMONICS,
    MODEL_HIGHEST,
    N_MODELS,
    RESIDUALS,
    SCALED,
    Floats,
    Integers,
    Singles,
)
from lcdvt.features.period.scan import Candidates
from lcdvt.features.period.shape import TWO_HARMONICS, DoubleWavePrior, double_wave_log_odds
from lcdvt.features.period.significance import LANE_ROWS, LANES, false_alarm
from lcdvt.features.period.stars import BASELINE, HIGHEST, INDEPENDENT, LOWEST, NEAR_A_DAY, Stars

# About halves and doubles, a matter of how minima differ, eclipses do not argue: harmonics know more of the shape.
SAME_PERIOD = np.array((0.25, 0.5, 1.0, 2.0, 4.0))
# A band with fewer epochs keeps its outliers: they may be all that varies.
FEWEST_REWEIGHTED: Final = 20
# Where the best fit leaves half of the variance, outliers may be what it fits: another finalist tells them better if
# most epochs lie half as far from it as from the best fit and from a constant. Both per epoch, of the log-likelihood
# and of the distance's logarithm.
EXPLAINS_HALF, HALF_AS_FAR = 0.5 * math.log(2.0), math.log(2.0)


@dataclass(frozen=True)
class ChoiceConfig:
    """How candidates are compared.

    Attributes
    ----------
    cycles_per_harmonic
        Highest harmonic a model may have is the number of observed cycles over this: a Fourier series over few
        cycles is a smooth curve through the points, not a repetition.
    first_points, final_points
        Frequencies fitted around each candidate, first around all, then around the finalists.
    first_harmonics
        Highest harmonic of the first, quick comparison.
    finalists
        Candidates compared again with all harmonics, and with outliers weighed down.
    contenders, allowance
        Finalists are out of the race where all their harmonics, before outliers are weighed down, score less than this
        share of the best one's, less the allowance: weights have never made up for half as much.
    sharpened, sharpenings
        How many of them are fitted again at closer frequencies, and how often.
    outlier_sigma
        Beyond this many robust standard deviations a residual's weight falls with its square.
    window_penalty
        Log-likelihood taken from a candidate where the spectral window is 1, less where it is lower: at a period
        of one day or one year the sampling itself imitates periodicity.
    double_wave
        The prior for waves that are half a binary's orbit.
    eclipses
        When eclipses may overrule the harmonics.
    """

    cycles_per_harmonic: float = 3.0
    first_points: int = 5
    first_harmonics: int = 4
    final_points: int = 7
    finalists: int = 12
    contenders: float = 0.5
    allowance: float = 15.0
    sharpened: int = 6
    sharpenings: int = 2
    outlier_sigma: float = 3.0
    window_penalty: float = 2.0
    double_wave: DoubleWavePrior = field(default_factory=DoubleWavePrior)
    eclipses: EclipseConfig = field(default_factory=EclipseConfig)

    @cached_property
    def rules(self) -> Floats:
        """All numbers in the order in which the kernel gets them."""
        wave, eclipses = self.double_wave, self.eclipses
        return np.array(
            (
                self.cycles_per_harmonic,
                self.first_points,
                self.first_harmonics,
                self.final_points,
                self.contenders,
                self.allowance,
                self.sharpened,
                self.sharpenings,
                self.outlier_sigma,
                self.window_penalty,
                wave.max_half_period if wave.enabled else -math.inf,
                wave.max_amplitude,
                *wave.symmetric_pulsators,
                wave.binary_log_odds,
                *wave.bounds,
                eclipses.faint_sigma,
                eclipses.faint_variance,
                eclipses.faint_epochs,
                eclipses.most_faint_epochs,
                eclipses.faint_share,
            )
        )


class Choices(NamedTuple):
    """The chosen frequencies of stars, their models, and what is told of them.

    Attributes
    ----------
    frequency, model
        Cycles a day, and which of the models of `fit`, `NO_MODEL` where nothing can be fitted.
    described
        A row for each star: false-alarm value, share of the variance that the model explains, and the Fourier
        parameters: amplitude, R21, φ21, R31, φ31.
    """

    frequency: Floats
    model: Integers
    described: Floats


class ChoiceRoom(NamedTuple):
    """Arrays that the choice fills: those of the fits, those of `fit_model`, and the following.

    Attributes
    ----------
    finalists
        Their frequencies and how far to look around them.
    relative
        What is known of the harmonics relative to the first.
    robust
        Weights and magnitudes without outliers.
    lanes
        For the filters of the false-alarm value.
    """

    epochs: Floats
    rough: Singles
    small: Floats
    coefficients: Floats
    places: Integers
    table: Floats
    window: Floats
    place: Integers
    row: Floats
    single: Floats
    finalists: Floats
    relative: Floats
    robust: Floats
    lanes: Floats

    @classmethod
    def of(cls, stars: Stars, candidates: int, finalists: int) -> "ChoiceRoom":
        """Return arrays that do for each of the stars, with so many candidates, of which so many are finalists."""
        epochs, bands = int(stars.bounds.max(initial=0)), stars.max_harmonics.shape[1]
        return cls(
            *FitWork.of(epochs, bands, max(candidates, 2)),
            *room_for_one(),
            np.empty((2, finalists + 1)),
            np.empty(RELATIVE),
            np.empty((2, epochs)),
            np.empty(LANE_ROWS * LANES),
        )


class ChoiceResults(NamedTuple):
    """What the choice finds.

    Attributes
    ----------
    found
        A row for each star: the chosen frequency, the noise's memory, and whether there may be eclipses.
    model, described
        As in `Choices`.
    excess
        By how much faint epochs are fainter than the median, star after star as the magnitudes.
    """

    found: Floats
    model: Integers
    described: Floats
    excess: Floats

    @classmethod
    def of(cls, stars: Stars) -> "ChoiceResults":
        """Return arrays to be filled."""
        number = len(stars.starts)
        return cls(
            np.zeros((number, FOUND)),
            np.empty(number, dtype=np.int64),
            np.empty((number, DESCRIBED)),
            np.empty(stars.t.size),
        )


# Of what is told of the chosen period: where the Fourier parameters begin, and how many numbers.
SHAPE, DESCRIBED = 2, 7
# Columns of `ChoiceResults.found`, and how many.
FREQUENCY, MEMORY, MAY_ECLIPSE, FOUND = range(4)
# Where `ChoiceConfig.rules` has its numbers.
(
    CYCLES_PER_HARMONIC, FIRST_POINTS, FIRST_HARMONICS, FINAL_POINTS, CONTENDERS, ALLOWANCE, SHARPENED, SHARPENINGS,
    OUTLIER_SIGMA, WINDOW_PENALTY, MAX_HALF_PERIOD, MAX_AMPLITUDE, SHORTEST_SYMMETRIC, LONGEST_SYMMETRIC,
    BINARY_LOG_ODDS, LEAST_LOG_ODDS, MOST_LOG_ODDS, FAINT_SIGMA, FAINT_VARIANCE, FAINT_EPOCHS, MOST_FAINT_EPOCHS,
    FAINT_SHARE,
) = range(22)  # fmt: skip


def choose_frequencies(stars: Stars, candidates: Candidates, config: ChoiceConfig) -> Choices:
    """Compare all candidates of each star, then the best again without their outliers.

    Parameters
    ----------
    stars
        The light curves, and which frequencies may be chosen.
    candidates
        Frequencies, and how far to each side the best one may lie.
    config
        How candidates are compared.
    """
    room = ChoiceRoom.of(stars, candidates.frequencies.shape[1], config.finalists)
    results, nothing_known = ChoiceResults.of(stars), 0.0
    _choose_all(*stars[:-1], *candidates, nothing_known, config.rules, LANES, *room, *results)
    choices = Choices(results.found[:, FREQUENCY], results.model, results.described)
    for star in np.flatnonzero(results.found[:, MAY_ECLIPSE]).tolist():
        _let_eclipses_argue(stars, candidates, star, results, room, config)
    return choices


def _let_eclipses_argue(
    stars: Stars, candidates: Candidates, star: int, results: ChoiceResults, room: ChoiceRoom, config: ChoiceConfig
) -> None:
    """Fill what eclipses tell of a star instead of what harmonics do, where they fit better."""
    bands, begin, count = stars.bands(star), int(stars.starts[star]), int(candidates.counts[star])
    baseline, lowest, highest = stars.numbers[star, [BASELINE, LOWEST, HIGHEST]].tolist()
    frequency, memory, _ = results.found[star].tolist()
    tried = candidates.frequencies[star, :count], candidates.reaches[star, :count]
    excess = results.excess[begin : begin + bands.t.size]
    found = find_eclipses(bands, excess, tried, baseline, (lowest, highest), memory, frequency, config.eclipses)
    if found is None or np.any(np.abs(found.frequency / frequency * SAME_PERIOD - 1.0) < 0.01):
        return
    rivals = Candidates(
        np.array(((frequency, found.frequency),)), np.full((1, 2), 0.05 / baseline), np.full(1, 2, dtype=np.int64)
    )
    compared = ChoiceResults.of(stars.only(star))
    _choose_all(*stars.only(star)[:-1], *rivals, memory, config.rules, LANES, *room, *compared)
    if found.score >= compared.found[0, FREQUENCY] + config.eclipses.margin:
        results.found[star, FREQUENCY] = found.frequency
        results.model[star], results.described[star] = compared.model[0], compared.described[0]


@small_kernel
def _choose_all(
    t: Floats, w: Floats, y: Floats, starts: Integers, bounds: Integers, max_harmonics: Integers, n_bands: Integers,
    numbers: Floats, candidates: Floats, reaches: Floats, counts: Integers, known_memory: float, rules: Floats,
    width: int, epochs: Floats, rough: Singles, small: Floats, coefficients: Floats, places: Integers, table: Floats,
    window: Floats, place: Integers, row: Floats, single: Floats, finalists: Floats, relative: Floats, robust: Floats,
    lanes: Floats, found: Floats, models: Integers, described: Floats, excess: Floats,
) -> None:  # fmt: skip
    """Fill the results of each star."""
    for star in range(starts.size):
        models[star] = NO_MODEL
        bands, count = n_bands[star], counts[star]
        if bands == 0 or count == 0:
            continue
        begin = starts[star]
        end = begin + bounds[star, bands]
        models[star] = _choose(
            t[begin:end], w[begin:end], y[begin:end], bounds[star][: bands + 1], max_harmonics[star][:bands],
            candidates[star][:count], reaches[star][:count], numbers[star], known_memory, rules, width, epochs, rough,
            small, coefficients, places, table, window, place, row, single, finalists, relative,
            robust[0][: end - begin], robust[1][: end - begin], excess[begin:end], lanes, found[star], described[star],
        )  # fmt: skip


@small_part
def _highest(scores: Floats, count: int) -> tuple[np.int64, np.int64]:
    """Return the candidate and the model with the highest score."""
    place, model = np.int64(0), np.int64(0)
    for candidate in range(count):
        for each in range(N_MODELS):
            if scores[candidate, each] > scores[place, model]:
                place, model = np.int64(candidate), np.int64(each)
    return place, model


@small_part
def _has_more_models(max_harmonics: Integers, highest: int) -> bool:
    """Say whether any band has epochs for a model that needs harmonics beyond the highest one."""
    for most in max_harmonics:
        for model in range(N_MODELS):
            if MODEL_HARMONICS[model] <= most and MODEL_HIGHEST[model] > highest:
                return True
    return False


@small_part
def _best_sine(gains: Floats, count: int) -> np.int64:
    best = np.int64(0)
    for candidate in range(count):
        if gains[candidate, ONE_SINE] > gains[best, ONE_SINE]:
            best = np.int64(candidate)
    return best


@small_part
def _usual_distance(values: Floats, w: Floats, bounds: Integers, epochs: Floats) -> float:
    """Return Σ n ln(median absolute value in units of the errors) over the bands."""
    work, total = epochs[SCALED], 0.0
    for b in range(bounds.size - 1):
        begin, end = bounds[b], bounds[b + 1]
        for i in range(begin, end):
            work[i] = values[i] * math.sqrt(w[i])
        middle = median(work, begin, end)
        for i in range(begin, end):
            work[i] = abs(values[i] * math.sqrt(w[i]) - middle)
        total += (end - begin) * math.log(median(work, begin, end))
    return total


@small_part
def _reweigh(
    w: Floats, y: Floats, bounds: Integers, outlier_sigma: float, epochs: Floats, robust_w: Floats, robust_y: Floats
) -> None:
    """Fill weights and magnitudes with residuals far outside weighed down, so that one bad night decides nothing."""
    work = epochs[SCALED]
    for b in range(bounds.size - 1):
        begin, end = bounds[b], bounds[b + 1]
        for i in range(begin, end):
            robust_w[i], robust_y[i] = w[i], y[i]
            epochs[RESIDUALS, i] *= math.sqrt(w[i])
            work[i] = epochs[RESIDUALS, i]
        if end - begin < FEWEST_REWEIGHTED:
            continue
        middle = median(work, begin, end)
        for i in range(begin, end):
            work[i] = abs(epochs[RESIDUALS, i] - middle)
        limit = outlier_sigma * MAD_TO_SIGMA * median(work, begin, end)
        if limit == 0.0:
            continue
        total, mean = 0.0, 0.0
        for i in range(begin, end):
            excess = abs(epochs[RESIDUALS, i]) / limit
            if excess > 1.0:
                robust_w[i] /= excess * excess
            total += robust_w[i]
        for i in range(begin, end):
            robust_w[i] /= total
            mean += robust_w[i] * y[i]
        for i in range(begin, end):
            robust_y[i] -= mean


@small_part
def _choose(
    t: Floats, w: Floats, y: Floats, bounds: Integers, max_harmonics: Integers, candidates: Floats, reaches: Floats,
    numbers: Floats, known_memory: float, rules: Floats, width: int, epochs: Floats, rough: Singles, small: Floats,
    coefficients: Floats, places: Integers, table: Floats, window: Floats, place: Integers, row: Floats, single: Floats,
    finalists: Floats, relative: Floats, robust_w: Floats, robust_y: Floats, excess: Floats, lanes: Floats,
    found: Floats, described: Floats,
) -> np.int64:  # fmt: skip
    """Fill the chosen frequency, the noise's memory, whether there may be eclipses, and what is told; return the model.

    Where the noise's memory is known, two rivals are compared instead: the first one's score is filled, and the second
    one's best model told of and returned. All in one, because the fits are most of what there is to compile.
    """
    baseline, n_independent = numbers[BASELINE], numbers[INDEPENDENT]
    lowest, highest, near_a_day = numbers[LOWEST], numbers[HIGHEST], numbers[NEAR_A_DAY]
    no_model, sine, two_harmonics, none = np.int64(NO_MODEL), np.int64(ONE_SINE), np.int64(TWO_HARMONICS), np.int64(0)
    all_harmonics, first_harmonics = np.int64(HIGHEST_HARMONIC), np.int64(rules[FIRST_HARMONICS])
    first_points, final_points = np.int64(rules[FIRST_POINTS]), np.int64(rules[FINAL_POINTS])
    sharpened, sharpenings = np.int64(rules[SHARPENED]), np.int64(rules[SHARPENINGS])
    cycles, penalty, count = rules[CYCLES_PER_HARMONIC], rules[WINDOW_PENALTY], candidates.size
    frequencies, gains, scores, is_rough = table[0], table[1], table[2], np.bool_(False)
    if known_memory > 0.0:
        fit_all(
            t, w, y, bounds, max_harmonics, candidates, reaches, count, final_points, all_harmonics, no_model,
            sharpenings, sharpened, baseline, near_a_day, cycles, penalty, is_rough, epochs, rough, small, coefficients,
            places, table, window,
        )  # fmt: skip
        fill_scores(
            bounds, max_harmonics, count, frequencies, gains, window, known_memory, baseline, near_a_day, cycles,
            penalty, scores,
        )  # fmt: skip
        fill_best(scores, count, count, places)
        found[FREQUENCY] = -np.inf
        chosen = no_model
        for rank in range(count):
            if places[0, rank] == 0:
                found[FREQUENCY] = scores[0, places[1, rank]]
            else:
                chosen = places[1, rank]
        _describe(
            t, w, y, bounds, max_harmonics, candidates[1], chosen, baseline, n_independent, epochs, rough, small,
            coefficients, place, row, single, relative, lanes, width, described,
        )  # fmt: skip
        return chosen
    has_more_models = _has_more_models(max_harmonics, first_harmonics)
    # Where finalists are fitted again, the first fits only tell which of the candidates they are.
    is_first_rough = has_more_models and first_harmonics <= FEW_HARMONICS
    fit_all(
        t, w, y, bounds, max_harmonics, candidates, reaches, count, first_points, first_harmonics, no_model, none, none,
        baseline, near_a_day, cycles, penalty, is_first_rough, epochs, rough, small, coefficients, places, table,
        window,
    )  # fmt: skip
    best = _best_sine(gains, count)
    memory = fit_model(
        t, w, y, bounds, max_harmonics, frequencies[best, ONE_SINE], sine, epochs, rough, small, coefficients, place,
        row, single,
    )  # fmt: skip
    fill_scores(
        bounds, max_harmonics, count, frequencies, gains, window, memory, baseline, near_a_day, cycles, penalty, scores
    )
    at, model = _highest(scores, count)
    if not scores[at, model] > -np.inf:
        return no_model
    wanted = finalists.shape[1] - 1
    fill_best(scores, count, wanted, places)
    # The best sine stays in: its residuals measure the noise's memory.
    kept = np.int64(0)
    for candidate in range(count):
        is_kept = candidate == best
        for rank in range(wanted if wanted < count else count):
            is_kept = is_kept or places[0, rank] == candidate
        if is_kept:
            finalists[0, kept], finalists[1, kept] = candidates[candidate], reaches[candidate]
            window[kept] = window[candidate]
            for each in range(N_MODELS):
                frequencies[kept, each], gains[kept, each] = frequencies[candidate, each], gains[candidate, each]
            kept += 1
    # Where there are no more models, these fits would be the first ones again.
    again = kept if has_more_models else none
    fit_all(
        t, w, y, bounds, max_harmonics, finalists[0], finalists[1], again, first_points, all_harmonics, no_model, none,
        none, baseline, near_a_day, cycles, penalty, is_rough, epochs, rough, small, coefficients, places, table,
        window,
    )  # fmt: skip
    # As if residuals were independent: the best of them leaves the least signal in its residuals.
    fill_scores(bounds, max_harmonics, kept, frequencies, gains, window, 1.0, baseline, near_a_day, cycles, 0.0, scores)
    at, model = _highest(scores, kept)
    best, contenders = _best_sine(gains, kept), np.int64(0)
    least, of_weights = rules[CONTENDERS] * scores[at, model] - rules[ALLOWANCE], frequencies[at, model]
    fit_model(t, w, y, bounds, max_harmonics, of_weights, model, epochs, rough, small, coefficients, place, row, single)
    is_doubtful, closest = gains[at, model] < EXPLAINS_HALF * t.size, -np.inf
    if is_doubtful:
        for i in range(t.size):
            robust_y[i] = y[i]
        closest, from_constant = (
            _usual_distance(epochs[RESIDUALS], w, bounds, epochs),
            _usual_distance(robust_y, w, bounds, epochs),
        )
        closest = from_constant if from_constant < closest else closest
        closest -= HALF_AS_FAR * t.size
    fill_best(scores, kept, kept, places)
    for candidate in range(kept):
        of_candidate = model
        for rank in range(kept):
            of_candidate = places[1, rank] if places[0, rank] == candidate else of_candidate
        is_contender = scores[candidate, of_candidate] >= least
        if is_contender and is_doubtful:
            frequency = frequencies[candidate, of_candidate]
            fit_model(
                t, w, y, bounds, max_harmonics, frequency, of_candidate, epochs, rough, small, coefficients, place, row,
                single,
            )  # fmt: skip
            distance = _usual_distance(epochs[RESIDUALS], w, bounds, epochs)
            if distance < closest:
                closest, of_weights, model = distance, frequency, of_candidate
        if is_contender or candidate == best:
            finalists[0, contenders], finalists[1, contenders] = finalists[0, candidate], finalists[1, candidate]
            contenders += 1
    kept = contenders
    if is_doubtful:
        fit_model(
            t, w, y, bounds, max_harmonics, of_weights, model, epochs, rough, small, coefficients, place, row, single
        )
    _reweigh(w, y, bounds, rules[OUTLIER_SIGMA], epochs, robust_w, robust_y)
    is_eclipsing = faint_excess(
        w, y, bounds, rules[FAINT_SIGMA], rules[FAINT_VARIANCE], rules[FAINT_EPOCHS], rules[MOST_FAINT_EPOCHS],
        rules[FAINT_SHARE], epochs[SCALED], excess,
    )  # fmt: skip
    w, y = robust_w, robust_y
    fit_all(
        t, w, y, bounds, max_harmonics, finalists[0], finalists[1], kept, final_points, all_harmonics, no_model,
        sharpenings, sharpened, baseline, near_a_day, cycles, penalty, is_rough, epochs, rough, small, coefficients,
        places, table, window,
    )  # fmt: skip
    best = _best_sine(gains, kept)
    memory = fit_model(
        t, w, y, bounds, max_harmonics, frequencies[best, ONE_SINE], sine, epochs, rough, small, coefficients, place,
        row, single,
    )  # fmt: skip
    fill_scores(
        bounds, max_harmonics, kept, frequencies, gains, window, memory, baseline, near_a_day, cycles, penalty, scores
    )
    at, model = _highest(scores, kept)
    frequency, score = frequencies[at, model], scores[at, model]

    # The winner against twice and half its period, with the prior of the wave's shape.
    two = np.int64(2)
    finalists[0, 0], finalists[1, 0] = 0.5 * frequency, 0.1 / baseline
    finalists[0, 1], finalists[1, 1] = 2.0 * frequency, 0.2 / baseline
    fit_all(
        t, w, y, bounds, max_harmonics, finalists[0], finalists[1], two, final_points, all_harmonics, no_model,
        sharpenings, sharpened, baseline, near_a_day, cycles, penalty, is_rough, epochs, rough, small, coefficients,
        places, table, window,
    )  # fmt: skip
    fill_scores(
        bounds, max_harmonics, two, frequencies, gains, window, memory, baseline, near_a_day, cycles, penalty, scores
    )
    fill_best(scores, two, two, places)
    for other in range(2):
        of_other = places[1, 0] if places[0, 0] == other else places[1, 1]
        half, other_score = frequency if other == 0 else frequencies[other, of_other], scores[other, of_other]
        is_inside = finalists[0, other] >= lowest if other == 0 else finalists[0, other] <= highest
        if not (is_inside and other_score > -np.inf and 1.0 / half <= rules[MAX_HALF_PERIOD]):
            continue
        fit_model(
            t, w, y, bounds, max_harmonics, half, two_harmonics, epochs, rough, small, coefficients, place, row, single
        )
        relative_harmonics(bounds, coefficients, relative)
        log_odds = double_wave_log_odds(
            1.0 / half, relative, rules[MAX_AMPLITUDE], rules[SHORTEST_SYMMETRIC], rules[LONGEST_SYMMETRIC],
            rules[BINARY_LOG_ODDS], rules[LEAST_LOG_ODDS], rules[MOST_LOG_ODDS],
        )  # fmt: skip
        # The one with the longer period is the one that the shape speaks for.
        is_better = other_score + log_odds > score if other == 0 else score + log_odds < other_score
        if is_better:
            frequency, model = frequencies[other, of_other], of_other
            break

    # The top of the chosen model's likelihood.
    reach, one = 0.05 / baseline, np.int64(1)
    for _ in range(2):
        finalists[0, 0], finalists[1, 0] = frequency, reach
        fit_all(
            t, w, y, bounds, max_harmonics, finalists[0], finalists[1], one, final_points, MODEL_HIGHEST[model],
            no_model, none, none, baseline, near_a_day, cycles, penalty, is_rough, epochs, rough, small, coefficients,
            places, table, window,
        )  # fmt: skip
        frequency = frequencies[0, model]
        reach *= 2.0 / (final_points - 1)
    # A candidate at the range's edge may have its top beyond it.
    frequency = lowest if frequency < lowest else (frequency if frequency < highest else highest)
    found[FREQUENCY], found[MEMORY], found[MAY_ECLIPSE] = frequency, memory, 1.0 if is_eclipsing else 0.0
    _describe(
        t, w, y, bounds, max_harmonics, frequency, model, baseline, n_independent, epochs, rough, small, coefficients,
        place, row, single, relative, lanes, width, described,
    )  # fmt: skip
    return model


@small_part
def _describe(
    t: Floats, w: Floats, y: Floats, bounds: Integers, max_harmonics: Integers, frequency: float, model: int,
    baseline: float, n_independent: float, epochs: Floats, rough: Singles, small: Floats, coefficients: Floats,
    place: Integers, row: Floats, single: Floats, relative: Floats, lanes: Floats, width: int, out: Floats,
) -> None:  # fmt: skip
    """Fill the false-alarm value, the share of variance explained, and the Fourier parameters of the chosen model."""
    fit_model(t, w, y, bounds, max_harmonics, frequency, model, epochs, rough, small, coefficients, place, row, single)
    harmonics = MODEL_HARMONICS[model]
    false_alarm(t, w, y, bounds, max_harmonics, epochs, harmonics, baseline, n_independent, lanes, width, out)
    four, shape = np.int64(FOUR_HARMONICS), np.int64(SHAPE)
    fit_model(t, w, y, bounds, max_harmonics, frequency, four, epochs, rough, small, coefficients, place, row, single)
    relative_harmonics(bounds, coefficients, relative)
    fill_fourier_parameters(relative, out, shape)
