"""`lcdvt ensemble`: the paper's full protocol."""

from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.console import progress_display
from lcdvt.cli.results import print_run, split_names


def ensemble(
    source: options.Sources,
    target: options.Target,
    labels: options.TargetLabels = "1%",
    source_labels: options.SourceLabels = "all",
    classes: options.Classes = None,
    mode: options.TransferMode = "multi-task",
    preset: options.Preset = "taught",
    steps: options.Steps = None,
    members: options.Members = 10,
    repeats: options.Repeats = 10,
    seed: options.Seed = 0,
    rows: options.Rows = None,
    device: options.Device = "auto",
    jobs: options.Jobs = None,
    dask: options.Dask = None,
    name: Annotated[str | None, typer.Option(help="The run's name; default: SOURCE-TARGET-ensemble.")] = None,
    data: options.Data = None,
    force: options.Force = False,
    json_file: options.Json = None,
) -> None:
    """Carry labels over by the paper's full protocol: ten draws of labels, ten models each, and the rivals.

    Interrupt it whenever you like: the same command goes on with the draws that are missing.
    """
    from lcdvt.transfer_run import ensemble as run

    with progress_display("ensemble", "label draws") as progress:
        result = run(
            source, target, labels, source_labels=source_labels, classes=split_names(classes), mode=mode,
            preset=preset, steps=steps, members=members, repeats=repeats, seed=seed, rows=split_names(rows),
            device=device, jobs=jobs, dask=dask, name=name, data=data, force=force, progress=progress,
        )  # fmt: skip
    print_run(result, json_file)
