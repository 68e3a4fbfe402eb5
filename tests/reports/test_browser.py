"""The report as a reader sees it: headless Chromium on a desk, on a phone, in the dark and on paper."""

import shutil
from pathlib import Path

import pytest
from helpers.headless_browser import Browser, find_browser, headless_browser

import lcdvt

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("few_trees"),
    pytest.mark.skipif(find_browser() is None, reason="no Chromium here: the report is not looked at in a browser"),
]

PHONE, DESK = 390, 1280
PICTURES = """
Promise.all([...document.querySelectorAll('svg image, img')].map(async picture => {
  const image = new Image();
  image.src = picture.getAttribute('href') || picture.src;
  await image.decode();
  return image.naturalWidth;
}))
"""
DRAWINGS = """
[...document.querySelectorAll('svg')].map(drawing => {
  const box = drawing.getBoundingClientRect();
  return {name: drawing.getAttribute('aria-label'), width: box.width, height: box.height};
})
"""
# Elements may reach beyond the screen only inside a box that scrolls by itself.
TOO_WIDE = """
[...document.querySelectorAll('body *')].filter(element =>
  element.getBoundingClientRect().right > innerWidth + 1 && !element.closest('.scroll, .cards, pre, svg')
).map(element => element.tagName)
"""


@pytest.fixture(scope="module")
def report(two_surveys, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    data = shutil.copytree(two_surveys, folder / "data")
    for labels in ("10%", "40%"):
        options = {"members": 2, "repeats": 1, "steps": 20, "rows": ["forest-target", "svm-target"], "jobs": 1}
        lcdvt.transfer("old", "new", labels, data=data, name=f"run{labels[:-1]}", **options)
    return lcdvt.report(["run10", "run40"], folder / "report.html", data=data).path


@pytest.fixture(scope="module")
def browser(report, tmp_path_factory):
    with headless_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_loads_without_complaint_and_fits(browser: Browser, report: Path, width: int, dark: bool):
    browser.open(report, width=width, dark=dark)
    assert browser.complaints() == []
    outside = [address for address in browser.requests() if not address.startswith(("file://", "data:"))]
    assert outside == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate(TOO_WIDE) == []


def test_every_picture_is_there_and_loaded(browser: Browser, report: Path):
    browser.open(report)
    widths = browser.evaluate(PICTURES)
    assert widths
    assert min(widths) > 0
    drawings = browser.evaluate(DRAWINGS)
    assert len(drawings) >= 7  # labels; for each run calibration, map, periods; and light curves
    for drawing in drawings:
        assert drawing["name"]
        assert min(drawing["width"], drawing["height"]) > 100, drawing["name"]


def test_ink_follows_the_scheme(browser: Browser, report: Path):
    inks = {}
    for dark in (False, True):
        browser.open(report, dark=dark)
        text, paper = "getComputedStyle(document.querySelector('svg text')).fill", "getComputedStyle(document.body)"
        inks[dark] = (browser.evaluate(text), browser.evaluate(f"{paper}.backgroundColor"))
        assert inks[dark][0] == browser.evaluate(f"{paper}.color")
    assert inks[False] != inks[True]
    assert inks[False][0] != inks[False][1]


def test_it_can_be_printed(browser: Browser, report: Path):
    browser.open(report, dark=True)
    printed = browser.print_pdf()
    assert printed.startswith(b"%PDF")
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.evaluate("getComputedStyle(document.querySelector('svg text')).fill") == "rgb(0, 0, 0)"
    assert browser.evaluate("getComputedStyle(document.querySelector('pre')).maxHeight") == "none"
