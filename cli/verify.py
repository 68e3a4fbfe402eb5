"""`lcdvt verify`: check surveys and runs from end to end."""

from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli.console import out, progress_display

EXIT_FINDINGS = 1


def verify(
    what: Annotated[
        str | None,
        typer.Argument(help="A survey's or run's name or folder; default: all of the workspace.", metavar="SURVEY|RUN"),
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the findings to this file.")] = None,
    data: Annotated[Path | None, typer.Option(help="Workspace folder; default: $LCDVT_DATA or ./lcdvt-data.")] = None,
) -> None:
    """Check every file's checksum, schema and order, and that all tables know the same objects.

    Ends with code 0 if all is sound and with 1 if something is wrong; nothing is changed.
    """
    from lcdvt.verification import verify as check

    with progress_display("verify") as progress:
        checked = check(what, data=data, progress=progress)
    for each in checked:
        for finding in each.findings:
            out.print(str(finding))
        verdict = "sound" if each.is_sound else f"{len(each.findings)} findings"
        objects = f", {each.objects} objects" if each.objects else ""
        out.print(f"{each.kind} {each.name}: {verdict} ({each.files} files{objects})")
    if json_file is not None:
        import json

        from lcdvt.workspace import write_atomically

        text = json.dumps([each.to_record() for each in checked], indent=2, ensure_ascii=False)
        write_atomically(json_file, lambda path: path.write_text(text, encoding="utf-8"))
    if not all(each.is_sound for each in checked):
        raise typer.Exit(EXIT_FINDINGS)
