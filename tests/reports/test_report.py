"""The HTML report: what is in it, what is escaped, what is said where something is missing."""

import html
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.report_pages import Page

import lcdvt
from lcdvt.errors import LcdvtError
from lcdvt.evaluate import pooled_reliability, reliability
from lcdvt.names import OBJECT_ID
from lcdvt.reports import predictions
from lcdvt.reports.gallery import curves_of, light_curve_card
from lcdvt.reports.label_curves import label_fractions
from lcdvt.reports.material import read_material
from lcdvt.reports.predictions import read_predictions
from lcdvt.reports.write import report
from lcdvt.results.draw_record import read_draws

pytestmark = pytest.mark.usefixtures("few_trees")

RIVALS = ["forest-target", "svm-target"]
QUICK = {"members": 2, "steps": 20, "rows": RIVALS, "jobs": 1}
FIGURES = ("reliability diagram", "map of the latent space", "amplitude against period", "light curve of")


@pytest.fixture(scope="module")
def data(two_surveys, tmp_path_factory) -> Path:
    """Two runs that differ in their number of labels."""
    folder = shutil.copytree(two_surveys, tmp_path_factory.mktemp("report") / "data")
    lcdvt.transfer("old", "new", "10%", data=folder, name="few", repeats=2, **QUICK)
    lcdvt.transfer("old", "new", "40%", data=folder, name="many", repeats=1, **QUICK)
    return folder


@pytest.fixture(scope="module")
def one(data, tmp_path_factory) -> Page:
    return Page(report("few", tmp_path_factory.mktemp("one") / "few.html", data=data).path)


@pytest.fixture(scope="module")
def both(data, tmp_path_factory) -> Page:
    return Page(report(["few", "many"], tmp_path_factory.mktemp("both") / "both.html", data=data).path)


@pytest.fixture
def copied(data, tmp_path) -> Path:
    """A workspace that a test may damage."""
    return shutil.copytree(data, tmp_path / "data")


def test_every_figure_is_there_with_a_text_for_those_who_cannot_see_it(one):
    alternatives = [attributes["aria-label"] or "" for attributes in one.attributes("svg")]
    for figure in FIGURES:
        assert any(figure in text.lower() for text in alternatives), figure
    assert all(attributes["role"] == "img" for attributes in one.attributes("svg"))
    assert not one.texts("p", class_="missing")


def test_every_table_and_figure_from_simulated_surveys_says_so(one):
    for caption in one.texts("caption"):
        assert "simulated" in caption
    captions = [text for text in one.texts("figcaption") if "\n" not in text]
    assert [text for text in captions if text.startswith("simulated")], "figures have captions"
    for title in one.texts("h4"):  # over each row of light curves
        assert title.startswith("simulated")
    assert "simulated" in one.texts("h2")[0]


def test_the_numbers_are_those_of_the_run(one, data):
    table = json.loads((data / "runs" / "few" / "metrics.json").read_text())["table"]
    means = {row["name"]: 100 * row["macro_f1"]["mean"] for row in table["rows"]}
    rivals = {name: value for name, value in means.items() if name in RIVALS}
    headline = one.texts("p")[1]
    assert f"macro F1 {means['dvt-ensemble']:.1f} ±" in headline
    assert f"{max(rivals.values()):.1f} ±" in headline
    for row in table["rows"]:
        assert f"{100 * row['macro_f1']['mean']:.1f}" in one.source


def test_the_calibration_error_is_the_draws_mean_as_f1_is(one, data):
    errors = [draw.rows["dvt-ensemble"].score.calibration_error for draw in read_draws(data / "runs" / "few")]
    assert len(errors) == 2
    (caption,) = [text for text in one.texts("figcaption") if "Expected calibration error" in text]
    assert f"DVT ensemble {100 * np.mean(errors):.1f} %" in caption
    assert "mean of 2 draws" in caption


