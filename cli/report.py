"""`lcdvt report`: what runs found, as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.console import out, progress_display
from lcdvt.cli.results import write_json


def report(
    runs: Annotated[list[str], typer.Argument(help="Runs' names (`lcdvt runs`) or folders.", metavar="RUN")],
    output: Annotated[
        Path | None, typer.Option("--out", help="The HTML file; default: RUN.html, or report.html for several runs.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the samples that scatter plots show.")] = 0,
    data: options.Data = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    json_file: options.Json = None,
) -> None:
    """Write tables, maps, light curves and settings of runs into one HTML file to send to co-authors."""
    from lcdvt.reports.write import report as write

    with progress_display("report", "runs") as progress:
        result = write(runs, output, data=data, seed=seed, force=force, progress=progress)
    if json_file:
        write_json(json_file, {"report": str(result.path), "runs": result.tables})
    marked = " (simulated)" if result.simulated else ""
    out.print(f"report of {', '.join(result.runs)}{marked}: {result.path}")
