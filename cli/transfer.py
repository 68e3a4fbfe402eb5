"""`lcdvt transfer` and `lcdvt ensemble`: labels of one survey carried to another."""

from typing import TYPE_CHECKING, Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.console import progress_display
from lcdvt.cli.expanded import takes
from lcdvt.cli.results import print_run
from lcdvt.cli.run_options import PAPERS_OPTIONS, draw_workers, transfer_options

if TYPE_CHECKING:
    from lcdvt.parallel.executors import Workers
    from lcdvt.protocol.plan import TransferOptions


@takes(how=transfer_options, workers=draw_workers)
def transfer(
    source: options.Sources,
    target: options.Target,
    how: "TransferOptions",
    workers: "Workers",
    labels: options.TargetLabels = "1%",
    name: Annotated[str | None, typer.Option(help="The run's name; default: SOURCE-TARGET.")] = None,
    data: options.Data = None,
    force: options.Force = False,
    json_file: options.Json = None,
) -> None:
    """Carry labels over to a survey that has few, and print the paper's table with honest rivals in it.

    Interrupt it whenever you like: the same command goes on with the draws that are missing.
    """
    from lcdvt.protocol.carry_out import RunPlace
    from lcdvt.protocol.transfer import run_transfer, transfer_name

    place = RunPlace(name or transfer_name(source, target), data, force)
    with progress_display("transfer", "label draws") as progress:
        result = run_transfer(source, target, labels, how, place, workers, progress)
    print_run(result, json_file)


@takes(how=PAPERS_OPTIONS, workers=draw_workers)
def ensemble(
    source: options.Sources,
    target: options.Target,
    how: "TransferOptions",
    workers: "Workers",
    labels: options.TargetLabels = "1%",
    name: Annotated[str | None, typer.Option(help="The run's name; default: SOURCE-TARGET-ensemble.")] = None,
    data: options.Data = None,
    force: options.Force = False,
    json_file: options.Json = None,
) -> None:
    """Carry labels over by the paper's full protocol: ten draws of labels, ten models each, and the rivals.

    Interrupt it whenever you like: the same command goes on with the draws that are missing.
    """
    from lcdvt.protocol.carry_out import RunPlace
    from lcdvt.protocol.transfer import ensemble_name, run_transfer

    place = RunPlace(name or ensemble_name(source, target), data, force)
    with progress_display("ensemble", "label draws") as progress:
        result = run_transfer(source, target, labels, how, place, workers, progress)
    print_run(result, json_file)
