"""How often noise would look this periodic: a false-alarm value that red noise cannot buy.

White noise is the wrong null hypothesis for a star: a slow trend, a quasar or an irregular giant is "significant"
at any long period. Here the null hypothesis is a damped random walk plus white noise, fitted to the light curve;
the alternative is the same noise, fitted again to the residuals of the periodic model. Twice the log-likelihood
ratio is χ²-distributed with two degrees of freedom per harmonic and band (Wilks), and the chance is multiplied
over the frequencies searched: a continuous periodogram has about √z times as many chances to exceed a level z
as there are independent frequencies (Baluev 2008, eq. 6).
"""

import math

import numpy as np

from lcdvt.compiled.kernel import inlined_part, part, small_part
from lcdvt.features.period.median import median
from lcdvt.features.period.normal import RESIDUALS, SCALED, Floats, Integers
from lcdvt.features.waves import decay

# Correlation times tried: this many, in equal ratios from the shortest usual gap to a quarter of the baseline.
N_CORRELATION_TIMES = 7
# Shares of the variance that the random walk may have; 0 is white noise alone. The last stands twice, so that they are
# as many as the processor takes at a time.
RANDOM_WALK_SHARES = np.array((0.0, 0.1, 0.3, 0.6, 0.85, 0.95, 0.99, 0.99))
# The product of so many inverse variances stays within a float's range even where errors differ by 1e15, also after one
# between these bounds.
EPOCHS_PER_LOGARITHM = 8
PRODUCT_FROM, PRODUCT_TO = 1e-60, 1e60
# Where the rows of the filters' numbers begin, a place in each for every share.
LANES = RANDOM_WALK_SHARES.size
SHARE, UNCERTAINTY, PRODUCT, LOGS, Y_STATE, Y_SQUARES, R_STATE, R_SQUARES = (row * LANES for row in range(8))
LANE_ROWS = 8


@part
def false_alarm(
    t: Floats, w: Floats, y: Floats, bounds: Integers, max_harmonics: Integers, epochs: Floats, harmonics: int,
    baseline: float, n_independent: float, lanes: Floats, width: int, out: Floats,
) -> None:  # fmt: skip
    """Fill the false-alarm value and the share of the variance that a model explains, both in [0, 1].

    The residuals of the model, of so many harmonics, are a row of `epochs`; two other rows are used up. Independent
    frequencies searched are the frequency range times the baseline. `lanes` has room for `LANE_ROWS` rows of `width`,
    the number of shares.
    """
    log_ratio, degrees, explained, decays, white = 0.0, 0, 0.0, epochs[SCALED], epochs[0]
    for b in range(bounds.size - 1):
        begin, end = bounds[b], bounds[b + 1]
        n = end - begin
        used = harmonics if harmonics < max_harmonics[b] else max_harmonics[b]
        before, after, mean = 0.0, 0.0, 0.0
        for i in range(begin, end):
            before += w[i] * y[i] * y[i]
            after += w[i] * epochs[RESIDUALS, i] * epochs[RESIDUALS, i]
            white[i] = 1.0 / (n * w[i])
            mean += white[i] / n
        for i in range(begin, end):
            white[i] /= mean
        explained += n * (1.0 - after / before)
        degrees += 2 * used
        for i in range(begin + 1, end):
            decays[i] = t[i] - t[i - 1]
        shortest = median(decays, begin + 1, end)
        shortest = shortest if shortest > 1e-4 * baseline else 1e-4 * baseline
        # A perfect fit has no noise level; a floor far below any measurement keeps its likelihood finite.
        y_best, r_best = -np.inf, -np.inf
        for step in range(N_CORRELATION_TIMES):
            time = shortest * (0.25 * baseline / shortest) ** (step / (N_CORRELATION_TIMES - 1.0))
            decays[begin], rate = 0.0, 1.0 / time
            for i in range(begin + 1, end):
                decays[i] = decay((t[i] - t[i - 1]) * rate)
            _filter(y, epochs, white, decays, begin, end, lanes, width)
            for k in range(width):
                y_level, r_level, floor = lanes[Y_SQUARES + k] / n, lanes[R_SQUARES + k] / n, 1e-12 * before
                y_value = -0.5 * (n * math.log(y_level if y_level > floor else floor) + lanes[LOGS + k])
                r_value = -0.5 * (n * math.log(r_level if r_level > floor else floor) + lanes[LOGS + k])
                y_best, r_best = y_value if y_value > y_best else y_best, r_value if r_value > r_best else r_best
        # The coefficients were fitted: fewer epochs than n speak for the model.
        log_ratio += (r_best - y_best) * (n - 2 * used - 1) / n
    single = chi2_survival(2.0 * log_ratio, degrees)
    chances = n_independent if n_independent > 1.0 else 1.0
    chances *= math.sqrt(log_ratio) if log_ratio > 1.0 else 1.0
    alarm = 1.0 if single >= 1.0 else -math.expm1(chances * math.log1p(-single))
    share = explained / t.size
    out[0] = 0.0 if alarm < 0.0 else (alarm if alarm < 1.0 else 1.0)
    out[1] = 0.0 if share < 0.0 else (share if share < 1.0 else 1.0)


