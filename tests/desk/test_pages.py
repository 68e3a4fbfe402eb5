"""What goes wrong at a desk: keys that stick, servers that come and go, two tabs, and strange light curves."""

import json
import shutil
import time
from pathlib import Path

import pandas as pd
import pytest
from helpers.desks import served
from helpers.headless_browser import Browser, find_browser, headless_browser

from lcdvt.desk.session import Desk
from lcdvt.workspace.answers import answers_path, read_answers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("few_trees"),
    pytest.mark.skipif(find_browser() is None, reason="no Chromium here: the pages are not looked at in a browser"),
]

STAR = "document.querySelector('#star-id')?.textContent"
COUNT = "document.querySelector('#count')?.textContent"
BANNER = "document.querySelector('#banner').textContent"
WAITING = "Object.keys(localStorage).filter(name => name.startsWith('lcdvt-waiting')).length"
LOOK_AGAIN = "document.dispatchEvent(new Event('visibilitychange'))"
MOMENT = 0.4
"""Seconds in which a page has done whatever a key made it do."""


@pytest.fixture
def data(with_run, tmp_path) -> Path:
    return shutil.copytree(with_run, tmp_path / "data")


@pytest.fixture
def desk(data) -> Desk:
    return Desk.of_run("run", who="ann", n=4, unlabelled=False, data=data)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with headless_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def look(browser: Browser, address: str) -> list[str]:
    """Open the page, and return the stars it asks for."""
    browser.open("about:blank")
    browser.open(address)
    browser.wait_until(STAR)
    asked = browser.evaluate("fetch('api/desk').then(response => response.json())")
    return [star["id"] for star in asked["queue"]]


def is_shown(star: str) -> str:
    return f"{STAR} === {json.dumps(star)}"


def test_a_key_held_down_answers_one_star(browser, desk, data):
    with served(desk) as server:
        first, second, *_ = look(browser, server.address)
        browser.press("e", repeats=5)
        browser.wait_until(f"{is_shown(second)} && {COUNT} === '1 answered'")
        browser.press("e", repeats=5)
        time.sleep(MOMENT)
    assert list(read_answers(answers_path("new", data)).by_star()) == [first, second]
    assert len(read_answers(answers_path("new", data)).answers) == 2


def test_what_was_pressed_outlives_its_server_and_the_next_one_in_two_tabs(browser, desk, data):
    """The old pages meet the new server, whose token they do not have: they keep what it did not take."""
    with served(desk) as server:
        port, (first, second, *_) = server.port, look(browser, server.address)
        browser.evaluate("localStorage.clear()")
        with browser.another_tab():
            look(browser, server.address)
            browser.press("ArrowRight")
            browser.wait_until(is_shown(second))
            server.stop()
            browser.wait_until("fetch('api/retraining').then(() => false, () => true)")
            browser.press("q")
            browser.wait_until(f"{BANNER}.includes('1 answer waits')")
        browser.press("e")
        browser.wait_until(f"{BANNER}.includes('1 answer waits')")
        assert browser.evaluate(WAITING) == 2
    again = Desk.of_run("run", who="ann", n=4, unlabelled=False, data=data)
    with served(again, port=port) as server:
        browser.wait_until(f"{BANNER}.includes('has ended')")
        assert browser.evaluate(WAITING) == 2
        with browser.another_tab():
            look(browser, server.address)
            browser.wait_until(f"{COUNT} === '2 answered' && {WAITING} === 0")
        browser.wait_until(f"{BANNER} === ''")  # the old page sees that another one has sent it
    labels = {star: answer.label for star, answer in read_answers(answers_path("new", data)).by_star().items()}
    assert labels == {first: "EB", second: "QSO"}


def test_a_refused_answer_is_told_and_does_not_look_saved(browser, desk, monkeypatch):
    with served(desk) as server:
        first, second, *_ = look(browser, server.address)
        monkeypatch.setattr(desk.stars, "has", lambda star: False)
        browser.press("e")
        browser.wait_until(f"{is_shown(second)} && {BANNER}.includes('was not saved')")
        time.sleep(MOMENT)
        assert first in browser.evaluate(BANNER)
        assert browser.evaluate("document.querySelector('.queue button').ariaLabel") == "star 1"
        assert browser.evaluate(WAITING) == 0


