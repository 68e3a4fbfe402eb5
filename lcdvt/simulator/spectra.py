"""How bright an object is at any wavelength, once its V and I magnitudes are known.

Wavelengths are in micrometres; magnitudes are on the Vega system, as V and I are, unless a name says AB.
"""

import numpy as np

from lcdvt.simulator.star import Array

WAVELENGTH_V, WAVELENGTH_I = 0.55, 0.80
V_AND_I = np.array([WAVELENGTH_V, WAVELENGTH_I])

# AB magnitudes of Vega in u g r i z y of the SDSS and Pan-STARRS, and in between in V and I (Willmer 2018).
_VEGA_WAVELENGTHS = np.array([0.36, 0.477, WAVELENGTH_V, 0.62, 0.754, WAVELENGTH_I, 0.868, 0.97])
_VEGA_AB = np.array([0.93, -0.10, 0.00, 0.15, 0.37, 0.43, 0.53, 0.58])

# AB colours u-g, g-r, r-i, i-z, z-y from B0 to late M stars, rounded: the stellar locus of Covey et al. (2007) from
# F stars on, Vega and hotter stars before. RR Lyrae of Stripe 82 have medians of 1.2, 0.27, 0.10, 0.04 in it.
_STELLAR_LOCUS = np.array(
    [
        [-0.30, -0.55, -0.38, -0.33, -0.15],
        [0.40, -0.40, -0.30, -0.25, -0.10],
        [1.03, -0.25, -0.22, -0.16, -0.05],
        [1.15, -0.05, -0.11, -0.09, -0.02],
        [1.16, 0.12, 0.00, -0.03, 0.00],
        [1.18, 0.27, 0.09, 0.03, 0.02],
        [1.35, 0.46, 0.15, 0.05, 0.03],
        [1.75, 0.68, 0.24, 0.12, 0.07],
        [2.35, 1.05, 0.42, 0.23, 0.12],
        [2.60, 1.36, 0.75, 0.43, 0.22],
        [2.60, 1.45, 1.30, 0.72, 0.38],
        [2.65, 1.50, 1.90, 1.05, 0.55],
        [2.80, 1.70, 2.70, 1.45, 0.75],
    ]
)
_LOCUS_WAVELENGTHS = np.array([0.36, 0.477, 0.62, 0.754, 0.868, 0.97])


def redward(wavelengths: Array) -> Array:
    """Return how far each wavelength lies on the way from V (0) to I (1), on a logarithmic scale."""
    steps: Array = np.log(wavelengths / WAVELENGTH_V) / np.log(WAVELENGTH_I / WAVELENGTH_V)
    return steps


def vega_in_ab(wavelengths: Array) -> Array:
    """Return what has to be added to a Vega magnitude to have an AB magnitude."""
    return np.interp(wavelengths, _VEGA_WAVELENGTHS, _VEGA_AB)


def stellar_spectrum(mean_v: float, mean_i: float, wavelengths: Array) -> Array:
    """Return the mean magnitudes of a star of this V and I; dust makes it look like a cooler one."""
    colour = mean_v - mean_i
    others = mean_v + np.array([np.interp(colour, _LOCUS_V_I, offset) for offset in _LOCUS_OFFSETS])
    places = np.r_[_LOCUS_WAVELENGTHS, V_AND_I]
    order = np.argsort(places)
    return np.interp(wavelengths, places[order], np.r_[others, mean_v, mean_i][order])


def power_law_spectrum(mean_v: float, mean_i: float, wavelengths: Array) -> Array:
    """Return the mean magnitudes of a quasar: a straight line through V and I in AB and log wavelength.

    So it has no Balmer jump: in u it is a magnitude brighter than a star of the same colour.
    """
    vega_v, vega_i = vega_in_ab(V_AND_I)
    way = redward(wavelengths)
    straight = (1 - way) * (mean_v + vega_v) + way * (mean_i + vega_i) - vega_in_ab(wavelengths)
    # V and I themselves to the last digit.
    magnitudes: Array = np.select(
        [wavelengths == WAVELENGTH_V, wavelengths == WAVELENGTH_I], [mean_v, mean_i], straight
    )
    return magnitudes


def _locus_against_v() -> tuple[Array, Array]:
    """Return V - I along the locus, and each of u g r i z y minus V on the Vega system (rows)."""
    _, g_r, r_i, *_ = _STELLAR_LOCUS.T
    # Lupton (2005): V = g - 0.5784 (g - r) - 0.0038, I = r - 1.2444 (r - i) - 0.3820.
    g_v = 0.5784 * g_r + 0.0038
    v_i = (g_r - g_v) + 1.2444 * r_i + 0.3820
    from_u = np.cumsum(np.column_stack([np.zeros(len(g_v)), -_STELLAR_LOCUS]), axis=1)
    offsets = from_u - from_u[:, 1:2] + g_v[:, None] - vega_in_ab(_LOCUS_WAVELENGTHS)
    return v_i, offsets.T


_LOCUS_V_I, _LOCUS_OFFSETS = _locus_against_v()
