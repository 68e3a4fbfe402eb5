"""`lcdvt browse`: all stars of a survey in the browser."""

from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.completion import run_names, survey_names
from lcdvt.cli.console import err
from lcdvt.cli.label import NoBrowser, Port, Who, announce


def browse(
    survey: Annotated[str, typer.Argument(help="An ingested survey.", autocompletion=survey_names)],
    run: Annotated[
        str | None, typer.Option(help="A run that classifies it: show its predictions, too.", autocompletion=run_names)
    ] = None,
    who: Who = None,
    port: Port = None,
    no_browser: NoBrowser = False,
    data: options.Data = None,
) -> None:
    """Show all stars of a survey in the browser: a table sorted by any column, and each star's light curve."""
    from lcdvt.desk.verbs import browse as show

    log = show(survey, run=run, who=who, port=port, browser=not no_browser, announce=announce, data=data)
    if log.verdicts():
        err.print(f"{len(log.verdicts())} stars of {survey} are answered; `lcdvt answers {survey}` lists them.")
