"""Answers of people as labels of a run: in every draw, never scored, and the table says so."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import lcdvt
from lcdvt.errors import LcdvtError, SettingsError
from lcdvt.protocol.retrain import next_name, retrain
from lcdvt.workspace.answers import Answer, AnswerFile, answers_path

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


def test_a_run_is_made_again_with_the_workspaces_answers(data, again):
    steps: list[str] = []
    made = retrain("run", data=data, progress=lambda done, total, note="": steps.append(note))
    assert made.name == "run-round-1"
    assert made.settings()["previous"] == "run"
    assert made.settings()["preset"] == "tied"
    assert made.config() == again.config()
    # the same labels, seeds and model as the first draw of the command that was typed out
    pd.testing.assert_frame_equal(made.predictions(), again.predictions())
    assert any("step 20 of 20" in note for note in steps)
    assert next_name("run", data) == next_name("run-round-1", data) == "run-round-2"


def test_nothing_that_was_looked_at_is_suggested_again(data, again):
    for run in ("run", "again"):
        result = lcdvt.suggest(run, 20, data=data)
        assert set(result.stars["object_id"]).isdisjoint(answered(data).index)
        assert result.answered == result.to_record()["answered"] == 10


def test_answers_alone_teach_where_the_catalogue_keeps_its_labels_back(data, tmp_path):
    copy = shutil.copytree(data, tmp_path / "data")
    run = lcdvt.open_run("run", copy)
    truth = run.predictions().set_index("object_id")["label"]
    file = AnswerFile(answers_path("new", copy), "new")
    for number, (star, label) in enumerate(truth.groupby(truth).head(2).items()):
        file.add(Answer(f"more{number}", str(star), label, who="ann"))
    file_path = answers_path("new", copy)
    options = QUICK | {"steps": 2}
    only = lcdvt.transfer("old", "new", "none", labels_from=file_path, data=copy, name="only", **options)
    drawn = only.predictions().query("in_draw")
    assert set(drawn["object_id"]) == set(file.log.labels()) - {k for k, v in file.log.labels().items() if v == "OTHER"}
    assert only.settings()["labels"] == "none"
    # a survey without any label of its own
    objects = pd.read_parquet(copy / "new" / "objects.parquet").assign(label=None, survey_label=None)
    objects.to_parquet(copy / "new" / "objects.parquet")
    bare = lcdvt.transfer("old", "new", "1%", labels_from=file_path, data=copy, name="bare", **options)
    assert bare.table() is None
    assert set(bare.predictions().query("in_draw")["object_id"]) == set(drawn["object_id"])


def test_mistakes_are_told_in_a_sentence(data, tmp_path):
    empty = tmp_path / "empty.jsonl"
    AnswerFile(empty, "new").add(Answer("k", "star", None, who="ann"))
    for arguments, said in [
        ({"labels": "none"}, "labels_from=FILE"),
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


def test_the_command_makes_it_again_and_the_process_of_its_own_tells_what_is_wrong(data, lcdvt_here):
    done = lcdvt_here("label", "run", "--retrain", "--name", "by-command", "--data", data)
    assert done.returncode == 0
    assert "answers of people" in done.stdout
    assert "lcdvt label by-command" in done.stdout
    command = [sys.executable, "-m", "lcdvt.protocol.retrain", "nothing", "--data", str(data)]
    wrong = subprocess.run(command, capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "no run 'nothing'" in json.loads(wrong.stdout)["error"]
