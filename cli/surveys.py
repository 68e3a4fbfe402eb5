"""`lcdvt surveys`: list, explain and describe surveys."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.console import err, out
from lcdvt.cli.results import print_incomplete

if TYPE_CHECKING:
    from lcdvt.catalogs.survey import Survey

app = typer.Typer(help="List, explain and describe surveys.", invoke_without_command=True)


@app.callback()
def list_surveys(context: typer.Context) -> None:
    """List the surveys that lcdvt reads by name."""
    if context.invoked_subcommand is not None:
        return
    from rich.table import Table

    from lcdvt.catalogs.registry import builtin_surveys

    table = Table("survey", "what", "bands", "formats", box=None, title="Surveys known by name", title_justify="left")
    for survey in builtin_surveys():
        table.add_row(
            survey.name, survey.title, " ".join(survey.bands), "; ".join(form.name for form in survey.formats)
        )
    out.print(table)
    out.print("`lcdvt surveys show NAME` explains one; `lcdvt surveys new NAME FILE` describes one of your own.")


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A survey's name, built in or in the workspace, or a TOML file.")],
    toml: Annotated[bool, typer.Option("--toml", help="Print the TOML description itself.")] = False,
    data: options.Data = None,
) -> None:
    """Explain a survey: what its files look like and what their numbers mean."""
    from rich.table import Table

    from lcdvt.catalogs.facts import facts

    survey, stored_name = _find(name, data)
    if toml:
        out.print(survey.toml, highlight=False)
        return
    table = Table(box=None, show_header=False, title=f"{survey.name}: {survey.title}", title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    last = ""
    for heading, words in facts(survey):
        table.add_row("" if heading == last else heading, words)
        last = heading
    out.print(table)
    _show_stored(stored_name, data)


def _find(name: str, data: Path | None) -> tuple["Survey", str]:
    """Return the survey, and the name by which it is in the workspace if it is there."""
    from lcdvt.catalogs.registry import find_survey
    from lcdvt.catalogs.survey_toml import survey_from_file
    from lcdvt.errors import SurveyError
    from lcdvt.workspace.folder import SurveyFolder, ingested_surveys, workspace_folder

    try:
        survey = find_survey(name)
    except SurveyError:
        workspace = workspace_folder(data)
        if name not in ingested_surveys(workspace):
            raise
        return survey_from_file(SurveyFolder(workspace / name).survey_toml), name
    return survey, survey.name


def _show_stored(name: str, data: Path | None) -> None:
    """Say what of the survey is in the workspace, and which of its stars are incomplete."""
    from lcdvt.workspace.folder import ingested_surveys, workspace_folder
    from lcdvt.workspace.survey import open_survey

    if name not in ingested_surveys(workspace_folder(data)):
        return
    ingested = open_survey(name, data).ingested
    totals = ingested["totals"]
    limits = f", {totals['limits']} upper limits" if totals.get("limits") else ""
    out.print(f"in the workspace: {totals['objects']} objects, {totals['epochs']} epochs{limits}")
    print_incomplete(ingested.get("incomplete", {}))


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="The new survey's name.")],
    file: Annotated[Path, typer.Argument(help="One of its light-curve files.")],
    output: Annotated[Path | None, typer.Option("--out", help="Where to write; default: NAME.toml here.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing description.")] = False,
) -> None:
    """Look at a light-curve file and write a TOML description that reads it, guesses marked."""
    from lcdvt.ingestion.new_survey import new_survey

    made = new_survey(name, file, output, force=force)
    what = file.name if made.is_whole_file else f"the beginning of {file.name}"
    out.print(f"{made.path} reads {what}: {made.objects} objects, {made.epochs} epochs.")
    if made.problems:
        err.print(f"lcdvt: ingest will skip part of it: {made.problems[0]}", style="yellow")
    for line in made.guesses:
        out.print(f"  {line}", highlight=False)
    out.print(f"Check the guesses, then: lcdvt ingest FOLDER --survey {made.path}")
