"""The verb `doubt` as a user calls it: planted wrong labels, tables, page, JSON and mistakes."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.fewer_trees import fewer_trees

import lcdvt

QUICK = {"members": 2, "repeats": 1, "steps": 30, "preset": "tied", "rows": [], "jobs": 1}
FLIPPED = 10


@pytest.fixture(scope="module")
def planted(two_surveys, tmp_path_factory) -> tuple[Path, pd.Series]:
    """A copy of the two surveys in which ten labels of `new` are wrong, with two runs; and the true labels of these.

    Only stars are spoilt whose class the honest light curves tell well, because others would be doubtful anyway.
    """
    data = shutil.copytree(two_surveys, tmp_path_factory.mktemp("doubt") / "data")
    clear = lcdvt.doubt("new", None, data=data).stars.query("score < -0.5")
    chosen = clear.sort_values("object_id").sample(FLIPPED, random_state=3)
    path = data / "new" / "objects.parquet"
    objects = pd.read_parquet(path).set_index("object_id")
    truth = objects.loc[chosen["object_id"], "label"]
    objects.loc[truth.index, "label"] = chosen["suggested"].to_numpy()
    objects.reset_index().to_parquet(path)
    with fewer_trees():
        lcdvt.transfer("old", "new", "20%", data=data, name="run", **QUICK)
        lcdvt.train("new", "all", data=data, name="new", **{**QUICK, "repeats": 2})
    return data, truth


@pytest.mark.parametrize("options", [{}, {"source": "old", "way": "transfer"}, {"source": ["old"]}])
def test_planted_wrong_labels_come_first_with_their_true_class(planted, options):
    data, truth = planted
    result = lcdvt.doubt("new", None, data=data, **options)
    ranked = result.stars.set_index("object_id")
    assert ranked["score"].is_monotonic_decreasing
    first = ranked.head(2 * FLIPPED)
    assert truth.index.isin(first.index).sum() >= FLIPPED - 1
    found = ranked.loc[truth.index]
    assert (found["suggested"] == truth).sum() >= FLIPPED - 1
    assert result.judged == len(ranked) == len(lcdvt.open_survey("new", data).features())
    assert result.contradicted == ranked["contradicted"].sum() < len(ranked) / 3
    assert result.simulated
    assert result.ways == (("within",) if not options else (options["way"],) if "way" in options else result.ways)


def test_what_is_said_of_a_star(planted):
    data, _ = planted
    stars = lcdvt.doubt("new", 7, source="old", data=data).stars
    objects = lcdvt.open_survey("new", data).objects().set_index("object_id")
    known = objects.loc[stars["object_id"]]
    assert len(stars) == 7
    assert (stars["label"].to_numpy() == known["label"].to_numpy()).all()
    assert stars["ra"].to_numpy() == pytest.approx(known["ra"].to_numpy(), nan_ok=True)
    assert (stars["label"] != stars["suggested"]).all()
    for star in stars.to_dict(orient="records"):
        assert star["label_probability"] == star[f"p_{star['label']}"]
        assert star["suggested_probability"] == star[f"p_{star['suggested']}"]
        mean = (star["label_probability_within"] + star["label_probability_transfer"]) / 2
        assert star["label_probability"] == pytest.approx(mean)
        neighbours = star["neighbours"].split(";")
        assert len(neighbours) == 5 and star["object_id"] not in neighbours
        assert objects.loc[neighbours, "label"].tolist() == star["neighbour_labels"].split(";")


def test_the_same_seed_gives_the_same_ranking(planted):
    data, _ = planted
    first, again = (lcdvt.doubt("new", 15, seed=4, source="old", data=data).stars for _ in range(2))
    pd.testing.assert_frame_equal(first, again)


def test_a_run_judges_the_labels_that_it_was_not_given(planted):
    data, _ = planted
    predictions = pd.read_parquet(data / "runs" / "run" / "predictions.parquet").set_index("object_id")
    alone = lcdvt.doubt("run", None, way="transfer", data=data)
    assert (alone.run, alone.survey, alone.ways) == ("run", "new", ("transfer",))
    assert set(alone.stars["object_id"]) == set(predictions.index[~predictions["in_draw"]])
    said = predictions.loc[alone.stars["object_id"]].filter(like="p_")
    assert np.array_equal(alone.stars[said.columns].to_numpy(), said.to_numpy(dtype=float))
    both = lcdvt.doubt("run", None, data=data)
    assert both.ways == ("within", "transfer")
    assert both.judged == len(predictions)
    by_run = both.stars.set_index("object_id")["label_probability_transfer"]
    assert by_run[predictions.index[predictions["in_draw"]]].isna().all()
    pd.testing.assert_frame_equal(lcdvt.open_run("run", data).doubt(3), both.stars.head(3))


def test_a_survey_comes_before_a_run_of_its_name_and_a_folder_names_the_run(planted):
    data, _ = planted
    assert lcdvt.doubt("new", 1, data=data).run is None
    assert lcdvt.doubt(data / "runs" / "new", 1).run == "new"


def test_classes_with_few_stars_and_stars_without_labels_are_left_out(planted, tmp_path):
    data, _ = planted
    copy = shutil.copytree(data, tmp_path / "data")
    path = copy / "new" / "objects.parquet"
    objects = pd.read_parquet(path)
    objects.loc[:2, "label"] = "COMET"
    objects.loc[3:9, "label"] = None
    objects.to_parquet(path)
    result = lcdvt.doubt("new", None, data=copy)
    assert result.left_out == ("COMET",)
    assert result.judged == len(objects) - 10
    assert not result.stars["object_id"].isin(objects["object_id"][:10]).any()


def test_the_command_prints_a_table_and_writes_csv_json_and_page(planted, lcdvt_here, tmp_path):
    data, _ = planted
    written = ["--csv", "d.csv", "--html", "d.html", "--json", "d.json"]
    answer = lcdvt_here("doubt", "new", "--n", 12, "--seed", 3, "--data", data, *written)
    assert answer.returncode == 0, answer.stderr
    record = json.loads((tmp_path / "d.json").read_text())
    assert list(record) == [
        *("survey", "run", "sources", "ways", "seed", "judged", "contradicted", "left_out", "simulated"),
        *("path", "page", "stars"),
    ]
    star = record["stars"][0]
    assert list(star)[:9] == [
        *("object_id", "ra", "dec", "label", "label_probability", "suggested", "suggested_probability"),
        *("score", "contradicted"),
    ]
    assert len(star["neighbours"]) == len(star["neighbour_labels"]) == 5
    assert (record["seed"], len(record["stars"])) == (3, 12)
    for said in (star["object_id"], "simulated", "seed 3", "within new", "written to d.csv and d.html"):
        assert said in answer.stdout
    table = pd.read_csv(tmp_path / "d.csv", dtype={"object_id": str})
    assert table["object_id"].tolist() == [each["object_id"] for each in record["stars"]]
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 12
    assert all(each in page for each in table["object_id"])
    assert "Northcutt" in page and "simulated" in page and "<script" not in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "there is no survey and no run 'nowhere'"),
        (["new", "--way", "sideways"], "--way sideways: choose from within, transfer, both"),
        (["new", "--way", "transfer"], "name another survey with --source"),
        (["new", "--source", "new"], "--source new: a survey cannot judge itself"),
        (["new", "--source", "nowhere"], "survey 'nowhere' is not ingested"),
        (["run", "--source", "old"], "--source old: the run run has its own sources"),
        (["new", "--out", "stars.txt"], "write to a file ending in .parquet"),
        (["new", "--csv", "there.csv"], "there.csv exists: use --force"),
        (["new", "--html", "page.pdf"], "--html page.pdf: write to a file ending in .html"),
    ],
)
def test_mistakes_are_one_sentence_and_nothing_is_written(planted, lcdvt_here, tmp_path, arguments, said):
    data, _ = planted
    (tmp_path / "there.csv").write_text("mine")
    answer = lcdvt_here("doubt", *arguments, "--data", data)
    assert answer.returncode == 2
    assert said in " ".join(answer.stderr.split())
    assert "Traceback" not in answer.stderr
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert [each.name for each in tmp_path.iterdir()] == ["there.csv"]


def test_labels_that_cannot_be_judged_are_said(planted, tmp_path):
    data, _ = planted
    with pytest.raises(lcdvt.LcdvtError, match="the run has learned from all of them; use way=within"):
        lcdvt.doubt(data / "runs" / "new", way="transfer")
    with pytest.raises(lcdvt.LcdvtError, match="ask for at least one star"):
        lcdvt.doubt("new", 0, data=data)
    copy = shutil.copytree(data, tmp_path / "data")
    path = copy / "new" / "objects.parquet"
    objects = pd.read_parquet(path)
    objects["label"] = "EB"
    objects.to_parquet(path)
    with pytest.raises(lcdvt.LcdvtError, match="new has EB 160: at least two classes are needed"):
        lcdvt.doubt("new", data=copy)
    objects["label"] = None
    objects.astype({"label": "string"}).to_parquet(path)
    with pytest.raises(lcdvt.LcdvtError, match="new has no labels: ingest it with catalog=FILE"):
        lcdvt.doubt("new", data=copy)
