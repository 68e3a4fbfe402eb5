"""What the scores say: a sentence, the table, who is taken for whom, how far probabilities can be trusted."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import fmean
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.draw_scores import DVT_ENSEMBLE, DVT_ROWS
from lcdvt.evaluate import DrawScores, ReliabilityBins, Spread, spread
from lcdvt.figures import LabelCurve, label_fraction_figure, reliability_figure
from lcdvt.report.material import RunMaterial
from lcdvt.report.page import figure, mark, missing, paragraph, scrolling
from lcdvt.report.svg import draw_svg
from lcdvt.table_escapes import html
from lcdvt.table_formats import to_html

NOT_SCORED: Final = "Nothing was scored in this run: every known label was in use, so none was left to compare with."
NO_DRAWS: Final = "The run keeps no record of its draws (an earlier lcdvt made it): make it again to see this."
RIVALS_SHOWN: Final = 3
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
        name: _together([draw.rows[key].reliability for draw in run.draws])
        for name, key in names.items()
        if all(key in draw.rows for draw in run.draws)
    }
    errors = "; ".join(f"{name} {100 * each.expected_calibration_error:.1f} %" for name, each in bins.items())
    caption = (
        "How often predictions of a given probability are right; under it how many objects have that probability. "
        f"Expected calibration error: {errors}. Bars: 68 % intervals."
    )
    alt = f"Reliability diagram of {run.title}: share of right predictions against their probability."
    return figure(draw_svg(lambda: reliability_figure(bins), alt, prefix), caption, simulated=run.simulated)


def _together(draws: Sequence[ReliabilityBins]) -> ReliabilityBins:
    """Return the bins of all draws as one."""
    count = np.sum([bins.count for bins in draws], axis=0)
    with np.errstate(invalid="ignore"):
        confidence, accuracy = (
            np.sum([np.nan_to_num(getattr(bins, name)) * bins.count for bins in draws], axis=0) / count
            for name in ("confidence", "accuracy")
        )
    return ReliabilityBins(draws[0].edges, count, confidence, accuracy)


def label_fractions(runs: Sequence[RunMaterial], prefix: str) -> str:
    """Return F1 against the share of labels, a figure for each pair of surveys that has several runs."""
    pieces = [
        _label_figure(group, f"{prefix}{number}-")
        for number, group in enumerate(_comparable(runs))
        if len({_label_share(run) for run in group}) > 1
    ]
    if not pieces:
        return missing("No two of these runs have the same surveys and classes and a different number of labels.")
    return "\n".join(pieces)


def _comparable(runs: Sequence[RunMaterial]) -> Iterator[list[RunMaterial]]:
    def pair(run: RunMaterial) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
        return run.saved.description.surveys, run.classes, run.simulated

    scored = sorted((run for run in runs if run.table), key=pair)
    for _, group in groupby(scored, key=pair):
        yield sorted(group, key=_label_share)


def _label_share(run: RunMaterial) -> float:
    """Return the share of the target's known labels that a draw could use."""
    assert run.table is not None
    circumstances = run.table.circumstances
    used = fmean(sum(draw.values()) for draw in circumstances.labels_per_class)
    return used / sum(circumstances.class_mix.values())


def _label_figure(runs: Sequence[RunMaterial], prefix: str) -> str:
    common = set.intersection(*({row.name for row in run.table.scores} for run in runs if run.table))
    first = runs[0].table
    assert first is not None
    rows = [row for row in first.scores if row.name in common]

    def curve(row: DrawScores) -> LabelCurve:
        found = [each for run in runs if (each := row_of(run, row.name)) is not None]
        shares = tuple(_label_share(run) for run in runs)
        return LabelCurve(row_name(row), shares, tuple(spread(each.column()) for each in found), row.is_upper_bound)

    def mean_f1(row: DrawScores) -> float:
        return fmean(value.mean for value in curve(row).macro_f1)

    ours = [row for row in rows if row.name == DVT_ENSEMBLE]
    others = sorted((row for row in rows if row.name not in DVT_ROWS), key=mean_f1, reverse=True)
    rivals = [row for row in others if not row.is_upper_bound][:RIVALS_SHOWN]
    bounds = [row for row in others if row.is_upper_bound][:1]
    curves = [curve(row) for row in (*ours, *rivals, *bounds)]
    if not curves:
        return missing(f"The runs of {runs[0].title} have no row in common.")
    title = runs[0].title
    caption = (
        f"{title}: macro F1 against the share of target labels used, mean and standard deviation over draws. Shown are "
        f"the DVT ensemble and the {len(rivals)} rivals that are best on average over these runs; dashed: upper bound."
    )
    alt = f"Macro F1 against the share of target labels for {title}, one line for each model."
    return figure(draw_svg(lambda: label_fraction_figure(curves), alt, prefix), caption, simulated=runs[0].simulated)


def best_rival(run: RunMaterial) -> DrawScores | None:
    """Return the row with the highest macro F1 that is neither DVT nor an upper bound."""
    scores = run.table.scores if run.table else ()
    rivals = [row for row in scores if row.name not in DVT_ROWS and not row.is_upper_bound]
    return max(rivals, key=lambda row: fmean(row.column()), default=None)


def row_of(run: RunMaterial, name: str) -> DrawScores | None:
    """Return a row of the run's table."""
    return next((row for row in run.table.scores if row.name == name), None) if run.table else None


def row_name(row: DrawScores) -> str:
    """Name a row in one breath."""
    return "DVT ensemble" if row.name == DVT_ENSEMBLE else f"{row.model} ({row.training[:1].lower()}{row.training[1:]})"


def percent(value: Spread) -> str:
    """Write a share in percent, with its deviation where there is one."""
    mean = f"{100 * value.mean:.1f}"
    return mean if value.deviation is None else f"{mean} ± {100 * value.deviation:.1f}"
