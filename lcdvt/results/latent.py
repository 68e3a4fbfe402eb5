"""Where a run's stars lie among the components of the latent mixture, on a plane.

Each class k has its component at μ e_k. The plane is spanned by (cos θ_k)_k and (sin θ_k)_k with equally spaced θ_k:
an orthogonal projection that sends the components to the corners of a regular polygon and keeps them round, whatever
the run. It is fixed by the number of classes alone, so maps of different runs can be compared. What it cannot show is
depth: a star in the middle may be between any components that face each other.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pyarrow.dataset as pds
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray

from lcdvt.dataset.dataset import SurveyData
from lcdvt.dvt.ensemble import predict as predict_members
from lcdvt.errors import SettingsError, WorkspaceError, whole_number
from lcdvt.figures.latent_map import NO_LABEL, Component, LatentPoints, latent_figure
from lcdvt.names import LABEL, OBJECT_ID
from lcdvt.results.saved import SavedRun
from lcdvt.workspace.folder import PARTS
from lcdvt.workspace.survey import StoredSurvey, open_survey

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_STARS: Final = 2000
"""Of each survey; more would only paint over each other."""


def plane(classes: int, latent: int) -> NDArray[np.float64]:
    """Return the orthonormal projection (latent, 2) that sends the components to a regular polygon."""
    projection = np.zeros((latent, 2))
    if classes == 2:  # a polygon of two corners is a line: their own two axes tell more
        projection[[0, 1], [0, 1]] = 1
        return projection
    angle = np.pi / 2 + 2 * np.pi * np.arange(classes) / classes
    projection[:classes] = np.sqrt(2 / classes) * np.column_stack([np.cos(angle), np.sin(angle)])
    return projection


def latent_means(saved: SavedRun, scaled: NDArray[np.float32], survey: int) -> NDArray[np.float64]:
    """Return E[z|x] (stars, J) by the member with the best cycle consistency.

    Parameters
    ----------
    saved
        The run.
    scaled
        Features as the model takes them, NaN where missing.
    survey
        Whose encoder to use.
    """
    member = int(np.nanargmax(saved.description.cycle)) if np.isfinite(saved.description.cycle).any() else 0
    model = saved.model.select([member]).eval()
    padded = torch.nn.functional.pad(torch.from_numpy(scaled), (0, max(model.widths) - scaled.shape[-1]))
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
    parts = sorted(stored.folder.features.glob(PARTS))
    sizes = [pq.ParquetFile(part).metadata.num_rows for part in parts]
    if not sum(sizes):
        raise WorkspaceError(f"survey {stored.name!r} has no features: run `lcdvt extract {stored.name}`.")
    chosen = draw_rows(sum(sizes), most_stars, seed)
    frames, start = [], 0
    for part, size in zip(parts, sizes, strict=True):
        rows = chosen[(chosen >= start) & (chosen < start + size)] - start
        start += size
        if len(rows):
            features = pq.read_table(part).take(rows).to_pandas()
            frames.append(saved.aligned(features, stored.survey.bands, stored.survey.wavelengths))
    features = pd.concat(frames, ignore_index=True)
    wanted = pc.field(OBJECT_ID).isin(features[OBJECT_ID].tolist())
    objects = pds.dataset(stored.folder.objects).to_table(columns=[OBJECT_ID, LABEL], filter=wanted).to_pandas()
    return SurveyData(stored.name, features, objects.set_index(OBJECT_ID)[LABEL])


def draw_rows(rows: int, most: int, seed: int) -> NDArray[np.int64]:
    """Return the sorted numbers of some rows, each equally likely, without a list of all."""
    return np.sort(np.random.default_rng(seed).choice(rows, min(rows, most), replace=False, shuffle=False))


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
        raise SettingsError(f"the run knows {', '.join(names)}, not {survey.name}: give one of these.")
    number = names.index(survey.name)
    scaled, usable = saved.scaled(survey.features, number)
    classes = np.array(saved.description.classes, dtype=object)
    if number == len(names) - 1 and len(names) > 1:
        opinion = predict_members(saved.model, torch.from_numpy(scaled[usable]), number)
        class_names = classes[opinion.class_number.numpy()]
    else:
        labels = survey.labels.reindex(survey.features[OBJECT_ID][usable])
        class_names = np.array([label if label in classes else NO_LABEL for label in labels], dtype=object)
    places = latent_means(saved, scaled[usable], number) @ plane(len(classes), saved.config.model.latent)
    return LatentPoints(survey.name, number, places, class_names)


def components(saved: SavedRun) -> dict[str, Component]:
    """Return the components of a run's mixture on the plane, by class."""
    model, classes = saved.config.model, saved.description.classes
    corners = model.component_distance * plane(len(classes), model.latent)[: len(classes)]
    return {name: Component(corner, model.component_sigma) for name, corner in zip(classes, corners, strict=True)}


def plot_latent(saved: SavedRun, surveys: Sequence[SurveyData], *, seed: int = 0) -> "Figure":
    """Draw stars of some of the run's surveys, as `sample_survey` gives them, among the mixture's components."""
    return latent_figure(components(saved), [latent_points(saved, survey) for survey in surveys], seed=seed)


def plot_run(saved: SavedRun, data: str | Path | None, *, most_stars: int = MOST_STARS, seed: int = 0) -> "Figure":
    """Draw stars of all of a run's surveys, read from the workspace.

    Parameters
    ----------
    saved
        The run.
    data
        The workspace.
    most_stars, seed
        How many stars of each survey are drawn at most, and the random seed that says which.
    """
    if whole_number("most_stars", most_stars) < 1 or whole_number("seed", seed) < 0:
        raise SettingsError(f"most_stars={most_stars} seed={seed}: draw at least one star, with a seed of 0 or more.")
    stored = [open_survey(name, data) for name in saved.description.surveys]
    return plot_latent(
        saved, [sample_survey(saved, each, most_stars=most_stars, seed=seed) for each in stored], seed=seed
    )
