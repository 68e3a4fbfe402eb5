"""Chromium without a window, driven over a pipe by its own protocol: no library between the test and the browser."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)
NAMED_KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Escape": 27, "Enter": 13}
DEADLINE = 60.0
"""Seconds until a browser that does not answer fails the test."""
LEFT = "Inspected target navigated or closed"
"""What Chromium says where a page is left while it computes a value."""


def find_browser() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One tab at a time; `events` holds what the browser told on its own."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self.to_browser, self.from_browser = to_browser, from_browser
        self.received = b""
        self.events: list[dict[str, Any]] = []
        self.number = 0
        self.session: str | None = None
        self._open_tab()

    def _open_tab(self) -> str:
        """Go on in a new tab, and return what closes it."""
        self.session = None  # tabs are opened by the browser itself, not by another tab
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return target

    @contextmanager
    def another_tab(self) -> Iterator[None]:
        """Work in a second tab of the same browser while the block runs; the first one stays as it is."""
        first = self.session
        target = self._open_tab()
        try:
            yield
        finally:
            self.call("Target.closeTarget", targetId=target)
            self.session = first

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next_message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def _next_message(self) -> dict[str, Any]:
        end = time.monotonic() + DEADLINE
        while b"\0" not in self.received:
            ready, _, _ = select.select([self.from_browser], [], [], max(end - time.monotonic(), 0))
            chunk = os.read(self.from_browser, 1 << 20) if ready else b""
            if not chunk:
                raise AssertionError("the browser does not answer")
            self.received += chunk
        message, _, self.received = self.received.partition(b"\0")
        return json.loads(message)

    def open(self, page: Path | str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Show a file or an address on a screen of that width and wait until it is loaded."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=page if isinstance(page, str) else page.absolute().as_uri())
        self._wait_for_load()

    def reload(self) -> None:
        """Load the page again."""
        self.events.clear()
        self.call("Page.reload")
        self._wait_for_load()

    def _wait_for_load(self) -> None:
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next_message())

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait_until(self, expression: str, seconds: float = DEADLINE) -> Any:
        """Return the value of an expression as soon as it is true, also of a page that is just going to another one."""
        end = time.monotonic() + seconds
        while not (value := self._value_if_it_stays(expression)):
            if time.monotonic() > end:
                raise AssertionError(f"never true: {expression}\n{self.evaluate('document.body.innerText')}")
            time.sleep(0.02)
        return value

    def _value_if_it_stays(self, expression: str) -> Any:
        try:
            return self.evaluate(expression)
        except AssertionError as error:
            if LEFT in str(error):
                return None
            raise

    def press(self, key: str, *, shift: bool = False, repeats: int = 0) -> None:
        """Press a key, as a person does: the page gets a trusted event; held down it comes again some times."""
        code = NAMED_KEYS.get(key, ord(key.upper()) if len(key) == 1 else 0)
        about = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        text = {"text": key} if len(key) == 1 else {}
        for again in range(1 + repeats):
            self.call("Input.dispatchKeyEvent", type="keyDown", autoRepeat=again > 0, **about, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def write(self, text: str) -> None:
        """Type a text into the field that has the focus."""
        self.call("Input.insertText", text=text)

    def complaints(self) -> list[dict[str, Any]]:
        """Return what the page wrote to the console: errors, warnings, refused requests, exceptions."""
        methods = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event for event in self.events if event.get("method") in methods]

    def requests(self) -> list[str]:
        """Return the addresses that the page asked for."""
        asked = (event for event in self.events if event.get("method") == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in asked]

    def screenshot(self, path: Path) -> None:
        """Write a picture of the whole page."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def print_pdf(self) -> bytes:
        """Return the page as it would be printed."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])


@contextmanager
def headless_browser(profile: Path) -> Iterator[Browser]:
    """Start a browser with a new profile, and end it."""
    command = find_browser()
    assert command is not None
    browser_reads, to_browser = os.pipe()
    from_browser, browser_writes = os.pipe()
    # the protocol is spoken on descriptors 3 and 4; the shell puts the pipes there
    script = f'exec "$@" 3<&{browser_reads} 4>&{browser_writes}'
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", command, *ARGUMENTS, f"--user-data-dir={profile}"],
        pass_fds=(browser_reads, browser_writes),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(browser_reads)
    os.close(browser_writes)
    try:
        yield Browser(to_browser, from_browser)
    finally:
        os.close(to_browser)  # a browser whose pipe is closed ends by itself
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(from_browser)
