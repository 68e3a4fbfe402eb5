"""`lcdvt label`: look at the suggested stars in the browser, press a key, train again."""

from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.console import err, out, progress_display

Who = Annotated[str | None, typer.Option(help="Whose answers these are; default: the user's name.")]
Port = Annotated[
    int | None,
    typer.Option(min=1, max=65535, help="Port of this machine for the page; default: 8737, or any that is free."),
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Print the address only; open no browser.")]


def announce(address: str) -> None:
    """Print where the page is."""
    out.print(f"{address}\nOnly this machine can open it, and only with this address. Ctrl-C ends; answers are saved.")


def label(
    run: options.Run,
    n: Annotated[int, typer.Option("--n", min=1, help="How many stars a round has.")] = 20,
    unlabelled: Annotated[
        bool, typer.Option("--unlabelled", help="Only stars of which the workspace has no label, used or held back.")
    ] = False,
    who: Who = None,
    port: Port = None,
    no_browser: NoBrowser = False,
    retrain: Annotated[
        bool, typer.Option("--retrain", help="Show nothing: make the run again with the answers there are, and end.")
    ] = False,
    labels_from: Annotated[
        Path | None, typer.Option(help="With --retrain: another file of answers than the workspace's own.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="With --retrain: the new run's name; default: RUN-round-1, RUN-round-2, ….")
    ] = None,
    data: options.Data = None,
    force: options.Force = False,
    json_file: options.Json = None,
) -> None:
    """Show the stars whose labels would help most in the browser, one key a class, and learn from the answers.

    Every answer is on the disk the moment the page says so. Answered stars are labels of the draw from then on, and
    are never scored.
    """
    if not retrain and (labels_from is not None or name is not None):
        from lcdvt.errors import SettingsError

        given = "--labels-from" if labels_from is not None else "--name"
        raise SettingsError(f"{given} is about the run that is made again: add --retrain, or leave {given} out.")
    if retrain:
        from lcdvt.cli.results import print_run
        from lcdvt.protocol.retrain import retrain as make_again

        with progress_display("retrain", "label draws") as progress:
            made = make_again(run, labels_from, name=name, data=data, force=force, progress=progress)
        print_run(made, json_file)
        out.print(f"next stars: lcdvt label {made.name}")
        return
    from lcdvt.desk.verbs import label as show

    log = show(run, n, unlabelled=unlabelled, who=who, port=port, browser=not no_browser, announce=announce, data=data)
    err.print(f"{len(log.verdicts())} stars of {log.survey} are answered; `lcdvt answers {log.survey}` lists them.")
