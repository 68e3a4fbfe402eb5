"""The folders of runs: which there are, what they say in their text files (without torch), and where one grows.

A run grows beside its place under a hidden name and is moved there when it is whole. A run that is overwritten stays
until the new one is finished, and a run that was interrupted is never taken for a finished one. What a finished run's
folder holds:

============================ =====================================================================================
config.toml                  every number of the model; surveys, classes, the members' seeds and cycles, temperature
weights.safetensors          the first draw's ensemble; with `scaler.json` it classifies new stars
metrics.json                 how the run was made (verb, labels, seeds, citations, …) and, under `table`, its table
draws/draw-000.json, …       each draw: F1, confusion counts and reliability bins of every row (`draw_record`)
predictions.parquet          the first draw: every object of the target with its class probabilities
history.parquet              the first draw's training: losses and criteria by step, member and survey
checksums.json               of every other file, for `lcdvt verify`
============================ =====================================================================================
"""

import math
import re
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lcdvt import __version__
from lcdvt.disk.atomic import UNFINISHED_SUFFIX, writable
from lcdvt.disk.checksums import write_checksums
from lcdvt.disk.limited_text import TOML_LIMIT, parse_toml, read_json_object, read_limited
from lcdvt.disk.locks import alone
from lcdvt.disk.toml_config import from_table, read_table
from lcdvt.errors import SettingsError, WorkspaceError, named_or_path
from lcdvt.tables.record import from_record
from lcdvt.tables.table import ResultTable
from lcdvt.workspace.folder import RUNS_FOLDER, workspace_folder

# Of a run's folder; a folder with a number this version does not know is refused rather than guessed at.
FORMAT: Final = 1
CONFIG_FILE: Final = "config.toml"
RUN_HEADER: Final = ("format", "lcdvt", "run")
"""What stands in a run's `config.toml` before the numbers of its model."""
METRICS_FILE: Final = "metrics.json"
HISTORY_FILE: Final = "history.parquet"
PREDICTIONS_FILE: Final = "predictions.parquet"


@dataclass(frozen=True)
class RunDescription:
    """What a run was about, as its `config.toml` says in the table [run].

    Parameters
    ----------
    surveys, classes
        Names of survey numbers and class numbers.
    widths
        Features of each survey.
    seeds
        One for each member.
    cycle
        Cycle consistency (0 to 1) of each member.
    temperature
        Of the ensemble's probabilities of the last survey.
    """

    surveys: tuple[str, ...]
    classes: tuple[str, ...]
    widths: tuple[int, ...]
    seeds: tuple[int, ...]
    cycle: tuple[float, ...] = ()
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.temperature < math.inf:
            raise SettingsError(f"run.temperature = {self.temperature}: a number above 0 is needed; train again.")
        for name in ("surveys", "classes", "seeds"):
            if not getattr(self, name):
                raise SettingsError(f"run.{name} is empty, which no run of ours has; it is damaged, train again.")
        if len(self.widths) != len(self.surveys):
            raise SettingsError(
                f"run.widths has {len(self.widths)} numbers for {len(self.surveys)} surveys; the run is damaged, "
                "train again."
            )


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
        Macro F1 of the ensemble, mean and deviation over draws, as shares of one; none where nothing was scored.
    """

    name: str
    surveys: tuple[str, ...]
    classes: tuple[str, ...]
    labels: str
    members: int
    draws: int
    seed: str
    macro_f1: tuple[float, float | None] | None = None

    @property
    def title(self) -> str:
        """The surveys, sources to target."""
        *sources, target = self.surveys
        return f"{' + '.join(sources)} → {target}" if sources else target


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
    given = named_or_path(run, "the run", "its name, its folder, or what open_run returns")
    for folder in (given, runs_folder(data) / str(run)):
        if (folder / CONFIG_FILE).is_file():
            return folder
    known = ", ".join(list_runs(data)) or "none yet"
    hint = "`lcdvt transfer` makes one."
    if str(run) in unfinished_runs(data):
        hint = "it was interrupted; run the command that began it again."
    raise WorkspaceError(f"there is no run {str(run)!r} in {runs_folder(data)} (there: {known}): {hint}")


def workspace_of_run(folder: Path, data: str | Path | None = None) -> Path | None:
    """Return the workspace that holds a run's surveys: the given one, else the one the run's folder lies in."""
    if data is None and folder.absolute().parent.name == RUNS_FOLDER:
        return folder.absolute().parent.parent
    return None if data is None else Path(data).absolute()


def check_format(folder: Path, config: Mapping[str, Any]) -> None:
    """Refuse a run that another version of lcdvt wrote in another form."""
    version = config.get("format")
    if version != FORMAT:
        raise WorkspaceError(
            f"{folder}: the run has format {version} (written by lcdvt {config.get('lcdvt', 'of unknown version')}), "
            f"and this lcdvt {__version__} reads format {FORMAT}; use the lcdvt that wrote it, or train again."
        )


def read_config(folder: Path) -> tuple[RunDescription, dict[str, Any]]:
    """Return what a run was about, and the table of its model's numbers."""
    path = folder / CONFIG_FILE
    if not path.is_file():
        raise WorkspaceError(f"{folder}: not a run (no {CONFIG_FILE}); give the folder of a finished run.")
    table = read_table(path)
    check_format(folder, table)
    about = from_table(RunDescription, table.get("run", {}), f"{path}: run")
    return about, {key: value for key, value in table.items() if key not in RUN_HEADER}


def read_metrics(folder: Path) -> Mapping[str, Any]:
    """Return how a run was made, and under `table` its table (null where nothing was scored)."""
    config, metrics = folder / CONFIG_FILE, folder / METRICS_FILE
    try:
        check_format(folder, parse_toml(read_limited(config, TOML_LIMIT)))
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{config} cannot be read ({error}): the run is damaged, make it again.") from error
    try:
        return read_json_object(metrics)
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{metrics} cannot be read ({error}): the run is damaged, make it again.") from error


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


def run_folder(name: str, data: str | Path | None = None) -> Path:
    """Return the place of the run of that name."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", name):
        raise WorkspaceError(f"name={name!r}: use letters, digits, '_', '-', '.', '+'; it names a folder.")
    return runs_folder(data) / name


def check_free(folder: Path, force: bool) -> None:
    """Refuse to overwrite a run without `force`."""
    if folder.exists() and not force:
        raise WorkspaceError(f"the run {folder} exists: use force=True to overwrite it, or name=… for another.")


def held(folder: Path) -> AbstractContextManager[None]:
    """Hold a run for this process while it grows; the same command given twice at once is told so."""
    said = f"another process is at work on the run {folder}: wait for it, or use name=… for another."
    return alone(folder.with_name(f".{folder.name}.lock"), said, removed=True)


def growing_folder(folder: Path) -> Path:
    """Return where the run grows until it is whole."""
    return folder.with_name(f".{folder.name}{UNFINISHED_SUFFIX}")


def publish(folder: Path) -> None:
    """Move the run to its place; a run that was there before is gone only then."""
    growing, replaced = growing_folder(folder), folder.with_name(f".{folder.name}.replaced")
    with writable(folder.parent):
        for leftover in growing.rglob(f".*{UNFINISHED_SUFFIX}"):  # of a process that was killed while it wrote
            leftover.unlink()
        write_checksums(growing)
        shutil.rmtree(replaced, ignore_errors=True)
        if folder.exists():
            folder.rename(replaced)
        growing.rename(folder)
        shutil.rmtree(replaced, ignore_errors=True)
