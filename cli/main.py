"""The `lcdvt` command: its verbs, and how an error looks."""

import os
import sys
from typing import Annotated

import typer

from lcdvt import __version__
from lcdvt.cli import experiment, features, runs, surveys
from lcdvt.cli.answers import answers
from lcdvt.cli.browse import browse
from lcdvt.cli.console import err, survive_odd_terminals
from lcdvt.cli.doctor import doctor
from lcdvt.cli.doubt import doubt
from lcdvt.cli.export import export
from lcdvt.cli.extract import extract
from lcdvt.cli.ingest import ingest
from lcdvt.cli.label import label
from lcdvt.cli.predict import predict
from lcdvt.cli.reobserve import reobserve
from lcdvt.cli.report import report
from lcdvt.cli.simulate import simulate
from lcdvt.cli.suggest import suggest
from lcdvt.cli.train import train
from lcdvt.cli.transfer import ensemble, transfer
from lcdvt.cli.tune import tune
from lcdvt.cli.verify import verify
from lcdvt.cli.wording import EXIT_INTERRUPTED, INTERRUPTED, in_options
from lcdvt.errors import LcdvtError
from lcdvt.parallel.memory import FRUGAL_ARROW, keep_freed_memory

EXIT_USER_ERROR = 2
"""What command lines use for wrong usage."""

app = typer.Typer(
    name="lcdvt",
    help="Carry variable-star labels from one survey to another.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lcdvt {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


# In the order an astronomer needs them.
app.add_typer(surveys.app, name="surveys")
app.command()(simulate)
app.command()(ingest)
app.add_typer(features.app, name="features")
app.command()(extract)
app.command()(reobserve)
app.command()(train)
app.command()(transfer)
app.command()(ensemble)
app.command()(predict)
app.command()(suggest)
app.command()(label)
app.command()(browse)
app.command()(answers)
app.command()(doubt)
app.command()(report)
app.add_typer(runs.app, name="runs")
app.command()(verify)
app.command()(export)
app.command()(doctor)
app.command()(tune)
app.add_typer(experiment.app, name="experiment")


def main() -> None:
    """Run the command line; a user's error is one sentence and exit code 2, never a traceback."""
    # This process is ours, so that its streams and its memory may be set up as the work likes it best.
    survive_odd_terminals()
    os.environ.update({name: value for name, value in FRUGAL_ARROW.items() if name not in os.environ})
    keep_freed_memory()
    stdout = sys.stdout
    try:
        app()
    except LcdvtError as error:
        err.print(f"lcdvt: {in_options(str(error))}", style="red")
        sys.exit(EXIT_USER_ERROR)
    except SystemExit as ending:
        if sys.stdout is not stdout:  # typer wraps it when the reader of a pipe has left, as `head` does
            sys.exit(0)
        if ending.code == EXIT_INTERRUPTED:
            err.print(INTERRUPTED)
        raise
    except SystemError as error:
        if not _comes_from_ctrl_c(error):
            raise
        err.print(INTERRUPTED)
        sys.exit(EXIT_INTERRUPTED)


def _comes_from_ctrl_c(error: BaseException | None) -> bool:
    """Say so of the SystemErrors, one caused by the other, that Ctrl-C inside compiled code comes out as."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


if __name__ == "__main__":
    main()
