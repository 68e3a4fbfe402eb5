"""The verb `suggest` as a user calls it: on a run's folder, with tables, JSON and mistakes."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

import lcdvt
from lcdvt.errors import SettingsError

pytestmark = pytest.mark.usefixtures("few_trees")

QUICK = {"members": 2, "repeats": 1, "steps": 30, "preset": "tied", "rows": []}


@pytest.fixture(scope="module")
def data(two_surveys, tmp_path_factory) -> Path:
    """A copy of the two surveys with a transfer `run` and a training `alone`."""
    data = shutil.copytree(two_surveys, tmp_path_factory.mktemp("suggest") / "data")
    lcdvt.transfer("old", "new", "20%", data=data, name="run", **QUICK)
    lcdvt.train("new", "20%", data=data, name="alone", **QUICK)
    return data


@pytest.fixture(scope="module")
def predictions(data) -> pd.DataFrame:
    return pd.read_parquet(data / "runs" / "run" / "predictions.parquet").set_index("object_id")


def test_suggested_stars_are_outside_the_draw_and_described_as_the_run_sees_them(data, predictions):
    result = lcdvt.suggest("run", 12, data=data)
    stars = result.stars.set_index("object_id")
    assert stars.index.is_unique
    assert len(stars) == 12
    said = predictions.loc[stars.index]
    assert not said["in_draw"].any()
    assert result.left == (~predictions["in_draw"]).sum()
    assert (stars["predicted"] == said["predicted"]).all()
    assert (stars["probability"] >= stars["second_probability"]).all()
    assert (stars["probability"] == said.filter(like="p_").max(axis=1)).all()
    assert (stars["predicted"] != stars["second"]).all()
    assert stars["doubt"].mean() > 0.2
    positions = lcdvt.open_survey("new", data).objects().set_index("object_id").loc[stars.index]
    pd.testing.assert_frame_equal(stars[["ra", "dec"]], positions[["ra", "dec"]])
    assert result.simulated


def test_the_same_seed_suggests_the_same_stars(data):
    first, again = (lcdvt.suggest("run", 9, seed=4, data=data).stars for _ in range(2))
    pd.testing.assert_frame_equal(first, again)


def test_stars_whose_label_is_known_can_be_left_out(data, tmp_path):
    """Take labels away, and give one star a class that the run does not tell apart."""
    copy = shutil.copytree(data, tmp_path / "data")
    path = copy / "new" / "objects.parquet"
    objects = pd.read_parquet(path)
    outside = pd.read_parquet(copy / "runs" / "run" / "predictions.parquet").query("not in_draw")["object_id"].tolist()
    unlabelled, strange = outside[:15], outside[20]
    objects.loc[objects["object_id"].isin(unlabelled), "label"] = None
    objects.loc[objects["object_id"] == strange, "label"] = "COMET"
    objects.to_parquet(path)
    everyone = lcdvt.suggest("run", len(outside) - 1, data=copy)
    assert strange not in set(everyone.stars["object_id"])
    assert everyone.with_label == len(outside) - 1 - 15
    only = lcdvt.suggest("run", 15, unlabelled=True, data=copy)
    assert sorted(only.stars["object_id"]) == sorted(unlabelled)
    assert (only.left, only.with_label) == (15, 0)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "fits", "vot"])
def test_stars_are_written_in_every_form_that_predict_writes(data, tmp_path, suffix):
    path = tmp_path / f"ask.{suffix}"
    stars = lcdvt.suggest("run", 3, out=path, data=data).stars
    if suffix in ("csv", "parquet"):
        written = pd.read_csv(path) if suffix == "csv" else pd.read_parquet(path)
    else:
        from astropy.table import Table

        written = Table.read(path, format={"vot": "votable"}.get(suffix, suffix)).to_pandas()
    assert list(written.columns) == list(stars.columns)
    assert [each.decode() if isinstance(each, bytes) else each for each in written["object_id"]] == list(
        stars["object_id"]
    )
    assert written["probability"].to_numpy() == pytest.approx(stars["probability"].to_numpy())


def test_the_command_prints_a_table_and_writes_json(data, lcdvt_here, tmp_path):
    answer = lcdvt_here("suggest", "run", "--n", 2, "--per-class", "--data", data, "--json", "s.json", "--seed", 3)
    assert answer.returncode == 0, answer.stderr
    record = json.loads((tmp_path / "s.json").read_text())
    counts = pd.Series([star["predicted"] for star in record["stars"]]).value_counts()
    assert set(counts) == {2}
    assert record["stars"][0]["object_id"] in answer.stdout
    assert "simulated" in answer.stdout
    assert "seed 3" in answer.stdout
    assert "--unlabelled" in answer.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "there is no run 'nowhere'"),
        (["run", "--n", "9999"], "stars are left to ask for outside the run's labels; ask for fewer"),
        (["run", "--n", "500", "--per-class"], "are left to ask for; ask for fewer, or leave --per-class out"),
        (["run", "--unlabelled"], "0 stars are left to ask for"),
        (["run", "--out", "stars.txt"], "write to a file ending in .parquet"),
        (["run", "--out", "there.csv"], "there.csv exists: use --force"),
        (["alone"], "`lcdvt train` made it"),
    ],
)
def test_mistakes_are_one_sentence_and_nothing_is_written(data, lcdvt_here, tmp_path, arguments, said):
    (tmp_path / "there.csv").write_text("mine")
    answer = lcdvt_here("suggest", *arguments, "--data", data)
    assert answer.returncode == 2
    assert said in " ".join(answer.stderr.split())
    assert "Traceback" not in answer.stderr
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert [each.name for each in tmp_path.iterdir()] == ["there.csv"]


def test_of_no_star_that_is_left_fewer_are_none(data):
    result = lcdvt.suggest("run", 5, unlabelled=True, fewer=True, data=data)
    assert result.left == 0
    assert result.stars.empty
    assert "object_id" in result.stars


def test_a_survey_that_is_gone_or_changed_is_named(data, tmp_path):
    copy = shutil.copytree(data, tmp_path / "data")
    part = next((copy / "new" / "features").glob("part-*.parquet"))
    pd.read_parquet(part).iloc[:-5].to_parquet(part)
    with pytest.raises(SettingsError, match=r"5 stars of the run are no longer in survey 'new'"):
        lcdvt.suggest("run", 5, data=copy)
    shutil.rmtree(copy / "new" / "features")
    (copy / "new" / "features").mkdir()
    with pytest.raises(SettingsError, match=r"'new' has no features: run `lcdvt extract new`"):
        lcdvt.suggest("run", 5, data=copy)
    shutil.rmtree(copy / "new")
    with pytest.raises(lcdvt.LcdvtError, match=r"survey 'new' is not ingested in"):
        lcdvt.suggest("run", 5, data=copy)


def test_damaged_predictions_are_named(data, tmp_path):
    copy = shutil.copytree(data, tmp_path / "data")
    path = copy / "runs" / "run" / "predictions.parquet"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(lcdvt.LcdvtError, match=r"predictions cannot be read .* make the run again"):
        lcdvt.suggest("run", 5, data=copy)
