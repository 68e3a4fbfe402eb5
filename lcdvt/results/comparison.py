"""Several runs beside each other: the same rows, one column for each run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lcdvt.errors import WorkspaceError
from lcdvt.evaluate import Spread
from lcdvt.results.folder import find_run, read_metrics, read_run_table
from lcdvt.tables.escapes import html
from lcdvt.tables.table import MACRO, Cell, ResultTable

if TYPE_CHECKING:
    import pandas as pd

FEWEST_RUNS: Final = 2
"""One run has its own table."""


@dataclass(frozen=True)
class ComparedRow:
    """One row of the runs' tables.

    Parameters
    ----------
    name, training, model, is_upper_bound
        As in the tables; where the runs were trained in different ways, `training` names each.
    values
        By column (a class, or macro F1), then by run; none where a run has no such row or class.
    """

    name: str
    training: str
    model: str
    is_upper_bound: bool
    values: Mapping[str, Mapping[str, Spread | None]]


@dataclass(frozen=True)
class Comparison:
    """What is compared, and the sentence under the table that says what each run is."""

    runs: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[ComparedRow, ...]
    notes: Mapping[str, str]

    def cells(self, column: str) -> list[tuple[ComparedRow, list[Cell]]]:
        """Return each row's cells, one for each run; the best rival of each run is marked."""
        rivals = [row.values[column] for row in self.rows if not row.is_upper_bound]
        best = {
            run: max((round(100 * value.mean, 1) for row in rivals if (value := row[run])), default=None)
            for run in self.runs
        }
        return [(row, [_cell(row, column, run, best[run]) for run in self.runs]) for row in self.rows]

    def to_frame(self, column: str = MACRO) -> "pd.DataFrame":
        """Return macro F1, or F1 of a class, in percent: the tables' rows, with a column for each run."""
        import pandas as pd

        values = {
            (row.training, row.model): {
                run: None if value is None else 100 * value.mean for run, value in found.items()
            }
            for row in self.rows
            for found in [row.values[column]]
        }
        return pd.DataFrame.from_dict(values, orient="index", columns=list(self.runs)).rename_axis(
            ["training", "model"]
        )

    def _repr_html_(self) -> str:
        notes = "<br>".join(f"{html(run)}: {html(note)}" for run, note in self.notes.items())
        return f"{self.to_frame().to_html(float_format='{:.1f}'.format, na_rep='–')}<p>macro F1 (%)<br>{notes}</p>"

    def to_record(self) -> dict[str, Any]:
        """Return the numbers by row, column and run as JSON can hold them; shares of one, not percent."""
        return {
            "runs": dict(self.notes),
            "rows": [
                {
                    "name": row.name,
                    "training": row.training,
                    "model": row.model,
                    "is_upper_bound": row.is_upper_bound,
                    "macro_f1": _by_run(row.values[MACRO]),
                    "f1": {name: _by_run(row.values[name]) for name in self.columns if name != MACRO},
                }
                for row in self.rows
            ],
        }


def compare(*runs: str | Path, data: str | Path | None = None) -> Comparison:
    """Put the tables of several runs beside each other.

    Parameters
    ----------
    runs
        Names in the workspace, or folders.
    data
        The workspace.
    """
    if len(runs) < FEWEST_RUNS:
        raise WorkspaceError(f"a comparison needs {FEWEST_RUNS} runs or more: name them.")
    tables: dict[str, ResultTable] = {}
    notes = {}
    for run in runs:
        folder = find_run(run, data)
        name = folder.name if folder.name not in tables else str(folder)
        table = read_run_table(folder)
        if table is None:
            raise WorkspaceError(
                f"run {name} has no scores (no label was left for them): leave it out of the comparison."
            )
        tables[name] = table
        notes[name] = _note(table, str(read_metrics(folder).get("labels", "?")))
    columns = tuple(dict.fromkeys(column for table in tables.values() for column in table.columns[:-1]))
    return Comparison(tuple(tables), (*columns, MACRO), tuple(_rows(tables, (*columns, MACRO))), notes)


def _rows(tables: Mapping[str, ResultTable], columns: tuple[str, ...]) -> list[ComparedRow]:
    ours = {run: {row.name: row for row in table.rows if not row.is_published} for run, table in tables.items()}
    names = dict.fromkeys(name for rows in ours.values() for name in rows)
    compared = []
    for name in names:
        found = {run: rows[name] for run, rows in ours.items() if name in rows}
        first = next(iter(found.values()))
        values = {
            column: {
                run: (
                    found[run].cells[table.columns.index(column)].value
                    if run in found and column in table.columns
                    else None
                )
                for run, table in tables.items()
            }
            for column in columns
        }
        training = " / ".join(dict.fromkeys(row.training for row in found.values()))
        compared.append(ComparedRow(name, training, first.model, first.is_upper_bound, values))
    return sorted(compared, key=lambda row: not row.is_upper_bound)


def _cell(row: ComparedRow, column: str, run: str, best: float | None) -> Cell:
    value = row.values[column][run]
    is_best = value is not None and not row.is_upper_bound and round(100 * value.mean, 1) == best
    return Cell(value, is_best)


def _note(table: ResultTable, labels: str) -> str:
    about = table.circumstances
    repeat = "folds" if about.folds else "draws"
    members = "" if about.members is None else f", {about.members} members"
    return f"{table.title}, labels {labels}, {len(about.seeds)} {repeat}{members}"


def _by_run(values: Mapping[str, Spread | None]) -> dict[str, dict[str, float | None] | None]:
    return {
        run: None if value is None else {"mean": value.mean, "deviation": value.deviation}
        for run, value in values.items()
    }
