"""`lcdvt train`: one survey learned from its own labels."""

from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.completion import survey_names
from lcdvt.cli.console import progress_display
from lcdvt.cli.results import print_run, split_names


def train(
    survey: Annotated[str, typer.Option(help="An ingested survey with labels.", autocompletion=survey_names)],
    labels: Annotated[str, typer.Option(help="Labels to use: all, 10%, 0.1, 25 or 3/class.")] = "all",
    classes: Annotated[
        str | None, typer.Option(help="Classes to tell apart, separated by commas; default: all with labels.")
    ] = None,
    mode: Annotated[str, typer.Option(help="semi-supervised (unlabelled objects help) or supervised.")] = (
        "semi-supervised"
    ),
    preset: options.Preset = "tied",
    steps: options.Steps = None,
    members: options.Members = 10,
    repeats: Annotated[int, typer.Option(help="Draws of labels; with all labels, folds held out in turn.")] = 5,
    seed: options.Seed = 0,
    rows: Annotated[
        str, typer.Option(help="Rivals, separated by commas: forest-target, svm-target, label-spreading.")
    ] = "forest-target,dvt-top-cycle",
    device: options.Device = "auto",
    jobs: options.Jobs = None,
    dask: options.Dask = None,
    name: Annotated[str | None, typer.Option(help="The run's name; default: the survey's.")] = None,
    data: options.Data = None,
    force: options.Force = False,
    json_file: options.Json = None,
) -> None:
    """Train on one survey's labels, score on labels that were kept back, and leave a run that classifies new stars.

    Interrupt it whenever you like: the same command goes on with the draws that are missing.
    """
    from lcdvt.training_run import train as run

    with progress_display("train", "draws") as progress:
        result = run(
            survey, labels, classes=split_names(classes), mode=mode, preset=preset, steps=steps, members=members,  # type: ignore[arg-type]
            repeats=repeats, seed=seed, rows=split_names(rows), device=device, jobs=jobs, dask=dask, name=name,
            data=data, force=force, progress=progress,
        )  # fmt: skip
    print_run(result, json_file)
