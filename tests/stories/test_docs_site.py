"""The built site as a reader sees it: no dead link, no complaint of the browser, nothing from the network."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from helpers.built_site import BUILT, is_fresh
from helpers.headless_browser import Browser, find_browser, headless_browser

ROOT = Path(__file__).parents[2]
PACKAGES = ("sphinx", "pydata_sphinx_theme", "myst_nb", "numpydoc", "sphinx_design")
MISSING = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
SHOWN = (
    *("docs/index.html", "docs/start.html", "docs/architecture.html", "docs/method.html", "docs/python.html"),
    *("docs/features.html", "docs/generated/features/period.html", "docs/builtin_surveys.html", "docs/cli.html"),
    *("docs/api/lcdvt.Run.html", "notebooks/01_raw_files_to_features.html", "notebooks/04_reading_the_report.html"),
)
PICTURES = "[...document.querySelectorAll('article img')].map(picture => [picture.src, picture.naturalWidth])"
# Attributes of tags by which a page loads a file without being asked to.
LOADS = {"img": "src", "script": "src", "source": "src", "iframe": "src", "link": "href"}
NOT_LOADED = {"canonical", "next", "prev", "search", "index", "author", "alternate"}

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.places.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in LOADS and LOADS[tag] in given and not set(given.get("rel", "").split()) & NOT_LOADED:
            self.loaded.append(given[LOADS[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site that `make docs` built if nothing was changed since, else one built here."""
    if is_fresh():
        return BUILT
    if MISSING:
        pytest.skip(f"no fresh site in {BUILT}, and {', '.join(MISSING)} is not installed: run `make docs` first")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-c", "docs", ".", folder]
    variables = os.environ | {"OMP_NUM_THREADS": "1"}
    answer = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    # what lies in _static is the theme's own, and no page
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}


@pytest.fixture(scope="module")
def browser(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if find_browser() is None:
        pytest.skip("no Chromium here: the site is not looked at in a browser")
    with headless_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def errors(browser: Browser) -> list[object]:
    """Return the browser's complaints without the theme's plain notes (`console.log`: which colours it chose)."""
    return [event for event in browser.complaints() if event["params"].get("type") not in ("log", "info", "debug")]


def test_every_page_of_the_plan_is_there(site: Path, pages: dict[Path, Page]):
    import lcdvt

    written = {path.relative_to(site).as_posix() for path in pages}
    sources = [*ROOT.glob("docs/*.md"), *ROOT.glob("notebooks/*.ipynb"), ROOT / "CONTRIBUTING.md"]
    for source in sources:
        assert source.relative_to(ROOT).with_suffix(".html").as_posix() in written
    # `features` is a room, too, and has its entry on the page itself
    for name in set(lcdvt.__all__) - {"__version__", "features"}:
        assert f"docs/api/lcdvt.{name}.html" in written, f"add {name} to docs/python.md"


def test_no_internal_link_is_dead(site: Path, pages: dict[Path, Page]):
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not target.is_file() or (place and target in pages and place not in pages[target].places):
                dead.append(f"{path.relative_to(site)}: {link}")
    assert dead == []


def test_nothing_is_loaded_from_the_network_and_every_file_is_there(site: Path, pages: dict[Path, Page]):
    wrong = []
    for path, page in pages.items():
        for address in page.loaded:
            parts = urlsplit(address)
            if parts.scheme == "data":
                continue
            file = path.parent / unquote(parts.path)
            if parts.scheme or parts.netloc or not file.is_file() or file.stat().st_size == 0:
                wrong.append(f"{path.relative_to(site)}: {address[:200]}")
    assert wrong == []


@pytest.mark.parametrize("name", SHOWN)
def test_the_browser_has_nothing_to_complain_about_and_shows_the_pictures(browser: Browser, site: Path, name: str):
    browser.open(site / name)
    assert errors(browser) == []
    outside = [address for address in browser.requests() if not address.startswith(("file://", "data:"))]
    assert outside == []
    # the images further down are loaded when they are scrolled to
    browser.evaluate(
        "Promise.all([...document.images].map(image => { image.loading = 'eager'; return image.decode(); }))"
    )
    pictures = browser.evaluate(PICTURES)
    assert all(width > 0 for _, width in pictures)
    has_pictures = name in ("docs/index.html", "docs/architecture.html") or "notebooks/" in name or "features/" in name
    assert bool(pictures) == has_pictures


@pytest.mark.parametrize("dark", [False, True])
def test_a_page_fits_a_phone(browser: Browser, site: Path, dark: bool):
    browser.open(site / "docs" / "index.html", width=390, dark=dark)
    assert errors(browser) == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
