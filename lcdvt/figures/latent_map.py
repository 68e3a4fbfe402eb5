"""Stars of all surveys among the components of the latent mixture, drawn on a plane."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.figures.style import GREY, WIDTH, class_colours, class_handles, legend_below, names_as_they_are

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SURVEY_MARKERS: Final = ("o", "^", "s", "D", "v", "P", "X")
NO_LABEL: Final = "other or no label"


@dataclass(frozen=True)
class LatentPoints:
    """Stars of one survey on the plane.

    Parameters
    ----------
    survey
        Its name.
    number
        The survey's number in the run, which decides its marker.
    places
        (stars, 2).
    class_names
        What colours each star: the label in a source, the predicted class in the target.
    """

    survey: str
    number: int
    places: NDArray[np.float64]
    class_names: NDArray[np.object_]

    @property
    def marker(self) -> str:
        """The survey's marker."""
        return SURVEY_MARKERS[self.number % len(SURVEY_MARKERS)]


@dataclass(frozen=True)
class Component:
    """A component of the mixture on the plane: its centre and its standard deviation."""

    centre: NDArray[np.float64]
    sigma: float


def latent_figure(components: Mapping[str, Component], maps: Sequence[LatentPoints], *, seed: int = 0) -> "Figure":
    """Draw stars among the mixture's components: the class by colour, the survey by marker.

    Parameters
    ----------
    components
        By class, in the order of the classes.
    maps
        The stars of each survey.
    seed
        The random seed of the order in which stars are painted over each other.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    classes = tuple(components)
    colours = {**class_colours(classes), NO_LABEL: GREY}
    with names_as_they_are():
        figure = Figure(figsize=(WIDTH, 5.2), layout="constrained")
        axes = figure.subplots()
        _draw_components(axes, components, colours, np.concatenate([points.places for points in maps]))
        rng = np.random.default_rng(seed)
        for points in maps:
            # in random order: drawn class by class, the last class would hide the others
            order = rng.permutation(len(points.places))
            axes.scatter(
                points.places[order, 0],
                points.places[order, 1],
                s=13,
                c=[colours[name] for name in points.class_names[order]],
                marker=points.marker,
                alpha=0.55,
                linewidths=0,
                rasterized=True,
                zorder=3,
            )
        axes.set_aspect("equal", adjustable="datalim")
        # coordinates on this plane mean nothing by themselves
        axes.axis("off")
        shown = [*classes, *({NO_LABEL} & {name for points in maps for name in points.class_names})]
        handles = class_handles(shown, colours)
        handles += [Line2D([], [], color=GREY, marker=points.marker, linestyle="none") for points in maps]
        legend_below(figure, handles, [*shown, *(points.survey for points in maps)], columns=4)
    return figure


def _draw_components(
    axes: "Axes", components: Mapping[str, Component], colours: Mapping[str, str], places: NDArray[np.float64]
) -> None:
    """Draw one and two standard deviations of each component, with its name outside of its stars."""
    from matplotlib.patches import Circle

    distance = max(float(np.linalg.norm(component.centre)) for component in components.values())
    for name, component in components.items():
        for deviations, opacity in ((1, 1.0), (2, 0.6)):
            radius = deviations * component.sigma
            # the ink of the page, because the stars of the class have its colour
            axes.add_patch(Circle(tuple(component.centre), radius, fill=False, linewidth=1.2, alpha=opacity, zorder=4))
        outward = component.centre / np.linalg.norm(component.centre)
        reach = places @ outward
        around = reach > np.linalg.norm(places, axis=1) * np.cos(np.pi / len(components))
        farthest = max(reach[around].max(initial=0.0), np.linalg.norm(component.centre) + 2 * component.sigma)
        beyond = outward * (farthest + 0.14 * distance)
        axes.text(
            beyond[0], beyond[1], name, color=colours[name], ha="center", va="center", fontweight="bold", zorder=5
        )
