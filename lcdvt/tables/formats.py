"""A table on the terminal, in Markdown, LaTeX and CSV; `lcdvt.tables.html` has HTML."""

import csv
import io
from collections.abc import Callable
from typing import TYPE_CHECKING

from lcdvt.errors import LcdvtError
from lcdvt.tables import escapes
from lcdvt.tables.html import groups, styled, to_html
from lcdvt.tables.record import to_json
from lcdvt.tables.table import ResultTable, TableRow

if TYPE_CHECKING:
    from rich.console import Group


def to_rich(table: ResultTable) -> "Group":
    """Return the table for a rich console."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    # Text, never markup: a class named [red] must be seen as that
    # In a narrow terminal a deviation goes under its mean and a long name over two lines; nothing is cut off.
    shown = Table(title=Text(escapes.printable(table.title)), title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("Training", "Model"):
        shown.add_column(name, overflow="fold", min_width=8)
    for name in table.columns:
        shown.add_column(Text(escapes.printable(name)), justify="right", overflow="fold", min_width=5)
    for data, rows in groups(table):
        shown.add_row(Text(data, style="dim"))
        for row in rows:
            styles = ["", "", *("bold" if cell.is_best else "" for cell in row.cells)]
            texts = styled(row, escapes.printable, str, str)
            shown.add_row(
                *(Text(text, style=style) for text, style in zip(texts, styles, strict=True)),
                style="italic" if row.is_upper_bound else None,
            )
        shown.add_section()
    return Group(shown, *(Text(escapes.printable(note), style="dim") for note in table.notes))


def to_markdown(table: ResultTable) -> str:
    """Return GitHub-flavoured Markdown."""
    width = 2 + len(table.columns)
    lines = [f"**{escapes.markdown(table.title)}**", ""]
    lines.append(_markdown_line(["Training", "Model", *map(escapes.markdown, table.columns)]))
    lines.append(_markdown_line(["---", "---", *["---:"] * len(table.columns)]))
    for data, rows in groups(table):
        lines.append(_markdown_line([f"_{escapes.markdown(data)}_", *[""] * (width - 1)]))
        lines += [_markdown_line(styled(row, escapes.markdown, "**{}**".format, "*{}*".format)) for row in rows]
    lines += ["", *(f"{escapes.markdown(note)}  " for note in table.notes)]
    return "\n".join(lines) + "\n"


def _markdown_line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def to_latex(table: ResultTable) -> str:
    r"""Return a LaTeX table environment; the document needs \usepackage{booktabs} and T1 fonts."""
    width = 2 + len(table.columns)
    heads = ["Training", "Model", *map(escapes.latex, table.columns)]
    lines = [
        r"% needs \usepackage[T1]{fontenc} and \usepackage{booktabs}",
        r"\begin{table*}",
        r"\centering",
        rf"\caption{{{escapes.latex(table.title)}}}",
        # so that the paper's five classes, each with its deviation, fit the width of a journal's page
        r"\footnotesize\setlength{\tabcolsep}{2pt}",
        rf"\begin{{tabular}}{{@{{}}ll{'r' * len(table.columns)}@{{}}}}",
        r"\toprule",
        _latex_line(heads),
    ]
    for data, rows in groups(table):
        lines.append(r"\midrule")
        lines.append(rf"\multicolumn{{{width}}}{{@{{}}l}}{{{escapes.latex(data)}}} \\")
        lines += [
            _latex_line(styled(row, escapes.latex, r"\textbf{{{}}}".format, r"\textit{{{}}}".format)) for row in rows
        ]
    lines += [r"\bottomrule", r"\end{tabular}", r"\par\smallskip", r"\begin{minipage}{\linewidth}\footnotesize"]
    lines += [rf"{escapes.latex(note)}\par" for note in table.notes]
    lines += [r"\end{minipage}", r"\end{table*}"]
    return "\n".join(lines) + "\n"


def _latex_line(cells: list[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def to_csv(table: ResultTable) -> str:
    """Return comma-separated values: percent, mean and deviation in columns of their own."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    numbers = [escapes.csv_cell(f"{name} {part}") for name in table.columns for part in ("mean", "std")]
    writer.writerow(["data", "row", "training", "model", "upper bound", *numbers])
    for row in table.rows:
        names = [escapes.csv_cell(text) for text in (row.data, row.name, row.training, row.model)]
        writer.writerow([*names, "yes" if row.is_upper_bound else "no", *_csv_numbers(row)])
    return written.getvalue()


def _csv_numbers(row: TableRow) -> list[str]:
    numbers = []
    for cell in row.cells:
        pair = (None, None) if cell.value is None else (cell.value.mean, cell.value.deviation)
        numbers += ["" if number is None else f"{100 * number:.4f}" for number in pair]
    return numbers


FORMATS: dict[str, Callable[[ResultTable], str]] = {
    "markdown": to_markdown,
    "latex": to_latex,
    "html": to_html,
    "csv": to_csv,
    "json": to_json,
}


def render(table: ResultTable, name: str) -> str:
    """Return the table as text in a named format."""
    if name not in FORMATS:
        raise LcdvtError(f"there is no table format {name}: choose from {', '.join(FORMATS)}.")
    return FORMATS[name](table)
