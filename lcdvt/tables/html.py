"""A table as HTML, for a report or a notebook, and what every format does with a row."""

from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING

from lcdvt.tables import escapes

if TYPE_CHECKING:  # the table shows itself in a notebook by this module, so that it cannot be imported here
    from lcdvt.tables.table import ResultTable, TableRow

_Escape = Callable[[str], str]


def styled(row: "TableRow", escape: _Escape, bold: _Escape, italic: _Escape) -> list[str]:
    """Return the row's texts: upper bounds all italic, best values bold."""
    model = f"{row.model} (published)" if row.is_published else row.model
    texts = [escape(row.training), escape(model)]
    texts += [bold(escape(cell.text)) if cell.is_best else escape(cell.text) for cell in row.cells]
    return [italic(text) for text in texts] if row.is_upper_bound else texts


def groups(table: "ResultTable") -> "list[tuple[str, list[TableRow]]]":
    """Return the rows under what their numbers come from."""
    return [(data, list(rows)) for data, rows in groupby(table.rows, key=lambda row: row.data)]


def to_html(table: "ResultTable") -> str:
    """Return an HTML figure for a report or a notebook."""
    width = 2 + len(table.columns)
    heads = "".join(f'<th scope="col">{escapes.html(name)}</th>' for name in ("Training", "Model", *table.columns))
    lines = ['<figure class="lcdvt-table">', "<table>", f"<caption>{escapes.html(table.title)}</caption>"]
    lines.append(f"<thead><tr>{heads}</tr></thead>")
    for data, rows in groups(table):
        lines.append(f'<tbody><tr><th colspan="{width}" scope="rowgroup">{escapes.html(data)}</th></tr>')
        for row in rows:
            cells = styled(row, escapes.html, "<strong>{}</strong>".format, "<em>{}</em>".format)
            lines.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
        lines.append("</tbody>")
    notes = "<br>".join(escapes.html(note) for note in table.notes)
    lines += ["</table>", f"<figcaption>{notes}</figcaption>", "</figure>"]
    return "\n".join(lines) + "\n"
