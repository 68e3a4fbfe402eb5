"""`lcdvt export`: features or predictions in another form."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.console import out, progress_display
from lcdvt.cli.results import write_json


def export(
    what: Annotated[str, typer.Argument(help="An ingested survey, or a run.", metavar="SURVEY|RUN")],
    target: Annotated[Path, typer.Argument(help="The folder to write.", metavar="OUT")],
    hats: Annotated[bool, typer.Option("--hats", help="As a HATS catalogue, for LSDB.")] = False,
    rows_per_partition: Annotated[
        int, typer.Option(min=1, help="Partitions are divided until none has more rows.")
    ] = 100_000,
    data: options.Data = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a HATS catalogue that is there.")] = False,
    json_file: options.Json = None,
) -> None:
    """Write a survey's features, or a run's predictions, as a HATS catalogue that LSDB joins by position."""
    from lcdvt.errors import LcdvtError

    if not hats:
        raise LcdvtError("name a form to export to: --hats writes a HATS catalogue; what is stored is Parquet already.")
    from lcdvt.exports.hats import export as write

    with progress_display("export") as progress:
        result = write(what, target, rows_per_partition=rows_per_partition, data=data, force=force, progress=progress)
    out.print(f"{result.objects} objects of {result.name} in {result.partitions} partitions: {result.folder}")
    if result.without_position:
        out.print(f"  left out {result.without_position} without a position")
    if json_file:
        write_json(json_file, {**asdict(result), "folder": str(result.folder)})
