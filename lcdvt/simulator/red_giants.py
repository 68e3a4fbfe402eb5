"""Long-period variables: no cycle is like the one before."""

from collections.abc import Callable

import numpy as np

from lcdvt.simulator.spectra import redward, stellar_spectrum
from lcdvt.simulator.star import Array, Curve, Sky, Star, truncated_normal

# Molecular bands make cool stars vary more the bluer the light, down to about here.
BLUEST_GROWTH = 0.45

# Deviation from the mean magnitude in I.
_Cycles = Callable[[Array], Array]


def long_period_variable(rng: np.random.Generator, sky: Sky) -> Star:
    """Draw a Mira, a semiregular variable or a small-amplitude red giant, on its period-luminosity sequence."""
    kind = rng.random()
    if kind < 0.15:
        subclass, log_period = "Mira", truncated_normal(rng, 2.42, 0.15, 2.0, 2.75)
        amplitude_i = truncated_normal(rng, 1.4, 0.5, 0.8, 3.2)
        restlessness, sequence = 0.12, 14.1
    elif kind < 0.6:
        subclass, log_period = "SRV", truncated_normal(rng, 2.0, 0.25, 1.4, 2.6)
        amplitude_i = float(np.clip(10 ** rng.normal(-0.75, 0.25), 0.05, 0.8))
        restlessness, sequence = 0.35, 14.3
    else:
        subclass, log_period = "OSARG", truncated_normal(rng, 1.5, 0.2, 1.1, 2.0)
        amplitude_i = float(np.clip(10 ** rng.normal(-1.35, 0.2), 0.015, 0.15))
        restlessness, sequence = 0.45, 14.9
    period = 10**log_period
    mean_i_in_cloud = sequence - 1.3 * (log_period - 2.0) + rng.normal(0, 0.35)
    # Cooler giants pulsate more slowly; a fifth are carbon-rich and redder still.
    colour = 1.85 + 0.9 * (log_period - 2.0) + rng.normal(0, 0.25)
    colour += abs(rng.normal(0, 0.8)) if rng.random() < 0.2 else 0.0
    colour = max(colour, 1.2)
    mean_v, mean_i = sky.apparent(rng, "LPV", mean_i_in_cloud + colour - 18.48 - 0.15, colour)
    v_over_i = truncated_normal(rng, 2.0 if subclass == "Mira" else 1.6, 0.3, 1.1, 3.0)
    cycles = _restless_cycles(rng, period, amplitude_i, restlessness)
    if subclass != "Mira":
        cycles = _second_mode(rng, cycles, period, amplitude_i)
    return Star("LPV", subclass, period, mean_v, mean_i, _stronger_in_the_blue(cycles, v_over_i), stellar_spectrum)


def _restless_cycles(rng: np.random.Generator, period: float, amplitude: float, restlessness: float) -> _Cycles:
    """Make a skewed sine whose amplitude, mean and phase wander from cycle to cycle."""
    # Enough cycles for the longest survey; times are days since its start.
    cycles = int(3600 / period) + 4
    knots = np.arange(-1, cycles - 1, dtype=float)
    amplitudes = amplitude * np.exp(restlessness * rng.standard_normal(cycles))
    means = 0.25 * amplitude * restlessness / 0.3 * rng.standard_normal(cycles)
    phases = np.cumsum(0.05 * restlessness * rng.standard_normal(cycles))
    start, skew = rng.random(), rng.uniform(0.0, 0.35)

    def changes(times: Array) -> Array:
        cycle = times / period + start
        angle = 2 * np.pi * (cycle + np.interp(cycle, knots, phases))
        wave = 0.5 * (np.sin(angle) + skew * np.sin(2 * angle))
        return np.interp(cycle, knots, amplitudes) * wave + np.interp(cycle, knots, means)

    return changes


def _second_mode(rng: np.random.Generator, first: _Cycles, period: float, amplitude: float) -> _Cycles:
    """Add a second pulsation mode and, in a third of the stars, a long secondary period."""
    other_period = period * rng.uniform(0.45, 0.75)
    other_amplitude = amplitude * rng.uniform(0.2, 0.9)
    long_period = period * rng.uniform(6, 12)
    long_amplitude = rng.uniform(0.03, 0.25) if rng.random() < 0.33 else 0.0
    start, long_start = rng.random(2)

    def changes(times: Array) -> Array:
        light = first(times) + 0.5 * other_amplitude * np.sin(2 * np.pi * (times / other_period + start))
        return light + 0.5 * long_amplitude * np.sin(2 * np.pi * (times / long_period + long_start))

    return changes


def _stronger_in_the_blue(cycles: _Cycles, v_over_i: float) -> Curve:
    def curve(times: Array, wavelengths: Array) -> Array:
        growth = v_over_i ** (1 - redward(np.maximum(wavelengths, BLUEST_GROWTH)))
        return growth[:, None] * cycles(times)

    return curve
