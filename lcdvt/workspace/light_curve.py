"""One star's light curve as a notebook holds it: look at it, fold it, hand it to astropy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lcdvt.errors import SettingsError, WorkspaceError
from lcdvt.names import BAND, FLUX, FLUX_ERR, MAG, MAG_ERR, MAG_LIMIT, MJD

if TYPE_CHECKING:
    from astropy.timeseries import TimeSeries
    from astropy.units import Quantity
    from matplotlib.figure import Figure

PHASE = "phase"


@dataclass(frozen=True)
class LightCurve:
    """The epochs of one star.

    Parameters
    ----------
    object_id, survey
        The star, and the survey's name in the workspace.
    epochs
        One row for each epoch: band, mjd, mag, mag_err; flux and flux_err, too, where the survey gives fluxes.
    nanometres
        Wavelengths of the survey's bands, blue to red; NaN where not known.
    period
        Days, as the survey's features have it; None where they have none.
    label
        The star's class in the workspace; None where nobody knows.
    time_scale, flux_unit, citation
        The scale of its times, the unit of its fluxes, and what to cite.
    limits
        One row for each time the star was looked for and not seen: band, mjd, mag_limit, the magnitude that it was
        not brighter than. They are no epochs: neither `fold` nor the features know them.
    """

    object_id: str
    survey: str
    epochs: pd.DataFrame = field(repr=False)
    nanometres: Mapping[str, float]
    period: float | None = None
    label: str | None = None
    time_scale: str = field(default="utc", repr=False)
    flux_unit: str = field(default="", repr=False)
    citation: str = field(default="", repr=False)
    limits: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=[BAND, MJD, MAG_LIMIT]), repr=False)

    def __len__(self) -> int:
        return len(self.epochs)

    @property
    def bands(self) -> tuple[str, ...]:
        """The survey's bands, blue to red."""
        return tuple(self.nanometres)

    def band(self, name: str) -> pd.DataFrame:
        """Return the epochs of one band."""
        if name not in self.bands:
            raise SettingsError(f"band={name}: survey {self.survey!r} has {', '.join(self.bands)}.")
        return self.epochs[self.epochs[BAND] == name].reset_index(drop=True)

    def fold(self, period: "float | Quantity | None" = None, *, epoch: float = 0.0) -> "FoldedLightCurve":
        """Return the light curve by phase.

        Parameters
        ----------
        period
            Days, or an astropy quantity of time; None takes the period that the survey's features have.
        epoch
            The MJD at which the phase is zero.
        """
        chosen = self.period if period is None else period
        if chosen is None:
            raise WorkspaceError(
                f"{self.object_id} has no period in the features of {self.survey!r}: give one, as fold(0.5)."
            )
        days = _days(chosen)
        if not (np.isfinite(days) and days > 0):
            raise SettingsError(f"period={chosen}: a period is a positive number of days.")
        start = _days(epoch)
        if not np.isfinite(start):
            raise SettingsError(f"epoch={epoch}: the MJD at which the phase is zero is a number.")
        return FoldedLightCurve(self, days, start)

    def plot(self) -> "Figure":
        """Draw magnitude against time, every band with its errors, and upper limits as triangles that point down."""
        from lcdvt.figures.light_curves import light_curve_figure

        return light_curve_figure(self.epochs, None, self.nanometres, title=self._title(), limits=self.limits)

    def to_timeseries(self) -> "TimeSeries":
        """Return the epochs as an astropy TimeSeries with units."""
        import astropy.units as u
        from astropy.time import Time
        from astropy.timeseries import TimeSeries

        about = {"survey": self.survey, "object_id": self.object_id, "citation": self.citation}
        series = TimeSeries(time=Time(self.epochs[MJD].to_numpy(), format="mjd", scale=self.time_scale), meta=about)
        series[BAND] = self.epochs[BAND].to_numpy().astype(str)
        series[MAG] = self.epochs[MAG].to_numpy() * u.mag
        series[MAG_ERR] = self.epochs[MAG_ERR].to_numpy() * u.mag
        if FLUX in self.epochs:
            unit = u.Unit(self.flux_unit, parse_strict="silent")
            for column in (FLUX, FLUX_ERR):
                series[column] = self.epochs[column].to_numpy(dtype=float) * unit
        return series

    def _title(self) -> str:
        return f"{self.object_id} ({self.survey})" + (f", {self.label}" if self.label else "")


def _days(given: Any) -> float:
    """Return a number of days, of a quantity of astropy, too; NaN where it is neither."""
    try:
        return float(given.to_value("day") if hasattr(given, "to_value") else given)
    except (TypeError, ValueError):
        return math.nan


@dataclass(frozen=True)
class FoldedLightCurve:
    """A light curve by phase.

    Parameters
    ----------
    light_curve
        What was folded.
    period, epoch
        Days, and the MJD at which the phase is zero.
    """

    light_curve: LightCurve
    period: float
    epoch: float = 0.0

    @property
    def phase(self) -> NDArray[np.float64]:
        """The phase of each epoch, from 0 to 1, in the order of the epochs."""
        return ((self.light_curve.epochs[MJD].to_numpy(dtype=float) - self.epoch) / self.period) % 1

    @property
    def epochs(self) -> pd.DataFrame:
        """The epochs with a column `phase`, sorted by it."""
        return self.light_curve.epochs.assign(**{PHASE: self.phase}).sort_values(PHASE, ignore_index=True)

    def plot(self) -> "Figure":
        """Draw magnitude against phase over two cycles, every band with its errors."""
        from lcdvt.figures.light_curves import light_curve_figure

        title = f"{self.light_curve._title()}, period {self.period:.6g} d"
        shifted = self.light_curve.epochs.assign(**{MJD: self.light_curve.epochs[MJD] - self.epoch})
        return light_curve_figure(shifted, self.period, self.light_curve.nanometres, title=title)
