"""`lcdvt report`: what runs found, as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli.console import out, progress_display


def report(
    runs: Annotated[list[str], typer.Argument(help="Runs' names (`lcdvt runs`) or folders.", metavar="RUN...")],
    output: Annotated[
        Path | None, typer.Option("--out", help="The HTML file; default: RUN.html, or report.html for several runs.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the samples that scatter plots show.")] = 0,
    data: Annotated[Path | None, typer.Option(help="Workspace folder; default: $LCDVT_DATA or ./lcdvt-data.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the tables' numbers to this file.")] = None,
) -> None:
    """Write tables, maps, light curves and settings of runs into one HTML file to send to co-authors."""
    from lcdvt.report.writing import write_report

    with progress_display("report", "runs") as progress:
        result = write_report(runs, output, data=data, seed=seed, force=force, progress=progress)
    if json_file:
        json_file.write_text(result.to_json(), encoding="utf-8")
    marked = " (simulated)" if result.simulated else ""
    out.print(f"report of {', '.join(result.runs)}{marked}: {result.path}")
