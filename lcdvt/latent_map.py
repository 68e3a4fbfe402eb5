"""Where a run's stars lie among the components of the latent mixture, on a plane.

Each class k has its component at μ e_k. The plane is spanned by (cos θ_k)_k and (sin θ_k)_k with equally spaced θ_k:
an orthogonal projection that sends the components to the corners of a regular polygon and keeps them round, whatever
the run. It is fixed by the number of classes alone, so maps of different runs can be compared. What it cannot show is
depth: a star in the middle may be between any components that face each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pyarrow.dataset as pds
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray

from lcdvt.alignment import align_features
from lcdvt.dataset import Dataset, SurveyData
from lcdvt.dvt.ensemble import predict as predict_members
from lcdvt.errors import LcdvtError
from lcdvt.figures import GREY, WIDTH, class_colours, class_handles, legend_below, names_as_they_are
from lcdvt.names import LABEL, OBJECT_ID
from lcdvt.store import SavedRun
from lcdvt.workspace import StoredSurvey

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_STARS: Final = 2000
"""Of each survey; more would only paint over each other."""
SURVEY_MARKERS: Final = ("o", "^", "s", "D", "v", "P", "X")
NO_LABEL: Final = "other or no label"


class LatentMapError(LcdvtError):
    """Surveys that cannot be placed on a run's map."""


@dataclass(frozen=True)
class LatentPoints:
    """Stars of one survey on the plane.

    Parameters
    ----------
    survey
        Its name.
    places
        (stars, 2).
    class_names
        What colours each star: the label in a source, the predicted class in the target.
    """

    survey: str
    places: NDArray[np.float64]
    class_names: NDArray[np.object_]


def plane(classes: int, latent: int) -> NDArray[np.float64]:
    """Return the orthonormal projection (latent, 2) that sends the components to a regular polygon."""
    projection = np.zeros((latent, 2))
    if classes == 2:  # a polygon of two corners is a line: their own two axes tell more
        projection[[0, 1], [0, 1]] = 1
        return projection
    angle = np.pi / 2 + 2 * np.pi * np.arange(classes) / classes
    projection[:classes] = np.sqrt(2 / classes) * np.column_stack([np.cos(angle), np.sin(angle)])
    return projection


def latent_means(saved: SavedRun, x: NDArray[np.floating], survey: int) -> NDArray[np.float64]:
    """Return E[z|x] (stars, J) by the member with the best cycle consistency.

    Parameters
    ----------
    saved
        The run.
    x
        Features as the run's scaler takes them, NaN where missing.
    survey
        Whose encoder to use.
    """
    member = int(np.nanargmax(saved.description.cycle)) if np.isfinite(saved.description.cycle).any() else 0
    model = saved.model.select([member]).eval()
    scaled = torch.from_numpy(saved.scaler.apply(x, survey))
    padded = torch.nn.functional.pad(scaled, (0, max(model.widths) - scaled.shape[-1]))
    with torch.no_grad():
        mean, _ = model.encode(torch.nan_to_num(padded, nan=0.0)[None, None], slice(survey, survey + 1))
    return mean[0, 0].numpy().astype(np.float64)


def sample_survey(saved: SavedRun, stored: StoredSurvey, *, most_stars: int = MOST_STARS, seed: int = 0) -> SurveyData:
    """Return features (under the run's names) and labels of some stars, drawn at random, part by part.

    Parameters
    ----------
    saved
        The run, whose features are wanted.
    stored
        The ingested survey.
    most_stars, seed
        How many at most, and which.
    """
    parts = sorted(stored.folder.features.glob("part-*.parquet"))
    sizes = [pq.ParquetFile(part).metadata.num_rows for part in parts]
    if not sum(sizes):
        raise LatentMapError(f"survey {stored.name!r} has no features: run `lcdvt extract {stored.name}`.")
    chosen = draw_rows(sum(sizes), most_stars, seed)
    frames, start = [], 0
    for part, size in zip(parts, sizes, strict=True):
        rows = chosen[(chosen >= start) & (chosen < start + size)] - start
        start += size
        if len(rows):
            features = pq.read_table(part).take(rows).to_pandas()
            aligned = align_features(features, stored.survey.bands, len(stored.survey.bands))
            frames.append(aligned.reindex(columns=[OBJECT_ID, *saved.scaler.features]))
    features = pd.concat(frames, ignore_index=True)
    wanted = pc.field(OBJECT_ID).isin(features[OBJECT_ID].tolist())
    objects = pds.dataset(stored.folder.objects).to_table(columns=[OBJECT_ID, LABEL], filter=wanted).to_pandas()
    return SurveyData(stored.name, features, objects.set_index(OBJECT_ID)[LABEL])


def draw_rows(rows: int, most: int, seed: int) -> NDArray[np.int64]:
    """Return the sorted numbers of some rows, each equally likely, without a list of all."""
    return np.sort(np.random.default_rng(seed).choice(rows, min(rows, most), replace=False, shuffle=False))


