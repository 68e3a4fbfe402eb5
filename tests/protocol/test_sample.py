"""A transfer on surveys with more stars than are learned from: every star is classified, and the same ones scored."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lcdvt
from lcdvt.dataset.draws import LabelBudget
from lcdvt.dataset.sampling import TRAINING_STARS
from lcdvt.errors import SettingsError
from lcdvt.protocol import carry_out
from lcdvt.protocol.carry_out import RunPlace, draw_identity
from lcdvt.protocol.plan import DrawTask, TransferOptions
from lcdvt.protocol.stars import draw_stars
from lcdvt.protocol.transfer import plan_transfer
from lcdvt.workspace.answers import Answer, AnswerFile

pytestmark = pytest.mark.usefixtures("few_trees")

LIMIT = 60
ROWS = ["forest-upper-bound", "forest-target", "label-spreading"]
QUICK = {"members": 2, "repeats": 2, "steps": 40, "labels": "10%", "rows": ROWS, "jobs": 1}
# For what does not depend on teachers and rivals.
QUICKER = {"members": 2, "repeats": 1, "steps": 5, "labels": "10%", "rows": [], "preset": "tied", "jobs": 1}


@pytest.fixture(scope="module")
def data(two_surveys, tmp_path_factory) -> Path:
    return shutil.copytree(two_surveys, tmp_path_factory.mktemp("sample") / "data")


@pytest.fixture(scope="module")
def whole(data) -> "lcdvt.Run":
    return lcdvt.transfer("old", "new", data=data, name="whole", **QUICK)


@pytest.fixture(scope="module")
def small(data) -> "lcdvt.Run":
    return lcdvt.transfer("old", "new", data=data, name="small", training_stars=LIMIT, **QUICK)


def plan(data: Path, **options) -> "carry_out.Plan":
    given = TransferOptions(**{"members": 2, "repeats": 2, "training_stars": LIMIT, "replicates": 0, **options})
    return plan_transfer(["old"], "new", "10%", given, RunPlace("planned", data))


def test_every_star_of_the_target_is_classified(small, whole, data):
    told = small.predictions()
    assert told["object_id"].tolist() == whole.predictions()["object_id"].tolist()
    assert told.columns.tolist() == whole.predictions().columns.tolist()
    assert told.dtypes.equals(whole.predictions().dtypes)
    assert np.allclose(told.filter(like="p_").sum(axis=1), 1, atol=1e-5)
    assert told["other_score"].between(0, 1).all()
    assert told["label"].equals(whole.predictions()["label"])


def test_drawn_labels_and_scored_stars_are_those_of_the_whole_survey(small, whole):
    assert small.predictions()["in_draw"].equals(whole.predictions()["in_draw"])
    notes = (small.table().circumstances, whole.table().circumstances)
    assert notes[0].labels_per_class == notes[1].labels_per_class
    assert notes[0].class_mix == notes[1].class_mix
    for one, other in zip(small.draws(), whole.draws(), strict=True):
        for row in one.rows:
            scored = [draw.rows[row].confusion.sum(axis=1).tolist() for draw in (one, other)]
            assert scored[0] == scored[1], row


def test_the_scores_are_those_of_the_predictions(small):
    """Of stars in memory and of those read part by part, one as the other."""
    told = small.predictions()
    scored = told[~told["in_draw"] & told["label"].notna()]
    counts = pd.crosstab(scored["label"], scored["predicted"]).reindex(
        index=small.classes, columns=small.classes, fill_value=0
    )
    assert small.draws()[0].rows["dvt-ensemble"].confusion.tolist() == counts.to_numpy().tolist()


def test_what_the_run_says_of_a_star_it_did_not_learn_from_is_what_predict_says(small, data, tmp_path):
    answer = lcdvt.predict("small", "new", data=data).stars().set_index("object_id")
    told = small.predictions().set_index("object_id").loc[answer.index]
    columns = [name for name in told.columns if name.startswith("p_")]
    np.testing.assert_allclose(told[columns], answer[columns], rtol=1e-4, atol=1e-6)
    # what was learned from is ranked by trees that did not see it, everything else by all trees
    same = np.isclose(told["other_score"], answer["other_score"])
    assert len(told) - LIMIT - 16 <= same.sum() < len(told)


def test_a_table_says_that_a_sample_was_learned_from(small, whole, lcdvt_here, data):
    said = [note for note in small.table().notes if "sample" in note]
    assert len(said) == 1
    assert re.match(r"Trained on a sample, .*: \d\d of 160 stars of old and \d\d of 160 stars of new, ", said[0])
    assert "seed 0" in said[0]
    assert not any("sample" in note for note in whole.table().notes)
    shown = lcdvt_here("runs", "show", "small", "--data", data)
    assert shown.returncode == 0
    assert "160 stars of new" in shown.stdout
    page = data / "page.html"
    assert lcdvt_here("report", "small", "--data", data, "--out", page).returncode == 0
    assert "160 stars of new" in page.read_text()


def test_each_draw_learns_from_its_labels_and_from_no_more_than_it_may(data):
    made = plan(data)
    for task in made.tasks:
        alone = task.alone()
        source, target = (alone.dataset.rows_of(number) for number in range(2))
        drawn = alone.drawn[target] >= 0
        assert drawn.sum() == 16
        assert LIMIT <= target.sum() <= LIMIT + 16
        assert source.sum() <= LIMIT
        assert set(alone.dataset.y[source]) == {0, 1, 2}
        assert (alone.drawn[source] == alone.dataset.y[source]).all()
    assert made.sample_sizes.keys() == {"old", "new"}


def test_a_draw_is_the_same_whatever_other_draws_there_are(data):
    one, two = plan(data, repeats=1), plan(data, repeats=3)
    assert draw_identity(one.tasks[0]) == draw_identity(two.tasks[0])
    assert draw_identity(one.tasks[0]) != draw_identity(two.tasks[1])
    assert draw_identity(one.tasks[0]) != draw_identity(plan(data, repeats=1, training_stars=LIMIT + 1).tasks[0])


def test_the_choice_of_the_targets_stars_does_not_look_at_labels(data, tmp_path):
    """With all labels of the target exchanged, the same stars are chosen beside the drawn ones."""
    copy = shutil.copytree(data, tmp_path / "data")
    objects = pq.read_table(copy / "new" / "objects.parquet")
    labels = objects["label"].to_pylist()
    turned = pa.array(np.random.default_rng(0).permutation(np.array(labels, dtype=object)), pa.string())
    pq.write_table(
        objects.set_column(objects.column_names.index("label"), "label", turned), copy / "new" / "objects.parquet"
    )
    chosen = []
    for place in (data, copy):
        task = plan(place, repeats=1).tasks[0].alone()
        target = task.dataset.rows_of(1)
        chosen.append(set(task.dataset.object_ids[target & (task.drawn < 0)]))
        drawn = set(task.dataset.object_ids[target & (task.drawn >= 0)])
        chosen[-1] |= drawn
    common = chosen[0] & chosen[1]
    assert len(common) >= LIMIT
    assert (np.array(labels, dtype=object) != np.array(turned.to_pylist(), dtype=object)).any()


def test_a_limit_that_no_survey_reaches_changes_nothing(data):
    """What decides a draw's numbers is the same, bit for bit, and nothing is looked for elsewhere."""
    given, usual = plan(data, training_stars=160), plan(data, training_stars=TRAINING_STARS)
    assert [draw_identity(task) for task in given.tasks] == [draw_identity(task) for task in usual.tasks]
    for made in (given, usual):
        assert not made.sample_sizes
        assert all(task.elsewhere is None and task.alone() is task for task in made.tasks)


