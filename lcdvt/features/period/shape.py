"""Whether a single wave is half the orbit of a binary: what the shape says when the minima look alike.

Of a binary with equal minima no likelihood can tell orbit from half orbit. But tides and eclipses leave their
mark on the wave itself, and so does pulsation; this prior weighs one against the other. It never sees a label.
"""

import math
from dataclasses import dataclass

import numpy as np

from lcdvt.compiled.kernel import small_part
from lcdvt.features.period.fourier import AMPLITUDE, IMAGINARY_2, PRECISION, REAL_2
from lcdvt.features.period.normal import Floats

TWO_HARMONICS = 1


@dataclass(frozen=True)
class DoubleWavePrior:
    """What is known of binaries and pulsators before their period is.

    Attributes
    ----------
    enabled
        Without the prior a double period must win by minima that differ significantly.
    max_half_period
        Days. Above, single waves of pulsating giants outnumber binaries by far and are just as symmetric.
    max_amplitude
        Magnitudes, peak to peak in the first harmonic of the half period: tides and contact eclipses do not reach
        further, pulsation does.
    symmetric_pulsators
        Days, shortest and longest period of pulsators that may look symmetric (overtone RR Lyrae).
    binary_log_odds
        Prior log-odds of a binary for a symmetric wave outside `symmetric_pulsators`.
    bounds
        Bounds of what the shape may add to or take from the double period's score.
    """

    enabled: bool = True
    max_half_period: float = 50.0
    max_amplitude: float = 0.7
    symmetric_pulsators: tuple[float, float] = (0.2, 0.5)
    binary_log_odds: float = 2.5
    bounds: tuple[float, float] = (-3.0, 6.0)


@small_part
def double_wave_log_odds(
    half_period: float, relative: Floats, max_amplitude: float, shortest_symmetric: float, longest_symmetric: float,
    binary_log_odds: float, least: float, most: float,
) -> float:  # fmt: skip
    """Return the log-odds that a wave is half a binary's orbit, from its shape; NaN where the shape cannot tell.

    The second harmonic relative to the first, turned so that the faintest phase is zero, has a real part c > 0
    when minima are narrower than maxima, and an imaginary part s < 0 when the star brightens faster than it fades.
    Eclipses and tides are symmetric in time, but for star spots, and narrow in their minima: c > 0, s ≈ 0.
    Pulsation is steeper on the rise: s < 0, and c ≤ 0 as maxima are the narrow part. Both are given normal
    distributions, widened by the measurement's error; centres and widths were read off stars of the half on which
    the search was developed (benchmarks/periods.py).
    """
    precision = relative[PRECISION]
    if precision == 0.0:
        return np.nan
    real, imaginary = relative[REAL_2] / precision, relative[IMAGINARY_2] / precision
    if real * real + imaginary * imaginary > 1.0:
        # The second harmonic dominates: this is a double wave already.
        return np.nan
    if 2.0 * relative[AMPLITUDE] > max_amplitude:
        return least
    variance = 1.0 / precision
    log_odds = _log_normal(real, 0.3, 0.2, variance) + _log_normal(imaginary, 0.0, 0.08, variance)
    log_odds -= _log_normal(real, -0.1, 0.2, variance) + _log_normal(imaginary, -0.25, 0.2, variance)
    if not shortest_symmetric <= half_period <= longest_symmetric:
        log_odds += binary_log_odds
    return least if log_odds < least else (log_odds if log_odds < most else most)


@small_part
def _log_normal(value: float, mean: float, width: float, error_variance: float) -> float:
    variance = width * width + error_variance
    return -0.5 * (value - mean) * (value - mean) / variance - 0.5 * math.log(variance)
