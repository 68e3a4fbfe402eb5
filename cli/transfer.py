"""`lcdvt transfer`: labels of one survey carried to another."""

from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli.console import err, out, progress_display


def transfer(
    source: Annotated[list[str], typer.Option(help="An ingested survey with labels; may be given several times.")],
    target: Annotated[str, typer.Option(help="The ingested survey to classify.")],
    labels: Annotated[str, typer.Option(help="Labels of the target to use: 1%, 0.01, 25, 3/class or all.")] = "1%",
    source_labels: Annotated[str, typer.Option(help="The same for each source.")] = "all",
    mode: Annotated[str, typer.Option(help="multi-task or transfer.")] = "multi-task",
    preset: Annotated[str, typer.Option(help="The model's numbers: tied, paper or robust.")] = "tied",
    steps: Annotated[int | None, typer.Option(min=1, help="Training steps; default: the preset's.")] = None,
    members: Annotated[int, typer.Option(help="Models in the ensemble.")] = 10,
    repeats: Annotated[int, typer.Option(help="Draws of labels.")] = 3,
    seed: Annotated[int, typer.Option(help="Of the first draw; the others count on.")] = 0,
    rows: Annotated[str | None, typer.Option(help="Rows of the table, separated by commas; default: all.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    jobs: Annotated[int | None, typer.Option(help="Draws at once, each in a process; default: all cores.")] = None,
    dask: Annotated[
        str | None, typer.Option(help="Send the draws to this Dask scheduler (tcp://…), or 'local'.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The run's name; default: SOURCE-TARGET.")] = None,
    data: Annotated[Path | None, typer.Option(help="Workspace folder; default: $LCDVT_DATA or ./lcdvt-data.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a run of the same name.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the table's numbers to this file.")] = None,
) -> None:
    """Carry labels over to a survey that has few, and print the paper's table with honest rivals in it."""
    from lcdvt.table_formats import to_rich
    from lcdvt.table_json import to_json
    from lcdvt.transfer_run import transfer as run

    with progress_display("transfer", "label draws") as progress:
        result = run(
            source, target, labels, source_labels=source_labels, mode=mode,  # type: ignore[arg-type]
            preset=preset, steps=steps, members=members, repeats=repeats, seed=seed,
            rows=rows.split(",") if rows else None, device=device, jobs=jobs, dask=dask, name=name, data=data,
            force=force, progress=progress,
        )  # fmt: skip
    for problem in result.problems:
        err.print(f"lcdvt: {problem}", style="yellow", markup=False)
    table = result.table()
    if table is None:
        out.print("Every label of the target is in use: there is nothing left to score on.")
    else:
        out.print(to_rich(table))
        if json_file:
            json_file.write_text(to_json(table), encoding="utf-8")
    out.print(f"run: {result.folder}", markup=False)
    out.print(f"classify new light curves: lcdvt predict {result.name} PATH --out stars.parquet", markup=False)