def test_a_large_target_with_a_small_source_and_the_other_way_round(data, tmp_path):
    copy = shutil.copytree(data, tmp_path / "data")
    raw = tmp_path / "few"
    lcdvt.simulate("hits", raw, objects=55, seed=7)
    lcdvt.ingest(raw, name="few", data=copy, features=["Std", "Amplitude", "Skew"], jobs=1)
    quick = {**QUICKER, "data": copy, "training_stars": LIMIT}
    for source, target, sampled in (("few", "new", "new"), ("old", "few", "old")):
        run = lcdvt.transfer(source, target, name=target, **quick)
        assert run.table().circumstances.sample_sizes.keys() == {sampled}
        assert len(run.predictions()) == lcdvt.open_survey(target, copy).count_objects()


def test_an_interrupted_run_goes_on(data, monkeypatch):
    honest, made = carry_out.run_draw, []

    def run(task, *_):
        made.append(task.seed)
        return honest(task)

    monkeypatch.setattr(carry_out, "run_draw", run)
    quick = {**QUICKER, "data": data, "name": "stopped", "training_stars": LIMIT}

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(carry_out, "_table", stop)
        with pytest.raises(KeyboardInterrupt):
            lcdvt.transfer("old", "new", **quick)
    assert made == [0]
    lcdvt.transfer("old", "new", **{**quick, "repeats": 2})
    assert made == [0, 1]


def test_a_sample_has_the_targets_own_features_as_all_stars_have_them(tmp_path):
    for name, seed in (("eros", 1), ("macho", 2)):
        lcdvt.simulate(name, tmp_path / name, objects=90, seed=seed)
        lcdvt.ingest(tmp_path / name, features="fats", data=tmp_path / "data", jobs=1)
    surveys = tuple(lcdvt.open_survey(name, tmp_path / "data") for name in ("eros", "macho"))
    whole, sample = (
        draw_stars(surveys, TransferOptions(repeats=1, training_stars=limit), LabelBudget.parse("20%"), {})
        for limit in (1000, 60)
    )
    ids = whole.dataset.object_ids[whole.dataset.rows_of(1)].tolist()
    assert whole.dataset.target_own.shape == (len(ids), 3), "colour, and two mean magnitudes"
    task = DrawTask(
        sample.dataset, sample.drawn[0], TransferOptions().config, 1, (), 0, learned=sample.learned[0]
    ).alone()
    places = [ids.index(star) for star in task.target_ids]
    assert 0 < len(places) < len(ids)
    np.testing.assert_array_equal(task.dataset.target_own, whole.dataset.target_own[places])
    rows = task.dataset.survey_rows(task.dataset.fit_scaler(), task.drawn)
    assert rows[0].own is None
    np.testing.assert_array_equal(rows[1].own, task.dataset.target_own)


