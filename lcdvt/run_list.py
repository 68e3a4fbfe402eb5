"""Which runs the workspace has, told from their text files alone (torch is not needed for that)."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lcdvt.errors import WorkspaceError
from lcdvt.workspace import RUNS_FOLDER, workspace_folder

CONFIG_FILE: Final = "config.toml"
METRICS_FILE: Final = "metrics.json"


@dataclass(frozen=True)
class RunSummary:
    """A line of `lcdvt runs`."""

    name: str
    surveys: tuple[str, ...]
    classes: tuple[str, ...]
    labels: str
    members: int
    seed: str


def runs_folder(data: str | Path | None = None) -> Path:
    """Return the folder of the workspace's runs."""
    return workspace_folder(data) / RUNS_FOLDER


def list_runs(data: str | Path | None = None) -> list[str]:
    """Return the names of the finished runs."""
    return sorted(path.parent.name for path in runs_folder(data).glob(f"*/{CONFIG_FILE}"))


def find_run(run: str | Path, data: str | Path | None = None) -> Path:
    """Return a run's folder, given the folder or its name in the workspace."""
    for folder in (Path(run), runs_folder(data) / str(run)):
        if (folder / CONFIG_FILE).is_file():
            return folder
    known = ", ".join(list_runs(data)) or "none yet"
    raise WorkspaceError(
        f"there is no run {str(run)!r} in {runs_folder(data)} (there: {known}): `lcdvt transfer` makes one."
    )


def describe_runs(data: str | Path | None = None) -> list[RunSummary]:
    """Describe every finished run; one that cannot be read is named as damaged instead of hiding the others."""
    return [_describe(runs_folder(data) / name) for name in list_runs(data)]


def _describe(folder: Path) -> RunSummary:
    try:
        run = tomllib.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))["run"]
        metrics = json.loads((folder / METRICS_FILE).read_text(encoding="utf-8"))
        seed = str(metrics.get("seed", "?"))
        return RunSummary(
            folder.name,
            tuple(map(str, run["surveys"])),
            tuple(map(str, run["classes"])),
            str(metrics.get("labels", "?")),
            len(run["seeds"]),
            seed,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return RunSummary(folder.name, ("damaged",), (), "?", 0, "?")