def test_confusion_counts_are_those_of_all_draws(one, data):
    draws = read_draws(data / "runs" / "few")
    for number, name in enumerate(["dvt-ensemble", scores_best_rival(data)]):
        expected = sum(draw.rows[name].confusion for draw in draws)
        counted = [int(text) for text in one.texts("small")]
        size = expected.size
        assert counted[number * size : (number + 1) * size] == expected.flatten().tolist()


def scores_best_rival(data: Path) -> str:
    table = json.loads((data / "runs" / "few" / "metrics.json").read_text())["table"]
    rivals = [row for row in table["rows"] if row["name"] in RIVALS]
    return max(rivals, key=lambda row: row["macro_f1"]["mean"])["name"]


def test_nothing_in_the_file_points_outside_or_runs(one):
    tags = {tag for tag, _, _ in one.elements}
    assert not tags & {"script", "iframe", "object", "embed", "base", "form"}
    for tag, attributes, _ in one.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("href", "src", "xlink:href"):
                assert value is not None
                assert value.startswith(("#", "data:")), (tag, value[:50])
    assert "url(http" not in one.source
    assert "@import" not in one.source


def test_ids_are_unique_and_references_lead_somewhere(both):
    ids = [attributes["id"] for _, attributes, _ in both.elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] or "" for tag in ("a", "use") for attributes in both.attributes(tag)]
    clips = [attributes["clip-path"] or "" for _, attributes, _ in both.elements if "clip-path" in attributes]
    for reference in [*links, *(clip[4:-1] for clip in clips)]:
        assert reference.removeprefix("#") in ids


def test_several_runs_show_f1_against_the_share_of_labels(both):
    drawing = next(text for text in both.texts("svg") if "target labels used" in text)
    assert "DVT ensemble" in drawing
    assert len(both.texts("h2")) == 4  # labels, two runs, citations
    glance = [text.split("\n") for text in both.texts("table", class_="glance")]
    assert "few" in glance[0][0]
    assert "many" in glance[0][0]


def test_runs_that_differ_in_more_than_labels_are_told_apart(both, data):
    said = "differ in the model's settings too"
    assert said not in both.source
    few, many = read_material("few", data), read_material("many", data)
    training = replace(many.saved.config.training, steps=999)
    longer = replace(many.saved, config=replace(many.saved.config, training=training))
    assert said in html.unescape(label_fractions([few, replace(many, saved=longer)], "x"))


def test_runs_that_differ_in_nothing_have_no_label_curve(data):
    run = read_material("few", data)
    assert "No two of these runs" in label_fractions([run, run], "x")


def test_a_folder_is_read_with_the_surveys_of_its_own_workspace(data, tmp_path, monkeypatch):
    monkeypatch.setenv("LCDVT_DATA", str(tmp_path / "elsewhere"))
    run = read_material(data / "runs" / "many")
    assert set(run.surveys) == {"old", "new"}
    assert not run.absent


def test_settings_seeds_citations_and_version_are_told(one, data):
    config = (data / "runs" / "few" / "config.toml").read_text()
    assert one.texts("pre")[0].splitlines() == config.splitlines()
    facts = dict(zip(one.texts("dt"), one.texts("dd"), strict=True))
    assert facts["seeds of the draws"] == "0, 1"
    assert facts["labels"] == "10%"
    assert facts["report"] == f"lcdvt {lcdvt.__version__}"
    citation = lcdvt.open_survey("new", data).survey.citation
    assert citation
    assert facts["new"] == citation
    assert "1812.03123" in facts["method"]


