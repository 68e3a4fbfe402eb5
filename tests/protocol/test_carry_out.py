"""Runs that are interrupted go on, end with the same numbers, and never hurt what was there before."""

import json
import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.warm_commands import WarmCommand

import lcdvt
from lcdvt.errors import LcdvtError
from lcdvt.protocol import carry_out
from lcdvt.results.draw_record import DrawRecord, draw_paths, read_draws
from lcdvt.results.folder import growing_folder, held, list_runs, run_folder, unfinished_runs
from lcdvt.results.saved import load_run

pytestmark = pytest.mark.usefixtures("few_trees")

QUICK = {
    "preset": "tied",
    "labels": "10%",
    "members": 2,
    "repeats": 3,
    "steps": 30,
    "jobs": 1,
    "rows": ["forest-target", "dvt-top-cycle"],
}
SAME_BYTES = ["weights.safetensors", "scaler.json", "metrics.json", "config.toml", "predictions.parquet"]


@pytest.fixture(scope="module")
def data(two_surveys, tmp_path_factory) -> Path:
    return shutil.copytree(two_surveys, tmp_path_factory.mktemp("protocol") / "data")


@pytest.fixture(scope="module")
def whole(data) -> "lcdvt.Run":
    return lcdvt.transfer("old", "new", data=data, name="whole", **QUICK)


