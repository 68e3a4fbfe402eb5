"""What the stars say: the latent map, periods and amplitudes by predicted class."""

from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pds

from lcdvt.errors import LcdvtError, first_line
from lcdvt.features.config import band_column
from lcdvt.figures.light_curves import period_amplitude_figure
from lcdvt.names import OBJECT_ID, PREDICTED
from lcdvt.reports.material import RunMaterial
from lcdvt.reports.page import figure, missing
from lcdvt.reports.predictions import PredictedStars
from lcdvt.reports.svg import draw_svg
from lcdvt.results.latent import MOST_STARS, plot_latent, sample_survey
from lcdvt.workspace.survey import StoredSurvey

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PERIOD, FALSE_ALARM, AMPLITUDE = "Period", "Period_fap", "Amplitude"
NO_PREDICTIONS = "The run keeps no predictions of its survey's stars: `lcdvt predict` makes a table of them."


def latent_space(run: RunMaterial, prefix: str, *, seed: int) -> str:
    """Return the map of the latent space with all surveys that are still there."""
    notes = list(run.absent.values())
    samples = []
    for name, stored in run.surveys.items():
        try:
            samples.append(sample_survey(run.saved, stored, seed=seed))
        except (LcdvtError, OSError, ValueError, KeyError) as error:
            notes.append(f"The features of {name} cannot be read: {first_line(error)}")
    if not samples:
        return "".join(map(missing, notes))
    counts = ", ".join(
        f"{len(sample.features):,} of {_objects(run.surveys[sample.name]):,} stars of {sample.name}"
        for sample in samples
    )
    several = len(run.saved.description.surveys) > 1
    colours = "by label in a source and by predicted class in the target" if several else "by label"
    caption = (
        f"E[z|x] of {counts} (at most {MOST_STARS:,} each, drawn at random with seed {seed}), coloured {colours}, "
        "by the member with the best cycle consistency. Circles: one and two standard deviations of each class' "
        "component. The plane sends the components to the corners of a regular polygon; a star in the middle may lie "
        "between any that face each other."
    )
    alt = (
        f"Map of the latent space of {run.title}: stars of each survey around the components of {_listed(run.classes)}."
    )
    drawing = draw_svg(lambda: plot_latent(run.saved, samples, seed=seed), alt, prefix)
    return "".join(map(missing, notes)) + figure(drawing, caption, simulated=run.simulated)


def period_amplitude(run: RunMaterial, predicted: PredictedStars | None, prefix: str, *, seed: int) -> str:
    """Return the period–amplitude diagram of the predictions."""
    if predicted is None:
        return missing(NO_PREDICTIONS)
    stored = run.surveys.get(run.target)
    if stored is None:
        return missing(run.absent[run.target])
    band = stored.survey.bands[0]
    column = band_column(AMPLITUDE, band)
    try:
        features = features_of(stored, predicted.sample[OBJECT_ID].tolist(), [PERIOD, column])
    except (LcdvtError, OSError, ValueError, KeyError) as error:
        return missing(f"The features of {run.target} cannot be read: {first_line(error)}")
    stars = predicted.sample[[OBJECT_ID, PREDICTED]].merge(features, on=OBJECT_ID)
    if PERIOD not in stars or column not in stars:
        return missing(f"{run.target} has no {PERIOD} or no {column}: `lcdvt extract {run.target}` computes both.")
    stars = stars.rename(columns={PERIOD: "period", column: "amplitude"})
    stars = stars[(stars["period"] > 0) & (stars["amplitude"] > 0)]
    if stars.empty:
        return missing(f"No star of {run.target} has both a period and an amplitude.")
    caption = (
        f"{len(stars):,} of {predicted.objects:,} stars of {run.target} (at most {MOST_STARS:,}, drawn at random with "
        f"seed {seed}; those without a period or an amplitude are left out), by predicted class. Amplitude in {band}: "
        "half of the range between the medians of the brightest and the faintest 5 %."
    )
    alt = f"Amplitude against period of stars of {run.target}, by predicted class."

    def draw() -> "Figure":
        return period_amplitude_figure(stars, run.classes, f"amplitude in {band} (mag)")

    return figure(draw_svg(draw, alt, prefix), caption, simulated=run.simulated)


def features_of(stored: StoredSurvey, object_ids: list[str], columns: list[str]) -> pd.DataFrame:
    """Return some features of some stars; a feature that the survey does not have is left out."""
    features = pds.dataset(stored.folder.features, format="parquet")
    wanted = [OBJECT_ID, *(name for name in columns if name in features.schema.names)]
    ids = pa.array(object_ids, type=pa.string())
    return features.to_table(columns=wanted, filter=pc.field(OBJECT_ID).isin(ids)).to_pandas()


def _objects(stored: StoredSurvey) -> int:
    return pds.dataset(stored.folder.features, format="parquet").count_rows()


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)
