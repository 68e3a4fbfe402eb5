"""How often noise would look this periodic: a false-alarm value that red noise cannot buy.

White noise is the wrong null hypothesis for a star: a slow trend, a quasar or an irregular giant is "significant"
at any long period. Here the null hypothesis is a damped random walk plus white noise, fitted to the light curve;
the alternative is the same noise, fitted again to the residuals of the periodic model. Twice the log-likelihood
ratio is χ²-distributed with two degrees of freedom per harmonic and band (Wilks), and the chance is multiplied
over the frequencies searched: a continuous periodogram has about √z times as many chances to exceed a level z
as there are independent frequencies (Baluev 2008, eq. 6).
"""

import math
from itertools import pairwise

import numpy as np

from lcdvt.compiled.kernel import kernel
from lcdvt.features.period.fit import MODEL_HARMONICS, Bands, Floats, fit_model

# Correlation times tried: this many, in equal ratios from the shortest usual gap to a quarter of the baseline.
N_CORRELATION_TIMES = 7
# Shares of the variance that the random walk may have; 0 is white noise alone.
RANDOM_WALK_SHARES = np.array((0.0, 0.1, 0.3, 0.6, 0.85, 0.95, 0.99))
# The product of so many inverse variances stays within a float's range even where errors differ by 1e15.
EPOCHS_PER_LOGARITHM = 8


def false_alarm(
    bands: Bands, frequency: float, model: int, baseline: float, n_independent: float
) -> tuple[float, float]:
    """Return the false-alarm value and the share of the variance that the model explains, both in [0, 1].

    Parameters
    ----------
    bands
        The light curves.
    frequency, model
        The periodic model.
    baseline
        Days from first to last epoch.
    n_independent
        Independent frequencies searched: frequency range times baseline.
    """
    residuals, _ = fit_model(bands, frequency, model)
    log_ratio, degrees, explained, total = _noise_log_ratio(bands, residuals, int(MODEL_HARMONICS[model]), baseline)
    single = _chi2_survival(2.0 * log_ratio, degrees)
    chances = max(n_independent, 1.0) * math.sqrt(max(log_ratio, 1.0))
    alarm = 1.0 if single >= 1.0 else -math.expm1(chances * math.log1p(-single))
    return min(max(alarm, 0.0), 1.0), min(max(explained / total, 0.0), 1.0)


def _chi2_survival(value: float, degrees: int) -> float:
    """Return the chance that χ² with an even number of degrees of freedom exceeds `value`."""
    half = 0.5 * max(value, 0.0)
    term, total = 1.0, 1.0
    for i in range(1, degrees // 2):
        term *= half / i
        total += term
    return math.exp(-half) * total if half < 700.0 else 0.0


def _noise_log_ratio(
    bands: Bands, residuals: Floats, harmonics: int, baseline: float
) -> tuple[float, int, float, float]:
    log_ratio, degrees, explained, total = 0.0, 0, 0.0, 0.0
    for b, (start, stop) in enumerate(pairwise(bands.bounds.tolist())):
        part, n = slice(start, stop), stop - start
        w, y, r = bands.w[part], bands.y[part], residuals[part]
        used = min(harmonics, int(bands.max_harmonics[b]))
        before, after = float(np.sum(w * y * y)), float(np.sum(w * r * r))
        explained += n * (1.0 - after / before)
        total += n
        degrees += 2 * used
        gaps = np.diff(bands.t[part])
        ordered = np.sort(gaps)
        shortest = max(0.5 * (ordered[(n - 2) // 2] + ordered[(n - 1) // 2]), 1e-4 * baseline)
        steps = np.arange(N_CORRELATION_TIMES) / (N_CORRELATION_TIMES - 1.0)
        decays = np.exp(-gaps / (shortest * (0.25 * baseline / shortest) ** steps)[:, None])
        white = 1.0 / (n * w)
        white /= white.mean()
        # A perfect fit has no noise level; a floor far below any measurement keeps its likelihood finite.
        likelihoods = np.empty(2)
        _noise_likelihoods(y, r, white, decays, 1e-12 * before, np.empty((7, RANDOM_WALK_SHARES.size)), likelihoods)
        # The coefficients were fitted: fewer epochs than n speak for the model.
        log_ratio += float(likelihoods[1] - likelihoods[0]) * (n - 2 * used - 1) / n
    return log_ratio, degrees, explained, total


@kernel
def _noise_likelihoods(
    y: Floats, r: Floats, white: Floats, decays: Floats, floor: float, work: Floats, best: Floats
) -> None:
    """Fill the highest log-likelihoods of white noise plus damped random walk for y and r, the total variance free.

    A Kalman filter of y = walk + white noise with variances share and (1 − share)·white, scale concentrated out, for
    each row of `decays`, by how much a walk forgets from one epoch to the next. How sure the filter is does not depend
    on what it filters: y and r go through it together, and all shares side by side, which the processor takes several
    at a time. Of products of some epochs' variances one logarithm is taken.
    """
    n, shares = y.size, RANDOM_WALK_SHARES.size
    uncertainty, product, log_sum = work[0], work[1], work[2]
    y_state, y_squares, r_state, r_squares = work[3], work[4], work[5], work[6]
    best[0], best[1] = -np.inf, -np.inf
    for j in range(decays.shape[0]):
        for k in range(shares):
            uncertainty[k], product[k], log_sum[k] = RANDOM_WALK_SHARES[k], 1.0, 0.0
            y_state[k], y_squares[k], r_state[k], r_squares[k] = 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            decay = decays[j, i - 1] if i > 0 else 0.0
            kept, y_value, r_value, noise = decay * decay, y[i], r[i], white[i]
            for k in range(shares):
                share = RANDOM_WALK_SHARES[k]
                sure = kept * uncertainty[k] + share * (1.0 - kept)
                inverse = 1.0 / (sure + (1.0 - share) * noise)
                gain = sure * inverse
                y_before, r_before = y_state[k] * decay, r_state[k] * decay
                y_surprise, r_surprise = y_value - y_before, r_value - r_before
                y_squares[k] += y_surprise * y_surprise * inverse
                r_squares[k] += r_surprise * r_surprise * inverse
                y_state[k] = y_before + gain * y_surprise
                r_state[k] = r_before + gain * r_surprise
                uncertainty[k] = sure * (1.0 - gain)
                product[k] *= inverse
            if i % EPOCHS_PER_LOGARITHM == 0 or i == n - 1:
                for k in range(shares):
                    log_sum[k] -= math.log(product[k])
                    product[k] = 1.0
        for k in range(shares):
            y_level, r_level = y_squares[k] / n, r_squares[k] / n
            y_value = -0.5 * (n * math.log(y_level if y_level > floor else floor) + log_sum[k])
            r_value = -0.5 * (n * math.log(r_level if r_level > floor else floor) + log_sum[k])
            if y_value > best[0]:
                best[0] = y_value
            if r_value > best[1]:
                best[1] = r_value
