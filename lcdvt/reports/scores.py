"""What the scores say: a sentence, the table, who is taken for whom, how far probabilities can be trusted."""

from statistics import fmean
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.baselines.rows import DVT_ENSEMBLE, DVT_ROWS
from lcdvt.evaluate import RowScores, Spread, pooled_reliability, spread
from lcdvt.figures.scores import reliability_figure
from lcdvt.reports.material import RunMaterial
from lcdvt.reports.page import figure, mark, missing, paragraph, scrolling
from lcdvt.reports.svg import draw_svg
from lcdvt.tables.escapes import html
from lcdvt.tables.formats import to_html

NOT_SCORED: Final = "Nothing was scored in this run: no known label was left to compare with."
NO_DRAWS: Final = "The run keeps no record of its draws (an earlier lcdvt made it): make it again to see this."
# The strongest tint behind a cell that leaves text readable on it, on light and on dark.
STRONGEST_TINT: Final = 0.5


def headline(run: RunMaterial) -> str:
    """Say in a sentence how DVT did and how its best rival did."""
    if run.table is None:
        return missing(NOT_SCORED)
    ours, rival = row_of(run, DVT_ENSEMBLE), best_rival(run)
    said = "" if ours is None else f"DVT ensemble: macro F1 {percent(spread(ours.column()))} %."
    if rival is not None:
        said += f" Best rival: {row_name(rival)}, {percent(spread(rival.column()))} %."
    return f"<p>{mark(run.simulated)}{html(said.strip())}</p>"


def result_table(run: RunMaterial) -> str:
    """Return the paper's table."""
    if run.table is None:
        return missing(NOT_SCORED)
    return scrolling(to_html(run.table), f"Result table of {run.title}")


def confusion(run: RunMaterial) -> str:
    """Return who is taken for whom, by the DVT ensemble and by its best rival."""
    if not run.draws:
        return missing(NOT_SCORED if run.table is None else NO_DRAWS)
    rival = best_rival(run)
    names = {DVT_ENSEMBLE: "DVT ensemble"} | ({rival.name: row_name(rival)} if rival else {})
    tables = [
        _confusion_table(run, np.sum([draw.rows[key].confusion for draw in run.draws], axis=0), name)
        for key, name in names.items()
        if all(key in draw.rows for draw in run.draws)
    ]
    draws = len(run.draws)
    counted = (
        "" if draws == 1 else f"; counts of {draws} draws together, an object counts in each draw that held it back"
    )
    reading = f"Rows: true class. Columns: predicted class. Percent of the row{counted}."
    return f'<div class="pair">{"".join(tables)}</div>' + paragraph(reading)


def _confusion_table(run: RunMaterial, counts: NDArray[np.int64], name: str) -> str:
    head = "".join(f'<th scope="col">{html(label)}</th>' for label in run.classes)
    lines = []
    for label, row in zip(run.classes, counts, strict=True):
        shares = row / max(row.sum(), 1)
        cells = "".join(map(_confusion_cell, shares, row))
        lines.append(f'<tr><th scope="row">{html(label)}</th>{cells}</tr>')
    caption = f"<caption>{mark(run.simulated)}{html(name)}</caption>"
    body = f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return scrolling(f'<table class="confusion">{caption}{body}</table>', f"Confusion matrix of {name}")


def _confusion_cell(share: float, count: int) -> str:
    tint = f"rgba(0,114,178,{STRONGEST_TINT * share:.3f})"
    return f'<td style="background:{tint}">{100 * share:.0f} %<small>{count}</small></td>'


def calibration(run: RunMaterial, prefix: str) -> str:
    """Return the reliability diagram with its expected calibration error."""
    if not run.draws:
        return missing(NOT_SCORED if run.table is None else NO_DRAWS)
    rival = best_rival(run)
    names = {"DVT ensemble": DVT_ENSEMBLE} | ({row_name(rival): rival.name} if rival else {})
    bins = {
        name: pooled_reliability([draw.rows[key].reliability for draw in run.draws])
        for name, key in names.items()
        if all(key in draw.rows for draw in run.draws)
    }
    # Of the draws by themselves, as F1 is: pooled, one model's overconfidence would make up for another's doubt.
    calibration_errors = {
        name: np.mean([draw.rows[names[name]].reliability.expected_calibration_error for draw in run.draws])
        for name in bins
    }
    errors = "; ".join(f"{name} {100 * each:.1f} %" for name, each in calibration_errors.items())
    of_draws = f", mean of {len(run.draws)} draws" if len(run.draws) > 1 else ""
    bars = "68 % intervals" + (", as if the draws were independent" if len(run.draws) > 1 else "")
    caption = (
        "How often predictions of a given probability are right; under it how many objects have that probability. "
        f"Expected calibration error: {errors}{of_draws}. Bars: {bars}."
    )
    alt = f"Reliability diagram of {run.title}: share of right predictions against their probability."
    return figure(draw_svg(lambda: reliability_figure(bins), alt, prefix), caption, simulated=run.simulated)


def best_rival(run: RunMaterial) -> RowScores | None:
    """Return the row with the highest macro F1 that is neither DVT nor an upper bound."""
    scores = run.table.scores if run.table else ()
    rivals = [row for row in scores if row.name not in DVT_ROWS and not row.is_upper_bound]
    return max(rivals, key=lambda row: fmean(row.column()), default=None)


def row_of(run: RunMaterial, name: str) -> RowScores | None:
    """Return a row of the run's table."""
    return next((row for row in run.table.scores if row.name == name), None) if run.table else None


def row_name(row: RowScores) -> str:
    """Name a row in one breath."""
    return "DVT ensemble" if row.name == DVT_ENSEMBLE else f"{row.model} ({row.training[:1].lower()}{row.training[1:]})"


def percent(value: Spread) -> str:
    """Write a share in percent, with its deviation where there is one."""
    mean = f"{100 * value.mean:.1f}"
    return mean if value.deviation is None else f"{mean} ± {100 * value.deviation:.1f}"
