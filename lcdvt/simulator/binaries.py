"""Eclipsing binaries from geometry: two stars on an orbit, one hiding the other.

Each star is an ellipsoid stretched towards its companion; its limb-darkened disc is a stack of
three uniform discs, so that an eclipse is the overlap of circles. Surface brightness follows
Planck's law, so eclipses are nearly grey unless the two stars differ much in temperature.
"""

from dataclasses import dataclass

import numpy as np

from lcdvt.simulator.spectra import V_AND_I, redward, stellar_spectrum
from lcdvt.simulator.star import Array, Sky, Star, truncated_normal

_SECOND_RADIATION_CONSTANT = 14388.0  # micrometres kelvin
# Radii of the stacked discs and their brightness, for a limb darkening of about one half in V and a third in I.
_DISCS = np.array([1.0, 0.82, 0.55])[:, None]
_DISC_WEIGHTS = np.array([[0.62, 0.22, 0.16], [0.74, 0.15, 0.11]])
_LOG_TEMPERATURES = np.log10([3300, 4000, 4800, 5800, 7000, 8500, 10000, 20000, 32000])
_COLOURS = np.array([2.4, 1.5, 1.0, 0.70, 0.42, 0.14, 0.0, -0.2, -0.32])


@dataclass(frozen=True)
class Binary:
    """Two stars: lengths in units of the orbit's semi-major axis, angles in radians."""

    subclass: str
    period: float
    radius: tuple[float, float]
    temperature: tuple[float, float]
    mass_ratio: float
    cos_inclination: float
    eccentricity: float = 0.0
    periastron: float = 0.0


def eclipsing_binary(rng: np.random.Generator, sky: Sky, contact_share: float) -> Star:
    """Draw a contact (share `contact_share`), semi-detached or detached system that does eclipse."""
    kind = rng.random()
    if kind < contact_share:
        # Half of the contact systems towards the Cloud are W UMa stars of our own Galaxy.
        binary, absolute_v = _contact(rng, early_type=contact_share < 0.5 and rng.random() < 0.5)
    elif kind < contact_share + 0.3 * (1 - contact_share):
        binary, absolute_v = _semi_detached(rng)
    else:
        binary, absolute_v = _detached(rng, early_type=contact_share < 0.5)
    start = rng.random()
    colour = float(np.interp(np.log10(binary.temperature[0]), _LOG_TEMPERATURES, _COLOURS)) + rng.normal(0, 0.03)
    mean_v, mean_i = sky.apparent(rng, "EB", absolute_v, colour)
    # Blended light of neighbours makes eclipses shallower.
    third_light = rng.beta(1.0, 8.0)

    def curve(times: Array, wavelengths: Array) -> Array:
        light = binary_light(binary, times / binary.period + start, wavelengths)
        changes: Array = -2.5 * np.log10(third_light + (1 - third_light) * light)
        return changes

    return Star("EB", binary.subclass, binary.period, mean_v, mean_i, curve, stellar_spectrum)


def binary_light(binary: Binary, phase: Array, wavelengths: Array = V_AND_I) -> Array:
    """Light at each wavelength (a row), one at quadrature without tides, at orbital `phase` (0: primary minimum)."""
    angle, distance = _orbit(binary, phase)
    # Projected distance of the centres, and whether the second star is in front.
    sine = np.sqrt(np.sin(angle) ** 2 + (binary.cos_inclination * np.cos(angle)) ** 2)
    separation = distance * sine
    second_in_front = np.cos(angle) > 0
    brightness = np.array([_planck(temperature, wavelengths) for temperature in binary.temperature])
    disc_weights = _disc_weights(wavelengths)
    light = np.zeros((wavelengths.size, phase.size))
    norm = np.zeros((wavelengths.size, 1))
    stretched = []
    for own, other_mass in ((0, binary.mass_ratio), (1, 1 / binary.mass_ratio)):
        radius = binary.radius[own]
        tide = 1.5 * other_mass * radius**3
        stretched.append(radius * np.sqrt(1 + np.minimum(tide, 0.35) * 2 * sine**2 / distance**3))
    for own, front_is_other in ((0, second_in_front), (1, ~second_in_front)):
        radius = binary.radius[own]
        hidden = _hidden_fraction(stretched[own], stretched[1 - own], separation)
        visible = np.where(front_is_other, 1 - disc_weights @ hidden, 1.0)
        area = radius * stretched[own]
        # The side that faces the companion is heated by it, and seen when the companion is in front.
        facing = 0.5 * (1 + np.where(front_is_other, 1.0, -1.0) * np.abs(np.cos(angle)))
        heating = 0.4 * binary.radius[1 - own] ** 2 * (binary.temperature[1 - own] / binary.temperature[own]) ** 4
        light += brightness[own][:, None] * area * visible * (1 + np.minimum(heating, 0.6) * radius * facing)
        norm += brightness[own][:, None] * radius**2
    return light / norm


