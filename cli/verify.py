"""`lcdvt verify`: check surveys and runs from end to end."""

from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.console import out, progress_display
from lcdvt.cli.results import print_incomplete, write_json
from lcdvt.cli.wording import in_options

EXIT_FINDINGS = 1
"""Not 2, which says that the command was used wrongly."""


def verify(
    what: Annotated[
        str | None,
        typer.Argument(help="A survey's or run's name or folder; default: all of the workspace.", metavar="SURVEY|RUN"),
    ] = None,
    data: options.Data = None,
    json_file: options.Json = None,
) -> None:
    """Check every file's checksum, schema and order, and that all tables know the same objects.

    Ends with code 0 if all is sound and with 1 if something is wrong; nothing is changed.
    """
    from lcdvt.checks.verify import verify as check

    with progress_display("verify") as progress:
        checked = check(what, data=data, progress=progress)
    for each in checked:
        for finding in each.findings:
            out.print(in_options(str(finding)))
        print_incomplete(each.incomplete)
        verdict = "sound" if each.is_sound else f"{len(each.findings)} findings"
        objects = f", {each.objects} objects" if each.objects else ""
        out.print(f"{each.kind} {each.name}: {verdict} ({each.files} files{objects})")
    if json_file is not None:
        write_json(json_file, [each.to_record() for each in checked])
    if not all(each.is_sound for each in checked):
        raise typer.Exit(EXIT_FINDINGS)
