"""The pages as a person sees them: Chromium without a window, keys pressed, the server killed in between."""

import json
import os
import shutil
import signal
import socket
import time
from pathlib import Path

import pytest
from helpers.desks import command
from helpers.headless_browser import Browser, find_browser, headless_browser

from lcdvt.workspace.answers import answers_path, read_answers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_browser() is None, reason="no Chromium here: the pages are not looked at in a browser"),
]

PHONE, DESK = 390, 1280
STAR = "document.querySelector('#star-id')?.textContent"
ABOUT = "fetch('api/desk').then(response => response.json())"
SAVED = "document.querySelector('#count')?.textContent"
DRAWN = """
[...document.querySelectorAll('canvas')].filter(canvas => canvas.clientWidth).map(canvas => {
  const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  return pixels.some((value, place) => place % 4 === 3 && value > 0);
})
"""
TOO_WIDE = """
[...document.querySelectorAll('body *')].filter(element =>
  element.getBoundingClientRect().right > innerWidth + 1 && !element.closest('.scroll, .neighbours')
).map(element => element.tagName + '.' + element.className)
"""


@pytest.fixture(scope="module")
def data(with_run, tmp_path_factory) -> Path:
    return shutil.copytree(with_run, tmp_path_factory.mktemp("pages") / "data")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with headless_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def look(browser: Browser, address: str, **screen) -> None:
    browser.open("about:blank")  # a page whose server is gone still complains of it
    browser.open(address, **screen)
    browser.wait_until(STAR)


def go_to_a_star_unlike_its_class(browser: Browser) -> None:
    """Go on to a star that has every card: the one for what is unlike its class is hidden where nothing is."""
    for _ in range(20):
        browser.wait_until("!!document.querySelector('.neighbours figure')")  # the last card that is filled
        if browser.evaluate("!!document.querySelector('.unusual dd')"):
            return
        star = browser.evaluate(STAR)
        browser.press("ArrowRight")
        browser.wait_until(f"{STAR} && {STAR} !== {json.dumps(star)}")
    pytest.fail("no star that is asked for is unlike its class in anything")


def press_on(browser: Browser, key: str, *, shift: bool = False) -> str:
    """Press a class' key, wait for the next star, and return the one that was answered."""
    star = browser.evaluate(STAR)
    browser.press(key, shift=shift)
    browser.wait_until(f"{STAR} && {STAR} !== {json.dumps(star)}")
    return star


