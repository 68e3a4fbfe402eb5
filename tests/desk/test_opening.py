"""The browser is opened on a file that leads to the page: the address with its token is in no command line."""

import shlex
import stat
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from helpers.desks import command, served
from helpers.headless_browser import find_browser, headless_browser

from lcdvt.desk.opening import browser_on
from lcdvt.desk.session import Desk
from lcdvt.errors import LcdvtError

SHOW = """
import pathlib, sys, urllib.parse
address = sys.argv[1]
path = pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(address).path))
told = pathlib.Path(sys.argv[2])
content = path.read_text() if address.startswith("file:") else ""
told.with_suffix(".new").write_text("\\n".join([address, oct(path.stat().st_mode & 0o777), content]))
told.with_suffix(".new").rename(told)
"""


@pytest.fixture
def told(tmp_path, monkeypatch) -> Path:
    """A browser that only writes down what it was called with, in place of the user's."""
    program, told = tmp_path / "browser.py", tmp_path / "told"
    program.write_text(SHOW)
    monkeypatch.setenv(
        "BROWSER", f"{shlex.quote(sys.executable)} {shlex.quote(str(program))} %s {shlex.quote(str(told))}"
    )
    monkeypatch.setattr("webbrowser._tryorder", None)  # so that BROWSER is looked at again
    return told


def test_the_command_line_has_a_file_of_the_users_own_and_not_the_token(told):
    address = "http://127.0.0.1:1/s3cret/#table"
    with browser_on(address):
        opened, rights, content = told.read_text().split("\n", 2)
        path = Path(unquote(urlsplit(opened).path))
        assert "s3cret" not in opened
        assert rights == "0o600"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert f"url={address}" in content
    assert not path.exists()


def test_the_file_goes_also_when_the_server_falls(told):
    with pytest.raises(LcdvtError), browser_on("http://127.0.0.1:1/s3cret/"):
        path = Path(unquote(urlsplit(told.read_text().split("\n")[0]).path))
        raise LcdvtError("fallen")
    assert not path.exists()


def test_without_a_place_for_the_file_the_page_is_served_all_the_same(told, monkeypatch):
    def full(**_):
        raise OSError("no space left on device")

    monkeypatch.setattr("tempfile.mkstemp", full)
    with browser_on("http://127.0.0.1:1/s3cret/"):
        pass
    assert not told.exists()


def test_browse_prints_the_address_and_opens_the_file(told, two_surveys):
    with command("browse", "new", "--data", two_surveys, browser=True) as (_, address):
        end = time.monotonic() + 60
        while not told.exists() and time.monotonic() < end:
            time.sleep(0.05)
        opened, _, content = told.read_text().split("\n", 2)
        token = address.split("/")[3]
        assert len(token) > 20
        assert token not in opened
        assert token in content
    assert not Path(unquote(urlsplit(opened).path)).exists()


@pytest.mark.slow
@pytest.mark.skipif(find_browser() is None, reason="no Chromium here: the file is not opened in a browser")
def test_a_browser_goes_from_the_file_to_the_page(told, with_run, tmp_path):
    desk = Desk.of_run("run", who="ann", n=3, unlabelled=False, data=with_run)
    with served(desk) as server, browser_on(server.address), headless_browser(tmp_path / "profile") as browser:
        browser.open(told.read_text().split("\n")[0])
        browser.wait_until(f"location.href.startsWith('{server.address}') && !!document.querySelector('#star-id')")
        assert browser.complaints() == []