def test_answers_of_people_are_all_learned_from_and_never_scored(data, tmp_path):
    stars = lcdvt.open_survey("new", data).objects()["object_id"].tolist()[::8]
    path = tmp_path / "answers.jsonl"
    file = AnswerFile(path, "new")
    for number, star in enumerate(stars):
        file.add(Answer(f"k{number}", star, "EB", who="ann"))
    run = lcdvt.transfer("old", "new", data=data, name="answered", labels_from=path, training_stars=LIMIT, **QUICKER)
    told = run.predictions().set_index("object_id")
    assert told.loc[stars, "in_draw"].all()
    assert (told.loc[stars, "label"] == "EB").all()
    assert run.draws()[0].rows["dvt-ensemble"].confusion.sum() == (~told["in_draw"]).sum()


def test_all_verbs_take_such_a_run(small, data, lcdvt_here, tmp_path):
    assert lcdvt_here("verify", "small", "--data", data).returncode == 0
    asked = lcdvt.suggest("small", 5, data=data)
    assert len(asked.stars) == 5
    found = lcdvt_here("doubt", "small", "--data", data, "--out", tmp_path / "doubts.csv")
    assert found.returncode == 0, found.stderr
    assert len(lcdvt.predict("small", "new", data=data).stars()) == 160
    assert json.loads((small.folder / "metrics.json").read_text())["training_stars"] == LIMIT


def test_too_small_a_limit_is_refused(data, lcdvt_here):
    with pytest.raises(SettingsError, match="training_stars=10: too few"):
        lcdvt.transfer("old", "new", data=data, training_stars=10)
    told = lcdvt_here("transfer", "--source", "old", "--target", "new", "--training-stars", 10, "--data", data)
    assert told.returncode == 2
    assert "--training-stars 10: too few to learn from" in told.stderr


# From /proc and not from getrusage, whose peak a process inherits from the one that started it.
TRANSFER = """
import sys, lcdvt, pyarrow.parquet as pq
run = lcdvt.transfer(
    "old", "new", "10%", data=sys.argv[1], training_stars=1000, preset="tied", members=2, repeats=1, steps=5,
    rows=["forest-target"], jobs=1,
)
print(pq.read_metadata(run.folder / "predictions.parquet").num_rows)
print(open("/proc/self/status").read())
"""
# Copies of 160 stars: few are three times as many as are read at once, so that memory is what it stays at.
FEW, MANY = 160, 600
# The features of the others take 52 MB in one table, and most of it more than once if all were learned from.
LARGEST_GROWTH_MB = 35
# What allocators keep grew by 22 to 53 MB here; where they give it back to the system, memory grows by 17 to 22.
FRUGAL = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": "100000",
    "MALLOC_MMAP_THRESHOLD_": "100000",
}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux alone tells a process' peak memory")
def test_memory_does_not_grow_with_the_target(two_surveys, tmp_path):
    peaks = []
    for copies in (FEW, MANY):
        data = shutil.copytree(two_surveys, tmp_path / f"{copies}")
        stars = enlarge(data / "new", copies)
        command = [sys.executable, "-c", TRANSFER, str(data)]
        told = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | FRUGAL).stdout
        assert told.startswith(f"{stars}\n")
        peaks.append(int(re.search(r"VmHWM:\s+([0-9]+) kB", told)[1]) / 1024)
    assert peaks[1] - peaks[0] < LARGEST_GROWTH_MB, peaks


def enlarge(survey: Path, copies: int) -> int:
    """Give a survey many more parts of stars like those it has, without labels; return how many stars it has then."""
    features = pq.read_table(survey / "features").replace_schema_metadata()
    objects = pq.read_table(survey / "objects.parquet")
    parts = len(list((survey / "features").glob("part-*.parquet")))
    nothing = pa.nulls(objects.num_rows, pa.string())
    rng = np.random.default_rng(0)
    tables = [objects]
    for number in range(parts, parts + copies - 1):
        columns = {
            name: pa.array(features[name].to_numpy() * rng.normal(1, 0.01, features.num_rows))
            for name in features.column_names[1:]
        }
        named = {"object_id": pa.array([f"{star}-{number}" for star in features["object_id"].to_pylist()])}
        pq.write_table(pa.table(named | columns), survey / "features" / f"part-{number:05d}.parquet")
        further = {name: objects[name] for name in objects.column_names}
        further["object_id"] = pa.array([f"{star}-{number}" for star in objects["object_id"].to_pylist()])
        further |= {"label": nothing, "survey_label": nothing}
        further["part"] = pa.array(np.full(objects.num_rows, number, dtype=np.int32))
        tables.append(pa.table(further).cast(objects.schema))
    pq.write_table(pa.concat_tables(tables), survey / "objects.parquet")
    return copies * features.num_rows
