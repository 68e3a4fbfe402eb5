"""A desk served on this machine for a test, and a client that speaks to it as a page or as somebody else."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import lcdvt
from lcdvt.desk.server import DeskServer
from lcdvt.desk.session import Desk

QUICK = {"members": 2, "repeats": 1, "steps": 10, "preset": "tied", "rows": [], "jobs": 1}


def make_run(data: Path, name: str = "run") -> None:
    lcdvt.transfer("old", "new", "20%", data=data, name=name, **QUICK)


class Client:
    """One connection; every part of a request can be another than the page's."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.host, self.port, self.root = parts.hostname or "", parts.port or 0, parts.path
        self.origin = f"http://{parts.netloc}"
        self.connection = http.client.HTTPConnection(self.host, self.port, timeout=30)

    def ask(
        self, path: str, body: bytes | None = None, *, root: str | None = None, **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        """Return status, body and headers; underscores in names of headers stand for dashes."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        root = self.root if root is None else root
        self.connection.request("GET" if body is None else "POST", root + path, body, given)
        response = self.connection.getresponse()
        return response.status, response.read(), {name.lower(): value for name, value in response.getheaders()}

    def get(self, path: str, **query: Any) -> Any:
        text = "&".join(f"{name}={quote(str(value))}" for name, value in query.items())
        status, body, _ = self.ask(f"api/{path}?{text}")
        assert status == 200, body
        return json.loads(body)

    def post(self, path: str, **body: Any) -> Any:
        status, found, _ = self.ask(f"api/{path}", json.dumps(body).encode(), Origin=self.origin)
        assert status == 200, found
        return json.loads(found)


@contextmanager
def served(desk: Desk, *, port: int = 0, notebook: bool = False) -> Iterator[DeskServer]:
    """Serve a desk from a thread of this process."""
    server = DeskServer(desk, port, notebook=notebook)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(20)


@contextmanager
def command(*arguments: object, browser: bool = False) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start `lcdvt label` or `lcdvt browse` as a user does; yield the process and the address that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "lcdvt.cli.main", *map(str, arguments), *([] if browser else ["--no-browser"])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.stderr.read() if process.stderr else ""
        yield process, address
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(30)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
