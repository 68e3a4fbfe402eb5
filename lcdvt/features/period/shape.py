"""Whether a single wave is half the orbit of a binary: what the shape says when the minima look alike.

Of a binary with equal minima no likelihood can tell orbit from half orbit. But tides and eclipses leave their
mark on the wave itself, and so does pulsation; this prior weighs one against the other. It never sees a label.
"""

import math
from dataclasses import dataclass

from lcdvt.features.period.fit import Bands
from lcdvt.features.period.fourier import relative_harmonics

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


def double_wave_log_odds(bands: Bands, frequency: float, prior: DoubleWavePrior) -> float | None:
    """Return the log-odds that a wave is half a binary's orbit, from its shape; None where the shape cannot tell.

    The second harmonic relative to the first, turned so that the faintest phase is zero, has a real part c > 0
    when minima are narrower than maxima, and an imaginary part s < 0 when the star brightens faster than it fades.
    Eclipses and tides are symmetric in time, but for star spots, and narrow in their minima: c > 0, s ≈ 0.
    Pulsation is steeper on the rise: s < 0, and c ≤ 0 as maxima are the narrow part. Both are given normal
    distributions, widened by the measurement's error; centres and widths were read off stars of the half on which
    the search was developed (benchmarks/periods.py).
    """
    half_period = 1.0 / frequency
    if not prior.enabled or half_period > prior.max_half_period:
        return None
    found = relative_harmonics(bands, frequency, TWO_HARMONICS, highest=2)
    if found.precision == 0.0:
        return None
    ratio = found.sums[0] / found.precision
    if abs(ratio) > 1.0:
        # The second harmonic dominates: this is a double wave already.
        return None
    if 2.0 * found.amplitude > prior.max_amplitude:
        return prior.bounds[0]
    error = found.precision**-0.5
    log_odds = _log_normal(ratio.real, 0.3, 0.2, error) + _log_normal(ratio.imag, 0.0, 0.08, error)
    log_odds -= _log_normal(ratio.real, -0.1, 0.2, error) + _log_normal(ratio.imag, -0.25, 0.2, error)
    if not prior.symmetric_pulsators[0] <= half_period <= prior.symmetric_pulsators[1]:
        log_odds += prior.binary_log_odds
    return float(min(max(log_odds, prior.bounds[0]), prior.bounds[1]))


def _log_normal(value: float, mean: float, width: float, error: float) -> float:
    variance = width**2 + error**2
    return -0.5 * (value - mean) ** 2 / variance - 0.5 * math.log(variance)
