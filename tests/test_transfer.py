"""Raw files to a classified survey, as a user does it: simulate, ingest, transfer, predict, runs."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lcdvt
from lcdvt.alignment import DEPENDS_ON_ZERO_POINT, align_features
from lcdvt.errors import LcdvtError
from lcdvt.store import load_run

QUICK = {"members": 2, "repeats": 2, "steps": 40, "labels": "10%", "rows": ["gmm-transfer", "forest-target"]}


@pytest.fixture(scope="module")
def data(two_surveys, tmp_path_factory) -> Path:
    """A copy of the two surveys for the runs of this file."""
    return shutil.copytree(two_surveys, tmp_path_factory.mktemp("transfer") / "data")


@pytest.fixture(scope="module")
def result(data) -> "lcdvt.RunResult":
    return lcdvt.transfer("old", "new", data=data, name="first", **QUICK)


def test_every_row_of_the_table_is_filled_and_marked_simulated(result):
    table = result.table()
    assert "simulated" in table.title
    assert {row.name for row in result.scores} == {"gmm-transfer", "forest-target", "dvt-ensemble"}
    for row in result.scores:
        assert len(row.draws) == 2
        assert all(0 <= draw.macro_f1 <= 1 for draw in row.draws)
    assert result._repr_html_().count("<tr") >= 3


def test_dvt_learns_something(result):
    ensemble = next(row for row in result.scores if row.name == "dvt-ensemble")
    assert np.mean(ensemble.column()) > 0.6


def test_predictions_are_probabilities_for_every_target_object(result, data):
    table = pd.read_parquet(result.folder / "predictions.parquet")
    assert sorted(table["object_id"]) == sorted(lcdvt.open_survey("new", data).objects()["object_id"])
    probabilities = table.filter(like="p_")
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert table["in_draw"].sum() == sum(result.circumstances.labels_per_class[0].values())


def test_the_same_seed_gives_the_same_result(result, data):
    again = lcdvt.transfer("old", "new", data=data, name="again", **QUICK)
    pd.testing.assert_frame_equal(again.predictions, result.predictions)
    assert again.scores == result.scores


def test_labels_outside_the_draw_are_never_used(result, data, monkeypatch):
    """Permute every target label that is not in the draw: the probabilities stay the same, bit for bit."""
    from lcdvt import protocol

    honest = protocol.run_draw
    probabilities = []

    def run_with_permuted_labels(task):
        outside = np.flatnonzero(task.dataset.rows_of(1) & (task.drawn < 0) & (task.dataset.y >= 0))
        y = task.dataset.y.copy()
        y[outside] = np.random.default_rng(0).permutation(y[outside])
        assert (y != task.dataset.y).any()
        outcome = honest(replace(task, dataset=replace(task.dataset, y=y)))
        probabilities.append(outcome.probability)
        return outcome

    monkeypatch.setattr(protocol, "run_draw", run_with_permuted_labels)
    lcdvt.transfer("old", "new", data=data, name="permuted", **{**QUICK, "repeats": 1})
    expected = result.predictions.filter(like="p_").to_numpy()
    assert np.array_equal(probabilities[0], expected)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "fits", "vot"])
def test_a_saved_run_classifies_an_ingested_survey(result, data, tmp_path, suffix):
    answer = lcdvt.predict("first", "new", tmp_path / f"stars.{suffix}", data=data)
    assert answer.objects == len(lcdvt.open_survey("new", data).objects())
    assert sum(answer.classes.values()) + answer.without_features == answer.objects
    if suffix == "parquet":
        table = pd.read_parquet(answer.path).set_index("object_id")
        trained = result.predictions.set_index("object_id")
        known = table["predicted"].notna()
        columns = [column for column in table if column.startswith("p_")]
        difference = (table[columns] - trained[columns])[known].abs().to_numpy()
        assert difference.max() < 1e-5, "the saved run says the same as the training did"


def test_raw_files_are_classified_and_short_ones_have_a_reason(result, data, tmp_path):
    lcdvt.simulate("hits", tmp_path / "fresh", objects=20, seed=9)
    victim = sorted((tmp_path / "fresh").rglob("*.dat"))[0]
    lines = victim.read_text().splitlines(keepends=True)
    victim.write_text("".join(lines[:14]))
    toml = lcdvt.find_survey("hits").toml.replace('clean = "hits"', 'clean = "none"')
    (tmp_path / "any.toml").write_text(toml.replace('name = "hits"', 'name = "raw"'))
    answer = lcdvt.predict(
        "first", tmp_path / "fresh", tmp_path / "s.csv", survey=str(tmp_path / "any.toml"), data=data, jobs=1
    )
    table = pd.read_csv(answer.path)
    assert len(table) == answer.objects == 20
    assert table["predicted"].notna().sum() + answer.without_features == 20


def test_the_saved_run_loads(result):
    assert load_run(result.folder).description.surveys == ("old", "new")


def test_the_command_prints_the_table_and_writes_json(data, lcdvt_here, tmp_path):
    options = "--source old --target new --labels 10% --members 1 --repeats 1 --steps 10 --rows forest-target --jobs 1"
    answer = lcdvt_here("transfer", *options.split(), "--data", data, "--name", "cli", "--json", tmp_path / "t.json")
    assert answer.returncode == 0, answer.stderr
    assert "Random forest" in answer.stdout
    assert "macro F1" in answer.stdout
    record = json.loads((tmp_path / "t.json").read_text())
    assert [row["name"] for row in record["rows"]] == ["forest-target", "dvt-ensemble"]
    assert (record["run"], record["simulated"]) == ("cli", True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--source", "old", "--target", "nowhere"], "not ingested"),
        (["--source", "old", "--target", "old"], "both source and target"),
        (["--source", "old", "--target", "new", "--labels", "0%"], "--labels 0%"),
        (["--source", "old", "--target", "new", "--labels", "200%"], "--labels 200%"),
        (["--source", "old", "--target", "new", "--rows", "magic"], "is not a row"),
        (["--source", "old", "--target", "new", "--preset", "magic"], "no preset named"),
        (["--source", "old", "--target", "new", "--name", "first"], "exists: use --force"),
        (["--source", "old", "--target", "new", "--mode", "supervised"], "multi-task or transfer"),
        (["--source", "old", "--target", "new", "--members", "0"], "at least one of each"),
    ],
)
def test_what_cannot_be_transferred_is_one_sentence(result, data, lcdvt_here, arguments, said):
    answer = lcdvt_here("transfer", *arguments, "--data", data)
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert said in answer.stderr
    assert "Traceback" not in answer.stderr


def test_the_command_predict_writes_its_counts_as_json(result, data, lcdvt_here, tmp_path):
    arguments = ("predict", "first", "new", "--out", tmp_path / "s.csv", "--data", data, "--json", tmp_path / "s.json")
    answer = lcdvt_here(*arguments)
    assert answer.returncode == 0, answer.stderr
    counts = json.loads((tmp_path / "s.json").read_text())
    assert (counts["run"], counts["survey"], counts["objects"]) == ("first", "new", 160)
    assert sum(counts["classes"].values()) + counts["without_features"] == 160
    again = lcdvt_here(*arguments)
    assert again.returncode == 2 and "exists: use --force" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing", "new", "--out", "x.csv"], "there is no run 'nothing'"),
        (["first", "nowhere", "--out", "x.csv"], "not ingested"),
        (["first", "new", "--out", "x.txt"], "ending in"),
        (["first", "new", "--out", "x.csv", "--like", "mars"], "the run first knows old, new"),
    ],
)
def test_what_cannot_be_predicted_is_one_sentence(result, data, lcdvt_here, arguments, said):
    answer = lcdvt_here("predict", *arguments, "--data", data)
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert said in answer.stderr


def test_with_every_label_in_use_there_is_a_run_but_no_score(data):
    outcome = lcdvt.transfer(
        "old", "new", "all", data=data, name="all", members=1, repeats=1, steps=5, rows=["forest-target"]
    )
    assert outcome.table() is None
    assert len(outcome.predictions) > 0


def test_bands_are_matched_by_their_place_and_zero_points_left_out():
    features = pd.DataFrame(
        {
            "object_id": ["a"],
            "Std_B": [1.0],
            "Std_R": [2.0],
            "Mean_B": [3.0],
            "Color": [4.0],
            "StetsonJ": [5.0],
            "Period": [6.0],
        }
    )
    two = align_features(features, ("B", "R"), 2)
    assert list(two.columns) == ["object_id", "Std_1", "Std_2", "StetsonJ", "Period"]
    one = align_features(features, ("B", "R"), 1)
    assert list(one.columns) == ["object_id", "Std_1", "Period"]
    assert "Mean" in DEPENDS_ON_ZERO_POINT


def test_a_survey_without_labels_or_common_classes_is_refused(data, tmp_path):
    lcdvt.simulate("hits", tmp_path / "blind", objects=30, seed=5)
    lcdvt.ingest(tmp_path / "blind", name="blind", catalog="none", data=data, jobs=1)
    with pytest.raises(LcdvtError, match="blind has no labels"):
        lcdvt.transfer("blind", "new", data=data)
