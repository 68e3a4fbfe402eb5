"""Let a browser on this machine, and nothing else, see the desk.

The server listens on the loopback address only. The address has a random token in it, without which every request is
refused; so is a request under another host's name (a page elsewhere may point its own name at this machine), from
another origin, or with a large body. Pages may load nothing from anywhere else and run no script but ours.
"""

import hmac
import ipaddress
import json
import secrets
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from typing import Any, Final

import pyarrow as pa
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lcdvt.desk.session import Desk
from lcdvt.desk.table import Query
from lcdvt.errors import LcdvtError, SettingsError, first_line

LOOPBACK: Final = "127.0.0.1"
USUAL_PORT: Final = 8737
"""The same each time where it is free: a page that lost its server finds the next one, and hands over what it kept."""
LARGEST_BODY: Final = 64 << 10
"""Bytes; an answer has some hundred."""
MOST_AT_ONCE: Final = 64
"""Requests; a browser sends six."""
TYPES: Final = {
    "index.html": "text/html; charset=utf-8",
    "desk.css": "text/css; charset=utf-8",
    "desk.js": "text/javascript; charset=utf-8",
    "star.js": "text/javascript; charset=utf-8",
    "table.js": "text/javascript; charset=utf-8",
    "charts.js": "text/javascript; charset=utf-8",
    "server.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
NOTEBOOKS: Final = "http://localhost:* http://127.0.0.1:* vscode-webview:"
"""Who may show the page in a frame, where a notebook asked for it."""


def policy(ancestors: str = "'none'") -> str:
    """Return the content policy: our own files, nothing inline, nothing from elsewhere."""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        f"base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
    )


def loopback_socket(port: int | None) -> socket.socket:
    """Return a socket that listens on this machine alone.

    Parameters
    ----------
    port
        None takes the usual one, or any where that is in use.
    """
    for wanted in (port,) if port is not None else (USUAL_PORT, 0):
        # With its protocol named, asyncio sends short answers at once; else each waits 40 ms for the browser's word.
        opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind((LOOPBACK, wanted))
            opened.listen()
        except (OSError, OverflowError) as error:
            opened.close()
            if port is not None:
                raise SettingsError(
                    f"port={port}: it cannot be used ({error}); leave it out, or take another."
                ) from error
        else:
            return opened
    raise SettingsError("no port of this machine is free.")


