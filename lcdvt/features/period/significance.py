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
        floor = 1e-12 * before
        gain = _noise_likelihood(r, white, decays, floor) - _noise_likelihood(y, white, decays, floor)
        # The coefficients were fitted: fewer epochs than n speak for the model.
        log_ratio += gain * (n - 2 * used - 1) / n
    return log_ratio, degrees, explained, total


@kernel
def _noise_likelihood(y: Floats, white: Floats, decays: Floats, floor: float) -> float:
    """Return the highest log-likelihood of white noise plus damped random walk, the total variance free.

    A Kalman filter of y = walk + white noise with variances share and (1 − share)·white, scale concentrated out, for
    each row of `decays`, by how much a walk forgets from one epoch to the next.
    """
    n = y.size
    best = -np.inf
    for j in range(decays.shape[0]):
        for place in range(RANDOM_WALK_SHARES.size):
            share = RANDOM_WALK_SHARES[place]
            if share == 0.0 and j > 0:
                continue
            state, uncertainty = 0.0, share
            log_sum, square_sum = 0.0, 0.0
            for i in range(n):
                decay = decays[j, i - 1] if i > 0 else 0.0
                state *= decay
                uncertainty = decay * decay * uncertainty + share * (1.0 - decay * decay)
                expected = uncertainty + (1.0 - share) * white[i]
                surprise = y[i] - state
                log_sum += math.log(expected)
                square_sum += surprise * surprise / expected
                gain = uncertainty / expected
                state += gain * surprise
                uncertainty *= 1.0 - gain
            level = square_sum / n
            value = -0.5 * (n * math.log(level if level > floor else floor) + log_sum)
            if value > best:
                best = value
    return best
