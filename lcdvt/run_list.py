"""Which runs the workspace has, told from their text files alone (torch is not needed for that)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lcdvt import __version__
from lcdvt.errors import WorkspaceError
from lcdvt.limited_text import TOML_LIMIT, parse_toml, read_json_object, read_limited
from lcdvt.table_json import from_record
from lcdvt.tables import ResultTable
from lcdvt.workspace import RUNS_FOLDER, workspace_folder

# Of a run's folder; a folder with a number this version does not know is refused rather than guessed at.
FORMAT: Final = 1
CONFIG_FILE: Final = "config.toml"
METRICS_FILE: Final = "metrics.json"
UNFINISHED_SUFFIX: Final = ".unfinished"


class StoreError(WorkspaceError):
    """A run's folder is missing, damaged, or of another version."""


@dataclass(frozen=True)
class RunSummary:
    """A line of `lcdvt runs`.

    Parameters
    ----------
    name, surveys, classes
        The run, the surveys it knows (the last is the one it classifies best) and what it tells apart.
    labels
        The share or number of labels it was given.
    members, draws, seed
        Models in the ensemble, draws of labels, and the first draw's seed.
    macro_f1
        Of the ensemble, mean and deviation over draws, as shares of one; none where nothing was scored.
    """

    name: str
    surveys: tuple[str, ...]
    classes: tuple[str, ...]
    labels: str
    members: int
    draws: int
    seed: str
    macro_f1: tuple[float, float | None] | None = None


def runs_folder(data: str | Path | None = None) -> Path:
    """Return the folder of the workspace's runs."""
    return workspace_folder(data) / RUNS_FOLDER


def list_runs(data: str | Path | None = None) -> list[str]:
    """Return the names of the finished runs."""
    found = (path.parent.name for path in runs_folder(data).glob(f"*/{CONFIG_FILE}"))
    return sorted(name for name in found if not name.startswith("."))


def unfinished_runs(data: str | Path | None = None) -> dict[str, int]:
    """Return the names of the runs that were interrupted, with the number of draws that are done."""
    found = sorted(runs_folder(data).glob(f".*{UNFINISHED_SUFFIX}"))
    return {
        path.name.removeprefix(".").removesuffix(UNFINISHED_SUFFIX): len(list(path.glob("draws/draw-*.json")))
        for path in found
    }


def find_run(run: str | Path, data: str | Path | None = None) -> Path:
    """Return a run's folder, given the folder or its name in the workspace."""
    for folder in (Path(run), runs_folder(data) / str(run)):
        if (folder / CONFIG_FILE).is_file():
            return folder
    known = ", ".join(list_runs(data)) or "none yet"
    hint = "`lcdvt transfer` makes one."
    if str(run) in unfinished_runs(data):
        hint = "it was interrupted; run the command that began it again."
    raise WorkspaceError(f"there is no run {str(run)!r} in {runs_folder(data)} (there: {known}): {hint}")


def check_format(folder: Path, config: Mapping[str, Any]) -> None:
    """Refuse a run that another version of lcdvt wrote in another form."""
    version = config.get("format")
    if version != FORMAT:
        raise StoreError(
            f"{folder}: the run has format {version} (written by lcdvt {config.get('lcdvt', 'of unknown version')}), "
            f"and this lcdvt {__version__} reads format {FORMAT}; use the lcdvt that wrote it, or train again."
        )


def read_metrics(folder: Path) -> Mapping[str, Any]:
    """Return how a run was made, and under `table` its table (null where nothing was scored)."""
    config, metrics = folder / CONFIG_FILE, folder / METRICS_FILE
    try:
        check_format(folder, parse_toml(read_limited(config, TOML_LIMIT)))
    except (OSError, ValueError) as error:
        raise StoreError(f"{config} cannot be read ({error}): the run is damaged, make it again.") from error
    try:
        return read_json_object(metrics)
    except (OSError, ValueError) as error:
        raise StoreError(f"{metrics} cannot be read ({error}): the run is damaged, make it again.") from error


def read_run_table(folder: Path) -> ResultTable | None:
    """Return a run's table; none where nothing was scored."""
    record = read_metrics(folder).get("table")
    return from_record(record, str(folder / METRICS_FILE)) if record else None


def describe_runs(data: str | Path | None = None) -> list[RunSummary]:
    """Describe every finished run; one that cannot be read is named as damaged instead of hiding the others."""
    return [_describe(runs_folder(data) / name) for name in list_runs(data)]


def _describe(folder: Path) -> RunSummary:
    try:
        run = parse_toml(read_limited(folder / CONFIG_FILE, TOML_LIMIT))["run"]
        metrics = read_metrics(folder)
        table = metrics.get("table") or {"seeds": [], "rows": []}
        ensemble = [row["macro_f1"] for row in table["rows"] if row["name"] == "dvt-ensemble"]
        return RunSummary(
            folder.name,
            tuple(map(str, run["surveys"])),
            tuple(map(str, run["classes"])),
            str(metrics.get("labels", "?")),
            len(run["seeds"]),
            len(table["seeds"]),
            str(metrics.get("seed", "?")),
            (ensemble[0]["mean"], ensemble[0]["deviation"]) if ensemble else None,
        )
    except (WorkspaceError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return RunSummary(folder.name, ("damaged",), (), "?", 0, 0, "?")
