"""Answers of people as labels of a run: in every draw, never scored, and the table says so."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import lcdvt
from lcdvt.dataset.dataset import UNLABELLED
from lcdvt.errors import LcdvtError, SettingsError
from lcdvt.protocol.carry_out import RunPlace
from lcdvt.protocol.plan import TransferOptions
from lcdvt.protocol.retrain import next_name, retrain
from lcdvt.protocol.transfer import plan_transfer
from lcdvt.workspace.answers import Answer, AnswerFile, answers_path

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_trees")]

QUICK = {"members": 2, "repeats": 1, "steps": 20, "preset": "tied", "rows": [], "jobs": 1}


@pytest.fixture(scope="module")
def data(two_surveys, tmp_path_factory) -> Path:
    """Two surveys, a transfer `run`, and answers about ten stars outside its draw: eight classes, other, unsure."""
    data = shutil.copytree(two_surveys, tmp_path_factory.mktemp("retrain") / "data")
    run = lcdvt.transfer("old", "new", "20%", data=data, name="run", **QUICK)
    outside = run.predictions().query("not in_draw")
    stars, truth = outside["object_id"].tolist(), outside["label"].tolist()
    file = AnswerFile(answers_path("new", data), "new")
    for number in range(8):
        wrong = next(name for name in run.classes if name != truth[number])
        file.add(Answer(f"k{number}", stars[number], wrong if number == 0 else truth[number], who="ann"))
    file.add(Answer("k8", stars[8], "OTHER", who="ann"))
    file.add(Answer("k9", stars[9], None, who="ann"))
    return data


@pytest.fixture(scope="module")
def again(data):
    return lcdvt.transfer(
        "old", "new", "20%", labels_from=answers_path("new", data), data=data, name="again", **QUICK
    )  # fmt: skip


def answered(data: Path) -> pd.Series:
    lines = [json.loads(line) for line in answers_path("new", data).read_text().splitlines()[1:]]
    return pd.Series({line["answer"]["star"]: line["answer"]["label"] for line in lines})


def test_answers_are_labels_of_the_draw_beside_those_that_were_drawn_before(data, again):
    before = lcdvt.open_run("run", data).predictions().set_index("object_id")
    after = again.predictions().set_index("object_id")
    given = answered(data)
    named = given[given.isin(again.classes)]
    assert len(named) == 8
    assert set(after.index[after["in_draw"]]) == set(before.index[before["in_draw"]]) | set(named.index)
    # people's word counts, not the catalogue's
    assert after.loc[named.index, "label"].tolist() == named.tolist()
    assert after.loc[named.index[0], "label"] != before.loc[named.index[0], "label"]


def test_no_answered_star_is_scored_and_the_table_says_so(data, again):
    before, after = lcdvt.open_run("run", data), again
    counted = [int(run.draws()[0].rows["dvt-ensemble"].confusion.sum()) for run in (before, after)]
    # eight are learned from, the star of another kind has no class to be scored by; the unsure one stays
    assert counted[0] - counted[1] == 9
    notes = " ".join(after.table().notes)
    assert "8 answers of people" in notes
    assert "no such star is scored" in notes
    assert "answers of people" not in " ".join(before.table().notes)
    assert sum(after.table().circumstances.answers.values()) == 8
    assert after.settings()["labels_from"]["stars"] == 9


def test_a_run_is_made_again_with_the_workspaces_answers(data, again, lcdvt_here):
    done = lcdvt_here("label", "run", "--retrain", "--data", data)
    assert done.returncode == 0
    assert "answers of people" in done.stdout
    assert "lcdvt label run-round-1" in done.stdout
    made = lcdvt.open_run("run-round-1", data)
    assert made.settings()["previous"] == "run"
    assert made.settings()["preset"] == "tied"
    assert made.config() == again.config()
    # the same labels, seeds and model as the command that was typed out
    pd.testing.assert_frame_equal(made.predictions(), again.predictions())
    assert next_name("run", data) == next_name("run-round-1", data) == "run-round-2"


def test_nothing_that_was_looked_at_is_suggested_again(data, again):
    for run in ("run", "again"):
        result = lcdvt.suggest(run, 20, data=data)
        assert set(result.stars["object_id"]).isdisjoint(answered(data).index)
        assert result.answered == result.to_record()["answered"] == 10


def test_answers_alone_teach_where_the_catalogue_keeps_its_labels_back(data, tmp_path):
    copy = shutil.copytree(data, tmp_path / "data")
    truth = lcdvt.open_run("run", copy).predictions().set_index("object_id")["label"]
    file = AnswerFile(answers_path("new", copy), "new")
    for number, (star, label) in enumerate(truth.groupby(truth).head(2).items()):
        file.add(Answer(f"more{number}", str(star), label, who="ann"))
    given = {star: label for star, label in file.log.labels().items() if label != "OTHER"}
    options = TransferOptions(members=2, repeats=1, rows=(), labels_from=file.path)

    def planned(labels: str) -> tuple[dict[str, str], int]:
        plan = plan_transfer(["old"], "new", labels, options, RunPlace("planned", copy))
        task = plan.tasks[0]
        rows = task.dataset.rows_of(1) & (task.drawn != UNLABELLED)
        assert plan.settings["labels"] == "0"
        assert set(task.target_ids[task.target_answered]) == set(file.log.labels()), "whom nobody doubts"
        names = [task.dataset.classes[number] for number in task.drawn[rows]]
        return dict(zip(task.dataset.object_ids[rows], names, strict=True)), int(task.scored.sum())

    assert planned("0") == (given, len(truth) - len(file.log.labels()))
    # a survey without any label of its own
    objects = pd.read_parquet(copy / "new" / "objects.parquet").assign(label=None, survey_label=None)
    objects.to_parquet(copy / "new" / "objects.parquet")
    assert planned("1%") == (given, 0)
    # a run that began without any label keeps all its classes, though people have named one of them only
    file.path.unlink()
    file = AnswerFile(file.path, "new")
    star, label = next(iter(given.items()))
    file.add(Answer("first", star, label, who="ann"))
    options = replace(options, classes=tuple(sorted(set(given.values()))))
    assert planned("0") == ({star: label}, 0)


def test_mistakes_are_told_in_a_sentence(data, tmp_path):
    empty = tmp_path / "empty.jsonl"
    AnswerFile(empty, "new").add(Answer("k", "star", None, who="ann"))
    for arguments, said in [
        ({"labels": "10%", "labels_from": tmp_path / "none.jsonl"}, "does not exist"),
        ({"labels": "10%", "labels_from": empty}, "nobody has named"),
    ]:
        with pytest.raises(LcdvtError, match=said):
            lcdvt.transfer("old", "new", data=data, name="wrong", **arguments)
    shutil.copytree(data / "runs" / "run", data / "runs" / "alone")
    metrics = data / "runs" / "alone" / "metrics.json"
    metrics.write_text(metrics.read_text().replace('"verb": "transfer"', '"verb": "train"'))
    with pytest.raises(SettingsError, match="no transfer"):
        retrain("alone", data=data)


@pytest.mark.parametrize("option", ["--labels-from", "--name"])
def test_what_is_about_the_new_run_is_refused_without_one(tmp_path, lcdvt_here, option):
    # There is no such run, so that a failure here opens no page that nobody would close.
    refused = lcdvt_here("label", "none", option, tmp_path / "other.jsonl", "--no-browser", "--data", tmp_path)
    assert refused.returncode == 2
    assert f"{option} is about the run that is made again: add --retrain" in " ".join(refused.stderr.split())


def test_the_process_of_its_own_tells_what_is_wrong(data):
    command = [sys.executable, "-m", "lcdvt.protocol.retrain", "nothing", "--data", str(data)]
    wrong = subprocess.run(command, capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "no run 'nothing'" in json.loads(wrong.stdout)["error"]
