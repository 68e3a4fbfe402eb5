"""Raw files to a classified survey, as a user does it: simulate, ingest, transfer, predict, runs."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lcdvt
from lcdvt.dataset.alignment import DEPENDS_ON_ZERO_POINT, align_features
from lcdvt.errors import SettingsError
from lcdvt.protocol import carry_out
from lcdvt.results.saved import load_run

pytestmark = pytest.mark.usefixtures("few_trees")

QUICK = {"members": 2, "repeats": 2, "steps": 40, "labels": "10%", "rows": ["gmm-transfer", "forest-target"], "jobs": 1}


@pytest.fixture(scope="module")
def data(two_surveys, tmp_path_factory) -> Path:
    """A copy of the two surveys for the runs of this file, one without labels, and one without labels of quasars."""
    folder = tmp_path_factory.mktemp("transfer")
    data = shutil.copytree(two_surveys, folder / "data")
    labels = lcdvt.open_survey("new", data).objects()[["object_id", "label"]]
    few = labels[labels["label"] != "QSO"].set_axis(["id", "class"], axis=1)
    few.to_csv(folder / "labels.csv", index=False)
    for name, catalog in (("no-quasars", folder / "labels.csv"), ("blind", "none")):
        raw = folder / f"raw-{name}"
        lcdvt.simulate("hits", raw, objects=160, seed=2)
        lcdvt.ingest(raw, name=name, catalog=str(catalog), features=["Std", "Amplitude", "Skew"], data=data, jobs=1)
    return data


@pytest.fixture(scope="module")
def result(data) -> "lcdvt.Run":
    return lcdvt.transfer("old", "new", data=data, name="first", **QUICK)


def test_every_row_of_the_table_is_filled_and_marked_simulated(result):
    table = result.table()
    assert "simulated" in table.title
    assert {row.name for row in result.table().scores} == {"gmm-transfer", "forest-target", "dvt-ensemble"}
    for row in result.table().scores:
        assert len(row.draws) == 2
        assert all(0 <= draw.macro_f1 <= 1 for draw in row.draws)
    assert result._repr_html_().count("<tr") >= 3


def test_teachers_learn_from_replicates_which_are_kept_in_the_workspace(result, data):
    assert load_run(result.folder).config.teaching.replicates == 1
    for name in ("old", "new"):
        assert list((data / name / "replicates").rglob("part-*.parquet"))
    without = lcdvt.transfer("old", "new", data=data, name="whole", replicates=0, **{**QUICK, "repeats": 1})
    assert load_run(without.folder).config.teaching.replicates == 0
    # DVT is taught classes, which may be the same either way: the score of none of them shows what its teachers said
    assert not without.predictions()["other_score"].equals(result.predictions()["other_score"])
    rival = [next(row for row in run.table().scores if row.name == "forest-target") for run in (without, result)]
    assert rival[0].draws[0] == rival[1].draws[0], "rivals learn from the survey's features as they are"
    with pytest.raises(SettingsError, match="rows=boosting-self-trained-replicates: there is no such row"):
        rows = ["boosting-self-trained-replicates"]
        lcdvt.transfer("old", "new", data=data, name="once", replicates=0, **{**QUICK, "rows": rows})
    with pytest.raises(SettingsError, match="replicates=1: preset tied has no teachers"):
        lcdvt.transfer("old", "new", data=data, name="tied", preset="tied", replicates=1, **QUICK)
    with pytest.raises(SettingsError, match="replicates=-1"):
        lcdvt.transfer("old", "new", data=data, name="less", replicates=-1, **QUICK)


def test_dvt_learns_something(result):
    ensemble = next(row for row in result.table().scores if row.name == "dvt-ensemble")
    assert np.mean(ensemble.column()) > 0.6


def test_predictions_are_probabilities_for_every_target_object(result, data):
    table = pd.read_parquet(result.folder / "predictions.parquet")
    assert sorted(table["object_id"]) == sorted(lcdvt.open_survey("new", data).objects()["object_id"])
    probabilities = table.filter(like="p_")
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert table["in_draw"].sum() == sum(result.table().circumstances.labels_per_class[0].values())


def test_the_same_seed_gives_the_same_result(result, data):
    again = lcdvt.transfer("old", "new", data=data, name="again", **QUICK)
    pd.testing.assert_frame_equal(again.predictions(), result.predictions())
    assert again.table().scores == result.table().scores


def test_labels_outside_the_draw_are_never_used(result, data, monkeypatch):
    """Permute every target label that is not in the draw: the probabilities stay the same, bit for bit."""

    honest = carry_out.run_draw
    probabilities = []

    def run_with_permuted_labels(task, *_):
        outside = np.flatnonzero(task.dataset.rows_of(1) & (task.drawn < 0) & (task.dataset.y >= 0))
        y = task.dataset.y.copy()
        y[outside] = np.random.default_rng(0).permutation(y[outside])
        assert (y != task.dataset.y).any()
        outcome = honest(replace(task, dataset=replace(task.dataset, y=y)))
        probabilities.append(outcome.probability)
        return outcome

    monkeypatch.setattr(carry_out, "run_draw", run_with_permuted_labels)
    lcdvt.transfer("old", "new", data=data, name="permuted", **{**QUICK, "repeats": 1})
    expected = result.predictions().filter(like="p_").to_numpy()
    assert np.array_equal(probabilities[0], expected)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "fits", "vot"])
def test_a_saved_run_classifies_an_ingested_survey(result, data, tmp_path, suffix):
    answer = lcdvt.predict("first", "new", tmp_path / f"stars.{suffix}", data=data)
    assert answer.objects == len(lcdvt.open_survey("new", data).objects())
    assert sum(answer.classes.values()) + answer.without_features == answer.objects
    if suffix == "parquet":
        table = pd.read_parquet(answer.path).set_index("object_id")
        trained = result.predictions().set_index("object_id")
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
        (["--source", "old", "--target", "nowhere"], "'nowhere' is not ingested in"),
        (["--source", "nowhere", "--target", "new"], "new, no-quasars, old): run `lcdvt ingest` first"),
        (["--source", "blind", "--target", "new"], "blind has no labels: ingest it with --catalog"),
        (["--source", "old", "--target", "blind"], "blind has no labels"),
        (["--source", "old", "--target", "new", "--labels", "0", "--preset", "tied"], "choose one that teaches"),
        (["--source", "old", "--target", "new", "--labels", "0.0"], "--labels 0.0: give"),
        (["--source", "old", "--target", "new", "--labels", "many"], "--labels many: give"),
        (["--source", "old", "--target", "new", "--labels", "9999"], "there are only 160 labelled objects"),
        (["--source", "old", "--target", "new", "--labels", "1000/class"], "labelled objects; ask for fewer"),
        (["--source", "old", "--target", "no-quasars", "--classes", "EB,QSO"], "no-quasars has not a single labelled"),
        (["--source", "no-quasars", "--target", "old", "--classes", "QSO"], "no-quasars has not a single labelled"),
        (["--source", "old", "--target", "new", "--classes", "EB"], "at least two classes"),
        (["--source", "old", "--target", "new", "--seed", "-1"], "--seed -1: give 0 or more"),
        (["--source", "old", "--target", "new", "--device", "abacus", "--jobs", "1"], "choose from auto, cpu"),
        (["--source", "old", "--target", "new", "--jobs", "0"], "at least one process"),
        (["--source", "old", "--target", "new", "--name", "a/b"], "it names a folder"),
        (["--source", "old", "--target", "old"], "both source and target"),
        (["--source", "old", "--source", "old", "--target", "new"], "a survey is named twice"),
        (["--source", "old", "--target", "new", "--labels", "0%"], "--labels 0%"),
        (["--source", "old", "--target", "new", "--labels", "200%"], "--labels 200%"),
        (["--source", "old", "--target", "new", "--rows", "magic"], "there is no such row"),
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
    assert len(answer.stderr.strip().splitlines()) == 1


def test_what_python_gives_is_a_whole_number_and_one_name_is_no_list_of_letters(data):
    quick = {"preset": "tied", "steps": 5, "repeats": 1, "jobs": 1, "data": data}
    run = lcdvt.transfer(
        "old", "new", "10%", seed=np.int64(3), members=np.int64(1), rows="forest-target", name="typed", **quick
    )
    assert {row.name for row in run.table().scores} == {"forest-target", "dvt-ensemble"}
    assert run.settings()["seed"] == 3
    with pytest.raises(SettingsError, match=r"members=1.5: give a whole number"):
        lcdvt.transfer("old", "new", members=1.5, name="typed", **quick)
    with pytest.raises(SettingsError, match=r"training.steps = 0: give at least 1"):
        lcdvt.transfer("old", "new", name="typed", **{**quick, "steps": 0})
    with pytest.raises(SettingsError, match=r"'magic': choose from survey, pooled, rank, none"):
        lcdvt.transfer("old", "new", scaling="magic", name="typed", **quick)
    with pytest.raises(SettingsError, match="source is empty"):
        lcdvt.transfer([], "new", name="typed", **quick)


def test_a_run_itself_is_taken_where_its_name_is(result, data, tmp_path):
    by_name = lcdvt.predict("first", "new", data=data).stars()
    pd.testing.assert_frame_equal(lcdvt.predict(result, "new", data=data).stars(), by_name)
    assert lcdvt.report(result, tmp_path / "r.html", data=data).path.exists()


def test_an_ingested_survey_comes_before_a_folder_of_its_name(result, data, tmp_path, monkeypatch):
    (tmp_path / "new").mkdir()
    monkeypatch.chdir(tmp_path)
    assert lcdvt.predict("first", "new", data=data).objects == 160
    with pytest.raises(lcdvt.LcdvtError, match="holds no files"):
        lcdvt.predict("first", "new/", data=data)


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


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("config.toml", lambda content: content.replace(b"format = 1", b"format = 7"), "the run has format 7"),
        ("config.toml", lambda content: content[:40] + b"= =", "not a TOML file"),
        ("weights.safetensors", lambda content: content[:1000], "the weights do not fit the run"),
        ("scaler.json", lambda content: content[:30], "scaler.json: cannot be read"),
        ("scaler.json", lambda content: b"{}", "scaler.json: not what lcdvt wrote"),
        ("scaler.json", lambda content: b"[]", "scaler.json: cannot be read"),
        ("history.parquet", lambda content: content[:99], "history.parquet: cannot be read"),
    ],
)
def test_a_damaged_or_newer_run_cannot_predict_and_says_so(result, data, lcdvt_here, tmp_path, file, change, said):
    broken = shutil.copytree(result.folder, tmp_path / "broken")
    (broken / file).write_bytes(change((broken / file).read_bytes()))
    answer = lcdvt_here("predict", broken, "new", "--out", tmp_path / "stars.csv", "--data", data)
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert said in answer.stderr and len(answer.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "stars.csv").exists()


def test_with_every_label_in_use_there_is_a_run_but_no_score(data):
    outcome = lcdvt.transfer(
        "old", "new", "all", data=data, name="all", members=1, repeats=1, steps=5, rows=["forest-target"]
    )
    assert outcome.table() is None
    assert len(outcome.predictions()) > 0


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


def test_classes_without_labels_on_both_sides_are_left_out_and_named(data):
    outcome = lcdvt.transfer("old", "no-quasars", data=data, name="quasars", **{**QUICK, "repeats": 1, "steps": 5})
    assert outcome.classes == ("EB", "RRLYR")
    assert any(note.endswith("without labels on one side): QSO.") for note in outcome.table().notes)
    assert json.loads((outcome.folder / "metrics.json").read_text())["table"]["left_out"] == ["QSO"]


def test_classes_can_be_chosen(data):
    options = {**QUICK, "repeats": 1, "steps": 5}
    outcome = lcdvt.transfer("old", "new", classes=["RRLYR", "EB"], data=data, name="chosen", **options)
    assert outcome.classes == ("EB", "RRLYR")
    assert outcome.table().circumstances.left_out == ("QSO",)
    said = [note for note in outcome.table().notes if note.startswith("Left out")]
    assert said == ["Left out (not asked for, or without labels on one side): QSO."]


@pytest.mark.parametrize("target", ["new", "blind"])
def test_without_any_label_of_the_target(data, target):
    rows = ["forest-source", "boosting-self-trained"]
    run = lcdvt.transfer(
        "old", target, labels=0, members=2, repeats=1, steps=40, rows=rows, jobs=1, name=f"{target}-0", data=data
    )
    predictions = run.predictions()
    assert not predictions["in_draw"].any()
    assert set(predictions["predicted"]) <= set(run.classes)
    if target == "blind":
        assert run.table() is None  # nobody knows the classes
    else:
        assert {row.name for row in run.table().scores} == {*rows, "dvt-ensemble"}
        assert set(run.table().circumstances.labels_per_class[0].values()) == {0}


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"preset": "tied"}, "preset tied learns from labels of the target"),
        ({"rows": ["forest-target"]}, "rows=forest-target: there is no such row"),
        ({"source_labels": "0"}, "source_labels=0: give a share"),
    ],
)
def test_what_cannot_do_without_labels_of_the_target(data, keywords, message):
    with pytest.raises(SettingsError, match=message):
        lcdvt.transfer("old", "new", labels=0, data=data, **keywords)
