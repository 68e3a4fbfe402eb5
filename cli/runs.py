"""`lcdvt runs`: what was trained."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.console import out
from lcdvt.cli.results import write_json
from lcdvt.errors import WorkspaceError

if TYPE_CHECKING:
    from rich.table import Table

    from lcdvt.results.comparison import Comparison

app = typer.Typer(help="List the runs, show one, or compare several.", invoke_without_command=True)


@app.callback()
def list_all(context: typer.Context, data: options.Data = None, json_file: options.Json = None) -> None:
    """List the runs of the workspace."""
    if context.invoked_subcommand is not None:
        return
    from lcdvt.results.folder import describe_runs, runs_folder, unfinished_runs

    found, unfinished = describe_runs(data), unfinished_runs(data)
    if json_file:
        write_json(json_file, {"runs": [asdict(run) for run in found], "unfinished": unfinished})
    if not found and not unfinished:
        out.print(f"no run in {runs_folder(data)} yet: `lcdvt transfer` makes one.")
        return
    from rich.table import Table

    from lcdvt.evaluate import Spread
    from lcdvt.tables.table import Cell

    table = Table("run", "surveys", "classes", "labels", "members", "draws", "seed", "macro F1 (%)", box=None)
    for run in found:
        f1 = Cell(Spread(*run.macro_f1) if run.macro_f1 else None).text
        names = (run.name, run.title, " ".join(run.classes), run.labels)
        table.add_row(*names, str(run.members), str(run.draws), run.seed, f1)
    out.print(table)
    for name, draws in unfinished.items():
        out.print(f"unfinished: {name} ({draws} draws done): run the command that began it again to go on.")


@app.command()
def show(
    run: options.Run,
    form: Annotated[
        str | None,
        typer.Option("--format", help="Print the table alone, as markdown, latex, html, csv or json."),
    ] = None,
    config: Annotated[bool, typer.Option("--config", help="Print every number of the model, too.")] = False,
    data: options.Data = None,
    json_file: options.Json = None,
) -> None:
    """Print how a run was made, and its table."""
    from lcdvt.results.folder import CONFIG_FILE, find_run, read_metrics, read_run_table
    from lcdvt.tables.formats import render, to_rich
    from lcdvt.tables.record import to_record

    folder = find_run(run, data)
    metrics, table = read_metrics(folder), read_run_table(folder)
    if json_file:
        rows = to_record(table) if table else {"rows": []}
        write_json(json_file, {"run": folder.name, "folder": str(folder), **rows})
    if form:
        if table is None:
            raise WorkspaceError(f"run {folder.name} has no table: no label was left to score with.")
        typer.echo(render(table, form), nl=False)
        return
    out.print(f"run: {folder}")
    if config:
        out.print((folder / CONFIG_FILE).read_text(encoding="utf-8"), highlight=False)
    for key, value in metrics.items():
        if not isinstance(value, dict | list | None):
            out.print(f"{key}: {value}")
    for survey, citation in metrics.get("citations", {}).items():
        out.print(f"cite {survey}: {citation or '(no citation given)'}")
    if table is None:
        out.print("Every label is in use: there is nothing left to score on.")
    else:
        out.print(to_rich(table))


@app.command()
def compare(
    runs: options.Runs,
    classes: Annotated[bool, typer.Option("--classes", help="Print F1 of each class, too.")] = False,
    data: options.Data = None,
    json_file: options.Json = None,
) -> None:
    """Put the macro F1 of several runs beside each other, row by row."""
    from lcdvt.results.comparison import compare as put_side_by_side
    from lcdvt.tables.table import MACRO

    comparison = put_side_by_side(*runs, data=data)
    for column in comparison.columns if classes else (MACRO,):
        out.print(_comparison_table(comparison, column))
    for run, note in comparison.notes.items():
        out.print(f"{run}: {note}")
    out.print("Bold: best of a run's rows without the upper bounds (italic).")
    if json_file:
        write_json(json_file, comparison.to_record())


def _comparison_table(comparison: "Comparison", column: str) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from lcdvt.tables.escapes import printable
    from lcdvt.tables.table import MACRO

    title = f"{column} (%)" if column == MACRO else f"F1 of {column} (%)"
    table = Table(title=Text(printable(title)), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("Training", "Model"):
        table.add_column(name, overflow="fold")
    for run in comparison.runs:
        table.add_column(Text(printable(run)), justify="right", overflow="fold")
    for row, cells in comparison.cells(column):
        numbers = [Text(cell.text, style="bold" if cell.is_best else "") for cell in cells]
        names = [Text(printable(row.training)), Text(printable(row.model))]
        table.add_row(*names, *numbers, style="italic" if row.is_upper_bound else None)
    return table
