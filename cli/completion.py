"""What the shell offers on Tab: the workspace's surveys and runs."""

import typer


def survey_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the ingested surveys that begin so."""
    from lcdvt.workspace.folder import ingested_surveys, workspace_folder

    names = ingested_surveys(workspace_folder(context.params.get("data")))
    return [name for name in names if name.startswith(incomplete)]


def survey_and_run_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the ingested surveys and the finished runs that begin so."""
    return list(dict.fromkeys([*survey_names(context, incomplete), *run_names(context, incomplete)]))


def run_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the finished runs that begin so."""
    from lcdvt.results.folder import list_runs

    return [name for name in list_runs(context.params.get("data")) if name.startswith(incomplete)]
