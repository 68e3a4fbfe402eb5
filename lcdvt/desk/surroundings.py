"""What a star's page shows around the star: what a run says of it, and the stars it stands among."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pyarrow.dataset as pds
import torch
from numpy.typing import NDArray

from lcdvt.desk.stars import Star, SurveyStars, features_of
from lcdvt.doubts.neighbours import DIMENSIONS
from lcdvt.dvt.ensemble import predict as predict_members
from lcdvt.figures.style import class_colours
from lcdvt.names import (
    DISAGREEMENT,
    ENTROPY,
    IN_DRAW,
    LABEL,
    OBJECT_ID,
    OTHER_SCORE,
    PERIOD,
    PREDICTED,
    probability_column,
)
from lcdvt.results.folder import PREDICTIONS_FILE
from lcdvt.results.latent import components, draw_rows, latent_means, plane
from lcdvt.results.saved import SavedRun, load_run

MOST_STARS: Final = 1500
"""Drawn of each survey in the small maps; more would only paint over each other."""
MOST_LABELLED: Final = 3000
"""Labelled stars of each survey among which neighbours are looked for."""
NEIGHBOURS: Final = 3
"""Of each survey: they fit beside each other on a desk's screen."""
EPOCHS_OF_NEIGHBOURS: Final = 150
"""Of each band: enough for a curve as small as theirs."""
UNUSUAL: Final = 6
"""Features named as unlike the predicted class."""
FEWEST_OF_A_CLASS: Final = 10
"""Of fewer stars it cannot be said what is usual."""
ALIKE: Final = 1e-6
"""Scaled features that are nearer to each other are the same but for the last digits."""


@dataclass(frozen=True)
class Labelled:
    """Labelled stars of one survey, as the run sees them: neighbours are looked for among them."""

    survey: str
    object_ids: NDArray[np.object_]
    labels: NDArray[np.object_]
    scaled: NDArray[np.float64]


