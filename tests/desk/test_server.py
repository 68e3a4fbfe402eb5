"""The server: who is let in, what is refused, and what a page may do."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.desks import Client, command, served

import lcdvt
from lcdvt.desk.server import LARGEST_BODY, Guard, loopback_socket
from lcdvt.desk.session import Desk, class_keys
from lcdvt.errors import SettingsError
from lcdvt.workspace.answers import read_answers

STRANGE = "<script>alert(1)</script>/../../etc/passwd?x=&y"


@pytest.fixture(scope="module")
def data(with_run, tmp_path_factory) -> Path:
    """Two surveys, of which `new` has a star of a strange name, and a run."""
    data = shutil.copytree(with_run, tmp_path_factory.mktemp("server") / "data")
    plain = pd.read_parquet(data / "new" / "objects.parquet")["object_id"].iloc[0]
    parts = (data / "new").glob("*/part-*.parquet")
    for path in [data / "new" / "objects.parquet", data / "runs" / "run" / "predictions.parquet", *parts]:
        table = pd.read_parquet(path)
        table["object_id"] = table["object_id"].replace(plain, STRANGE)
        table.to_parquet(path)
    return data


@pytest.fixture(scope="module")
def server(data):
    with served(Desk.of_run("run", who="ann", n=5, unlabelled=False, data=data)) as server:
        yield server


@pytest.fixture
def client(server) -> Client:
    return Client(server.address)


def test_only_the_loopback_address_is_listened_on(server):
    assert server.socket.getsockname()[0] == "127.0.0.1"
    outside = {entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in outside - {"127.0.0.1"}:
        if address.startswith("127."):
            continue
        with pytest.raises(OSError), socket.create_connection((address, server.port), timeout=2):
            pass


def test_a_request_from_another_machine_is_refused_whatever_brought_it_here(server):
    guard = server.server.config.app
    assert isinstance(guard, Guard)
    scope = {
        "type": "http", "method": "GET", "path": f"/{server.token}/",
        "headers": [(b"host", f"127.0.0.1:{server.port}".encode())],
    }  # fmt: skip
    assert guard.refusal({**scope, "client": ("127.0.0.1", 5)}) is None
    for client in (("10.0.0.7", 5), ("192.168.1.2", 5), ("2001:db8::1", 5), None):
        refused = guard.refusal({**scope, "client": client})
        assert refused is not None
        assert refused[0] == 403
    sent: list[dict] = []

    async def send(message):
        sent.append(message)

    asyncio.run(guard({"type": "websocket", "path": "/"}, None, send))  # type: ignore[arg-type]
    assert sent == []


@pytest.mark.parametrize("root", ["/", "//", "/wrong/", "/../", "/api/desk/", "/%00/"])
def test_without_the_token_everything_is_refused(client, root):
    for path in ("", "api/desk", "desk.js", "api/answer"):
        status, body, _ = client.ask(path, root=root)
        assert status == 403
        assert len(body) < 40
    assert client.ask("api/answer", b"{}", root=root)[0] == 403


def test_half_of_the_token_is_not_enough(client):
    assert client.ask("", root=client.root[:-4] + "/")[0] == 403
    assert client.ask("", root=client.root.upper())[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8737", "127.0.0.1", "localhost", "127.0.0.1:1", ""])
def test_under_another_name_nothing_is_said(client, host):
    assert client.ask("api/desk", Host=host)[0] == 403


def test_its_own_two_names_are_known(client):
    for name in ("127.0.0.1", "localhost"):
        assert client.ask("api/desk", Host=f"{name}:{client.port}")[0] == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:1", "http://127.0.0.1", "http://["]
)
def test_from_another_origin_nothing_is_taken(client, origin):
    body = json.dumps({"key": "k", "star": STRANGE, "label": None}).encode()
    assert client.ask("api/answer", body, Origin=origin)[0] == 403
    assert client.ask("api/desk", Origin=origin)[0] == 403


def test_an_origin_is_the_whole_of_it(client):
    assert client.ask("api/desk", Origin=client.origin)[0] == 200
    assert client.ask("api/desk", Origin=client.origin.replace("http:", "ftp:"))[0] == 403


def test_the_address_without_its_end_leads_to_the_page(client):
    status, _, headers = client.ask("", root=client.root.rstrip("/"))
    assert (status, headers["location"]) == (307, client.root)
    assert client.ask("", root=client.root.rstrip("/"), Origin="http://evil.example")[0] == 403


@pytest.mark.parametrize("what", ["new", "new/epochs"])
def test_a_survey_that_was_taken_away_is_told_in_a_sentence(server, client, data, what):
    star = server.desk.queue[0]["id"]
    (data / what).rename(data / "away")
    server.desk.stars.star.cache_clear()  # now that nobody, reading ahead, can put the star back
    try:
        status, body, _ = client.ask(f"api/star?id={star}")
    finally:
        (data / "away").rename(data / what)
    assert status == 500
    assert json.loads(body)["error"].startswith("the workspace cannot be read (")
    assert client.get("star", id=star)["id"] == star
    assert any(len(curve["t"]) for curve in client.get("star", id=star)["bands"])


def test_another_site_may_open_the_page_but_read_nothing(client):
    assert client.ask("", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200
    assert client.ask("api/desk", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors")[0] == 403
    assert client.ask("api/undo", b"{}", Sec_Fetch_Site="same-site", Sec_Fetch_Mode="navigate")[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "static/../../x.py",
        "desk.js/../../x",
        "//etc/passwd",
        "a%00",
    ],
)
def test_no_path_leads_out_of_the_pages(client, path):
    status, body, _ = client.ask(path)
    assert status in (403, 404)
    assert b"root:" not in body


def test_every_answer_has_the_strict_headers(client):
    for path in ("", "desk.js", "desk.css", "icon.svg", "api/desk", "nothing"):
        _, body, headers = client.ask(path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert b"http://" not in body.replace(b"http://www.w3.org/2000/svg", b"")


def test_a_strange_name_is_shown_and_answered_but_never_a_tag(client):
    star = client.get("star", id=STRANGE)
    assert star["id"] == STRANGE
    assert sum(len(band["t"]) for band in star["bands"]) > 0
    assert client.get("around", id=STRANGE)["id"] == STRANGE
    given = client.post("answer", key=str(uuid.uuid4()), star=STRANGE, label=None, note="<b>")
    assert given["answer"]["note"] == "<b>"
    raw = client.ask("api/rows?text=script")[1]
    assert json.loads(raw)["rows"][0][0] == STRANGE
    assert b"<" not in raw
    assert client.post("undo", key=str(uuid.uuid4()))["undone"] == STRANGE


def test_a_large_body_is_refused_and_the_server_lives(server):
    for size in (LARGEST_BODY + 1, 10 << 20):
        client = Client(server.address)
        with suppress(BrokenPipeError, ConnectionResetError):  # it may hang up before it has heard everything
            assert client.ask("api/answer", b"x" * size)[0] == 413
    # without a length, piece by piece
    client = Client(server.address)
    client.connection.putrequest("POST", client.root + "api/answer")
    client.connection.putheader("Transfer-Encoding", "chunked")
    client.connection.endheaders()
    with suppress(BrokenPipeError, ConnectionResetError):
        for _ in range(40):
            client.connection.send(b"2000\r\n" + b"x" * 0x2000 + b"\r\n")
        client.connection.send(b"0\r\n\r\n")
        assert client.connection.getresponse().status == 413
    assert Client(server.address).get("desk")["survey"] == "new"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"nonsense", b"[" * 60_000, b'{"key": 1, "star": "x"}', b'{"key": "k"}', b"\xff\xfe",
        b'{"key": "k", "star": "no such star", "label": null}', b'{"key": "k", "star": "\\ud800", "label": null}',
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused_in_a_sentence(client, body):
    status, found, _ = client.ask("api/answer", body)
    assert status == 400
    assert json.loads(found)["error"]


@pytest.mark.parametrize(
    "change",
    [
        {"label": "COMET"}, {"period": -1}, {"period": 10**400}, {"confidence": "very"}, {"note": "x" * 3000},
        {"key": ""}, {"note": 5},
    ],
)  # fmt: skip
def test_an_answer_is_checked(server, client, change):
    given = {"key": str(uuid.uuid4()), "star": STRANGE, "label": None} | change
    status, found, _ = client.ask("api/answer", json.dumps(given).encode())
    assert (status, bool(json.loads(found)["error"])) == (400, True)
    assert given["key"] not in server.desk.answers.refresh().answers


@pytest.mark.parametrize(
    "query", ["star", "star?id=none", "rows?start=-1", "rows?count=100000", "rows?sort=x", "rows?start=1e9"]
)
def test_a_wrong_question_is_told_in_a_sentence(client, query):
    status, found, _ = client.ask(f"api/{query}")
    assert status == 400
    assert json.loads(found)["error"]


def test_a_get_changes_nothing(client):
    for path in ("answer", "undo", "ask", "retrain"):
        assert client.ask(f"api/{path}")[0] == 405


def test_an_answer_sent_twice_counts_once_and_undo_sent_twice_too(server, client):
    star = client.get("desk")["queue"][0]["id"]
    key = str(uuid.uuid4())
    for _ in range(2):
        said = client.post("answer", key=key, star=star, label=None, period=0.5)
    saved = read_answers(server.desk.answers.path).answers[key]
    assert (saved.star, saved.label, saved.who, saved.period, saved.run) == (star, None, "ann", 0.5, "run")
    assert set(saved.model["probability"]) == set(server.desk.classes)
    undo = str(uuid.uuid4())
    for _ in range(2):
        assert client.post("undo", key=undo)["undone"] == star
    assert client.get("desk")["answers"] == said["answers"] - 1


def test_the_star_is_shown_as_the_workspace_has_it(data, client):
    star = client.get("desk")["queue"][0]["id"]
    shown, around = client.get("star", id=star), client.get("around", id=star)
    kept = lcdvt.open_survey("new", data).light_curve(star)
    assert sum(len(band["t"]) for band in shown["bands"]) == len(kept)
    assert shown["limits"] == []
    assert shown["period"] == kept.period
    assert sum(shown["opinion"]["probability"].values()) == pytest.approx(1, abs=1e-3)
    assert len(around["members"]) == len(shown["opinion"]["probability"])
    assert {near["survey"] for near in around["neighbours"]} == {"old", "new"}
    assert all(near["id"] != star for near in around["neighbours"])
    assert max(around["scan"]["score"]) == 1
    maps = client.get("maps")
    assert len(maps["components"]) == len(around["members"])
    assert maps["latent"]


def test_a_notebook_on_this_machine_may_frame_it(data):
    with served(Desk("new", who="ann", data=data), notebook=True) as server:
        _, _, headers = Client(server.address).ask("")
    assert "frame-ancestors http://localhost:*" in headers["content-security-policy"]
    desk = lcdvt.open_run("run", data).label(3, who="ann")
    try:
        assert desk.address in desk._repr_html_()
        assert len(Client(desk.address).get("desk")["queue"]) == 3
        assert desk.answers().survey == "new"
    finally:
        desk.stop()
    with pytest.raises(OSError):
        Client(desk.address).ask("")


def test_a_port_in_use_is_told_and_the_usual_one_is_not_insisted_on():
    with loopback_socket(0) as taken, pytest.raises(SettingsError, match="cannot be used"):
        loopback_socket(taken.getsockname()[1])
    with loopback_socket(None) as first, loopback_socket(None) as second:
        assert first.getsockname() != second.getsockname()


def test_each_class_has_a_key_of_its_own():
    keys = class_keys(["OOO", "UZ", "CEP", "CV", "C", *(f"X{number}" for number in range(10))])
    assert len(set(keys.values())) == len(keys)
    assert not set("ouznkb") & set(keys.values())


def test_without_the_extra_the_commands_say_what_to_install():
    code = (
        "import sys; sys.modules['starlette'] = None; import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'starlette' else real(name, *a)\n"
        "from lcdvt.cli.main import main; sys.argv = ['lcdvt', 'browse', 'x']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines() == ["lcdvt: the pages need starlette: pip install 'lcdvt[label]'."]


@pytest.mark.slow
def test_ten_thousand_requests_leave_nothing_behind(data):
    """Right and wrong ones in turn, on one connection and on new ones: no descriptor, no memory is kept."""

    def held(pid: int) -> tuple[int, int]:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return len(list(Path(f"/proc/{pid}/fd").iterdir())), pages * os.sysconf("SC_PAGE_SIZE")

    with command("browse", "new", "--data", data) as (process, address):
        client = Client(address)
        root = client.root
        asked = [("api/retraining", root, 200), ("", "/wrong/", 403), ("desk.css", root, 200), ("no", root, 404)]
        for path, root, _ in asked * 50:
            client.ask(path, root=root)
        before = held(process.pid)
        for number in range(10_000):
            path, root, status = asked[number % len(asked)]
            if number % 500 == 0:
                client.connection.close()
                client = Client(address)
            assert client.ask(path, root=root)[0] == status
        client.connection.close()
        time.sleep(0.2)
        after = held(process.pid)
    assert after[0] <= before[0] + 2
    assert after[1] < before[1] + (20 << 20)


def test_ctrl_c_ends_it_with_a_sentence_and_a_wrong_name_with_another(data, lcdvt):
    with command("browse", "new", "--data", data) as (process, _):
        pass
    assert process.returncode == 0
    answer = lcdvt("label", "nothing", "--data", data, "--no-browser")
    assert answer.returncode == 2
    assert "no run 'nothing'" in answer.stderr
    answer = lcdvt("browse", "old", "--run", "run", "--data", data, "--no-browser")
    assert answer.returncode == 2
    assert "classifies new, not old" in answer.stderr


def test_answers_are_saved_while_the_next_stars_are_chosen(data):
    """A new run is opened beside the work, not in its way."""
    desk = Desk.of_run("run", who="ann", n=3, unlabelled=False, data=data)
    chosen, answered = desk._suggested, []

    def choose(folder: Path) -> list[dict]:
        other = threading.Thread(target=lambda: answered.append(desk.about()), daemon=True)
        other.start()
        other.join(30)
        assert answered, "who asked in the meantime was kept waiting"
        return chosen(folder)

    desk._suggested = choose
    desk._take_over("run")
    desk.ask()
    assert len(desk.queue) == 3
    assert len(answered) == 2


@pytest.mark.filterwarnings("error")
def test_a_feature_that_no_star_of_the_class_has_is_not_called_unusual(data):
    desk = Desk.of_run("run", who="ann", n=3, unlabelled=False, data=data)
    ids, _, scaled = desk.view._sample
    scaled = scaled.copy()
    scaled[:, 0] = np.nan
    desk.view.__dict__["_sample"] = (ids, np.full(len(ids), "EB", dtype=object), scaled)
    star = np.full(scaled.shape[1], 50.0)
    found = desk.view._unusual(star, "EB")
    assert len(found) == 6
    assert desk.view.saved.scaler.features[0] not in {each["feature"] for each in found}


def test_where_most_stars_of_a_class_are_the_same_another_is_not_a_million_sigmas_off(data):
    desk = Desk.of_run("run", who="ann", n=3, unlabelled=False, data=data)
    ids, _, scaled = desk.view._sample
    scaled = np.random.default_rng(0).normal(size=(40, scaled.shape[1]))
    scaled[:20, 0], scaled[:20, 1] = 1.0, 1.0
    scaled[:2, 0] = 2.0  # of the second feature not even these differ
    desk.view.__dict__["_sample"] = (ids[:40], np.repeat(np.array(["EB", "QSO"], dtype=object), 20), scaled)
    star = np.array([3.0, 3.0, *np.median(scaled[:20, 2:], axis=0)])
    first, second = sorted(desk.view._unusual(star, "EB"), key=lambda each: -each["sigmas"])
    assert first == {
        "feature": desk.view.saved.scaler.features[0],
        "sigmas": round(2.0 / float(np.std(scaled[:20, 0])), 1),
    }
    assert second["sigmas"] == round(2.0 / float(np.std(scaled[:, 1])), 1)