def test_upper_limits_are_drawn_and_counted(copied):
    stored = lcdvt.open_survey("new", copied)
    seen, unseen = stored.objects()["object_id"][:2]
    table = pd.DataFrame({"object_id": unseen, "band": stored.survey.bands[0], "mjd": [1.0, 2.0], "mag_limit": 30.0})
    stored.folder.limits.mkdir()
    table.to_parquet(stored.folder.limits / "part-00000.parquet")
    stored = lcdvt.open_survey("new", copied)
    curves = curves_of(stored, [seen, unseen])
    without, with_limits = (
        light_curve_card(star, ["CEP 90 %"], curves[star], pd.DataFrame(), stored, "x-") for star in (seen, unseen)
    )
    assert "2 upper limits" in with_limits
    assert "upper limit" not in without
    bare = light_curve_card(unseen, ["CEP 90 %"], replace(curves[unseen], limits=None), pd.DataFrame(), stored, "x-")
    assert with_limits.partition("<figcaption>")[0] != bare.partition("<figcaption>")[0], "they are drawn, too"


def test_a_survey_that_is_gone_is_a_sentence(copied, tmp_path):
    shutil.rmtree(copied / "new")
    page = Page(report("few", tmp_path / "r.html", data=copied).path)
    said = page.texts("p", class_="missing")
    assert len([text for text in said if "'new' is not ingested" in text]) == 3  # map, periods, light curves
    assert any("old" in (attributes["aria-label"] or "") for attributes in page.attributes("svg"))


def test_a_run_without_predictions_or_draws_is_reported_as_far_as_it_goes(copied, tmp_path):
    (copied / "runs" / "few" / "predictions.parquet").unlink()
    shutil.rmtree(copied / "runs" / "few" / "draws")
    page = Page(report("few", tmp_path / "r.html", data=copied).path)
    said = " ".join(page.texts("p", class_="missing"))
    assert "keeps no predictions" in said
    assert "no record of its draws" in said
    assert page.texts("figure", class_="lcdvt-table")


def test_a_run_without_scores_says_so(copied, tmp_path):
    lcdvt.transfer(
        "old", "new", "all", data=copied, name="all", members=1, repeats=1, steps=5, rows=["forest-target"], jobs=1
    )
    result = report("all", tmp_path / "r.html", data=copied)
    assert result.tables == {"all": None}
    page = Page(result.path)
    assert any("Nothing was scored" in text for text in page.texts("p", class_="missing"))
    assert [text for text in page.texts("figcaption") if "E[z|x]" in text]


def test_a_run_of_one_survey_is_reported(copied, tmp_path):
    lcdvt.train("old", data=copied, name="alone", members=1, repeats=2, steps=5, rows=["svm-target"], jobs=1)
    page = Page(report("alone", tmp_path / "r.html", data=copied).path)
    assert page.texts("h1") == ["lcdvt report: old"]
    said = page.texts("p", class_="missing")  # so short a training may leave a class out
    assert all(text.startswith("No star is predicted to be") for text in said)
    assert any("coloured by label, by" in text for text in page.texts("figcaption"))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.toml", b"format = "),
        ("config.toml", b"format = 99"),
        ("weights.safetensors", b"cut"),
        ("metrics.json", b'{"table": 3'),
        ("metrics.json", b'{"table": {"version": 1}}'),
        ("metrics.json", b"[1, 2]"),
        ("metrics.json", b"\xff\xfe"),
        ("scaler.json", b"{}"),
        ("history.parquet", b"PAR1"),
        ("predictions.parquet", b"PAR1"),
        ("draws/draw-000.json", b'{"version": 1}'),
    ],
)
def test_a_damaged_run_is_one_sentence(copied, lcdvt_here, tmp_path, file, content):
    (copied / "runs" / "few" / file).write_bytes(content)
    answer = lcdvt_here("report", "few", "--data", copied, "--out", tmp_path / "r.html")
    assert answer.returncode == 2, answer.stderr
    assert "runs/few" in answer.stderr.replace("\n", "")
    assert "Traceback" not in answer.stderr
    assert not list(tmp_path.glob("*.html*"))


