"""What the survey looks at: one variable object, and the sky in front of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A curve maps times (days) and wavelengths (micrometres) to the deviation from the mean magnitude, a row a wavelength.
Curve = Callable[[Array, Array], Array]
# A spectrum maps mean magnitudes in V and I, and wavelengths, to mean magnitudes at these wavelengths.
Spectrum = Callable[[float, float, Array], Array]
# Magnitudes against time, for each wavelength that a survey looks at.
Light = Mapping[float, Array]

# Total extinction in V for one magnitude of reddening in V - I (a standard R_V = 3.1 law).
EXTINCTION_PER_REDDENING = 2.4


@dataclass(frozen=True)
class Star:
    """One variable object before any telescope, at any wavelength.

    Its mean magnitudes in Johnson-Cousins V and I fix the spectrum; `curve` knows how much it varies where.
    All magnitudes are on the Vega system.
    """

    label: str
    subclass: str
    period: float  # days; nan where there is none
    mean_v: float
    mean_i: float
    curve: Curve
    spectrum: Spectrum

    def light(self, times: Array, wavelengths: tuple[float, ...]) -> Light:
        """Return the magnitudes at sorted `times`, in days since the survey began."""
        places = np.array(wavelengths)
        means = self.spectrum(self.mean_v, self.mean_i, places)
        return {
            wavelength: mean + change
            for wavelength, mean, change in zip(wavelengths, means, self.curve(times, places), strict=True)
        }


class Sky(Protocol):
    """Where a survey looks: turns an absolute magnitude into an apparent one."""

    def apparent(self, rng: np.random.Generator, label: str, absolute_v: float, colour: float) -> tuple[float, float]:
        """Return the mean V and I magnitudes of an object of this class, absolute magnitude and V - I."""


@dataclass(frozen=True)
class MagellanicCloud:
    """The Large Magellanic Cloud: one distance, patchy dust, quasars shining through."""

    distance_modulus: float = 18.48
    depth_along_sight: float = 0.06
    foreground_reddening: float = 0.05
    patchy_reddening: float = 0.06
    faintest_in_cloud: float = 2.5  # absolute V
    halo_rr_lyrae: float = 0.03

    def apparent(self, rng: np.random.Generator, label: str, absolute_v: float, colour: float) -> tuple[float, float]:
        """Place the object in the Cloud, behind it if it is a quasar, or in front of it."""
        # A dwarf that is seen at all is one of ours, and so are a few RR Lyrae of the halo.
        in_front = absolute_v > self.faintest_in_cloud or (label == "RRLYR" and rng.random() < self.halo_rr_lyrae)
        if in_front:
            mean_v = 15.5 + 4.3 * rng.beta(1.6, 1.0)
            return mean_v, mean_v - (colour + self.foreground_reddening)
        reddening = self.foreground_reddening + rng.exponential(self.patchy_reddening)
        extinction = EXTINCTION_PER_REDDENING * reddening
        if label == "QSO":
            # Quasars that such shallow surveys find: few bright ones, most near the limit.
            mean_v = 16.6 + 3.6 * rng.beta(3.0, 1.3)
        else:
            mean_v = absolute_v + self.distance_modulus + self.depth_along_sight * rng.standard_normal() + extinction
        return mean_v, mean_v - (colour + reddening)


@dataclass(frozen=True)
class HaloField:
    """High galactic latitude: objects at any distance between saturation and the useful depth."""

    # Class -> brightest magnitude, range, and the two shape parameters of a beta distribution.
    # Halo RR Lyrae thin out with distance; binaries and quasars grow more numerous towards faint magnitudes.
    magnitudes: tuple[tuple[str, float, float, float, float], ...] = (
        ("RRLYR", 15.0, 6.3, 1.1, 1.5),
        ("EB", 15.0, 6.5, 1.6, 1.3),
        ("QSO", 17.3, 4.6, 2.5, 1.2),
    )
    reddening: float = 0.04

    def apparent(self, rng: np.random.Generator, label: str, absolute_v: float, colour: float) -> tuple[float, float]:
        """Draw an apparent magnitude from the counts of the class; the absolute one then fixes the distance."""
        brightest, span, rise, fall = {name: shape for name, *shape in self.magnitudes}[label]
        mean_v = brightest + span * rng.beta(rise, fall)
        return mean_v, mean_v - (colour + rng.exponential(self.reddening))


def truncated_normal(rng: np.random.Generator, mean: float, spread: float, low: float, high: float) -> float:
    """Draw from a normal distribution cut at `low` and `high`, by redrawing."""
    while True:
        value = mean + spread * rng.standard_normal()
        if low <= value <= high:
            return float(value)