def test_label_by_keyboard_undo_reload_kill_and_train_again(browser, data):
    """Twenty stars, with the server killed in the middle: no answer is lost, none is doubled."""
    path = answers_path("new", data)
    given: dict[str, str | None] = {}
    arguments = ("label", "run", "--data", data, "--n", 20, "--who", "ann")
    # not the usual port: while the server is down, any other desk of this machine would take it
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with command(*arguments, "--port", port) as (process, address):
        look(browser, address)
        classes = {each["key"]: each["name"] for each in browser.evaluate(ABOUT)["classes"]}
        keys = list(classes)
        for number in range(9):
            key = keys[number % len(keys)]
            given[press_on(browser, key, shift=number == 3)] = classes[key]
        given[press_on(browser, "o")] = "OTHER"
        given[press_on(browser, "u")] = None
        browser.wait_until(f"{SAVED} === '11 answered'")
        # undo brings the last star back, without its answer
        last = list(given)[-1]
        browser.press("z")
        browser.wait_until(f"{STAR} === {json.dumps(last)} && {SAVED} === '10 answered'")
        del given[last]
        given[press_on(browser, keys[0])] = classes[keys[0]]
        browser.wait_until(f"{SAVED} === '11 answered'")
        browser.reload()
        browser.wait_until(STAR)
        assert browser.evaluate(SAVED) == "11 answered"
        assert browser.complaints() == []
        # keys that look without answering
        here = browser.evaluate(STAR)
        period = browser.evaluate("document.querySelector('#period').value")
        browser.press(".")
        doubled = float(browser.evaluate("document.querySelector('#period').value"))
        assert doubled == pytest.approx(2 * float(period), rel=1e-5)
        browser.press("1")
        browser.press("ArrowUp")
        assert browser.evaluate("document.querySelector('#period').value") != period
        browser.press("ArrowLeft")
        browser.wait_until(f"{STAR} !== {json.dumps(here)}")
        browser.press("ArrowRight")
        browser.wait_until(f"{STAR} === {json.dumps(here)}")
        browser.press("?")
        assert browser.evaluate("document.querySelector('dialog').open")
        browser.press("Escape")
        assert browser.evaluate(SAVED) == "11 answered"
        # the server dies; what is pressed then waits in the browser
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        given[press_on(browser, keys[1])] = classes[keys[1]]
        browser.wait_until("document.querySelector('#banner').textContent.includes('1 answer waits')")
        # something else has written into the store: the answer that waits there does not wait for that
        browser.evaluate("localStorage.setItem(`${Object.keys(localStorage)[0]}-damaged`, '{')")
    assert read_answers(path).by_star().keys() == given.keys() - {list(given)[-1]}
    with command(*arguments, "--port", port) as (_, address):
        look(browser, address)
        browser.wait_until(f"{SAVED} === '12 answered'")
        for number in range(8):
            key = keys[number % len(keys)]
            given[press_on(browser, key)] = classes[key]
        browser.wait_until(f"{SAVED} === '20 answered'")
        log = read_answers(path)
        assert {star: answer.label for star, answer in log.by_star().items()} == given
        # eleven and the one undone, the one that waited, eight more
        assert len(log.answers) == 21
        assert len(log.undos) == 1
        assert sum(answer.confidence == "likely" for answer in log.answers.values()) == 1
        browser.evaluate(
            "[...document.querySelectorAll('#bar button')].find(each => each.textContent === 'Retrain').click()"
        )
        browser.wait_until("document.querySelector('#banner .track') !== null")
        browser.wait_until("document.querySelector('#banner').textContent.includes('run-round-1 is ready')", 240)
        asked = browser.evaluate(ABOUT)
        assert asked["run"] == "run-round-1"
        assert {star["id"] for star in asked["queue"]}.isdisjoint(given)
        assert len(asked["queue"]) == 20
        browser.evaluate("location.hash = 'progress'")
        browser.wait_until("document.querySelectorAll('canvas.chart').length === 2")
        rows = browser.evaluate("[...document.querySelectorAll('tbody tr')].map(row => row.cells[0].textContent)")
        assert rows == ["run", "run-round-1"]
        assert browser.complaints() == []
    in_draw = json.loads((data / "runs" / "run-round-1" / "metrics.json").read_text())["labels_from"]["used"]
    assert sum(in_draw.values()) == sum(label not in (None, "OTHER") for label in given.values())


def test_every_page_fits_every_screen_without_a_complaint(browser, data):
    with command("label", "run", "--data", data, "--who", "bob") as (_, address):
        for width, dark in ((DESK, False), (DESK, True), (PHONE, False), (PHONE, True)):
            look(browser, address, width=width, dark=dark)
            go_to_a_star_unlike_its_class(browser)
            browser.wait_until("[...document.querySelectorAll('section')].every(each => !each.hidden)")
            time.sleep(0.1)
            assert all(browser.evaluate(DRAWN))
            for page in ("table", "progress", ""):
                browser.evaluate(f"location.hash = '{page}'")
                browser.wait_until("document.querySelector('tbody tr, #star-id') !== null")
                assert browser.evaluate("document.documentElement.scrollWidth") <= width
                assert browser.evaluate(TOO_WIDE) == []
            assert browser.complaints() == []
            outside = [each for each in browser.requests() if not each.startswith(address)]
            assert outside == []


def test_browse_without_a_run_sorts_finds_and_opens_a_star(browser, data):
    with command("browse", "new", "--data", data, "--who", "bob") as (_, address):
        browser.open("about:blank")
        browser.open(address)
        browser.wait_until("document.querySelectorAll('tbody tr').length === 50")
        first = "document.querySelector('tbody td').textContent"
        shown = browser.evaluate(first)
        browser.evaluate("document.querySelector('[aria-label=\"next rows\"]').click()")
        browser.wait_until(f"{first} !== {json.dumps(shown)}")
        browser.evaluate("[...document.querySelectorAll('thead button')].find(e => e.textContent === 'Period').click()")
        browser.wait_until("document.querySelector('th[aria-sort=ascending]') !== null")
        star = browser.evaluate(first)
        browser.evaluate("document.querySelector('tbody a').click()")
        browser.wait_until(f"{STAR} === {json.dumps(star)}")
        browser.wait_until("!document.querySelector('.scan').closest('section').hidden")
        browser.press("ArrowRight")
        browser.wait_until(f"{STAR} !== {json.dumps(star)}")
        browser.press("b")
        browser.wait_until("document.querySelector('tbody tr') !== null")
        assert browser.complaints() == []
