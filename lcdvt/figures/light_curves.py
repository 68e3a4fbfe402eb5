"""Figures of stars: periods and amplitudes by predicted class, and light curves folded at their period."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from lcdvt.figures.style import (
    CLASS_COLOURS,
    CLASS_MARKERS,
    WIDTH,
    class_colours,
    legend_below,
    logarithmic,
    names_as_they_are,
)
from lcdvt.names import BAND, MAG, MAG_ERR, MJD, PREDICTED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BAND_MARKERS: Final = ("o", "s", "^", "D", "v")
CARD_SIZE: Final = (3.2, 2.1)
MOST_EPOCHS: Final = 500
"""Of one band in a light curve as small as these."""


def period_amplitude_figure(stars: pd.DataFrame, classes: Sequence[str], amplitude_name: str) -> "Figure":
    """Draw amplitude against period, the predicted class by colour and marker.

    Parameters
    ----------
    stars
        Columns `predicted`, `period` and `amplitude`, all positive.
    classes
        In the order of the legend.
    amplitude_name
        What the vertical axis is.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    colours = class_colours(classes)
    markers = {name: CLASS_MARKERS[number % len(CLASS_MARKERS)] for number, name in enumerate(classes)}
    with names_as_they_are():
        figure = Figure(figsize=(WIDTH, 4.6), layout="constrained")
        axes = figure.subplots()
        # the most frequent class first, so that rare ones are seen on top of it
        for name in stars[PREDICTED].value_counts().index:
            group = stars[stars[PREDICTED] == name]
            axes.scatter(
                group["period"],
                group["amplitude"],
                s=13,
                color=colours[name],
                marker=markers[name],
                alpha=0.6,
                linewidths=0,
                rasterized=True,
            )
        axes.set(xlabel="period (days)", ylabel=amplitude_name)
        logarithmic(axes, "x")
        logarithmic(axes, "y")
        axes.grid(alpha=0.25, linewidth=0.6)
        handles = [Line2D([], [], color=colours[name], marker=markers[name], linestyle="none") for name in classes]
        legend_below(figure, handles, classes, columns=min(len(classes), 5))
    return figure


def folded_figure(epochs: pd.DataFrame, period: float | None, bands: Sequence[str]) -> "Figure":
    """Draw one star's light curve over two cycles, every band with its errors; unfolded where there is no period.

    Parameters
    ----------
    epochs
        The star's epochs table.
    period
        Days.
    bands
        The survey's bands, blue to red, which fixes their colours; each is shown about its own median.
    """
    from matplotlib.figure import Figure

    with names_as_they_are():
        figure = Figure(figsize=CARD_SIZE)
        axes = figure.add_axes((0.2, 0.2, 0.76, 0.76))
        for number, band in enumerate(bands):
            curve = epochs[epochs[BAND] == band]
            if curve.empty:
                continue
            curve = curve.sample(min(len(curve), MOST_EPOCHS), random_state=0)
            time, mag, error = _points(curve, period)
            axes.errorbar(
                time,
                mag - np.median(mag),
                yerr=error,
                linestyle="none",
                marker=BAND_MARKERS[number % len(BAND_MARKERS)],
                markersize=2.2,
                elinewidth=0.4,
                color=band_colour(number),
                alpha=0.75,
                rasterized=True,
            )
        axes.invert_yaxis()
        axes.margins(y=0.08)
        axes.set_xlabel("phase" if period else "MJD", fontsize=9, labelpad=2)
        axes.set_ylabel("Δ mag", fontsize=9)
        # a fixed place, whatever the width of the numbers: the cards are read side by side
        axes.yaxis.set_label_coords(-0.2, 0.5)
        axes.tick_params(labelsize=8)
        if period:
            axes.set(xlim=(0, 2), xticks=[0, 0.5, 1, 1.5, 2], xticklabels=["0", "0.5", "1", "1.5", "2"])
        axes.locator_params(axis="y", nbins=4)
    return figure


def light_curve_figure(epochs: pd.DataFrame, period: float | None, bands: Sequence[str], *, title: str) -> "Figure":
    """Draw one star's light curve large, magnitudes as they are: against time, or over two cycles of a period.

    Parameters
    ----------
    epochs
        The star's epochs table.
    period
        Days; None draws against time.
    bands
        The survey's bands, blue to red, which fixes their colours.
    title
        What stands above.
    """
    from matplotlib.figure import Figure

    with names_as_they_are():
        figure = Figure(figsize=(1.6 * WIDTH, 3.6), layout="constrained")
        axes = figure.subplots()
        handles, shown = [], []
        for number, band in enumerate(bands):
            curve = epochs[epochs[BAND] == band]
            if curve.empty:
                continue
            time, mag, error = _points(curve, period)
            handles.append(
                axes.errorbar(
                    time,
                    mag,
                    yerr=error,
                    linestyle="none",
                    marker=BAND_MARKERS[number % len(BAND_MARKERS)],
                    markersize=3.2,
                    elinewidth=0.6,
                    color=band_colour(number),
                    alpha=0.8,
                    rasterized=True,
                )
            )
            shown.append(band)
        axes.invert_yaxis()
        axes.set(xlabel="phase" if period else "MJD (days)", ylabel="magnitude", title=title)
        if period:
            axes.set_xlim(0, 2)
        legend_below(figure, handles, shown, columns=max(len(shown), 1))
    return figure


def _points(curve: pd.DataFrame, period: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times, magnitudes and errors; with a period, phases from 0 to 2 instead of times."""
    time, mag, error = (curve[column].to_numpy() for column in (MJD, MAG, MAG_ERR))
    if not period:
        return time, mag, error
    phase = (time / period) % 1
    return np.concatenate([phase, phase + 1]), np.tile(mag, 2), np.tile(error, 2)


def band_colour(number: int) -> str:
    """Return the colour of a survey's band, counted from blue to red."""
    blue_to_red = (CLASS_COLOURS[0], CLASS_COLOURS[3], CLASS_COLOURS[2], CLASS_COLOURS[4], CLASS_COLOURS[1])
    return blue_to_red[number % len(blue_to_red)]