def interrupt_after(draws: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let Ctrl-C come after so many draws; returns the seeds that were begun."""
    begun: list[int] = []
    honest = carry_out.run_draw

    def run(task, *others):
        if len(begun) == draws:
            raise KeyboardInterrupt
        begun.append(task.seed)
        return honest(task, *others)

    monkeypatch.setattr(carry_out, "run_draw", run)
    return begun


def assert_same_run(folder: Path, other: Path) -> None:
    for name in SAME_BYTES:
        assert (folder / name).read_bytes() == (other / name).read_bytes(), name
    assert [path.read_bytes() for path in draw_paths(folder)] == [path.read_bytes() for path in draw_paths(other)]


def test_an_interrupted_run_goes_on_and_ends_with_the_same_bytes(whole, data, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        interrupt_after(2, patched)
        lcdvt.transfer("old", "new", data=data, name="stopped", **QUICK)
    assert "stopped" not in list_runs(data)
    assert unfinished_runs(data)["stopped"] == 2
    begun = interrupt_after(99, monkeypatch)
    result = lcdvt.transfer("old", "new", data=data, name="stopped", **QUICK)
    assert begun == [2], "only the missing draw is made"
    assert "stopped" not in unfinished_runs(data)
    assert_same_run(result.folder, whole.folder)
    assert result.table().scores == whole.table().scores


def test_the_progress_of_a_resumed_run_counts_what_was_done(data, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        interrupt_after(1, patched)
        lcdvt.transfer("old", "new", data=data, name="counted", **QUICK)
    seen = []
    lcdvt.transfer(
        "old",
        "new",
        data=data,
        name="counted",
        progress=lambda done, total, note="": note or seen.append((done, total)),  # a note tells of a step of a draw
        **QUICK,
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_an_unfinished_run_of_other_settings_is_refused_or_replaced(data, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        interrupt_after(1, patched)
        lcdvt.transfer("old", "new", data=data, name="other", **QUICK)
    changed = {**QUICK, "steps": 31, "repeats": 1}
    with pytest.raises(LcdvtError, match="unfinished run with other settings"):
        lcdvt.transfer("old", "new", data=data, name="other", **changed)
    assert unfinished_runs(data)["other"] == 1, "the refusal keeps what was finished"
    result = lcdvt.transfer("old", "new", data=data, name="other", force=True, **changed)
    assert load_run(result.folder).config.training.steps == 31


def test_the_same_run_twice_at_once_is_refused(data):
    with held(run_folder("busy", data)), pytest.raises(LcdvtError, match="another process is at work on the run"):
        lcdvt.transfer("old", "new", data=data, name="busy", **QUICK)
    assert not list(run_folder("busy", data).parent.glob("*busy*")), "nothing is left behind"


def test_a_forced_run_replaces_the_old_one_only_when_it_is_whole(whole, data, monkeypatch):
    shutil.copytree(whole.folder, whole.folder.with_name("kept"))
    changed = {**QUICK, "seed": 50}
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        interrupt_after(1, patched)
        lcdvt.transfer("old", "new", data=data, name="kept", force=True, **changed)
    assert_same_run(whole.folder.with_name("kept"), whole.folder)
    begun = interrupt_after(99, monkeypatch)
    result = lcdvt.transfer("old", "new", data=data, name="kept", force=True, **changed)
    assert begun == [51, 52], "the same command with --force goes on, too"
    assert result.table().circumstances.seeds == (50, 51, 52)
    assert not growing_folder(result.folder).exists()
    assert [path.name for path in result.folder.parent.glob(".kept*")] == []


def test_a_finished_run_of_the_same_call_is_taken_as_it_is_when_asked(whole, data, monkeypatch):
    begun = interrupt_after(99, monkeypatch)
    again = lcdvt.transfer("old", "new", data=data, name="whole", reuse=True, **QUICK)
    assert begun == []
    assert again.table().scores == whole.table().scores
    with pytest.raises(LcdvtError, match="exists: use force=True"):
        lcdvt.transfer("old", "new", data=data, name="whole", reuse=True, **{**QUICK, "seed": 9})


def test_each_draw_keeps_confusion_and_reliability_of_every_row(whole):
    draws = read_draws(whole.folder)
    assert [draw.seed for draw in draws] == [0, 1, 2]
    for draw in draws:
        assert set(draw.rows) == {"forest-target", "dvt-top-cycle", "dvt-ensemble"}
        for outcome in draw.rows.values():
            scored = outcome.confusion.sum()
            assert scored == outcome.reliability.count.sum()
            really, given = outcome.confusion.sum(axis=1), outcome.confusion.sum(axis=0)
            f1 = 2 * np.diagonal(outcome.confusion) / (really + given)
            assert np.allclose(f1, [outcome.score.f1[name] for name in draw.classes])
            assert outcome.reliability.expected_calibration_error == outcome.score.calibration_error
    table = pd.read_parquet(whole.folder / "predictions.parquet")
    first = draws[0].rows["dvt-ensemble"].confusion
    scored = table[table["label"].notna() & ~table["in_draw"]]
    assert (scored["label"] == scored["predicted"]).sum() == np.diagonal(first).sum()
    assert first.sum() == len(scored)


def test_a_damaged_draw_is_one_sentence(whole, tmp_path):
    path = tmp_path / "draw-000.json"
    good = draw_paths(whole.folder)[0].read_text()
    for text, said in ((good[:200], "is damaged"), ("[]", "is damaged"), ('{"version": 9}', "update lcdvt")):
        path.write_text(text)
        with pytest.raises(LcdvtError, match=said):
            DrawRecord.read(path)


def test_ensemble_is_the_protocol_of_ten_draws_and_ten_models(data, monkeypatch):
    plans = []
    monkeypatch.setattr("lcdvt.protocol.transfer.carry_out", lambda plan, place, *_: plans.append((plan, place.folder)))
    lcdvt.ensemble("old", "new", data=data, jobs=1)
    ((plan, folder),) = plans
    assert folder.name == "old-new-ensemble"
    assert len(plan.tasks) == 10
    assert all(len(task.member_seeds) == 10 for task in plan.tasks)
    assert len({seed for task in plan.tasks for seed in task.member_seeds}) == 100
    assert {"dvt-top-cycle", "dvt-ensemble", "boosting-both", "gmm-transfer"} <= set(plan.tasks[0].rows)


def start(data: Path, name: str, jobs: int, *more: str) -> WarmCommand:
    options = "--labels 10% --members 2 --repeats 3 --steps 60 --rows forest-target".split()
    command = ["ensemble", "--source", "old", "--target", "new", *options, "--data", data, "--name", name]
    # one thread, as in the workers; its session is its own, so that Ctrl-C reaches them as it does from a keyboard
    return WarmCommand([*command, "--jobs", jobs, *more], os.environ | {"OMP_NUM_THREADS": "1"})


def end_after(draws: int, process: WarmCommand, folder: Path, blow: signal.Signals) -> str:
    """Send the signal once so many draws are finished; returns what the command said."""
    while process.poll() is None and len(draw_paths(folder)) < draws:
        time.sleep(0.02)
    os.killpg(process.pid, blow)
    return process.communicate(timeout=120)[1]


@pytest.mark.slow
def test_a_command_that_was_killed_and_interrupted_ends_like_one_that_was_not(data, tmp_path):
    calm = start(data, "calm", 1)
    growing = growing_folder(data / "runs" / "hit")
    killed = start(data, "hit", 1)
    end_after(1, killed, growing, signal.SIGKILL)
    assert killed.returncode == -signal.SIGKILL
    interrupted = start(data, "hit", 2)
    said = end_after(2, interrupted, growing, signal.SIGINT)
    assert interrupted.returncode == 130
    assert "Traceback" not in said
    assert said.strip().splitlines()[-1].startswith("lcdvt: interrupted; what was finished is kept")
    assert "hit" not in list_runs(data) and unfinished_runs(data)["hit"] >= 2
    finished = start(data, "hit", 1, "--json", str(tmp_path / "table.json"))
    for process in (finished, calm):
        said = process.communicate(timeout=300)
        assert process.returncode == 0, said
    assert_same_run(data / "runs" / "hit", data / "runs" / "calm")
    table = json.loads((data / "runs" / "calm" / "metrics.json").read_text())["table"]
    assert json.loads((tmp_path / "table.json").read_text())["rows"] == table["rows"]
