"""RR Lyrae stars and classical Cepheids as Fourier series whose terms follow the period.

Phase differences are those of a sine series, phi_k1 = phi_k - k phi_1, in magnitudes.
"""

import numpy as np

from lcdvt.simulator.spectra import redward, stellar_spectrum
from lcdvt.simulator.star import Array, Curve, Sky, Star, truncated_normal

HARMONICS = 8
# Amplitude in I over amplitude in V: pulsation heats the star, and hot stars vary more in the blue. As a power of
# the wavelength it is -1.3; near the Balmer jump the growth ends, and in u a pulsator varies as it does in g.
I_OVER_V = 0.62
BLUEST_GROWTH = 0.46
# The I light curve lags a little behind V, a redder one more.
I_PHASE_LAG = 0.015
_PEAK_GRID = np.exp(2j * np.pi * np.arange(96) / 96)


def rr_lyrae(rng: np.random.Generator, sky: Sky) -> Star:
    """Draw an RRab (three in four) or RRc star."""
    return _rrab(rng, sky) if rng.random() < 0.74 else _rrc(rng, sky)


def cepheid(rng: np.random.Generator, sky: Sky) -> Star:
    """Draw a classical Cepheid in the fundamental mode or the first overtone."""
    return _fundamental_cepheid(rng, sky) if rng.random() < 0.6 else _overtone_cepheid(rng, sky)


def _rrab(rng: np.random.Generator, sky: Sky) -> Star:
    metallicity = truncated_normal(rng, -1.55, 0.3, -2.4, -0.6)
    # Oosterhoff II stars: longer period at the same amplitude.
    oosterhoff_shift = 0.06 if rng.random() < 0.25 else 0.0
    log_period = truncated_normal(rng, np.log10(0.56) + oosterhoff_shift, 0.05, np.log10(0.38), np.log10(0.95))
    period = 10**log_period
    amplitude = float(np.clip(_period_amplitude(log_period - oosterhoff_shift) + rng.normal(0, 0.11), 0.18, 1.35))
    # Jurcsik & Kovacs (1996): phi_31 measures the metallicity at a given period.
    phi_31 = (metallicity + 5.038 + 5.394 * period) / 1.345 + rng.normal(0, 0.1)
    steepness = np.clip(0.50 - 0.12 * (period - 0.55) / 0.15, 0.3, 0.55) * (0.75 + 0.25 * min(amplitude, 1.0))
    order = np.arange(1, HARMONICS + 1)
    ratios = np.r_[1.0, steepness, steepness * 0.70 ** np.arange(1, HARMONICS - 1)] * _jitter(rng)
    phases = (order - 1) * phi_31 / 2 + _phase_jitter(rng, 0.06)
    absolute_v = 0.214 * (metallicity + 1.5) + 0.58 + rng.normal(0, 0.07)
    # Metal-poor stars of long period sit at the red edge of the instability strip.
    colour = 0.50 + 0.35 * (log_period + 0.25) + rng.normal(0, 0.03)
    mean_v, mean_i = sky.apparent(rng, "RRLYR", absolute_v, colour)
    curve = _series(rng, period, amplitude, ratios, phases)
    if rng.random() < 0.25:
        curve = _blazhko(rng, curve)
    return Star("RRLYR", "RRab", period, mean_v, mean_i, curve, stellar_spectrum)


def _period_amplitude(log_period: float) -> float:
    """V amplitude on the Oosterhoff I locus (Cacciari et al. 2005, with A_B = 1.28 A_V)."""
    return (-3.123 - 26.331 * log_period - 35.853 * log_period**2) / 1.28


def _rrc(rng: np.random.Generator, sky: Sky) -> Star:
    period = truncated_normal(rng, 0.335, 0.038, 0.21, 0.46)
    amplitude = float(np.clip(0.46 - 8.0 * (period - 0.32) ** 2 + rng.normal(0, 0.06), 0.12, 0.62))
    second = np.clip(0.20 - 0.9 * (period - 0.28) + rng.normal(0, 0.04), 0.02, 0.32)
    ratios = np.zeros(HARMONICS)
    ratios[:4] = 1.0, second, 0.07 * rng.uniform(0.5, 1.3), 0.04 * rng.uniform(0.3, 1.3)
    phases = np.zeros(HARMONICS)
    phases[1:4] = np.array([3.2, 3.2 + 4.0 * (period - 0.25), 1.5]) + rng.normal(0, 0.2, 3)
    absolute_v = 0.57 + rng.normal(0, 0.09)
    colour = 0.40 + 0.5 * (period - 0.335) + rng.normal(0, 0.035)
    mean_v, mean_i = sky.apparent(rng, "RRLYR", absolute_v, colour)
    curve = _series(rng, period, amplitude, ratios, phases)
    return Star("RRLYR", "RRc", period, mean_v, mean_i, curve, stellar_spectrum)