class Guard:
    """Refuses every request that does not come from the page itself, and says as little as possible.

    Parameters
    ----------
    app
        Who answers the others; the token is taken off the path before.
    token
        What the path must begin with.
    port
        Where the server listens.
    ancestors
        Who may show the page in a frame.
    """

    def __init__(self, app: ASGIApp, token: str, port: int, ancestors: str = "'none'") -> None:
        self.app, self.token = app, token
        self.hosts = {f"{LOOPBACK}:{port}", f"localhost:{port}"}
        self.origins = {f"http://{host}" for host in self.hosts}
        self.headers = [
            (b"content-security-policy", policy(ancestors).encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cache-control", b"no-store"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *self.headers]}
            await send(message)

        refusal = self.refusal(scope)
        if refusal is not None:
            await PlainTextResponse(refusal[1], refusal[0])(scope, receive, send_with_headers)
            return
        if scope["path"] == f"/{self.token}":  # copied without its end, where the page's own files would not be found
            await RedirectResponse(f"/{self.token}/")(scope, receive, send_with_headers)
            return
        path = scope["path"].partition("/")[2].partition("/")[2]
        inner = {**scope, "path": f"/{path}", "raw_path": f"/{path}".encode()}
        try:
            body = await _read_body(receive)
        except OverflowError:
            await PlainTextResponse("too large", 413, {"connection": "close"})(scope, receive, send_with_headers)
            return

        async def receive_body() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(inner, receive_body, send_with_headers)

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return status and text of a request that is refused; none where it is let through."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        client = scope.get("client")
        if client is None or not ipaddress.ip_address(client[0]).is_loopback:
            return 403, "not from this machine"
        if headers.get("host", "") not in self.hosts:
            return 403, "not under this name"
        given = scope["path"].partition("/")[2].partition("/")[0]
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return 403, "without the token"
        origin = headers.get("origin")
        if origin is not None and origin not in self.origins:
            return 403, "from another origin"
        # A browser says where a request comes from; to open the page itself is allowed from anywhere, as by a link.
        opens_page = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not opens_page:
            return 403, "from another site"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            return 413, "too large"
        return None


async def _read_body(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return body
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            raise OverflowError
        if not message.get("more_body", False):
            return body


def build_app(desk: Desk) -> Starlette:
    """Return what answers the page's requests."""
    folder = resources.files("lcdvt.desk") / "static"
    files = {name: (folder / name).read_bytes() for name in TYPES}

    async def file(request: Request) -> Response:
        name = request.path_params.get("name") or "index.html"
        if name not in files:
            return PlainTextResponse("there is no such page", 404)
        return Response(files[name], media_type=TYPES[name])

    def asked(work: Callable[[Mapping[str, str]], Any]) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            return await _answered(lambda: work(request.query_params))

        return respond

    def told(work: Callable[[dict[str, Any]], Any]) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            try:
                given = json.loads(await request.body() or b"{}")
                json.dumps(given, ensure_ascii=False).encode()  # half a character can be escaped, but not be stored
            except (ValueError, RecursionError):
                given = None
            if not isinstance(given, dict):
                return JSONResponse({"error": "the body is no JSON object"}, 400)
            return await _answered(lambda: work(given))

        return respond

    def ask(given: dict[str, Any]) -> dict[str, Any]:
        desk.ask()
        return desk.about()

    return Starlette(
        routes=[
            Route("/api/desk", asked(lambda query: desk.about())),
            Route("/api/star", asked(lambda query: desk.star(_text(query, "id")))),
            Route("/api/around", asked(lambda query: desk.around(_text(query, "id")))),
            Route("/api/maps", asked(lambda query: desk.maps())),
            Route("/api/progress", asked(lambda query: desk.progress())),
            Route("/api/rows", asked(lambda query: _rows(desk, query))),
            Route("/api/place", asked(lambda query: _place(desk, query))),
            Route("/api/columns", asked(lambda query: {**desk.table.columns, "labels": desk.table.labels})),
            Route("/api/retraining", asked(lambda query: desk.retraining.told())),
            Route("/api/answer", told(desk.answer), methods=["POST"]),
            Route("/api/undo", told(desk.undo), methods=["POST"]),
            Route("/api/ask", told(ask), methods=["POST"]),
            Route("/api/retrain", told(lambda given: desk.retrain()), methods=["POST"]),
            Route("/", file),
            Route("/{name}", file),
        ]
    )


async def _answered(work: Callable[[], Any]) -> Response:
    try:
        # JSON without NaN, and with < as an escape: whatever a star is called, no reader takes it for a tag
        found = json.dumps(await run_in_threadpool(work), allow_nan=False).replace("<", "\\u003c")
    except LcdvtError as error:
        return JSONResponse({"error": str(error)}, 400)
    except (OSError, pa.ArrowException) as error:
        # of a survey or a run that was taken away meanwhile; an answer waits in the browser, as with any status but 400
        told = f"the workspace cannot be read ({first_line(error)}): is the survey, or the run, still there?"
        return JSONResponse({"error": told}, 500)
    return Response(found, media_type="application/json")


def _text(query: Mapping[str, str], name: str) -> str:
    if not query.get(name):
        raise SettingsError(f"{name}= is missing.")
    return query[name]


def _query(query: Mapping[str, str]) -> Query:
    return Query(
        query.get("sort", ""), query.get("descending") == "true", query.get("label", ""), query.get("text", "")
    )


def _number(query: Mapping[str, str], name: str, usual: int) -> int:
    text = query.get(name, str(usual))
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise SettingsError(f"{name}={text}: a number is wanted.")
    return int(text)


def _rows(desk: Desk, query: Mapping[str, str]) -> dict[str, Any]:
    page = desk.table.page(_query(query), _number(query, "start", 0), _number(query, "count", 50))
    with desk.lock:  # somebody may be answering
        answers = desk.answers.log.verdicts()
    page["answers"] = {row[0]: answers[row[0]].label for row in page["rows"] if row[0] in answers}
    return page


def _place(desk: Desk, query: Mapping[str, str]) -> dict[str, Any]:
    return {"id": desk.table.place_of(_query(query), _number(query, "place", 0))}


class DeskServer:
    """A desk that a browser can see; `run` blocks until Ctrl-C, `stop` ends it from another thread.

    Parameters
    ----------
    desk
        What is worked on.
    port
        None takes the usual one, or any.
    notebook
        Whether a notebook on this machine may show the page in a frame.
    """

    def __init__(self, desk: Desk, port: int | None = None, *, notebook: bool = False) -> None:
        import uvicorn

        self.desk = desk
        self.socket = loopback_socket(port)
        self.port = int(self.socket.getsockname()[1])
        self.token = secrets.token_urlsafe(24)
        app = Guard(build_app(desk), self.token, self.port, NOTEBOOKS if notebook else "'none'")
        self.server = uvicorn.Server(
            uvicorn.Config(
                app,
                http="h11",
                ws="none",
                lifespan="off",
                log_level="error",
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                limit_concurrency=MOST_AT_ONCE,
                timeout_graceful_shutdown=1,
            )
        )

    @property
    def address(self) -> str:
        """Where the page is; the token in it is the key to it."""
        return f"http://{LOOPBACK}:{self.port}/{self.token}/"

    def run(self) -> None:
        """Serve until Ctrl-C or `stop`; every answer is on the disk before the page is told so."""
        threading.Thread(target=self.desk.warm_up, daemon=True).start()
        try:
            self.server.run(sockets=[self.socket])
        except KeyboardInterrupt:  # this is how it is meant to end
            pass
        finally:
            self.socket.close()
            self.desk.close()

    def stop(self) -> None:
        """Let `run` come to its end."""
        self.server.should_exit = True