def test_what_the_page_says_stays_until_it_is_read(browser, desk):
    with served(desk) as server:
        stars = look(browser, server.address)
        browser.press("z")
        browser.wait_until(f"{BANNER} === 'There is nothing to undo.'")
        time.sleep(MOMENT)
        assert browser.evaluate(BANNER) == "There is nothing to undo."
        for number, _ in enumerate(stars, start=1):
            browser.press("e")
            browser.wait_until(f"{COUNT} === '{number} answered'")
            time.sleep(MOMENT)
        assert browser.evaluate(BANNER).startswith("All stars of this round are answered.")


def test_a_note_written_after_the_answer_is_saved_and_one_before_it_is_not_forgotten(browser, desk, data):
    with served(desk) as server:
        first, second, *_ = look(browser, server.address)
        browser.press("e", shift=True)
        browser.wait_until(is_shown(second))
        browser.press("n")
        browser.write("perhaps two stars")
        browser.press("Escape")
        browser.press("ArrowLeft")
        browser.wait_until(is_shown(first))
        browser.press("n")
        browser.write("in the glare")
        browser.press("Enter")
        time.sleep(MOMENT)
        assert browser.evaluate(STAR) == first
        browser.press("ArrowRight")
        browser.wait_until(is_shown(second))
        assert browser.evaluate("document.querySelector('.note').value") == "perhaps two stars"
        browser.press("q")
        browser.wait_until(f"{COUNT} === '2 answered'")
    found = read_answers(answers_path("new", data)).by_star()
    assert (found[first].label, found[first].confidence, found[first].note) == ("EB", "likely", "in the glare")
    assert found[second].note == "perhaps two stars"


def test_a_note_that_waits_is_kept_when_the_page_has_forgotten_its_star(browser, desk, data):
    """Thirty stars are kept in the page's memory; what a person wrote is no such thing."""
    others = pd.read_parquet(data / "new" / "objects.parquet")["object_id"].tolist()
    with served(desk) as server:
        first, *_ = look(browser, server.address)
        browser.press("n")
        browser.write("perhaps two stars")
        browser.press("Escape")
        for star in [star for star in others if star != first][:35]:
            browser.evaluate(f"location.hash = 'star=' + encodeURIComponent({json.dumps(star)})")
            browser.wait_until(is_shown(star))
        browser.evaluate(f"location.hash = 'star=' + encodeURIComponent({json.dumps(first)})")
        browser.wait_until(is_shown(first))
        assert browser.evaluate("document.querySelector('.note').value") == "perhaps two stars"


def test_another_tab_sees_what_was_answered_here(browser, desk):
    with served(desk) as server:
        first, *_ = look(browser, server.address)
        with browser.another_tab():
            look(browser, server.address)
            browser.press("e")
            browser.wait_until(f"{COUNT} === '1 answered'")
        assert browser.evaluate(COUNT) == "0 answered"
        browser.evaluate(LOOK_AGAIN)
        browser.wait_until(f"{COUNT} === '1 answered'")
        assert browser.evaluate(STAR) == first
        browser.wait_until("document.querySelector('#status').textContent.startsWith('Saved: EB')")
        browser.press("z")
        browser.wait_until(f"{COUNT} === '0 answered'")
        browser.reload()
        browser.wait_until(is_shown(first))
        assert browser.evaluate("document.querySelector('#status').textContent") == ""