def _orbit(binary: Binary, phase: Array) -> tuple[Array, Array]:
    """Return the angle from primary conjunction and the distance of the stars."""
    anomaly = 2 * np.pi * phase
    if binary.eccentricity == 0.0:
        return anomaly, np.ones_like(anomaly)
    e = binary.eccentricity
    # Mean anomaly of conjunction, so that phase 0 stays the primary minimum.
    true_at_minimum = np.pi / 2 - binary.periastron
    eccentric_at_minimum = 2 * np.arctan(np.sqrt((1 - e) / (1 + e)) * np.tan(true_at_minimum / 2))
    mean = anomaly + eccentric_at_minimum - e * np.sin(eccentric_at_minimum)
    eccentric = mean + e * np.sin(mean)
    for _ in range(4):
        eccentric -= (eccentric - e * np.sin(eccentric) - mean) / (1 - e * np.cos(eccentric))
    true = 2 * np.arctan2(np.sqrt(1 + e) * np.sin(eccentric / 2), np.sqrt(1 - e) * np.cos(eccentric / 2))
    return true - true_at_minimum, 1 - e * np.cos(eccentric)


def _hidden_fraction(radius: Array, front_radius: Array, separation: Array) -> Array:
    """Fraction of each stacked disc (rows) that a disc of `front_radius` covers."""
    back = _DISCS * radius
    front = np.broadcast_to(front_radius, back.shape)
    hidden = np.zeros(back.shape)
    gap = np.broadcast_to(np.maximum(separation, 1e-9), back.shape)
    inside = gap <= np.abs(back - front)
    hidden[inside] = np.minimum(1.0, (front[inside] / back[inside]) ** 2)
    partial = ~inside & (gap < back + front)
    r, f, d = back[partial], front[partial], gap[partial]
    cos_back = np.clip((d**2 + r**2 - f**2) / (2 * d * r), -1, 1)
    cos_front = np.clip((d**2 + f**2 - r**2) / (2 * d * f), -1, 1)
    lens = r**2 * (np.arccos(cos_back) - cos_back * np.sqrt(1 - cos_back**2))
    lens += f**2 * (np.arccos(cos_front) - cos_front * np.sqrt(1 - cos_front**2))
    hidden[partial] = lens / (np.pi * r**2)
    return hidden


def _disc_weights(wavelengths: Array) -> Array:
    """Brightness of the stacked discs at each wavelength (a row): the limb is darkest in the blue."""
    way = np.clip(redward(wavelengths), -1.0, 2.0)[:, None]
    weights: Array = (1 - way) * _DISC_WEIGHTS[0] + way * _DISC_WEIGHTS[1]
    return weights


def _planck(temperature: float, wavelengths: Array) -> Array:
    """Surface brightness at each wavelength, up to a factor common to all stars there."""
    exponent = _SECOND_RADIATION_CONSTANT / (wavelengths * temperature)
    return 1.0 / np.expm1(exponent)


def roche_radius(mass_ratio: float) -> float:
    """Return the radius of the Roche lobe (Eggleton 1983) of a star `mass_ratio` times its companion's mass."""
    cube_root = mass_ratio ** (1 / 3)
    return 0.49 * cube_root**2 / (0.6 * cube_root**2 + np.log1p(cube_root))


