"""`lcdvt runs`: what was trained."""

from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli.console import out

DataOption = Annotated[Path | None, typer.Option(help="Workspace folder; default: $LCDVT_DATA or ./lcdvt-data.")]

app = typer.Typer(help="List the runs, or show one.", invoke_without_command=True)


@app.callback()
def list_all(context: typer.Context, data: DataOption = None) -> None:
    """List the finished runs of the workspace."""
    if context.invoked_subcommand is not None:
        return
    from lcdvt.run_list import describe_runs, runs_folder

    found = describe_runs(data)
    if not found:
        out.print(f"no run in {runs_folder(data)} yet: `lcdvt transfer` makes one.", markup=False)
        return
    from rich.table import Table

    table = Table("run", "surveys", "classes", "labels", "members", "seed", box=None)
    for run in found:
        table.add_row(run.name, " → ".join(run.surveys), " ".join(run.classes), run.labels, str(run.members), run.seed)
    out.print(table)


@app.command()
def show(run: Annotated[str, typer.Argument(help="A run's name or folder.")], data: DataOption = None) -> None:
    """Print a run's configuration and the scores it was saved with."""
    import json

    from lcdvt.run_list import CONFIG_FILE, METRICS_FILE, find_run

    folder = find_run(run, data)
    out.print((folder / CONFIG_FILE).read_text(encoding="utf-8"), markup=False, highlight=False)
    metrics = json.loads((folder / METRICS_FILE).read_text(encoding="utf-8"))
    for key, value in metrics.items():
        if not isinstance(value, dict | list):
            out.print(f"{key}: {value}", markup=False)
