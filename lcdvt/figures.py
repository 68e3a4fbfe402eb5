"""Figures of results: on plain arrays, as matplotlib figures that a notebook shows and a file keeps."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.dataset import UNLABELLED
from lcdvt.evaluate import ReliabilityBins, Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lcdvt.experiments.moons import MoonsResult

FORMATS = ("png", "svg")
RED, BLUE, VIOLET, GREEN = "#d1495b", "#3d7ea6", "#6a2c91", "#1f8a3b"

# Okabe and Ito's colours, told apart with any kind of colour vision; without black and yellow, which vanish on a
# dark or a light page. Classes beyond these get shades between.
CLASS_COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8c6d31")
GREY: Final = "#8a8a8a"
CLASS_MARKERS: Final = ("o", "^", "s", "D", "v", "P", "X")
WIDTH: Final = 5.0
"""Inches; narrow enough that text stays readable when the figure shrinks to a phone's screen."""


@contextmanager
def names_as_they_are() -> Iterator[None]:
    """Let matplotlib draw names that hold dollars or letters its font lacks, instead of typesetting or warning."""
    from matplotlib import rc_context

    with rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def class_colours(classes: Sequence[str]) -> dict[str, str]:
    """Return each class' colour, the same in every figure of a run."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    beyond = len(classes) - len(CLASS_COLOURS)
    shades = [to_hex(colormaps["viridis"](place)) for place in np.linspace(0.1, 0.9, max(beyond, 0))]
    return dict(zip(classes, [*CLASS_COLOURS, *shades], strict=False))


def legend_below(figure: "Figure", handles: Sequence[Any], names: Sequence[str], columns: int) -> None:
    """Put a legend under the figure."""
    # matplotlib leaves out names that begin with an underscore; an invisible sign before it keeps them
    shown = [f"\N{ZERO WIDTH SPACE}{name}" if name.startswith("_") else name for name in names]
    figure.legend(handles, shown, loc="outside lower center", ncols=columns, frameon=False, handletextpad=0.4)


def logarithmic(axes: "Axes", which: str) -> None:
    """Make an axis logarithmic, with plain numbers (0.1, 1, 10) at its ticks."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = sorted(axis.get_view_interval())
    # less than a decade has too few powers of ten to read values from
    narrow = high < 10 * low
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if narrow or high < 100 * low else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


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


def class_handles(classes: Sequence[str], colours: Mapping[str, str]) -> list[Any]:
    """Return a legend's patches for classes."""
    from matplotlib.patches import Patch

    return [Patch(color=colours[name]) for name in classes]


def save_figure(figure: "Figure", path: Path) -> list[Path]:
    """Write the figure beside `path` in every format; return the files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files = [path.with_suffix(f".{extension}") for extension in FORMATS]
    for file in files:
        # no date in the file: the same figure is the same bytes
        metadata = {"Date": None} if file.suffix == ".svg" else None
        figure.savefig(file, dpi=150, metadata=metadata)
    return files


def moons_figure(result: "MoonsResult") -> "Figure":
    """Predictions and their entropy on source and target, as in the paper's figure of the moons."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 8), layout="constrained")
    axes: Any = figure.subplots(2, 2)
    scores = (result.source_f1[0], result.target_f1[0])
    titles = ("Source, semi-supervised", "Target, after transfer")
    for row, (survey, probability) in enumerate(zip(result.surveys, result.probabilities, strict=True)):
        predictions, entropies = axes[row]
        x, predicted = survey.test_x, probability.argmax(-1)
        for number, colour, name in ((0, RED, "predicted red"), (1, BLUE, "predicted blue")):
            chosen = predicted == number
            predictions.scatter(*x[chosen].T, s=5, color=colour, alpha=0.4, linewidths=0, label=name)
        for number, colour, name in ((0, VIOLET, "labelled red"), (1, GREEN, "labelled blue")):
            known = survey.x[survey.y == number]
            # many labels would hide the predictions they led to
            size = 22 if len(known) < 200 else 8
            predictions.scatter(*known.T, s=size, color=colour, edgecolors="white", linewidths=0.5, label=name)
        predictions.set_title(f"{titles[row]}: predictions (macro F1 {scores[row]:.1f} %)", fontsize=10)
        entropy = _entropy_in_bits(probability)
        order = np.argsort(entropy)
        dots = entropies.scatter(*x[order].T, s=6, c=entropy[order], cmap="inferno", vmin=0, vmax=1, linewidths=0)
        entropies.set_facecolor("0.25")
        entropies.set_title(f"{titles[row]}: entropy", fontsize=10)
        figure.colorbar(dots, ax=entropies, label="binary entropy (bits)")
        entropies.set(xlim=predictions.get_xlim(), ylim=predictions.get_ylim())
        for axis in (predictions, entropies):
            axis.set(xlabel="x₁", ylabel="x₂")
        labels = int((survey.y != UNLABELLED).sum())
        legend = predictions.legend(loc="best", fontsize=8, markerscale=1.5, title=f"{labels} labels")
        for handle in legend.legend_handles:
            handle.set_alpha(1)
    return figure


def _entropy_in_bits(probability: NDArray[np.floating]) -> NDArray[np.float64]:
    p = np.clip(probability.astype(np.float64), 1e-12, 1)
    return -(p * np.log2(p)).sum(axis=-1)
