"""The options of a run that is to be trained, built once for `transfer`, `ensemble`, `experiment stars` and `train`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.results import split_names

if TYPE_CHECKING:
    from lcdvt.parallel.executors import Workers
    from lcdvt.protocol.plan import RunOptions, TransferOptions


def transfer_options(
    labels_from: Annotated[
        Path | None,
        typer.Option(help="A file of answers (`lcdvt label`): labels of the target in every draw, never scored."),
    ] = None,
    source_labels: Annotated[str, typer.Option(help="Labels of each source to use, as --labels.")] = "all",
    classes: options.Classes = None,
    mode: Annotated[str, typer.Option(help="multi-task or transfer.")] = "multi-task",
    preset: options.Preset = "taught",
    steps: options.Steps = None,
    members: options.Members = 10,
    repeats: options.Repeats = 3,
    seed: options.Seed = 0,
    rows: options.Rows = None,
    replicates: Annotated[
        int | None,
        typer.Option(help="Thinned light curves of each star for DVT's teachers; default: as the preset says, 1."),
    ] = None,
    training_stars: Annotated[
        int, typer.Option(help="Learn from a sample of so many stars where a survey has more; all are classified.")
    ] = 200_000,
    doubtful_labels: Annotated[
        str | None,
        typer.Option(
            help="Labels of the target that the sources contradict: keep, or leave-out of what DVT learns from; "
            "default: as the preset says, leave-out."
        ),
    ] = None,
    device: options.Device = "auto",
) -> "TransferOptions":
    """Return how labels are carried over."""
    from lcdvt.protocol.plan import TransferOptions

    return TransferOptions(
        source_labels=source_labels, classes=split_names(classes), mode=mode, preset=preset, steps=steps,  # type: ignore[arg-type]
        members=members, repeats=repeats, seed=seed, rows=split_names(rows), device=device,
        labels_from=labels_from, replicates=replicates, training_stars=training_stars,
        doubtful_labels=doubtful_labels,  # type: ignore[arg-type]
    )  # fmt: skip


def train_options(
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
) -> "RunOptions":
    """Return how one survey is learned."""
    from lcdvt.protocol.plan import RunOptions

    return RunOptions(
        classes=split_names(classes), mode=mode, preset=preset, steps=steps, members=members, repeats=repeats,  # type: ignore[arg-type]
        seed=seed, rows=split_names(rows), device=device,
    )  # fmt: skip


def draw_workers(
    jobs: Annotated[int | None, typer.Option(help="Draws at once, each in a process; default: all cores.")] = None,
    dask: Annotated[
        str | None, typer.Option(help="Send the draws to this Dask scheduler (tcp://…), or 'local'.")
    ] = None,
) -> "Workers":
    """Return who makes the draws."""
    from lcdvt.parallel.executors import Workers

    return Workers(jobs, dask)


PAPERS_OPTIONS = partial(transfer_options, repeats=10)
"""The same with the paper's ten draws."""
