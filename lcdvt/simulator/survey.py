"""What the simulator has to know of a survey: class mix, sky, campaign, filters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from lcdvt.simulator.binaries import eclipsing_binary
from lcdvt.simulator.cadence import Campaign
from lcdvt.simulator.noise import Measured
from lcdvt.simulator.pulsators import cepheid, rr_lyrae
from lcdvt.simulator.quasars import quasar
from lcdvt.simulator.red_giants import long_period_variable
from lcdvt.simulator.star import Array, Light, Sky, Star

# The survey's files hold only objects detected at least this often.
FEWEST_EPOCHS = 15


class Filter(Protocol):
    """One band of a survey, with its noise."""

    @property
    def name(self) -> str:
        """The survey's name of the band."""

    @property
    def calibration(self) -> float:
        """Spread of the zero point from chip to chip, in magnitudes."""

    @property
    def wavelengths(self) -> tuple[float, ...]:
        """Where the star's light has to be known, in micrometres."""

    def magnitude(self, light: Light) -> Array:
        """Return the magnitude in this band of a star."""

    def measure(self, rng: np.random.Generator, truth: Array, error_factor: Array, crowding: float) -> Measured:
        """Observe `truth`; `crowding` multiplies all errors of the star, `error_factor` those of each epoch."""


@dataclass(frozen=True)
class Region:
    """The part of the sky over which a survey's fields are scattered, in degrees."""

    west: float
    width: float
    south: float
    height: float


@dataclass(frozen=True)
class SimulatedSurvey:
    """Everything the simulator knows of a survey but its file formats.

    `class_mix` holds shares: of EROS-2, MACHO and HiTS those in the table of class distributions in Belhaj et al.
    (2018); of the surveys of today a choice of our own, with enough of the rare classes for a small run.
    """

    name: str
    class_mix: Mapping[str, float]
    sky: Sky
    campaign: Campaign
    bands: tuple[Filter, ...]
    contact_share: float
    blended: float  # share of stars with an unresolved neighbour
    one_band_lost: float  # share of stars measured in one band only
    survey_labels: Mapping[str, str] = field(default_factory=lambda: {"CEP": "CEPH", "RRLYR": "RRL"})
    region: Region = Region(72.5, 16.0, -71.5, 5.0)  # the Large Magellanic Cloud
    crowding: float = 0.28  # natural-log spread of the errors from star to star
    fewest_epochs: int = FEWEST_EPOCHS  # in at least one band
    smallest_amplitude: float = 0.0  # magnitudes; however small the errors, less is not believed

    @property
    def wavelengths(self) -> tuple[float, ...]:
        """Where a star's light has to be known for all bands."""
        return tuple(dict.fromkeys(wavelength for band in self.bands for wavelength in band.wavelengths))

    def survey_label(self, label: str) -> str:
        """Return the survey's own name of a canonical class."""
        return self.survey_labels.get(label, label)

    def draw_label(self, rng: np.random.Generator) -> str:
        """Draw a class from the mix."""
        labels, shares = tuple(self.class_mix), np.cumsum(list(self.class_mix.values()))
        return labels[int(np.searchsorted(shares, rng.random() * shares[-1], side="right"))]

    def draw_star(self, rng: np.random.Generator, label: str) -> Star:
        """Draw an object of a class."""
        if label == "RRLYR":
            return rr_lyrae(rng, self.sky)
        if label == "CEP":
            return cepheid(rng, self.sky)
        if label == "EB":
            return eclipsing_binary(rng, self.sky, self.contact_share)
        if label == "LPV":
            return long_period_variable(rng, self.sky)
        return quasar(rng, self.sky)
