"""A run made again in a process of its own, and how far it is."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from lcdvt.parallel.executors import WORKER_ENVIRONMENT

IDLE, RUNNING, DONE, FAILED = "idle", "running", "done", "failed"
PATIENCE_S: Final = 10.0
"""For a process that was asked to end: a step of training takes far less."""
ENDED_UNTOLD: Final = "the training process ended without a word: see the terminal, and try again."


class Retraining:
    """At most one process at a time; it is ended when the desk is left."""

    def __init__(self, on_done: Callable[[str], None]) -> None:
        self.on_done = on_done
        self.process: subprocess.Popen[str] | None = None
        self._told: dict[str, Any] = {"state": IDLE}
        self._lock = threading.Lock()

    def start(self, run: Path, answers: Path, data: Path) -> None:
        """Begin to make a run again; one that is under way goes on alone."""
        with self._lock:
            if self._told["state"] == RUNNING:
                return
            command = [sys.executable, "-m", "lcdvt.protocol.retrain", str(run), "--labels-from", str(answers)]
            # in a session of its own: Ctrl-C in the terminal is for the desk, which then ends it
            self.process = subprocess.Popen(
                [*command, "--data", str(data)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
                env=os.environ | WORKER_ENVIRONMENT,  # threads of small models only wait for each other
            )
            self._told = {"state": RUNNING, "done": 0, "total": None, "note": "reading the surveys"}
            self._began = time.monotonic()
        threading.Thread(target=self._listen, args=(self.process,), daemon=True).start()

    def told(self) -> dict[str, Any]:
        """Return the state, and how far the training is."""
        with self._lock:
            seconds = round(time.monotonic() - self._began, 1) if self._told["state"] == RUNNING else None
            return {**self._told, "seconds": seconds}

    def stop(self) -> None:
        """End a training that is under way; the draws it has finished are kept."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:  # what it has finished is on the disk, and Ctrl-C must end
                self.process.kill()
                self.process.wait()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        ending: dict[str, Any] = {"state": FAILED, "error": ENDED_UNTOLD}
        for line in process.stdout or ():
            try:
                told = json.loads(line)
            except ValueError:  # a library that prints
                continue
            if "run" in told:
                ending = {"state": DONE, "run": told["run"]}
            elif "error" in told:
                ending = {"state": FAILED, "error": told["error"]}
            else:
                with self._lock:
                    self._told = {"state": RUNNING, **told}
        process.wait()
        if ending["state"] == DONE:
            try:
                self.on_done(ending["run"])
            except Exception as error:  # whatever it is, the page must not wait for ever
                ending = {"state": FAILED, "error": str(error)}
        with self._lock:
            self._told = ending
