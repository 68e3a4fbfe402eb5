"""The same page inside a notebook: `run.label()`."""

import html
import threading
from pathlib import Path

from lcdvt.desk.verbs import _name, check_installed
from lcdvt.workspace.answers import AnswerLog

HEIGHT = 900
"""Pixels: the light curve and the keys fit without scrolling on a laptop."""


class NotebookDesk:
    """A desk that is served while the notebook's kernel lives, or until `stop`; a notebook shows it as a frame."""

    def __init__(self, run: Path, n: int, *, unlabelled: bool, who: str | None, data: Path | None) -> None:
        check_installed()
        from lcdvt.desk.server import DeskServer
        from lcdvt.desk.session import Desk

        desk = Desk.of_run(run, who=_name(who), n=n, unlabelled=unlabelled, data=data)
        self._server = DeskServer(desk, 0, notebook=True)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where the page is, for a browser on the same machine; the token in it is the key."""
        return self._server.address

    def answers(self) -> AnswerLog:
        """Return what has been answered so far."""
        return self._server.desk.answers.refresh()

    def stop(self) -> None:
        """End it; every answer is saved already."""
        self._server.stop()
        self._thread.join(10)

    def _repr_html_(self) -> str:
        address = html.escape(self.address, quote=True)
        return f'<iframe src="{address}" width="100%" height="{HEIGHT}" style="border: 0"></iframe>'
