"""Commands of ours in processes of their own that need no import: forks of a server that has torch and all behind it.

A new Python spends seconds of imports before `lcdvt` does a thing. Where a test is about the command's work, its death
or its last words, a fork of a process that has imported everything is as good: it has a session, a folder, variables
and streams of its own, and can be killed with all its workers. Tests of the start itself use `subprocess`.
"""

import atexit
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

from helpers.fewer_trees import FEW_STEPS, IN_EVERY_PROCESS, fewer_trees

IMPORTED = (
    *("torch", "pandas", "pyarrow.csv", "pyarrow.dataset", "numba", "joblib", "safetensors.torch", "matplotlib.pyplot"),
    *("scipy.stats", "sklearn.ensemble", "sklearn.svm", "sklearn.semi_supervised", "astropy.table", "astropy.io.fits"),
    *("lcdvt.cli.main", "lcdvt.ingestion.ingest", "lcdvt.features.fast", "lcdvt.protocol.transfer", "lcdvt.reports"),
    *("lcdvt.simulator.simulate", "lcdvt.results.predict", "lcdvt.reports.write", "lcdvt.reports.gallery"),
    *("lcdvt.figures.latent_map", "lcdvt.figures.scores", "matplotlib.backends.backend_svg", "helpers.warm_kernels"),
)
"""What the server imports once."""
# The server, which starts with the first command, reads them; it passes over what it cannot import, and looks for
# helpers only where PYTHONPATH leads.
SERVER_VARIABLES = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[1])}

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(list(IMPORTED))


class WarmCommand:
    """A running `lcdvt`, with what the tests use of `subprocess.Popen`.

    Parameters
    ----------
    arguments
        Of the command.
    variables
        Its whole environment; with `helpers.fewer_trees.IN_EVERY_PROCESS` among it, it trains with fewer trees.
    cwd
        Where it runs.
    mix
        Let stdout and stderr come as one text, the first.
    """

    def __init__(
        self, arguments: Sequence[object], variables: Mapping[str, str], cwd: Path | None = None, *, mix: bool = False
    ):
        self.args = ["lcdvt", *map(str, arguments)]
        self._folder = tempfile.TemporaryDirectory()
        self._written = [Path(self._folder.name) / name for name in ("out", "out" if mix else "err")]
        place = cwd or Path.cwd()
        self._process = _processes.Process(target=_run, args=(self.args, dict(variables), place, self._written))
        with mock.patch.dict(os.environ, SERVER_VARIABLES):
            self._process.start()
        self.pid = self._process.pid or 0
        while self.poll() is None and os.getpgid(self.pid) != self.pid:  # until then a blow at the group would miss it
            time.sleep(0.001)

    @property
    def returncode(self) -> int | None:
        """How it ended, as subprocess says it."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Say how it ended, or None."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return self._process.exitcode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for its end and return what it wrote."""
        self.wait(timeout)
        out, err = (path.read_text(encoding="utf-8") for path in self._written)
        return out, "" if self._written[0] == self._written[1] else err

    def send_signal(self, number: signal.Signals) -> None:
        """Send the command itself, not its workers, a signal."""
        os.kill(self.pid, number)


def _run(arguments: list[str], variables: dict[str, str], folder: Path, written: Sequence[Path]) -> None:
    """Be the command: what follows happens in the fork."""
    for stream, path in zip((1, 2), written, strict=True):
        with path.open("ab") as file:
            os.dup2(file.fileno(), stream)
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, encoding="utf-8") for number in (1, 2))
    from lcdvt.cli.console import out
    from lcdvt.cli.main import main

    if "COLUMNS" in variables:
        out.width = int(variables["COLUMNS"])
    sys.argv = arguments
    few = fewer_trees(FEW_STEPS) if variables.items() >= IN_EVERY_PROCESS.items() else nullcontext()
    try:
        with few:
            main()
    finally:  # as at the end of any interpreter, which a fork leaves by a shorter way
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