def _fundamental_cepheid(rng: np.random.Generator, sky: Sky) -> Star:
    # Most are short: the mass function, cut where the instability strip begins.
    log_period = float(np.clip(0.24 + rng.gamma(2.0, 0.16) + rng.normal(0, 0.05), 0.0, 1.75))
    # The 2:1 resonance near ten days (the Hertzsprung progression): the second harmonic weakens and
    # its phase swings through it.
    detuning = (log_period - 1.0) / 0.12
    near = np.exp(-0.5 * detuning**2)
    dip = 1.0 - 0.35 * near
    amplitude = (0.78 + 0.25 * np.clip(log_period - 1.0, 0, 0.5)) * dip * np.clip(rng.normal(1.0, 0.25), 0.3, 1.6)
    second = np.clip(0.44 - 0.32 * near + rng.normal(0, 0.03), 0.04, 0.6)
    phi_21 = 2.45 + 0.75 * np.clip((log_period - 0.3) / 0.6, 0, 1) + 0.9 * detuning * near + rng.normal(0, 0.07)
    order = np.arange(1, HARMONICS + 1)
    ratios = np.r_[1.0, second, second * 0.52 ** np.arange(1, HARMONICS - 1)] * _jitter(rng)
    phases = (order - 1) * phi_21 + _phase_jitter(rng, 0.12)
    mean_v, mean_i = _on_the_leavitt_law(rng, sky, log_period, (-2.69, 17.44), (-2.91, 16.82))
    curve = _series(rng, 10**log_period, float(amplitude), ratios, phases)
    return Star("CEP", "fundamental", 10**log_period, mean_v, mean_i, curve, stellar_spectrum)


def _overtone_cepheid(rng: np.random.Generator, sky: Sky) -> Star:
    log_period = truncated_normal(rng, 0.33, 0.2, -0.35, 0.78)
    near = np.exp(-0.5 * ((log_period - 0.5) / 0.08) ** 2)
    amplitude = float(np.clip(rng.normal(0.34, 0.09), 0.1, 0.6))
    ratios = np.zeros(HARMONICS)
    ratios[:4] = 1.0, np.clip(0.20 - 0.15 * near + rng.normal(0, 0.03), 0.01, 0.35), 0.06, 0.03
    phases = np.zeros(HARMONICS)
    phi_21 = 2.7 + 0.9 * (log_period + 0.2) + rng.normal(0, 0.12)
    phases[1:4] = phi_21, 2 * phi_21 + rng.normal(0, 0.3), 3 * phi_21 + rng.normal(0, 0.4)
    mean_v, mean_i = _on_the_leavitt_law(rng, sky, log_period, (-3.25, 16.95), (-3.30, 16.37))
    curve = _series(rng, 10**log_period, amplitude, ratios, phases)
    return Star("CEP", "first overtone", 10**log_period, mean_v, mean_i, curve, stellar_spectrum)


def _on_the_leavitt_law(
    rng: np.random.Generator,
    sky: Sky,
    log_period: float,
    law_v: tuple[float, float],
    law_i: tuple[float, float],
) -> tuple[float, float]:
    """Mean magnitudes from the LMC period-luminosity laws (slope, zero point at one day, mean LMC dust)."""
    lmc_modulus, mean_reddening = 18.48, 0.11
    # The strip has a width: hotter stars are brighter in V at the same period.
    across_strip = rng.normal(0, 1.0)
    v = law_v[0] * log_period + law_v[1] + 0.13 * across_strip - lmc_modulus - 2.4 * mean_reddening
    i = law_i[0] * log_period + law_i[1] + 0.08 * across_strip - lmc_modulus - 1.4 * mean_reddening
    return sky.apparent(rng, "CEP", v, v - i)


def _jitter(rng: np.random.Generator) -> Array:
    factors = np.exp(rng.normal(0, 0.08, HARMONICS))
    factors[0] = 1.0
    return factors


def _phase_jitter(rng: np.random.Generator, spread: float) -> Array:
    shifts = rng.normal(0, spread, HARMONICS) * np.arange(HARMONICS) / 2
    shifts[0] = 0.0
    return shifts


def _series(rng: np.random.Generator, period: float, amplitude: float, ratios: Array, phases: Array) -> Curve:
    """Make a curve of `amplitude` from peak to peak in V."""
    coefficients = ratios * np.exp(1j * phases)
    shape = _evaluate(coefficients, _PEAK_GRID)
    coefficients = coefficients * (amplitude / (shape.max() - shape.min()))
    epoch = rng.random()

    def curve(times: Array, wavelengths: Array) -> Array:
        turn = np.exp(2j * np.pi * (times / period + epoch))
        strength = I_OVER_V ** redward(np.maximum(wavelengths, BLUEST_GROWTH))
        lag = np.exp(-2j * np.pi * I_PHASE_LAG * redward(wavelengths))
        return np.array(
            [own * _evaluate(coefficients, turn * behind) for own, behind in zip(strength, lag, strict=True)]
        )

    return curve


def _evaluate(coefficients: Array, turn: Array) -> Array:
    """Sum of c_k sin(k phase + phi_k), by Horner's rule on the unit circle."""
    total = np.full_like(turn, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total *= turn
        total += coefficient
    total *= turn
    return np.ascontiguousarray(total.imag)


def _blazhko(rng: np.random.Generator, steady: Curve) -> Curve:
    """Modulate amplitude and phase slowly, as a quarter of RRab stars do."""
    modulation_period = 10 ** rng.uniform(1.2, 2.4)
    depth, shift, start = rng.uniform(0.05, 0.35), rng.uniform(0.0, 0.012), rng.random()

    def curve(times: Array, wavelengths: Array) -> Array:
        angle = 2 * np.pi * (times / modulation_period + start)
        return steady(times + shift * np.cos(angle), wavelengths) * (1.0 + depth * np.sin(angle))

    return curve