def surveys_of(dataset: Dataset) -> list[SurveyData]:
    """Return a dataset's surveys as `plot_latent` takes them."""
    names = np.array([*dataset.classes, None], dtype=object)
    surveys = []
    for number, name in enumerate(dataset.surveys):
        rows = dataset.rows_of(number)
        features = pd.DataFrame(dataset.X[rows], columns=list(dataset.features))
        features.insert(0, OBJECT_ID, dataset.object_ids[rows])
        labels = pd.Series(names[dataset.y[rows]], index=features[OBJECT_ID], dtype=object)
        surveys.append(SurveyData(name, features, labels))
    return surveys


def latent_points(saved: SavedRun, survey: SurveyData) -> LatentPoints:
    """Place a survey's stars on the plane; those without any feature are left out.

    Parameters
    ----------
    saved
        The run.
    survey
        Its name is one of the run's; its features have the run's names, as `sample_survey` gives them.
    """
    names = saved.description.surveys
    if survey.name not in names:
        raise LatentMapError(f"the run knows {', '.join(names)}, not {survey.name}: give one of these.")
    number = names.index(survey.name)
    values = survey.features.reindex(columns=list(saved.scaler.features)).to_numpy(dtype=float)
    usable = np.isfinite(values).any(axis=1)
    x = np.where(np.isfinite(values), values, np.nan)[usable]
    classes = np.array(saved.description.classes, dtype=object)
    if number == len(names) - 1 and len(names) > 1:
        opinion = predict_members(saved.model, torch.from_numpy(saved.scaler.apply(x, number)), number)
        class_names = classes[opinion.class_number.numpy()]
    else:
        labels = survey.labels.reindex(survey.features[OBJECT_ID][usable])
        class_names = np.array([label if label in classes else NO_LABEL for label in labels], dtype=object)
    projection = plane(len(classes), saved.config.model.latent)
    return LatentPoints(survey.name, latent_means(saved, x, number) @ projection, class_names)


def plot_latent(
    saved: SavedRun, surveys: Sequence[SurveyData], *, most_stars: int = MOST_STARS, seed: int = 0
) -> "Figure":
    """Draw the surveys' stars among the mixture's components: the class by colour, the survey by marker.

    Parameters
    ----------
    saved
        The run.
    surveys
        Any of the run's surveys, with features under the run's names: `sample_survey` reads them from a workspace,
        `surveys_of` takes them from a dataset.
    most_stars, seed
        Stars of each survey that are drawn at most, and which.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    classes = saved.description.classes
    colours = {**class_colours(classes), NO_LABEL: GREY}
    maps = [latent_points(saved, _at_most(survey, most_stars, seed)) for survey in surveys]
    with names_as_they_are():
        figure = Figure(figsize=(WIDTH, 5.2), layout="constrained")
        axes = figure.subplots()
        _draw_components(axes, saved, colours, np.concatenate([points.places for points in maps]))
        rng = np.random.default_rng(seed)
        for points in maps:
            marker = SURVEY_MARKERS[saved.description.surveys.index(points.survey) % len(SURVEY_MARKERS)]
            # in random order: drawn class by class, the last class would hide the others
            order = rng.permutation(len(points.places))
            axes.scatter(
                points.places[order, 0],
                points.places[order, 1],
                s=13,
                c=[colours[name] for name in points.class_names[order]],
                marker=marker,
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
        for points in maps:
            marker = SURVEY_MARKERS[saved.description.surveys.index(points.survey) % len(SURVEY_MARKERS)]
            handles.append(Line2D([], [], color=GREY, marker=marker, linestyle="none"))
        legend_below(figure, handles, [*shown, *(points.survey for points in maps)], columns=4)
    return figure


def _draw_components(axes: "Axes", saved: SavedRun, colours: Mapping[str, str], places: NDArray[np.float64]) -> None:
    """Draw one and two standard deviations of each component, with its name outside of its stars."""
    from matplotlib.patches import Circle

    model = saved.config.model
    classes = saved.description.classes
    corners = model.component_distance * plane(len(classes), model.latent)[: len(classes)]
    for name, corner in zip(classes, corners, strict=True):
        for deviations, opacity in ((1, 1.0), (2, 0.6)):
            radius = deviations * model.component_sigma
            # the ink of the page, because the stars of the class have its colour
            axes.add_patch(Circle(corner, radius, fill=False, linewidth=1.2, alpha=opacity, zorder=4))
        outward = corner / np.linalg.norm(corner)
        reach = places @ outward
        around = reach > np.linalg.norm(places, axis=1) * np.cos(np.pi / len(classes))
        farthest = max(reach[around].max(initial=0.0), np.linalg.norm(corner) + 2 * model.component_sigma)
        beyond = outward * (farthest + 0.12 * model.component_distance)
        axes.text(
            beyond[0], beyond[1], name, color=colours[name], ha="center", va="center", fontweight="bold", zorder=5
        )


def _at_most(survey: SurveyData, most_stars: int, seed: int) -> SurveyData:
    if len(survey.features) <= most_stars:
        return survey
    return SurveyData(survey.name, survey.features.sample(most_stars, random_state=seed), survey.labels)
