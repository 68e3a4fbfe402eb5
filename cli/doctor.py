"""`lcdvt doctor`: what is installed, where lcdvt computes, and what is in the workspace."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lcdvt.cli import options
from lcdvt.cli.console import err, out, progress_display
from lcdvt.cli.results import write_json
from lcdvt.cli.wording import in_options

if TYPE_CHECKING:
    from lcdvt.checks.doctor import Diagnosis

EXIT_PROBLEMS = 1
"""Not 2, which says that the command was used wrongly."""


def doctor(
    data: options.Data = None,
    compile_functions: Annotated[
        bool,
        typer.Option(
            "--compile", help="First compile all functions, which else happens when they are needed (LCDVT_CACHE)."
        ),
    ] = False,
    jobs: options.Jobs = None,
    json_file: options.Json = None,
) -> None:
    """Say what is installed, where lcdvt computes, what is in the workspace, and what is wrong.

    Ends with code 0 if all is well and with 1 if something needs attention; nothing is changed but, with --compile,
    the folder of compiled functions.
    """
    from lcdvt.checks.doctor import doctor as look

    if compile_functions:
        from lcdvt.baselines.boosting import compile_boosting
        from lcdvt.ingestion.compile_ahead import compile_everything, number_of_all_functions
        from lcdvt.parallel.executors import Workers

        with progress_display(f"compiling {number_of_all_functions()} functions, once", unit="") as progress:
            compile_everything(Workers(jobs), progress)
        compile_boosting()

    found = look(data)
    _print(found)
    if json_file:
        write_json(json_file, asdict(found))
    for problem in found.problems:
        err.print(f"lcdvt: {in_options(problem)}", style="yellow")
    if found.problems:
        raise typer.Exit(EXIT_PROBLEMS)
    out.print("all is well")


def _print(found: "Diagnosis") -> None:
    computing, workspace, kernels = found.computing, found.workspace, found.kernels
    _section("versions", found.versions)
    threads = f"{computing['torch_threads']} threads, OMP_NUM_THREADS {computing['OMP_NUM_THREADS'] or 'not set'}"
    _section(
        "computing",
        {"on": computing["platform"], "cores": computing["cores"], "device": computing["device"], "torch": threads},
    )
    _section(
        "workspace",
        {
            "folder": f"{workspace['folder']} (by {workspace['chosen_by']})",
            "there": "yes" if workspace["exists"] else "not yet",
            "free": f"{workspace['free_bytes'] / 1e9:.1f} GB",
            **{f"survey {name}": _survey(survey) for name, survey in workspace["surveys"].items()},
            **{f"interrupted {name}": "its ingest is not finished" for name in workspace["interrupted_surveys"]},
            "runs": ", ".join(workspace["runs"]) or "none",
            **{f"unfinished {name}": f"{draws} draws done" for name, draws in workspace["unfinished_runs"].items()},
        },
    )
    _section(
        "optional",
        {name: part.found or f"missing (for {part.purpose}: {part.remedy})" for name, part in found.optional.items()},
    )
    _section("compiled functions", {"kept": kernels["folder"], "there": kernels["compiled"]})


def _survey(survey: dict[str, Any]) -> str:
    if "error" in survey:
        return f"does not open: {survey['error']}"
    features = "with features" if survey["features"] else "without features"
    simulated = ", simulated" if survey["simulated"] else ""
    return f"{survey['objects']} objects, {survey['labelled']} labelled, {features}{simulated}"


def _section(title: str, values: Any) -> None:
    out.print(title, style="bold", highlight=False)
    for name, value in values.items():
        out.print(f"  {name}: {'missing' if value is None else value}", highlight=False)
