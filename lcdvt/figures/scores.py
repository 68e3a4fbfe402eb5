"""Figures of scores: reliability, and F1 against the number of labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lcdvt.evaluate import ReliabilityBins, Spread
from lcdvt.figures.style import CLASS_COLOURS, CLASS_MARKERS, GREY, WIDTH, legend_below, logarithmic, names_as_they_are

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def reliability_figure(rows: Mapping[str, ReliabilityBins]) -> "Figure":
    """Draw how often predictions of a given confidence are right, and how many there are, for rows of the table."""
    from matplotlib.figure import Figure

    with names_as_they_are():
        figure = Figure(figsize=(WIDTH, 5.0), layout="constrained")
        shares, numbers = figure.subplots(2, 1, sharex=True, height_ratios=(3.2, 1))
        ideal = shares.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1)
        handles = [ideal[0]]
        for place, bins in enumerate(rows.values()):
            colour, filled = CLASS_COLOURS[place], bins.count > 0
            right = bins.accuracy[filled]
            line = shares.errorbar(
                bins.confidence[filled],
                right,
                yerr=np.abs(share_interval(right, bins.count[filled]) - right),
                color=colour,
                marker=CLASS_MARKERS[place],
                capsize=2,
            )
            handles.append(line)
            numbers.stairs(bins.count, bins.edges, color=colour, fill=place == 0, alpha=0.6 if place == 0 else 1.0)
        shares.set(xlim=(0, 1), ylim=(0, 1.03), ylabel="share that is right")
        shares.grid(alpha=0.25, linewidth=0.6)
        numbers.margins(y=0.1)
        numbers.set(xlabel="probability of the predicted class", ylabel="objects")
        legend_below(figure, handles, ["perfectly calibrated", *rows], columns=1)
    return figure


def share_interval(share: NDArray[np.float64], count: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (2, shares): where the true share lies with 68 % confidence (Wilson 1927), also of very few objects."""
    centre = (share + 0.5 / count) / (1 + 1 / count)
    half = np.sqrt(share * (1 - share) / count + 0.25 / count**2) / (1 + 1 / count)
    return np.stack([centre - half, centre + half])


@dataclass(frozen=True)
class LabelCurve:
    """A row's macro F1 over runs with different numbers of target labels.

    Parameters
    ----------
    name
        The row, as the legend says it.
    fraction
        Share of the target's labelled objects that were drawn, for each run.
    macro_f1
        Mean and deviation of each run.
    is_upper_bound
        Whether the row knows all labels.
    """

    name: str
    fraction: tuple[float, ...]
    macro_f1: tuple[Spread, ...]
    is_upper_bound: bool = False


def label_fraction_figure(curves: Sequence[LabelCurve]) -> "Figure":
    """Draw macro F1 against the share of target labels that each run could use; the first curve stands out."""
    from matplotlib.figure import Figure

    with names_as_they_are():
        figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
        axes = figure.subplots()
        handles = []
        for number, curve in enumerate(curves):
            colour = GREY if curve.is_upper_bound else CLASS_COLOURS[number % len(CLASS_COLOURS)]
            handle = axes.errorbar(
                [100 * share for share in curve.fraction],
                [100 * value.mean for value in curve.macro_f1],
                yerr=[100 * (value.deviation or 0.0) for value in curve.macro_f1],
                color=colour,
                linestyle="--" if curve.is_upper_bound else "-",
                linewidth=2.4 if number == 0 else 1.2,
                marker=CLASS_MARKERS[number % len(CLASS_MARKERS)],
                markersize=5,
                capsize=2,
            )
            handles.append(handle)
        axes.set(xlabel="target labels used (% of those known)", ylabel="macro F1 (%)")
        logarithmic(axes, "x")
        axes.grid(alpha=0.25, linewidth=0.6)
        legend_below(figure, handles, [curve.name for curve in curves], columns=1)
    return figure
