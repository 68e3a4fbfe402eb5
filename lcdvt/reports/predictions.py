"""A run's predictions in one pass: a sample for scatter plots, and the stars worth a look in each class."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pandas as pd

from lcdvt.disk.parquet import open_streamed
from lcdvt.errors import WorkspaceError, first_line
from lcdvt.names import DISAGREEMENT, ENTROPY, IN_DRAW, LABEL, OBJECT_ID, PREDICTED, probability_column
from lcdvt.results.latent import draw_rows

ROWS_AT_ONCE: Final = 65_536
"""Keeps the memory of a report flat, whatever the survey."""
COLUMNS: Final = (OBJECT_ID, LABEL, IN_DRAW, PREDICTED, ENTROPY, DISAGREEMENT)


@dataclass(frozen=True)
class PredictedStars:
    """What is kept of the predictions, however many there are.

    Parameters
    ----------
    objects
        Stars in the file.
    sample
        Some of them, drawn at random.
    certain, doubtful
        For each class, its stars of lowest entropy and of highest; no star is in both.
    """

    objects: int
    sample: pd.DataFrame
    certain: dict[str, pd.DataFrame] = field(default_factory=dict)
    doubtful: dict[str, pd.DataFrame] = field(default_factory=dict)


def read_predictions(
    path: Path, classes: Sequence[str], *, most_stars: int, per_class: int, seed: int
) -> PredictedStars:
    """Read the file part by part.

    Parameters
    ----------
    path
        A run's `predictions.parquet`.
    classes
        What the run tells apart.
    most_stars, seed
        The size of the sample, and which.
    per_class
        How many certain and how many doubtful stars of each class are kept.
    """
    try:
        file = open_streamed(path)
        objects = file.metadata.num_rows
        chosen = draw_rows(objects, most_stars, seed)
        columns = [*COLUMNS, *map(probability_column, classes)]
        sample: list[pd.DataFrame] = []
        lowest: dict[str, pd.DataFrame] = {}
        highest: dict[str, pd.DataFrame] = {}
        start = 0
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=columns):
            stars = batch.to_pandas()
            sample.append(stars.iloc[chosen[(chosen >= start) & (chosen < start + len(stars))] - start])
            start += len(stars)
            for name, group in stars.groupby(PREDICTED):
                lowest[name] = _extremes(lowest.get(name), group, per_class, ascending=True)
                # twice as many, because the same star may be among the lowest of a small class
                highest[name] = _extremes(highest.get(name), group, 2 * per_class, ascending=False)
        drawn = pd.concat(sample, ignore_index=True) if sample else pd.DataFrame(columns=columns)
    except (OSError, ValueError, KeyError) as error:
        raise WorkspaceError(
            f"{path}: the predictions cannot be read ({first_line(error)}); make the run again."
        ) from error
    doubtful = {
        name: stars[~stars[OBJECT_ID].isin(lowest[name][OBJECT_ID])].head(per_class) for name, stars in highest.items()
    }
    return PredictedStars(objects, drawn, lowest, doubtful)


def _extremes(kept: pd.DataFrame | None, new: pd.DataFrame, number: int, *, ascending: bool) -> pd.DataFrame:
    both = new if kept is None else pd.concat([kept, new])
    return both.sort_values([ENTROPY, OBJECT_ID], ascending=[ascending, True]).head(number)
