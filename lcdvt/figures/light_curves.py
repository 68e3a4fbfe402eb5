"""Figures of stars: periods and amplitudes by predicted class, and light curves folded at their period."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from lcdvt.figures.style import (
    CLASS_MARKERS,
    WIDTH,
    class_colours,
    legend_below,
    logarithmic,
    names_as_they_are,
)
from lcdvt.names import BAND, MAG, MAG_ERR, MAG_LIMIT, MJD, PREDICTED

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import Container
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

BAND_MARKERS: Final = ("o", "s", "^", "D", "v", "P")
# Violet to brown, without the yellow that vanishes on a light page; evenly spaced between these wavelengths (nm).
# What lies beyond them crowds at the end.
COLOURS: Final = ("#7b3fa0", "#0072b2", "#009e73", "#e08300", "#d0342c", "#8c4a2f")
VISIBLE: Final = (350.0, 1000.0)
# Of the whole range of colours: two bands this close together can still be told apart.
SMALLEST_STEP: Final = 0.12
# From this many bands on, curves on top of each other are moved to a common middle.
MANY_BANDS: Final = 3
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


def folded_figure(
    epochs: pd.DataFrame, period: float | None, bands: Mapping[str, float], limits: pd.DataFrame | None = None
) -> "Figure":
    """Draw one star's light curve over two cycles, every band with its errors; unfolded where there is no period.

    Parameters
    ----------
    epochs
        The star's epochs table.
    period
        Days.
    bands
        Nanometres of each of the survey's bands, blue to red, by which they are coloured; each is shown about its own
        median.
    limits
        The star's upper limits, drawn where the light curve is not folded: as triangles that point down.
    """
    from matplotlib.figure import Figure

    with names_as_they_are():
        figure = Figure(figsize=CARD_SIZE)
        axes = figure.add_axes((0.2, 0.2, 0.76, 0.76))
        colours = band_colours(bands)
        middles: dict[str, float] = {}
        for number, band in enumerate(bands):
            curve = epochs[epochs[BAND] == band]
            if curve.empty:
                continue
            curve = curve.sample(min(len(curve), MOST_EPOCHS), random_state=0)
            time, mag, error = _points(curve, period)
            middles[band] = float(np.median(mag))
            axes.errorbar(
                time,
                mag - middles[band],
                yerr=error,
                linestyle="none",
                marker=BAND_MARKERS[number % len(BAND_MARKERS)],
                markersize=2.2,
                elinewidth=0.4,
                color=colours[band],
                alpha=0.75,
                rasterized=True,
            )
        if limits is not None and not period:
            seen = limits[limits[BAND].isin(middles)]  # without an epoch a band has no median to be shown about
            _draw_limits(axes, seen.assign(**{MAG_LIMIT: seen[MAG_LIMIT] - seen[BAND].map(middles)}), colours)
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


def light_curve_figure(
    epochs: pd.DataFrame,
    period: float | None,
    bands: Mapping[str, float],
    *,
    title: str,
    limits: pd.DataFrame | None = None,
) -> "Figure":
    """Draw one star's light curve large: against time, or over two cycles of a period.

    Magnitudes are as they are; three bands or more over a period are moved to their medians, which the legend tells.

    Parameters
    ----------
    epochs
        The star's epochs table.
    period
        Days; None draws against time.
    bands
        Nanometres of each of the survey's bands, blue to red, by which they are coloured.
    title
        What stands above.
    limits
        The star's upper limits, drawn against time only: as triangles that point down, in the colour of their band.
    """
    from matplotlib.figure import Figure

    with names_as_they_are():
        figure = Figure(figsize=(1.6 * WIDTH, 3.6), layout="constrained")
        axes = figure.subplots()
        colours = band_colours(bands)
        about_median = period is not None and epochs[BAND].nunique() >= MANY_BANDS
        handles: list[Artist | Container] = []
        shown: list[str] = []
        for number, band in enumerate(bands):
            curve = epochs[epochs[BAND] == band]
            if curve.empty:
                continue
            time, mag, error = _points(curve, period)
            middle = float(np.median(mag)) if about_median else 0.0
            handles.append(
                axes.errorbar(
                    time,
                    mag - middle,
                    yerr=error,
                    linestyle="none",
                    marker=BAND_MARKERS[number % len(BAND_MARKERS)],
                    markersize=3.2,
                    elinewidth=0.6,
                    color=colours[band],
                    alpha=0.8,
                    rasterized=True,
                )
            )
            shown.append(f"{band} − {middle:.2f}" if about_median else band)
        if limits is not None and period is None:
            for band, drawn in _draw_limits(axes, limits, colours).items():
                handles.append(drawn)
                shown.append(f"{band}, not seen")
        axes.invert_yaxis()
        magnitude = "magnitude − median" if about_median else "magnitude"
        axes.set(xlabel="phase" if period else "MJD (days)", ylabel=magnitude, title=title)
        if period:
            axes.set_xlim(0, 2)
        legend_below(figure, handles, shown, columns=max(len(shown), 1))
    return figure


def _draw_limits(axes: "Axes", limits: pd.DataFrame, colours: Mapping[str, str]) -> "dict[str, Line2D]":
    """Draw the upper limits of each band that has some."""
    return {
        band: axes.plot(
            rows[MJD],
            rows[MAG_LIMIT],
            linestyle="none",
            marker="v",
            markersize=4.5,
            markerfacecolor="none",
            markeredgewidth=0.7,
            color=colours[band],
            alpha=0.6,
            rasterized=True,
        )[0]
        for band in colours
        if len(rows := limits[limits[BAND] == band])
    }


def _points(curve: pd.DataFrame, period: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times, magnitudes and errors; with a period, phases from 0 to 2 instead of times."""
    time, mag, error = (curve[column].to_numpy() for column in (MJD, MAG, MAG_ERR))
    if not period:
        return time, mag, error
    phase = (time / period) % 1
    return np.concatenate([phase, phase + 1]), np.tile(mag, 2), np.tile(error, 2)


def band_colours(bands: Mapping[str, float]) -> dict[str, str]:
    """Return a colour for each band by its wavelength, from violet to brown.

    Parameters
    ----------
    bands
        Nanometres, blue to red. Where one of them is not known (NaN), all are spread evenly.

    Examples
    --------
    >>> band_colours({"u": 350.0, "y": 1000.0})
    {'u': '#7b3fa0', 'y': '#8c4a2f'}
    """
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    if all(map(math.isfinite, bands.values())):
        low, high = np.log(VISIBLE)
        places = [min(max((math.log(nanometres) - low) / (high - low), 0.0), 1.0) for nanometres in bands.values()]
    else:
        places = list(np.linspace(0.0, 1.0, len(bands)))
    step = min(SMALLEST_STEP, 1.0 / max(len(places) - 1, 1))
    for number in range(1, len(places)):
        places[number] = max(places[number], places[number - 1] + step)
    # What was pushed beyond the end goes back, and pushes the others as far as it must.
    for number in reversed(range(len(places))):
        places[number] = min(places[number], 1.0 - (len(places) - 1 - number) * step)
    colour_at = LinearSegmentedColormap.from_list("wavelength", COLOURS)
    return {band: to_hex(colour_at(place)) for band, place in zip(bands, places, strict=True)}
