"""Quasars: a damped random walk, the same in every band but for its amplitude."""

import numpy as np

from lcdvt.simulator.spectra import power_law_spectrum, redward
from lcdvt.simulator.star import Array, Sky, Star


def quasar(rng: np.random.Generator, sky: Sky) -> Star:
    """Draw a quasar with the time scales and amplitudes of MacLeod et al. (2010), seen in our frame."""
    timescale = float(np.clip(10 ** rng.normal(2.45, 0.35), 20.0, 4000.0))
    # SF_inf is the rms difference of magnitudes far apart in time; the walk's own spread is smaller by sqrt 2.
    spread = float(np.clip(10 ** rng.normal(-0.65, 0.18), 0.05, 0.8)) / np.sqrt(2)
    # Redder bands vary less: the amplitude falls with wavelength to the power -0.48.
    i_over_v = (0.80 / 0.55) ** -0.48 * rng.normal(1.0, 0.05)
    own_noise = 0.15 * spread
    mean_v, mean_i = sky.apparent(rng, "QSO", -24.0, rng.normal(0.55, 0.15))
    child = np.random.default_rng(rng.integers(2**63))

    def curve(times: Array, wavelengths: Array) -> Array:
        common = damped_random_walk(child, times, timescale, spread)
        # The colour wanders a little, too.
        colour = damped_random_walk(child, times, timescale, own_noise)
        way = redward(wavelengths)[:, None]
        changes: Array = i_over_v**way * common + way * colour
        return changes

    return Star("QSO", "DRW", float("nan"), mean_v, mean_i, curve, power_law_spectrum)


def damped_random_walk(rng: np.random.Generator, times: Array, timescale: float, spread: float) -> Array:
    """Sample the walk exactly at sorted `times`; its variance is `spread` squared, its memory `timescale`."""
    # x_k = e^{-dt} x_{k-1} + s_k n_k, summed in closed form. The exponentials stay finite because each
    # stretch covers at most `span` time scales before it starts afresh from its last value.
    span = 500.0
    age = (times - times[0]) / timescale
    steps = rng.standard_normal(times.size)
    steps[1:] *= np.sqrt(-np.expm1(-2 * np.diff(age)))
    walk = np.empty(times.size)
    carried, start = 0.0, 0
    while start < times.size:
        stop = max(start + 1, int(np.searchsorted(age, age[start] + span)))
        growth = np.exp(age[start:stop] - age[start])
        walk[start:stop] = (carried + np.cumsum(steps[start:stop] * growth)) / growth
        if stop < times.size:
            carried = walk[stop - 1] * np.exp(-(age[stop] - age[stop - 1]))
        start = stop
    return spread * walk
