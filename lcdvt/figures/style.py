"""Figures of results: on plain arrays, as matplotlib figures that a notebook shows and a file keeps."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


FORMATS = ("png", "svg")

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
