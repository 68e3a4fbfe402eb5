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
from numba import njit

from lcdvt.features.period.fit import MODEL_HARMONICS, Bands, Floats, fit_model

# Correlation times tried: this many, in equal ratios from the shortest usual gap to a quarter of the baseline.
N_CORRELATION_TIMES = 7
# Shares of the variance that the random walk may have; 0, white noise alone, is always tried.
RANDOM_WALK_SHARES = np.array((0.1, 0.3, 0.6, 0.85, 0.95, 0.99))


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
    log_ratio, degrees, explained, total = _noise_log_ratio(bands, residuals, MODEL_HARMONICS[model], baseline)
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


@njit(cache=True)
def _noise_log_ratio(
    bands: Bands, residuals: Floats, harmonics: int, baseline: float
) -> tuple[float, int, float, float]:
    log_ratio, degrees, explained, total = 0.0, 0, 0.0, 0.0
    for b in range(bands.bounds.size - 1):
        lo, hi = bands.bounds[b], bands.bounds[b + 1]
        n = hi - lo
        t, w, y, r = bands.t[lo:hi], bands.w[lo:hi], bands.y[lo:hi], residuals[lo:hi]
        used = min(harmonics, bands.max_harmonics[b])
        before, after = np.sum(w * y * y), np.sum(w * r * r)
        explained += n * (1.0 - after / before)
        total += n
        degrees += 2 * used
        gain = _noise_likelihood(t, r, w, baseline, before) - _noise_likelihood(t, y, w, baseline, before)
        # The coefficients were fitted: fewer epochs than n speak for the model.
        log_ratio += gain * (n - 2 * used - 1) / n
    return log_ratio, degrees, explained, total


@njit(cache=True)
def _noise_likelihood(t: Floats, y: Floats, w: Floats, baseline: float, variance: float) -> float:
    """Return the highest log-likelihood of white noise plus damped random walk, the total variance free."""
    n = t.size
    # A perfect fit has no noise level; a floor far below any measurement keeps its likelihood finite.
    floor = 1e-12 * variance
    shares = np.concatenate((np.zeros(1), RANDOM_WALK_SHARES))
    gaps = np.diff(t)
    shortest = max(np.median(gaps), 1e-4 * baseline)
    longest = 0.25 * baseline
    white = 1.0 / (n * w)
    white /= np.mean(white)
    decays = np.empty(n)
    best = -np.inf
    for j in range(N_CORRELATION_TIMES):
        correlation_time = shortest * (longest / shortest) ** (j / (N_CORRELATION_TIMES - 1.0))
        decays[0] = 0.0
        for i in range(1, n):
            decays[i] = math.exp(-gaps[i - 1] / correlation_time)
        for share in shares:
            if share == 0.0 and j > 0:
                continue
            best = max(best, _random_walk_likelihood(y, white, decays, share, floor))
    return best


@njit(cache=True)
def _random_walk_likelihood(y: Floats, white: Floats, decays: Floats, share: float, floor: float) -> float:
    """Kalman filter of y = walk + white noise with variances share and (1 − share)·white, scale concentrated out."""
    n = y.size
    state, uncertainty = 0.0, share
    log_sum, square_sum = 0.0, 0.0
    for i in range(n):
        decay = decays[i]
        state *= decay
        uncertainty = decay * decay * uncertainty + share * (1.0 - decay * decay)
        expected = uncertainty + (1.0 - share) * white[i]
        surprise = y[i] - state
        log_sum += math.log(expected)
        square_sum += surprise * surprise / expected
        gain = uncertainty / expected
        state += gain * surprise
        uncertainty *= 1.0 - gain
    return -0.5 * (n * math.log(max(square_sum / n, floor)) + log_sum)
