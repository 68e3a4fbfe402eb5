"""The verb `verify`: whether everything in the workspace is as it was written and fits together."""

from pathlib import Path

from lcdvt.checks.findings import Checked
from lcdvt.checks.survey import check_survey
from lcdvt.errors import WorkspaceError
from lcdvt.parallel.progress import Progress, silent
from lcdvt.results.folder import CONFIG_FILE, list_runs, runs_folder
from lcdvt.workspace.folder import RUNS_FOLDER, SurveyFolder, workspace_folder


def verify(
    what: str | Path | None = None, *, data: str | Path | None = None, progress: Progress = silent
) -> list[Checked]:
    """Check surveys and runs from end to end; nothing is written.

    Parameters
    ----------
    what
        A survey's or a run's name in the workspace, or its folder; None checks everything in the workspace.
    data
        The workspace; None takes LCDVT_DATA or ./lcdvt-data.
    progress
        Called with the number of objects done.

    Returns
    -------
    One entry for each survey and run, with what is wrong in it as `findings`.
    """
    workspace = workspace_folder(data)
    if what is None:
        surveys = [path for path in sorted(workspace.glob("*")) if _is_survey(path)]
        runs = [runs_folder(data) / name for name in list_runs(data)]
        if not surveys and not runs:
            raise WorkspaceError(f"{workspace} holds neither surveys nor runs: `lcdvt ingest` makes the first.")
    else:
        surveys = [path for path in (workspace / what, Path(what)) if _is_survey(path)][:1]
        runs = [path for path in (runs_folder(data) / what, Path(what)) if (path / CONFIG_FILE).is_file()][:1]
        if not surveys and not runs:
            known = ", ".join([*(path.name for path in workspace.glob("*") if _is_survey(path)), *list_runs(data)])
            raise WorkspaceError(f"{what} is neither a survey nor a run in {workspace} (there: {known or 'nothing'}).")
    checked = [check_survey(SurveyFolder(path), progress) for path in surveys]
    if runs:
        from lcdvt.checks.run import check_run  # torch, which surveys do not need

        checked.extend(check_run(path) for path in runs)
    return checked


def _is_survey(path: Path) -> bool:
    folder = SurveyFolder(path)
    return path.name != RUNS_FOLDER and (folder.objects.is_file() or (folder.progress / "journal.jsonl").is_file())