def test_predictions_of_other_columns_are_refused(copied, tmp_path):
    path = copied / "runs" / "few" / "predictions.parquet"
    pd.read_parquet(path).drop(columns="entropy").to_parquet(path)
    with pytest.raises(LcdvtError, match="predictions cannot be read"):
        report("few", tmp_path / "r.html", data=copied)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], "there is no run 'nothing'"),
        (["few", "--out", "report.txt"], "ending in .html"),
        (["few", "--out", "there.html"], "exists: use --force"),
        (["few", "nothing", "--out", "both.html"], "there is no run 'nothing'"),
    ],
)
def test_what_cannot_be_reported_is_one_sentence(data, lcdvt_here, tmp_path, arguments, said):
    (tmp_path / "there.html").write_text("mine")
    answer = lcdvt_here("report", *arguments, "--data", data)
    assert answer.returncode == 2
    assert said in answer.stderr.replace("\n", " ")
    assert [path.name for path in tmp_path.glob("*.html")] == ["there.html"]
    assert (tmp_path / "there.html").read_text() == "mine"


def test_the_command_writes_the_same_bytes_and_the_numbers(one, data, lcdvt_here, tmp_path):
    (tmp_path / "few.html").write_text("old")
    answer = lcdvt_here("report", "few", "--data", data, "--force", "--json", "numbers.json")
    assert answer.returncode == 0, answer.stderr
    assert "few.html" in answer.stdout
    assert "simulated" in answer.stdout
    assert (tmp_path / "few.html").read_text(encoding="utf-8") == one.source
    rows = json.loads((tmp_path / "numbers.json").read_text())["runs"]["few"]["rows"]
    assert {row["name"] for row in rows} == {*RIVALS, "dvt-ensemble"}


def test_no_run_is_refused():
    with pytest.raises(LcdvtError, match="no run was given"):
        report([])


def test_bins_of_several_draws_together_are_those_of_all_objects():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 400)
    probability = rng.dirichlet(np.ones(3), 400)
    parts = [reliability(truth[part], probability[part]) for part in (slice(0, 90), slice(90, 400))]
    together, whole = pooled_reliability(parts), reliability(truth, probability)
    np.testing.assert_array_equal(together.count, whole.count)
    np.testing.assert_allclose(together.confidence, whole.confidence)
    np.testing.assert_allclose(together.accuracy, whole.accuracy)
    assert together.expected_calibration_error == pytest.approx(whole.expected_calibration_error)


def test_predictions_are_read_in_pieces_with_the_same_result(data, monkeypatch):
    path = data / "runs" / "few" / "predictions.parquet"
    classes = tuple(json.loads((data / "runs" / "few" / "metrics.json").read_text())["table"]["classes"])
    whole = pd.read_parquet(path)
    monkeypatch.setattr(predictions, "ROWS_AT_ONCE", 7)
    stars = read_predictions(path, classes, most_stars=50, per_class=4, seed=5)
    assert stars.objects == len(whole)
    assert len(stars.sample) == 50
    assert stars.sample[OBJECT_ID].is_unique
    monkeypatch.undo()
    again = read_predictions(path, classes, most_stars=50, per_class=4, seed=5)
    pd.testing.assert_frame_equal(stars.sample, again.sample)
    assert not stars.sample.equals(read_predictions(path, classes, most_stars=50, per_class=4, seed=6).sample)
    for name, group in whole.groupby("predicted"):
        by_entropy = group.sort_values(["entropy", OBJECT_ID])
        certain, doubtful = stars.certain[name][OBJECT_ID], stars.doubtful[name][OBJECT_ID]
        assert certain.tolist() == by_entropy[OBJECT_ID].head(4).tolist()
        assert not set(certain) & set(doubtful)
        assert len(doubtful) == min(4, len(group) - len(certain))
        assert stars.doubtful[name]["entropy"].is_monotonic_decreasing
        if len(group) >= 8:
            assert set(stars.doubtful[name]["entropy"]) == set(by_entropy["entropy"].tail(4))
