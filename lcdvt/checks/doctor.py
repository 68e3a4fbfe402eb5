"""What `lcdvt doctor` finds: versions, device, threads, workspace, optional parts, compiled kernels, and what is wrong.

Nothing is changed and nothing is loaded that could fail: each part is looked up by itself, so that a broken one does
not hide the others.
"""

import os
import platform
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from lcdvt import __version__
from lcdvt.compiled.cache import CACHE_VARIABLE, kernels_folder, wanted_folder
from lcdvt.errors import LcdvtError
from lcdvt.parallel.executors import default_jobs
from lcdvt.results.folder import list_runs, unfinished_runs
from lcdvt.workspace.folder import ENVIRONMENT_VARIABLE, SurveyFolder, ingested_surveys, pieces_folder, workspace_folder
from lcdvt.workspace.journal import JOURNAL_FILE, Journal, while_nobody_writes
from lcdvt.workspace.survey import open_survey

# Optional part -> the package that must be there, what it is for, and how to get it.
OPTIONAL_PACKAGES: Final = {
    "dask": ("distributed", "dask: batches and draws on a cluster", "pip install 'lcdvt[dask]'"),
    "lsdb": ("lsdb", "HATS catalogues", "pip install 'lcdvt[lsdb]'"),
    "nested-pandas": ("nested-pandas", "to_nested", "pip install 'lcdvt[lsdb]'"),
    "feets": ("feets", "extract with engine feets", "pip install feets"),
    "notebooks": ("nbclient", "running the notebooks", "pip install 'lcdvt[notebooks]'"),
}
OPTIONAL_PROGRAMS: Final = {
    "chromium": (
        ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
        "testing the HTML report",
        "apt-get install chromium",
    ),
    "pdflatex": (("pdflatex",), "testing the LaTeX tables", "apt-get install texlive-latex-recommended"),
}
LARGEST_PACKAGE: Final = "torch"
"""Its 1,500 modules take seconds to compile; where they are compiled, the others are."""
SMALLEST_FREE_SPACE: Final = 1 << 30
"""An ingest of any real survey needs more."""


@dataclass(frozen=True)
class OptionalPart:
    """Something that lcdvt can do without.

    Parameters
    ----------
    found
        Its version or its path; none where it is missing.
    purpose, remedy
        What it is for, and how to get it.
    """

    found: str | None
    purpose: str
    remedy: str


@dataclass(frozen=True)
class Diagnosis:
    """What was found, ready for JSON, and what is wrong in a sentence each."""

    versions: Mapping[str, str | None]
    computing: Mapping[str, Any]
    workspace: Mapping[str, Any]
    optional: Mapping[str, OptionalPart]
    kernels: Mapping[str, Any]
    problems: tuple[str, ...]


def doctor(data: str | Path | None = None) -> Diagnosis:
    """Look at the installation, the machine and the workspace."""
    versions = {name: _version(name) for name in _needed_packages()}
    computing, workspace, kernels = _computing(), _workspace(data), _kernels()
    return Diagnosis(
        versions={"lcdvt": __version__, "python": platform.python_version(), **versions},
        computing=computing,
        workspace=workspace,
        optional=dict(_optional_parts()),
        kernels=kernels,
        problems=tuple(_problems(versions, computing, workspace, kernels)),
    )


def _needed_packages() -> list[str]:
    return [re.split(r"[^A-Za-z0-9_.-]", line)[0] for line in requires("lcdvt") or () if "extra ==" not in line]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _computing() -> dict[str, Any]:
    found: dict[str, Any] = {
        "platform": platform.platform(),
        "cores": default_jobs(),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
        "compiles_at_each_start": _compiles_at_each_start(LARGEST_PACKAGE),
    }
    try:
        training = import_module("lcdvt.dvt.train")
        torch = import_module("torch")
        return found | {"device": str(training.resolve_device("auto")), "torch_threads": torch.get_num_threads()}
    except (ImportError, OSError) as error:
        return found | {"device": None, "torch_threads": None, "error": str(error)}


def _compiles_at_each_start(package: str) -> bool:
    """Say whether a package's modules are neither compiled nor kept once they are: each process then does it again."""
    found = find_spec(package)
    is_there = found is not None and found.cached is not None and Path(found.cached).is_file()
    return sys.dont_write_bytecode and found is not None and not is_there


