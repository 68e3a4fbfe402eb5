"""Folded light curves of each predicted class: those the model is surest of, and those it is least sure of."""

from dataclasses import dataclass
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lcdvt.errors import LcdvtError, first_line
from lcdvt.figures.light_curves import MOST_EPOCHS, band_colours, folded_figure
from lcdvt.names import DISAGREEMENT, IN_DRAW, LABEL, OBJECT_ID, PREDICTED, probability_column
from lcdvt.reports.material import RunMaterial
from lcdvt.reports.page import mark, missing, paragraph
from lcdvt.reports.predictions import PredictedStars
from lcdvt.reports.stars import FALSE_ALARM, NO_PREDICTIONS, PERIOD, features_of
from lcdvt.reports.svg import draw_svg
from lcdvt.tables.escapes import html
from lcdvt.workspace.survey import StoredSurvey

PER_CLASS: Final = 3
"""Fits beside each other on a desk's screen."""
DOUBTFUL_PERIOD: Final = 0.01
"""False-alarm value above which a period is called doubtful."""
WHAT_LIMITS_ARE: Final = (
    "Triangles that point down are upper limits: the star was looked for, and was fainter than that; they are drawn "
    "where a light curve is not folded."
)


def gallery(run: RunMaterial, predicted: PredictedStars | None, prefix: str) -> str:
    """Return the light curves, with what is known and what is predicted of each star."""
    if predicted is None:
        return missing(NO_PREDICTIONS)
    stored = run.surveys.get(run.target)
    if stored is None:
        return missing(run.absent[run.target])
    chosen = [frame[OBJECT_ID] for group in (predicted.certain, predicted.doubtful) for frame in group.values()]
    ids = pd.concat(chosen).tolist() if chosen else []
    try:
        curves = curves_of(stored, ids)
        features = features_of(stored, ids, [PERIOD, FALSE_ALARM]).set_index(OBJECT_ID)
    except (LcdvtError, OSError, ValueError, KeyError) as error:
        return missing(f"The light curves of {run.target} cannot be read: {first_line(error)}")
    pieces = [
        paragraph(
            f"Epochs of {run.target}, folded at the period found, each band about its own median (at most "
            f"{MOST_EPOCHS} epochs of a band). Certain: lowest entropy of the class probabilities."
            + (f" {WHAT_LIMITS_ARE}" if any(curve.limits is not None for curve in curves.values()) else "")
        ),
        band_legend(stored),
    ]
    number = 0
    for name in run.classes:
        pieces.append(f"<h4>{mark(run.simulated)}{html(name)}</h4>")
        if name not in predicted.certain:
            pieces.append(missing(f"No star is predicted to be {name}."))
            continue
        for title, stars in (("Most certain", predicted.certain[name]), ("Least certain", predicted.doubtful[name])):
            if stars.empty:
                continue
            cards = []
            for _, star in stars.iterrows():
                number += 1
                cards.append(_card(star, curves[str(star[OBJECT_ID])], features, stored, f"{prefix}{number}-"))
            label = f"{title} {name}"
            pieces.append(
                f'<h5>{title}</h5><div class="cards" tabindex="0" role="region" aria-label="{html(label)}">'
                f"{''.join(cards)}</div>"
            )
    return "\n".join(pieces)


@dataclass(frozen=True)
class DrawnCurve:
    """What is drawn of a star: its epochs and its upper limits, either of them None where there are none."""

    epochs: pd.DataFrame | None
    limits: pd.DataFrame | None = None


def curves_of(stored: StoredSurvey, ids: list[str]) -> dict[str, DrawnCurve]:
    """Return what is drawn of some stars by their ids."""
    wanted = pc.field(OBJECT_ID).isin(pa.array(ids, type=pa.string()))
    epochs, limits = (
        {str(name): rows for name, rows in table.to_table(filter=wanted).to_pandas().groupby(OBJECT_ID)}
        for table in (stored.epochs, stored.limits)
    )
    return {name: DrawnCurve(epochs.get(name), limits.get(name)) for name in ids}


def _card(star: pd.Series, curve: DrawnCurve, features: pd.DataFrame, stored: StoredSurvey, prefix: str) -> str:
    object_id, predicted = str(star[OBJECT_ID]), str(star[PREDICTED])
    probability = f"{predicted} {100 * star[probability_column(predicted)]:.0f} %"
    said = [probability]
    if star[DISAGREEMENT] > 0:
        said.append(f"{100 * star[DISAGREEMENT]:.0f} % of the members disagree")
    if not pd.isna(star[LABEL]):
        verdict = "label used in training" if star[IN_DRAW] else f"label {star[LABEL]}"
        said.append(verdict if star[IN_DRAW] or star[LABEL] == predicted else f"{verdict} ✗")
    return light_curve_card(object_id, said, curve, features, stored, prefix)


def band_legend(stored: StoredSurvey) -> str:
    """Return the bands of a survey with the colours that its light curves have."""
    bands = "".join(
        f'<li><span style="background:{colour}"></span>{html(band)}</li>'
        for band, colour in band_colours(stored.survey.nanometres).items()
    )
    return f'<ul class="bands" aria-label="Bands">{bands}</ul>'


def light_curve_card(
    object_id: str,
    said: list[str],
    curve: DrawnCurve,
    features: pd.DataFrame,
    stored: StoredSurvey,
    prefix: str,
) -> str:
    """Return one star's light curve, folded where there is a period, with what is said of the star below it.

    Parameters
    ----------
    object_id
        The star.
    said
        The most important first, which also describes the drawing to those who cannot see it.
    curve
        The star's epochs and upper limits.
    features
        `PERIOD` and `FALSE_ALARM` by object id, as far as they are known.
    stored
        The survey.
    prefix
        Of the ids in the drawing.
    """
    known = features.loc[object_id].to_dict() if object_id in features.index else {}
    period = float(known.get(PERIOD, float("nan")))
    lines = list(said)
    if period > 0:
        false_alarm = float(known.get(FALSE_ALARM, float("nan")))
        doubt = f", doubtful (false alarm {false_alarm:.1g})" if false_alarm > DOUBTFUL_PERIOD else ""
        lines.append(f"period {period:.5g} d{doubt}")
    if curve.limits is not None:
        lines.append(f"{len(curve.limits)} upper limit{'s' if len(curve.limits) > 1 else ''}")
    caption = f"<figcaption><b>{html(object_id)}</b><br>{html(' · '.join(lines))}</figcaption>"
    epochs = curve.epochs
    if epochs is None:
        return f"<figure>{missing('no epochs in the workspace')}{caption}</figure>"
    folded = f"folded at {period:.5g} days" if period > 0 else "not folded"
    alt = f"Light curve of {object_id}, {folded}: {said[0]}."
    drawing = draw_svg(
        lambda: folded_figure(epochs, period if period > 0 else None, stored.survey.nanometres, curve.limits),
        alt,
        prefix,
    )
    return f"<figure>{drawing}{caption}</figure>"
