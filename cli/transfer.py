"""`lcdvt transfer`: labels of one survey carried to another."""

from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.console import progress_display
from lcdvt.cli.results import print_run, split_names


def transfer(
    source: options.Sources,
    target: options.Target,
    labels: options.TargetLabels = "1%",
    source_labels: options.SourceLabels = "all",
    classes: options.Classes = None,
    mode: options.TransferMode = "multi-task",
    preset: options.Preset = "taught",
    steps: options.Steps = None,
    members: options.Members = 10,
    repeats: options.Repeats = 3,
    seed: options.Seed = 0,
    rows: options.Rows = None,
    device: options.Device = "auto",
    jobs: options.Jobs = None,
    dask: options.Dask = None,
    name: Annotated[str | None, typer.Option(help="The run's name; default: SOURCE-TARGET.")] = None,
    data: options.Data = None,
    force: options.Force = False,
    json_file: options.Json = None,
) -> None:
    """Carry labels over to a survey that has few, and print the paper's table with honest rivals in it.

    Interrupt it whenever you like: the same command goes on with the draws that are missing.
    """
    from lcdvt.transfer_run import transfer as run

    with progress_display("transfer", "label draws") as progress:
        result = run(
            source, target, labels, source_labels=source_labels, mode=mode,  # type: ignore[arg-type]
            classes=split_names(classes), preset=preset, steps=steps, members=members, repeats=repeats, seed=seed,
            rows=split_names(rows), device=device, jobs=jobs, dask=dask, name=name, data=data, force=force,
            progress=progress,
        )  # fmt: skip
    print_run(result, json_file)
