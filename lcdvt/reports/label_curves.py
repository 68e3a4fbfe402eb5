"""How much labels help: runs of the same surveys with different numbers of labels, side by side."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import fmean
from typing import Final

from lcdvt.baselines.rows import DVT_ENSEMBLE, DVT_ROWS
from lcdvt.evaluate import RowScores, spread
from lcdvt.figures.scores import LabelCurve, label_fraction_figure
from lcdvt.reports.material import RunMaterial
from lcdvt.reports.page import figure, missing
from lcdvt.reports.scores import row_name
from lcdvt.reports.svg import draw_svg
from lcdvt.tables.table import ResultTable

RIVALS_SHOWN: Final = 3
"""More lines would cover each other."""

_Scored = tuple[RunMaterial, ResultTable]


def label_fractions(runs: Sequence[RunMaterial], prefix: str) -> str:
    """Return F1 against the share of labels, a figure for each pair of surveys that has several runs."""
    pieces = [
        _label_figure(group, f"{prefix}{number}-")
        for number, group in enumerate(_comparable(runs))
        if len({_label_share(table) for _, table in group}) > 1
    ]
    if not pieces:
        return missing("No two of these runs have the same surveys and classes and a different number of labels.")
    return "\n".join(pieces)


def _comparable(runs: Sequence[RunMaterial]) -> Iterator[list[_Scored]]:
    def pair(scored: _Scored) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
        run, _ = scored
        return run.saved.description.surveys, run.classes, run.simulated

    for _, group in groupby(sorted(((run, run.table) for run in runs if run.table), key=pair), key=pair):
        yield sorted(group, key=lambda scored: _label_share(scored[1]))


def _label_share(table: ResultTable) -> float:
    """Return the share of the target's known labels that a draw could use."""
    used = fmean(sum(draw.values()) for draw in table.circumstances.labels_per_class)
    return used / sum(table.circumstances.class_mix.values())


def _label_figure(group: Sequence[_Scored], prefix: str) -> str:
    runs, tables = zip(*group, strict=True)
    curves = _curves(tables)
    title = runs[0].title
    if not curves:
        return missing(f"The runs of {title} have no row in common.")
    caption = (
        f"{title}: macro F1 against the share of target labels used, mean and standard deviation over draws. Shown are "
        f"the DVT ensemble and the rivals that are best on average over these runs (at most {RIVALS_SHOWN}); dashed: "
        "upper bound."
    )
    if len({(run.saved.config, len(run.saved.description.seeds)) for run in runs}) > 1:
        caption += " The runs differ in the model's settings too, not in their labels alone."
    alt = f"Macro F1 against the share of target labels for {title}, one line for each model."
    return figure(draw_svg(lambda: label_fraction_figure(curves), alt, prefix), caption, simulated=runs[0].simulated)


def _curves(tables: Sequence[ResultTable]) -> list[LabelCurve]:
    """Return DVT first, then its best rivals, then the best upper bound; each of these rows is in every table."""
    by_name = [{row.name: row for row in table.scores} for table in tables]
    rows = [row for name, row in by_name[0].items() if all(name in each for each in by_name)]

    def curve(row: RowScores) -> LabelCurve:
        values = tuple(spread(each[row.name].column()) for each in by_name)
        return LabelCurve(row_name(row), tuple(map(_label_share, tables)), values, row.is_upper_bound)

    def mean_f1(row: RowScores) -> float:
        return fmean(value.mean for value in curve(row).macro_f1)

    ours = [row for row in rows if row.name == DVT_ENSEMBLE]
    others = sorted((row for row in rows if row.name not in DVT_ROWS), key=mean_f1, reverse=True)
    rivals = [row for row in others if not row.is_upper_bound][:RIVALS_SHOWN]
    bounds = [row for row in others if row.is_upper_bound][:1]
    return [curve(row) for row in (*ours, *rivals, *bounds)]
