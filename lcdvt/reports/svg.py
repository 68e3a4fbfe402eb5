"""A matplotlib figure as a drawing inside the page, in the page's ink: seen on light, on dark and on paper."""

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree

from lcdvt.figures.style import names_as_they_are

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Stands for the page's own text colour while matplotlib draws; no other colour of ours is the same.
INK: Final = "#0d0e0f"
DOTS_PER_INCH: Final = 160
"""Of scatter plots, which are pixels inside the drawing: thousands of stars as shapes would make a heavy page."""

_STYLE: Final[Any] = {
    "svg.fonttype": "none",  # text stays text: it can be searched, copied and read aloud
    "svg.hashsalt": "lcdvt",  # the same figure is the same bytes
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(
        [
            "text.color",
            "axes.edgecolor",
            "axes.labelcolor",
            "xtick.color",
            "ytick.color",
            "grid.color",
            "patch.edgecolor",
        ],
        INK,
    ),
}
_NO_METADATA: Final = {"Date": None, "Creator": None, "Format": None, "Type": None}
_UNWANTED: Final = ("metadata", "style")
_REFERENCES: Final = ("href", "clip-path")


def draw_svg(draw: Callable[[], "Figure"], alt: str, prefix: str) -> str:
    """Draw a figure and return it as an SVG element for the page.

    Parameters
    ----------
    draw
        Makes the figure; called with the page's style in force.
    alt
        What the figure shows, for those who cannot see it.
    prefix
        Put before every id in the drawing: ids of two drawings on one page must differ.
    """
    from matplotlib import rc_context

    written = io.StringIO()
    with rc_context(_STYLE), names_as_they_are():
        draw().savefig(written, format="svg", dpi=DOTS_PER_INCH, metadata=_NO_METADATA)
    root = ElementTree.fromstring(written.getvalue())
    _clean(root, prefix)
    box = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib |= {"class": "plot", "viewBox": box, "role": "img", "aria-label": alt}
    return ElementTree.tostring(root, encoding="unicode")


def _clean(element: ElementTree.Element, prefix: str) -> None:
    """Drop namespaces and what is not drawn, give ids their prefix and the ink its name."""
    element.tag = _local(element.tag)
    for name, value in list(element.attrib.items()):
        del element.attrib[name]
        element.attrib[_local(name)] = value
    if "id" in element.attrib:
        element.attrib["id"] = prefix + element.attrib["id"]
    for name in _REFERENCES:
        if name in element.attrib:
            element.attrib[name] = _renamed(element.attrib[name], prefix)
    if "style" in element.attrib:
        element.attrib["style"] = element.attrib["style"].replace(INK, "currentColor")
    for child in list(element):
        if _local(child.tag) in _UNWANTED:
            element.remove(child)
        else:
            _clean(child, prefix)


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _renamed(reference: str, prefix: str) -> str:
    """Return `#a` or `url(#a)` with the prefix; an embedded picture stays as it is."""
    if reference.startswith("data:"):
        return reference
    return reference.replace("#", f"#{prefix}")
