"""`train`: one survey, scored on labels it did not see, leaving a run that classifies."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lcdvt
from lcdvt.errors import LcdvtError
from lcdvt.protocol import carry_out
from lcdvt.results.draw_record import read_draws

pytestmark = pytest.mark.usefixtures("few_trees")

QUICK = {"members": 2, "repeats": 2, "steps": 40, "jobs": 1}


@pytest.fixture(scope="module")
def data(two_surveys, tmp_path_factory) -> Path:
    return shutil.copytree(two_surveys, tmp_path_factory.mktemp("train") / "data")


@pytest.fixture(scope="module")
def folds(data) -> "lcdvt.Run":
    return lcdvt.train("new", data=data, name="folds", **QUICK)


@pytest.fixture(scope="module")
def few(data) -> "lcdvt.Run":
    return lcdvt.train("new", "20%", mode="supervised", data=data, name="few", **QUICK)


def test_with_all_labels_each_is_held_out_once_and_the_kept_run_has_learned_from_all(folds, data):
    labelled = int(lcdvt.open_survey("new", data).objects()["label"].notna().sum())
    final, *held_out = read_draws(folds.folder)
    assert not final.is_scored and sum(final.labels_per_class.values()) == labelled
    assert len(held_out) == 2
    for draw in held_out:
        scored = int(draw.rows["dvt-ensemble"].confusion.sum())
        assert scored + sum(draw.labels_per_class.values()) == labelled
    assert sum(int(draw.rows["dvt-ensemble"].confusion.sum()) for draw in held_out) == labelled
    assert folds.predictions()["in_draw"].sum() == labelled


def test_with_a_share_it_is_scored_outside_the_draw(few, data):
    labelled = int(lcdvt.open_survey("new", data).objects()["label"].notna().sum())
    for draw in few.draws():
        used = sum(draw.labels_per_class.values())
        assert used == round(0.2 * labelled)
        assert int(draw.rows["forest-target"].confusion.sum()) == labelled - used


def test_the_table_names_one_survey_and_how_it_was_scored(folds, few):
    table = folds.table()
    assert table.title == "new (simulated)"
    assert any("whose label was held out; mean ± standard deviation over 2 folds" in note for note in table.notes)
    assert {(row.training, row.model) for row in table.rows} == {
        ("Supervised", "Random forest"),
        ("Semi-supervised top cycle consistency", "DVT"),
        ("Semi-supervised ensemble", "DVT"),
    }
    assert any("whose label was not drawn; mean" in note for note in few.table().notes)
    assert "Supervised ensemble" in {row.training for row in few.table().rows}
    ensemble = next(row for row in folds.table().scores if row.name == "dvt-ensemble")
    assert np.mean(ensemble.column()) > 0.5


def test_held_out_labels_are_not_used(data, monkeypatch):
    """Permute the labels that each task holds out: its probabilities stay the same."""
    from dataclasses import replace

    honest, compared = carry_out.run_draw, []

    def run_twice(task, *_):
        outcome = honest(task)
        y = task.dataset.y.copy()
        outside = np.flatnonzero((task.drawn < 0) & (y >= 0))
        y[outside] = np.random.default_rng(1).permutation(y[outside])
        permuted = honest(replace(task, dataset=replace(task.dataset, y=y)))
        compared.append((len(outside), np.array_equal(outcome.probability, permuted.probability)))
        return outcome

    monkeypatch.setattr(carry_out, "run_draw", run_twice)
    lcdvt.train("new", data=data, name="permuted", **{**QUICK, "steps": 5, "members": 1})
    assert [count > 0 for count, _ in compared] == [False, True, True]
    assert all(same for _, same in compared)


@pytest.mark.parametrize("what", ["new", "old"])
def test_the_run_classifies(folds, data, tmp_path, what):
    table = folds.predict(what, tmp_path / "stars.parquet")
    pd.testing.assert_frame_equal(table, pd.read_parquet(tmp_path / "stars.parquet"))
    pd.testing.assert_frame_equal(folds.predict(what), table)
    assert len(table) == len(lcdvt.open_survey(what, data).objects())
    if what == "new":
        both = table.merge(folds.predictions(), on="object_id")
        known = both["predicted_x"].notna()
        assert (both["predicted_x"] == both["predicted_y"])[known].all()


def test_the_command_prints_the_table_and_writes_json(data, lcdvt_here, tmp_path):
    options = "--labels 3/class --members 1 --repeats 1 --steps 5 --rows svm-target,label-spreading --jobs 1".split()
    answer = lcdvt_here("train", "--survey", "old", *options, "--data", data, "--json", tmp_path / "t.json")
    assert answer.returncode == 0, answer.stderr
    assert "Label spreading" in answer.stdout and "one label draw" in answer.stdout
    record = json.loads((tmp_path / "t.json").read_text())
    assert record["run"] == "old"
    assert {row["name"] for row in record["rows"]} == {"svm-target", "label-spreading", "dvt-ensemble"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--survey nowhere", "not ingested in"),
        ("--survey new --mode multi-task", "supervised or semi-supervised; `lcdvt transfer`"),
        ("--survey new --labels 0", "--labels 0"),
        ("--survey new --labels 200%", "--labels 200%"),
        ("--survey new --rows forest-source", "there is no such row; choose from forest-target, svm-target"),
        ("--survey new --repeats 1", "at least two folds are needed"),
        ("--survey new --labels 10% --repeats 0", "at least one of each is needed"),
        ("--survey new --name ../new", "it names a folder"),
        ("--survey new --name few", "exists: use --force"),
    ],
)
def test_what_cannot_be_trained_is_one_sentence(few, data, lcdvt_here, options, said):
    answer = lcdvt_here("train", *options.split(), "--data", data)
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert said in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1


def test_a_survey_without_labels_is_refused(data, tmp_path):
    lcdvt.simulate("hits", tmp_path / "blind", objects=5, seed=5)
    lcdvt.ingest(tmp_path / "blind", name="dark", catalog="none", data=data, jobs=1)
    with pytest.raises(LcdvtError, match="dark has no labels"):
        lcdvt.train("dark", data=data)