@small_part
def chi2_survival(value: float, degrees: int) -> float:
    """Return the chance that χ² with an even number of degrees of freedom exceeds `value`."""
    half = 0.5 * value if value > 0.0 else 0.0
    term, total = 1.0, 1.0
    for i in range(1, degrees // 2):
        term *= half / i
        total += term
    return math.exp(-half) * total if half < 700.0 else 0.0


@inlined_part
def _filter(
    y: Floats, epochs: Floats, white: Floats, decays: Floats, begin: int, end: int, lanes: Floats, width: int
) -> None:
    """Sum the squares of y and of the residuals in units of their variances, and the variances' logarithms.

    A Kalman filter of y = walk + white noise with variances share and (1 − share)·white, scale concentrated out;
    `decays` is by how much the walk forgets from the epoch before. How sure the filter is does not depend on what it
    filters: y and residuals go through it together. All shares go side by side, at places that differ by constants,
    from which the compiler sees that no row overlaps another, and the processor takes several at a time. Of products of
    some epochs' variances one logarithm is taken.
    """
    for k in range(width):
        lanes[SHARE + k], lanes[UNCERTAINTY + k] = RANDOM_WALK_SHARES[k], RANDOM_WALK_SHARES[k]
        lanes[PRODUCT + k], lanes[LOGS + k], lanes[Y_STATE + k], lanes[R_STATE + k] = 1.0, 0.0, 0.0, 0.0
        lanes[Y_SQUARES + k], lanes[R_SQUARES + k] = 0.0, 0.0
    for i in range(begin, end):
        decay, y_value, r_value, noise = decays[i], y[i], epochs[RESIDUALS, i], white[i]
        kept = decay * decay
        for k in range(width):
            share = lanes[SHARE + k]
            sure = kept * lanes[UNCERTAINTY + k] + share * (1.0 - kept)
            inverse = 1.0 / (sure + (1.0 - share) * noise)
            gain = sure * inverse
            y_before, r_before = lanes[Y_STATE + k] * decay, lanes[R_STATE + k] * decay
            y_surprise, r_surprise = y_value - y_before, r_value - r_before
            lanes[Y_SQUARES + k] += y_surprise * y_surprise * inverse
            lanes[R_SQUARES + k] += r_surprise * r_surprise * inverse
            lanes[Y_STATE + k] = y_before + gain * y_surprise
            lanes[R_STATE + k] = r_before + gain * r_surprise
            lanes[UNCERTAINTY + k] = sure * (1.0 - gain)
            lanes[PRODUCT + k] *= inverse
        if (i - begin) % EPOCHS_PER_LOGARITHM == 0 or i == end - 1:
            smallest, largest = lanes[PRODUCT], lanes[PRODUCT]
            for k in range(width):
                smallest = lanes[PRODUCT + k] if lanes[PRODUCT + k] < smallest else smallest
                largest = lanes[PRODUCT + k] if lanes[PRODUCT + k] > largest else largest
            if i < end - 1 and smallest > PRODUCT_FROM and largest < PRODUCT_TO:
                continue
            for k in range(width):
                lanes[LOGS + k] -= math.log(lanes[PRODUCT + k])
                lanes[PRODUCT + k] = 1.0