class RunView:
    """One run, opened to be asked about single stars; what is costly is computed when it is first asked for."""

    def __init__(self, folder: Path, surveys: Sequence[SurveyStars], answers: Mapping[str, str]) -> None:
        self.folder, self.name = folder, folder.absolute().name
        self.surveys = tuple(surveys)
        self.answers = dict(answers)

    @cached_property
    def saved(self) -> SavedRun:
        """The model."""
        return load_run(self.folder)

    @property
    def classes(self) -> tuple[str, ...]:
        """What the run tells apart."""
        return self.saved.description.classes

    @property
    def target(self) -> SurveyStars:
        """The survey that the run classifies."""
        return self.surveys[-1]

    @cached_property
    def _predictions(self) -> pds.Dataset:
        return pds.dataset(self.folder / PREDICTIONS_FILE, format="parquet")

    def opinion(self, object_id: str) -> dict[str, Any] | None:
        """Return what the run says of a star of its target; None where the star is not in it."""
        names = [PREDICTED, ENTROPY, DISAGREEMENT, OTHER_SCORE, IN_DRAW, *map(probability_column, self.classes)]
        found = self._predictions.to_table(columns=names, filter=pc.field(OBJECT_ID) == object_id).to_pylist()
        if not found:
            return None
        said = found[0]
        return {
            PREDICTED: said[PREDICTED],
            "probability": {name: _short(said[probability_column(name)]) for name in self.classes},
            **{name: _short(said[name]) for name in (ENTROPY, DISAGREEMENT, OTHER_SCORE)},
            IN_DRAW: bool(said[IN_DRAW]),
        }

    def around(self, star: Star) -> dict[str, Any]:
        """Return each member's opinion, the place on the latent map, unusual features and labelled stars nearby."""
        scaled = self._scaled(pd.DataFrame([{OBJECT_ID: star.object_id, **star.features}]), self.target)
        if not np.isfinite(scaled).any():
            return {"members": {}, "latent": None, "unusual": [], "neighbours": []}
        number = len(self.surveys) - 1
        with torch.no_grad():
            members = predict_members(self.saved.model, torch.from_numpy(scaled), number).members[:, 0].numpy()
        place = latent_means(self.saved, scaled, number) @ self._plane
        predicted = self.classes[int(members.mean(0).argmax())]
        return {
            "members": {name: [_short(value) for value in members[:, k]] for k, name in enumerate(self.classes)},
            "latent": [_short(value) for value in place[0]],
            "unusual": self._unusual(scaled[0], predicted),
            "neighbours": self._neighbours(star, scaled[0]),
        }

    @cached_property
    def maps(self) -> dict[str, Any]:
        """The stars among which every star is shown: on the latent plane, and in period and amplitude."""
        colours = class_colours(self.classes)
        corners = components(self.saved)
        ids, predicted, scaled = self._sample
        places = latent_means(self.saved, scaled, len(self.surveys) - 1) @ self._plane
        numbers = {name: number for number, name in enumerate(self.classes)}
        column = self.target.amplitude_column
        values = features_of(self.target.stored, ids.tolist(), [PERIOD, column]).set_index(OBJECT_ID).reindex(ids)
        known = [PERIOD in values, column in values]
        diagram = []
        if all(known):
            pairs = zip(values[PERIOD], values[column], predicted, strict=True)
            diagram = [
                [float(f"{period:.4g}"), float(f"{amplitude:.4g}"), numbers[name]]
                for period, amplitude, name in pairs
                if period > 0 and amplitude > 0
            ]
        return {
            "components": [
                {"name": name, "place": [_short(x) for x in corners[name].centre], "sigma": corners[name].sigma,
                 "colour": colours[name]}
                for name in self.classes
            ],
            "latent": [
                [_short(x), _short(y), numbers[name]] for (x, y), name in zip(places, predicted, strict=True)
            ],
            "diagram": diagram,
            "amplitude": f"amplitude in {self.target.bands[0]} (mag)",
        }  # fmt: skip

    @cached_property
    def _plane(self) -> NDArray[np.float64]:
        return plane(len(self.classes), self.saved.config.model.latent)

    @cached_property
    def _sample(self) -> tuple[NDArray[np.object_], NDArray[np.object_], NDArray[np.float32]]:
        """Some stars of the target drawn at random: ids, predicted classes, scaled features."""
        table = self._predictions.to_table(columns=[OBJECT_ID, PREDICTED])
        table = table.take(draw_rows(table.num_rows, MOST_STARS, 0))
        ids = np.array(table[OBJECT_ID].to_pylist(), dtype=object)
        predicted = np.array(table[PREDICTED].to_pylist(), dtype=object)
        features = features_of(self.target.stored, ids.tolist()).set_index(OBJECT_ID).reindex(ids)
        scaled = self._scaled(features.rename_axis(OBJECT_ID).reset_index(), self.target)
        usable = np.isfinite(scaled).any(axis=1)
        return ids[usable], predicted[usable], scaled[usable]

    def _scaled(self, features: pd.DataFrame, survey: SurveyStars) -> NDArray[np.float32]:
        described = survey.stored.survey
        aligned = self.saved.aligned(features, described.bands, described.wavelengths)
        scaled, _ = self.saved.scaled(aligned, self.surveys.index(survey))
        return scaled

    def _unusual(self, scaled: NDArray[np.floating], predicted: str) -> list[dict[str, Any]]:
        """Return the features in which the star differs most from the stars predicted to be of the same class."""
        _, classes, sample = self._sample
        same = sample[classes == predicted]
        if len(same) < FEWEST_OF_A_CLASS:
            return []
        known = np.isfinite(same).any(axis=0)  # of a feature that no star of the class has nothing is usual
        low, middle, high = np.nanquantile(same[:, known].astype(float), [0.16, 0.5, 0.84], axis=0)
        distance = np.full(len(scaled), np.nan)
        width = (high - low) / 2
        # Most stars of a class may have the very same value, as of lengths in whole epochs: then all of them count, and
        # where no star of the class differs those of all classes.
        for wider in (same, sample):
            width = np.where(width > ALIKE, width, np.nanstd(wider[:, known], axis=0))
        distance[known] = np.where(width > ALIKE, (scaled[known] - middle) / np.maximum(width, ALIKE), np.nan)
        order = np.argsort(-np.abs(np.where(np.isfinite(distance), distance, 0.0)))[:UNUSUAL]
        return [
            {"feature": self.saved.scaler.features[place], "sigmas": round(float(distance[place]), 1)}
            for place in order
            if np.isfinite(distance[place]) and abs(distance[place]) > 1
        ]

    @cached_property
    def _labelled(self) -> tuple[Labelled, ...]:
        return tuple(self._labelled_of(survey) for survey in self.surveys)

    def _labelled_of(self, survey: SurveyStars) -> Labelled:
        """Return labelled stars: all of a source's, and of the target those that the run or people have labelled."""
        if survey is self.target:
            table = self._predictions.to_table(columns=[OBJECT_ID, LABEL], filter=pc.field(IN_DRAW)).to_pandas()
            labels = dict(zip(table[OBJECT_ID], table[LABEL], strict=True)) | self.answers
        else:
            objects = pds.dataset(survey.stored.folder.objects, format="parquet")
            table = objects.to_table(columns=[OBJECT_ID, LABEL], filter=pc.field(LABEL).is_valid()).to_pandas()
            chosen = table.iloc[draw_rows(len(table), MOST_LABELLED, 0)]
            labels = dict(zip(chosen[OBJECT_ID], chosen[LABEL], strict=True))
        features = features_of(survey.stored, list(labels))
        scaled = np.nan_to_num(self._scaled(features, survey).astype(float), nan=0.0)
        ids = features[OBJECT_ID].to_numpy(dtype=object)
        return Labelled(survey.name, ids, np.array([labels[star] for star in ids], dtype=object), scaled)

    @cached_property
    def _directions(self) -> NDArray[np.float64]:
        """Where stars differ most: in all features at once every star is far from every other."""
        together = np.concatenate([labelled.scaled for labelled in self._labelled])
        _, directions = np.linalg.eigh(np.cov(together.T))
        return directions[:, ::-1][:, :DIMENSIONS]

    def _neighbours(self, star: Star, scaled: NDArray[np.floating]) -> list[dict[str, Any]]:
        here = np.nan_to_num(scaled.astype(float), nan=0.0) @ self._directions
        found = []
        for survey, labelled in zip(self.surveys, self._labelled, strict=True):
            distance = np.linalg.norm(labelled.scaled @ self._directions - here, axis=1)
            distance[labelled.object_ids == star.object_id] = np.inf
            order = np.argsort(distance, kind="stable")[:NEIGHBOURS]
            for place in order[np.isfinite(distance[order])]:
                near = survey.star(str(labelled.object_ids[place]))
                found.append(
                    {
                        "id": near.object_id,
                        "survey": survey.name,
                        "label": str(labelled.labels[place]),
                        "period": near.period,
                        "bands": survey.curve(near, EPOCHS_OF_NEIGHBOURS),
                    }
                )
        return found


def _short(value: Any) -> float | None:
    return None if value is None or not np.isfinite(value) else round(float(value), 4)