def test_a_training_that_ends_does_not_change_the_star_under_the_hand(browser, desk, data):
    shutil.copytree(data / "runs" / "run", data / "runs" / "next")
    with served(desk) as server:
        first, *_ = look(browser, server.address)
        desk.retraining._told = {"state": "running"}
        desk.retraining._began = time.monotonic()
        browser.evaluate(LOOK_AGAIN)
        browser.wait_until("document.querySelector('#banner .track') !== null")
        desk._take_over("next")
        desk.retraining._told = {"state": "done", "run": "next"}
        browser.wait_until(f"{BANNER}.includes('The run next is ready')")
        assert browser.evaluate(STAR) == first
        browser.press("e")
        browser.wait_until(f"{COUNT} === '1 answered'")
    assert list(read_answers(answers_path("new", data)).by_star()) == [first]


def test_a_star_that_cannot_be_shown_leaves_no_other_star_to_be_answered(browser, desk):
    with served(desk) as server:
        look(browser, server.address)
        for named in ("nothing", "%E0%A4%A"):
            browser.evaluate(f"location.hash = 'star={named}'")
            browser.wait_until("document.querySelector('h1')?.textContent === 'This cannot be shown.'")
            browser.press("e")
            assert browser.evaluate("document.querySelectorAll('#bar nav button').length") > 3
        browser.open("about:blank")
        browser.open(f"{server.address}#star=%E0%A4%A")
        browser.wait_until("document.querySelector('h1')?.textContent === 'This cannot be shown.'")
        assert browser.evaluate(COUNT) == "0 answered"
        browser.evaluate("location.hash = ''")
        browser.wait_until(STAR)


def test_who_goes_through_the_bar_by_tab_is_not_thrown_out_of_it(browser, desk):
    with served(desk) as server:
        look(browser, server.address)
        browser.evaluate("[...document.querySelectorAll('#bar button')].find(e => e.textContent === 'Table').focus()")
        browser.press("z")  # nothing is undone, but the bar is drawn again
        time.sleep(MOMENT)
        assert browser.evaluate("document.activeElement.textContent") == "Table"
        browser.evaluate("document.querySelectorAll('.queue button')[2].focus()")
        browser.press("z")
        time.sleep(MOMENT)
        assert browser.evaluate("document.activeElement.ariaLabel") == "star 3"


def test_two_hundred_thousand_epochs_are_drawn(browser, desk):
    """A function takes some hundred thousand arguments at most."""
    with served(desk) as server:
        look(browser, server.address)
        made = """
        import(new URL('star.js', location)).then(({ StarPage }) => {
          const t = Array.from({ length: 200000 }, (_, i) => 50000 + i / 100);
          const band = { band: 'g', colour: '#008899', t, m: t.map(Math.sin), e: t.map(() => 0.1) };
          const star = { id: 'dense', bands: [band], limits: [], period: 6.28, ra: null, dec: null };
          const page = new StarPage({ desk: { classes: [], queue: [] }, maps: null, drafts: new Map() }, star);
          document.querySelector('main').replaceChildren(page.element);
          page.paint();
          return page.baseline;
        })
        """
        assert browser.evaluate(made) == pytest.approx(1999.99)


def test_epochs_before_day_zero_fill_both_cycles(browser, desk):
    with served(desk) as server:
        look(browser, server.address)
        right_half = """
        import(new URL('charts.js', location)).then(({ foldedCurve }) => {
          const canvas = document.querySelector('canvas.folded');
          const t = Array.from({ length: 60 }, (_, i) => -1000 + 3.7 * i);
          foldedCurve(canvas, [{ band: 'g', colour: '#ff0000', t, m: t.map(Math.sin), e: t.map(() => 0.1) }], 0.77);
          const from = Math.round(canvas.width * 0.6);
          const { data } = canvas.getContext('2d').getImageData(from, 0, canvas.width - from, canvas.height);
          let red = 0;
          for (let i = 0; i < data.length; i += 4) red += data[i] > 200 && data[i + 1] < 60 && data[i + 3] > 100;
          return red;
        })
        """
        assert browser.evaluate(right_half) > 100