def _workspace(data: str | Path | None) -> dict[str, Any]:
    folder = workspace_folder(data).absolute()
    there = _first_that_exists(folder)
    return {
        "folder": str(folder),
        "chosen_by": "data" if data else ENVIRONMENT_VARIABLE if os.environ.get(ENVIRONMENT_VARIABLE) else "default",
        "exists": folder.is_dir(),
        "writable": there.is_dir() and os.access(there, os.W_OK),
        "free_bytes": shutil.disk_usage(there).free,
        "surveys": {name: _survey(name, folder) for name in ingested_surveys(folder)},
        "interrupted_surveys": _interrupted_surveys(folder),
        "runs": list_runs(folder),
        "unfinished_runs": unfinished_runs(folder),
    }


def _survey(name: str, workspace: Path) -> dict[str, Any]:
    try:
        stored = open_survey(name, workspace)
        objects = stored.objects()
        return {
            "objects": len(objects),
            "labelled": int(objects["label"].notna().sum()),
            "features": any(stored.folder.features.glob("part-*.parquet")),
            "simulated": stored.is_simulated,
        }
    except Exception as error:  # whatever is wrong with one survey, the others are shown
        return {"error": f"{type(error).__name__}: {error}"}


def _interrupted_surveys(workspace: Path) -> list[str]:
    """Return the surveys whose ingest was stopped before its end, by their journals; a running one is none of them."""
    interrupted = []
    for journal in sorted(workspace.glob(f"*/.ingest/{JOURNAL_FILE}")):
        folder = SurveyFolder(journal.parents[1])
        # Another process is writing it, or the journal is damaged, which `lcdvt verify` names with its cure.
        with suppress(LcdvtError, OSError), while_nobody_writes(folder.progress):
            # A survey whose light curves are joined has a second journal, of the light curves as they were read.
            if any(_is_interrupted(each) for each in (folder, pieces_folder(folder))):
                interrupted.append(folder.root.name)
    return interrupted


def _is_interrupted(folder: SurveyFolder) -> bool:
    journal = Journal(folder.progress, only_read=True)
    return journal.path.is_file() and not journal.completed


def _optional_parts() -> Iterator[tuple[str, OptionalPart]]:
    for name, (package, purpose, remedy) in OPTIONAL_PACKAGES.items():
        yield name, OptionalPart(_version(package), purpose, remedy)
    for name, (programs, purpose, remedy) in OPTIONAL_PROGRAMS.items():
        path = next((found for program in programs if (found := shutil.which(program))), None)
        yield name, OptionalPart(path, purpose, remedy)


def _kernels() -> dict[str, Any]:
    """Return where compiled functions are kept."""
    wanted, folder = wanted_folder(), kernels_folder()
    return {
        "folder": str(folder or wanted),
        "compiled": sum(1 for _ in folder.rglob("*.nbi")) if folder else 0,
        "writable": folder is not None and folder.is_relative_to(wanted),
    }


def _first_that_exists(folder: Path) -> Path:
    return next(parent for parent in (folder, *folder.parents) if parent.exists())


def _problems(
    versions: Mapping[str, str | None],
    computing: Mapping[str, Any],
    workspace: Mapping[str, Any],
    kernels: Mapping[str, Any],
) -> Iterator[str]:
    missing = [name for name, found in versions.items() if found is None]
    if missing:
        yield f"{', '.join(missing)} missing: pip install -c constraints.txt -e . brings what lcdvt needs."
    if computing["device"] is None:
        yield f"torch does not load ({computing['error']}): reinstall it; surveys and features work without it."
    if computing["compiles_at_each_start"]:
        yield (
            f"Python compiles {LARGEST_PACKAGE} again at each start, because PYTHONDONTWRITEBYTECODE is set and "
            "nothing was compiled when it was installed: unset it, or run "
            f"`python -m compileall -q {sysconfig.get_path('purelib')}` once."
        )
    if not workspace["writable"]:
        yield f"{workspace['folder']} cannot be written: give data=FOLDER, or set {ENVIRONMENT_VARIABLE}."
    if workspace["free_bytes"] < SMALLEST_FREE_SPACE:
        yield f"less than 1 GB is free for {workspace['folder']}: make room before you ingest."
    for name, survey in workspace["surveys"].items():
        if "error" in survey:
            yield f"survey {name} does not open ({survey['error']}): `lcdvt verify {name}` tells more."
    for name in workspace["interrupted_surveys"]:
        yield f"the ingest of {name} was interrupted: run the same `lcdvt ingest` again to finish it."
    if not kernels["writable"]:
        yield (
            f"compiled functions cannot be kept in {wanted_folder()}: set {CACHE_VARIABLE} to a folder that can be "
            "written."
        )