def _contact(rng: np.random.Generator, early_type: bool) -> tuple[Binary, float]:
    mass_ratio = rng.uniform(0.15, 0.95)
    if early_type:
        period = 10 ** truncated_normal(rng, np.log10(0.75), 0.2, np.log10(0.3), np.log10(3.0))
        temperature = 10 ** rng.uniform(3.9, 4.4)
    else:
        # W UMa stars: longer periods are hotter (period-colour relation).
        period = 10 ** truncated_normal(rng, np.log10(0.34), 0.1, np.log10(0.215), np.log10(0.8))
        temperature = 5300 + 4500 * (period - 0.32) + rng.normal(0, 350)
    overfill = rng.uniform(1.0, 1.08)
    radii = (overfill * roche_radius(1 / mass_ratio), overfill * roche_radius(mass_ratio))
    cooler = temperature * rng.uniform(0.9, 1.02)
    binary = Binary("contact", period, radii, (temperature, cooler), mass_ratio, rng.uniform(0, 0.65))
    absolute_v = -0.4 - 2.5 * np.log10(period / 0.75) + rng.normal(0, 0.7) if early_type else 4.5
    return binary, float(absolute_v)


def _semi_detached(rng: np.random.Generator) -> tuple[Binary, float]:
    """Algols: the cooler, lighter star fills its lobe."""
    mass_ratio = rng.uniform(0.15, 0.5)
    period = 10 ** truncated_normal(rng, 0.4, 0.28, -0.3, 1.8)
    filled = roche_radius(mass_ratio)
    primary = filled * rng.uniform(0.5, 1.1)
    temperature = 10 ** rng.uniform(3.95, 4.35)
    cooler = temperature * rng.uniform(0.4, 0.75)
    limit = 0.9 * (primary + filled)
    binary = Binary("semi-detached", period, (primary, filled), (temperature, cooler), mass_ratio, limit * rng.random())
    return binary, float(-0.2 - 1.3 * np.log10(period / 2.5) + rng.normal(0, 0.8))


def _detached(rng: np.random.Generator, early_type: bool) -> tuple[Binary, float]:
    mass_ratio = rng.uniform(0.45, 1.0)
    if early_type and rng.random() < 0.06:  # two giants: slow, red, easily taken for other long periods
        temperature = rng.uniform(4500, 5400)
        mass, radius = rng.uniform(2, 4), rng.uniform(15, 50)
        log_period = truncated_normal(rng, 2.1, 0.25, 1.6, 2.6)
    elif early_type:
        mass = 1.9 + rng.exponential(1.3)
        temperature = 12500 * (mass / 3.5) ** 0.5
        radius = mass**0.6 * rng.uniform(1.1, 2.4)
        log_period = truncated_normal(rng, 0.45, 0.28, -0.2, 1.6)
    else:
        mass = rng.uniform(0.6, 1.6)
        temperature = 5772 * mass**0.6
        radius = mass**0.8 * rng.uniform(0.95, 1.5)
        log_period = truncated_normal(rng, 0.1, 0.35, -0.55, 1.0)
    period = 10**log_period
    orbit = 4.2 * (mass * (1 + mass_ratio) * period**2) ** (1 / 3)  # solar radii
    primary = min(radius / orbit, 0.9 * roche_radius(1 / mass_ratio))
    secondary = min(primary * mass_ratio ** rng.uniform(0.6, 1.4), 0.9 * roche_radius(mass_ratio))
    eccentricity = rng.beta(1.0, 5.0) if primary + secondary < 0.35 and rng.random() < 0.5 else 0.0
    binary = Binary(
        "detached",
        period,
        (primary, secondary),
        (temperature, temperature * mass_ratio ** rng.uniform(0.4, 0.8)),
        mass_ratio,
        # Grazing eclipses too shallow to be catalogued are left out.
        0.85 * (primary + secondary) * (1 - eccentricity) * rng.random(),
        eccentricity,
        rng.uniform(0, 2 * np.pi),
    )
    return binary, float(_absolute_v(primary * orbit, temperature))


def _absolute_v(radius: float, temperature: float) -> float:
    """Magnitude of a pair of main-sequence stars, the second adding about half a magnitude."""
    bolometric = 4.74 - 5 * np.log10(radius) - 10 * np.log10(temperature / 5772)
    log_temperature = np.log10(temperature)
    hot = 27.58 - 6.8 * log_temperature
    correction = hot if log_temperature > 4.05 else -20 * (log_temperature - 3.82) ** 2
    return float(bolometric - correction - 0.5)
