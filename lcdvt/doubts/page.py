"""The most doubtful labels as one HTML file: a table, and a folded light curve of each star."""

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from lcdvt.doubts.neighbours import SEPARATOR, counted_labels
from lcdvt.names import LABEL, OBJECT_ID
from lcdvt.reports.gallery import band_legend, curves_of, light_curve_card
from lcdvt.reports.page import Part, mark, page, paragraph, scrolling
from lcdvt.reports.page import facts as list_of_facts
from lcdvt.reports.stars import FALSE_ALARM, PERIOD, features_of
from lcdvt.tables.escapes import html
from lcdvt.workspace.survey import StoredSurvey

MOST_CURVES: Final = 100
"""More would make a page that no browser likes."""
METHOD: Final = "Northcutt, Jiang & Chuang 2021, Confident Learning, JAIR 70, 1373"
_HEADINGS: Final = ("star", "label", "p", "suggested", "p", "score", "nearest", "which stars")


def doubt_page(stars: pd.DataFrame, stored: StoredSurvey, facts: Mapping[str, Any]) -> str:
    """Return the whole file.

    Parameters
    ----------
    stars
        The most doubtful first, as `DoubtResult.stars` has them.
    stored
        Their survey.
    facts
        How it was made: names and values.
    """
    introduction = paragraph(
        f"The light curves contradict {facts['contradicted']} of {facts['judged']} labels of {stored.name}. Below are "
        f"the {len(stars)} most doubtful. No star was judged by a model that has learned from its own label. A "
        "contradicted label may be wrong, or the star is unusual: look at its light curve."
    )
    parts = [
        Part("labels", "The most doubtful labels", _table(stars)),
        Part("curves", "Their light curves", _cards(stars.head(MOST_CURVES), stored)),
        Part("making", "How it was made", list_of_facts([*_listed(facts), ("method", METHOD)])),
    ]
    return page(f"lcdvt doubt: {stored.name}", mark(bool(facts["simulated"])) + introduction, parts)


def _table(stars: pd.DataFrame) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in _HEADINGS)
    rows = []
    for star in stars.to_dict(orient="records"):
        cells = (
            star[OBJECT_ID],
            star[LABEL],
            f"{star['label_probability']:.2f}",
            star["suggested"],
            f"{star['suggested_probability']:.2f}",
            f"{star['score']:.2f}",
            counted_labels(star["neighbour_labels"]),
            ", ".join(star["neighbours"].split(SEPARATOR)),
        )
        rows.append(f"<tr>{''.join(f'<td>{html(str(cell))}</td>' for cell in cells)}</tr>")
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return scrolling(table, "The most doubtful labels")


def _cards(stars: pd.DataFrame, stored: StoredSurvey) -> str:
    ids = stars[OBJECT_ID].tolist()
    curves = curves_of(stored, ids)
    features = features_of(stored, ids, [PERIOD, FALSE_ALARM]).set_index(OBJECT_ID)
    cards = []
    for number, star in enumerate(stars.to_dict(orient="records"), 1):
        said = [
            f"label {star[LABEL]} {100 * star['label_probability']:.0f} %",
            f"suggested {star['suggested']} {100 * star['suggested_probability']:.0f} %",
            f"nearest {counted_labels(star['neighbour_labels'])}",
        ]
        object_id = star[OBJECT_ID]
        cards.append(light_curve_card(object_id, said, curves[object_id], features, stored, f"d{number}-"))
    region = '<div class="cards" tabindex="0" role="region" aria-label="Light curves of the most doubtful">'
    return f"{band_legend(stored)}{region}{''.join(cards)}</div>"


def _listed(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    texts = {name: ", ".join(value) if isinstance(value, list) else value for name, value in facts.items()}
    return [(name.replace("_", " "), str(value)) for name, value in texts.items() if value not in (None, "")]