def test_upper_limits_are_drawn_and_told(browser, data):
    objects = pd.read_parquet(data / "new" / "objects.parquet", columns=["object_id", "part"])
    star, part = objects.iloc[0]
    epochs = pd.read_parquet(data / "new" / "epochs" / f"part-{part:05d}.parquet").query("object_id == @star")
    rows = epochs.iloc[:3][["object_id", "band", "mjd"]].assign(mag_limit=epochs["mag"].max() + 0.5)
    (data / "new" / "limits").mkdir()
    rows.to_parquet(data / "new" / "limits" / f"part-{part:05d}.parquet")
    with served(Desk.of_run("run", who="ann", n=4, unlabelled=False, data=data)) as server:
        look(browser, f"{server.address}#star={star}")
        told = browser.evaluate("document.querySelector('#unseen').textContent")
        assert told.startswith("▽ looked for and not seen, 3 times: fainter than this"), told
        lowest = """
        import(new URL('charts.js', location)).then(({ drawn }) => {
          const { layers, y } = drawn.get(document.querySelector('canvas.raw'));
          const [limits] = layers.filter(layer => layer.hollow);
          const faintest = Math.max(...layers.filter(layer => !layer.hollow).flatMap(layer => [...layer.y]));
          return [limits.x.length, limits.y[0] > faintest, y.high > limits.y[0]];
        })
        """
        assert browser.evaluate(lowest) == [3, True, True]
        without = next(each for each in objects["object_id"] if each != star)
        browser.evaluate(f"location.hash = 'star=' + {json.dumps(without)}")
        browser.wait_until(is_shown(without))
        assert browser.evaluate("document.querySelector('#unseen')") is None


def test_drawings_of_stars_that_are_gone_are_let_go_of(browser, desk):
    with served(desk) as server:
        for star in look(browser, server.address):
            browser.evaluate(f"location.hash = 'star=' + {json.dumps(star)}")
            browser.wait_until(is_shown(star))
            browser.wait_until("!!document.querySelector('.neighbours figure')")
        charts = "import(`${location.pathname}charts.js`)"
        gone = f"{charts}.then(({{ drawn }}) => [...drawn.keys()].filter(each => !each.isConnected))"
        assert browser.evaluate(f"{gone}.then(found => found.length)") == 0


def test_however_many_keys_wait_one_clock_runs(browser, desk):
    with served(desk) as server:
        look(browser, server.address)
        clocks = """
        import(new URL('server.js', location)).then(async ({ Outbox }) => {
          const running = new Set();
          const [set, clear, ask] = [window.setTimeout, window.clearTimeout, window.fetch];
          window.setTimeout = (...given) => { const id = set(...given); running.add(id); return id; };
          window.clearTimeout = id => { running.delete(id); clear(id); };
          window.fetch = () => Promise.reject(new Error('gone'));
          const outbox = new Outbox('nobody', { saved() {}, refused() {}, waiting() {} });
          for (let i = 0; i < 5; i++) await outbox.add('answer', { star: 'a' });
          const found = [outbox.records.length, running.size];
          for (const id of running) clear(id);
          for (const name of Object.keys(localStorage)) if (name.includes(':nobody:')) localStorage.removeItem(name);
          Object.assign(window, { setTimeout: set, clearTimeout: clear, fetch: ask });
          return found;
        })
        """
        assert browser.evaluate(clocks) == [5, 1]


def test_a_key_pressed_while_the_desk_is_asked_again_is_not_forgotten(browser, desk):
    answered = "document.querySelectorAll('.queue button[aria-label*=\",\"]').length"
    with served(desk) as server:
        look(browser, server.address)
        browser.evaluate("""
        (() => {
          const ask = window.fetch;
          window.fetch = async (path, ...rest) => {
            const found = await ask(path, ...rest);
            if (path !== 'api/desk') return found;
            await new Promise(resolve => { setTimeout(resolve, 300); });
            window.late = true;
            return found;
          };
        })()
        """)
        browser.evaluate(LOOK_AGAIN)
        time.sleep(0.1)
        browser.press("u")
        browser.wait_until("window.late")
        time.sleep(MOMENT)
        assert browser.evaluate(answered) == 1
