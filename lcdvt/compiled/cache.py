"""Where compiled functions are kept, so that a machine compiles them once.

One folder for each kind of processor and each version, because numba's own index cannot be shared: two nodes with
different processors that write at once may each find the other's code under their own key. Within a folder every
function has one form only, so that whoever writes last writes the same; each file is put in place whole.
"""

import hashlib
import os
import platform
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from lcdvt import __version__

CACHE_VARIABLE: Final = "LCDVT_CACHE"
# numba notices that a kernel's own file has changed, but not that of a part from elsewhere: these hold such parts.
_SHARED_PARTS: Final = (
    "compiled/kernel.py",
    "compiled/compiler.py",
    "compiled/lowering.py",
    "compiled/arrays.py",
    "features/waves.py",
    "features/families/moments.py",
    "features/families/indices.py",
    "features/period/eclipse.py",
    "features/period/fit.py",
    "features/period/fourier.py",
    "features/period/median.py",
    "features/period/normal.py",
    "features/period/shape.py",
    "features/period/significance.py",
)
_COMPLETE: Final = "complete"


def wanted_folder() -> Path:
    """Return where compiled functions should be kept: LCDVT_CACHE, NUMBA_CACHE_DIR, or the user's cache."""
    for variable in (CACHE_VARIABLE, "NUMBA_CACHE_DIR"):
        if chosen := os.environ.get(variable):
            return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lcdvt"


@cache
def kernels_folder() -> Path | None:
    """Return the folder of this processor and this version, made if need be; None where nothing can be written.

    A user without a home that can be written, as in many containers, gets a folder among the temporary files.
    """
    user = os.getuid() if hasattr(os, "getuid") else "user"
    own = Path(tempfile.gettempdir()) / f"lcdvt-{user}"
    for root in (wanted_folder(), own):
        folder = root / _key()
        try:
            if root == own:
                own.mkdir(mode=0o700, parents=True, exist_ok=True)
                if not _is_mine_alone(own):
                    continue
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


def _is_mine_alone(folder: Path) -> bool:
    """Say whether nobody else can have put a file there: compiled code that is found is run.

    Among the temporary files anybody may make a folder of any name, before we do.
    """
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and (
        not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)
    )


def _key() -> str:
    import numba
    from llvmlite import __version__ as llvm_version  # type: ignore[import-untyped]
    from llvmlite.binding import get_host_cpu_features, get_host_cpu_name  # type: ignore[import-untyped]

    package = Path(__file__).parents[1]
    parts = [(package / name).read_text(encoding="utf-8") for name in _SHARED_PARTS]
    versions = (platform.python_version(), numba.__version__, llvm_version)
    text = "\n".join((*versions, get_host_cpu_features().flatten(), *parts))
    return f"{__version__}-{get_host_cpu_name()}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def is_complete(what: str) -> bool:
    """Say whether a set of kernels was compiled here before."""
    folder = kernels_folder()
    try:
        return folder is not None and (folder / f"{_COMPLETE}-{what}").exists()
    except OSError:  # this process has become another user, who may not look there
        return False


def mark_complete(what: str) -> None:
    """Remember that a set of kernels was compiled here."""
    folder = kernels_folder()
    if folder is not None:
        with suppress(OSError):
            (folder / f"{_COMPLETE}-{what}").touch()
