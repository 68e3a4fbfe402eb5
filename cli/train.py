"""`lcdvt train`: one survey learned from its own labels."""

from typing import TYPE_CHECKING, Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.completion import survey_names
from lcdvt.cli.console import progress_display
from lcdvt.cli.expanded import takes
from lcdvt.cli.results import print_run
from lcdvt.cli.run_options import draw_workers, train_options

if TYPE_CHECKING:
    from lcdvt.parallel.executors import Workers
    from lcdvt.protocol.plan import RunOptions


@takes(how=train_options, workers=draw_workers)
def train(
    survey: Annotated[str, typer.Option(help="An ingested survey with labels.", autocompletion=survey_names)],
    how: "RunOptions",
    workers: "Workers",
    labels: Annotated[str, typer.Option(help="Labels to use: all, 10%, 0.1, 25 or 3/class.")] = "all",
    name: Annotated[str | None, typer.Option(help="The run's name; default: the survey's.")] = None,
    data: options.Data = None,
    force: options.Force = False,
    json_file: options.Json = None,
) -> None:
    """Train on one survey's labels, score on labels that were kept back, and leave a run that classifies new stars.

    Interrupt it whenever you like: the same command goes on with the draws that are missing.
    """
    from lcdvt.protocol.carry_out import RunPlace
    from lcdvt.protocol.train import run_train

    with progress_display("train", "draws") as progress:
        result = run_train(survey, labels, how, RunPlace(name or survey, data, force), workers, progress)
    print_run(result, json_file)
