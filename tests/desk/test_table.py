"""The table of all stars: pages, orders and what is let through, compared with pandas."""

import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import lcdvt
from lcdvt.desk import retraining
from lcdvt.desk.rounds import agreement, rounds
from lcdvt.desk.session import Desk
from lcdvt.desk.stars import SurveyStars, candidate_periods
from lcdvt.desk.table import MOST_ROWS, ORDERS_KEPT, Query, StarTable
from lcdvt.desk.verbs import answers
from lcdvt.errors import LcdvtError, SettingsError
from lcdvt.features.period.search import Periodogram
from lcdvt.workspace.answers import Answer, AnswerFile, Undo, answers_path


@pytest.fixture(scope="module")
def data(with_run) -> Path:
    return with_run


@pytest.fixture(scope="module")
def stars(data) -> pd.DataFrame:
    """Everything the table shows, put together by pandas."""
    survey, run = lcdvt.open_survey("new", data), lcdvt.open_run("run", data)
    predictions = run.predictions().drop(columns="label")
    chances = predictions.filter(like="p_").max(axis=1)
    together = survey.objects().merge(survey.features(), on="object_id")
    return together.merge(predictions.assign(probability=chances), on="object_id")


@pytest.fixture(scope="module")
def table(data) -> StarTable:
    return StarTable(lcdvt.open_survey("new", data), data / "runs" / "run")


def ids(table: StarTable, query: Query) -> list[str]:
    found: list[str] = []
    while page := table.page(query, len(found), 37)["rows"]:
        found += [row[0] for row in page]
    return found


@pytest.mark.parametrize("column", ["Period", "probability", "ra", "p_RRLYR", "Std_g", "n_epochs_g"])
@pytest.mark.parametrize("descending", [False, True])
def test_a_column_of_numbers_sorts_as_pandas_sorts_it(table, stars, column, descending):
    found = ids(table, Query(column, descending))
    assert sorted(found) == sorted(stars["object_id"])
    values = stars.set_index("object_id")[column].reindex(found)
    known = values.dropna()
    assert known.is_monotonic_decreasing if descending else known.is_monotonic_increasing
    assert values.iloc[len(known) :].isna().all()
    shown = table.page(Query(column, descending), 0, 5)
    place = shown["columns"].index(column)
    assert [row[place] for row in shown["rows"]] == pytest.approx(known.head(5).tolist())


def test_a_column_of_text_sorts_too(table, stars):
    for column in ("label", "object_id", "predicted"):
        values = stars.set_index("object_id")[column if column != "object_id" else "label"]
        found = ids(table, Query(column))
        shown = found if column == "object_id" else values.reindex(found).tolist()
        assert shown == sorted(shown)


def test_only_a_class_or_a_part_of_an_id(table, stars):
    label = stars["label"].iloc[0]
    for sort in ("", "Period", "probability"):
        assert set(ids(table, Query(sort, label=label))) == set(stars[stars["label"] == label]["object_id"])
    part = stars["object_id"].iloc[7][-4:]
    wanted = stars[stars["object_id"].str.contains(part, case=False, regex=False)]["object_id"]
    assert set(ids(table, Query(text=part))) == set(wanted)
    assert ids(table, Query(label="-")) == []
    assert ids(table, Query(text=".*")) == []


def test_places_are_those_of_the_pages(table):
    query = Query("Period", True)
    found = ids(table, query)
    assert [table.place_of(query, place) for place in (0, 5, len(found) - 1)] == [found[0], found[5], found[-1]]
    assert table.place_of(query, len(found)) is table.place_of(query, -1) is None


def test_few_orders_are_kept_and_large_pages_refused(table):
    for column in table.columns["features"][:8]:
        table.page(Query(column), 0, 1)
    assert len(table._orders) == ORDERS_KEPT
    with pytest.raises(SettingsError):
        table.page(Query(), 0, MOST_ROWS + 1)
    with pytest.raises(SettingsError, match="no column"):
        table.page(Query("nothing"), 0, 1)


def test_what_is_not_shown_is_not_sorted_by(table):
    for column in ("source", "part", "in_draw", "nothing"):
        with pytest.raises(SettingsError, match="have no column"):
            table.page(Query(column), 0, 5)


def test_a_page_reads_no_whole_column(data, monkeypatch):
    table = StarTable(lcdvt.open_survey("new", data))
    monkeypatch.setattr(table.features, "dataset", None)
    page = table.page(Query(), 3, 5)
    period = page["columns"].index("Period")
    expected = lcdvt.open_survey("new", data).features().set_index("object_id")["Period"]
    assert [row[period] for row in page["rows"]] == pytest.approx(expected[[row[0] for row in page["rows"]]].tolist())


def test_tables_in_another_order_are_put_together_by_id(data, tmp_path, stars):
    shutil.copytree(data / "new", tmp_path / "new")
    for part in (tmp_path / "new" / "features").glob("part-*.parquet"):
        table = pq.read_table(part)
        pq.write_table(table.take(list(range(table.num_rows))[::-1]), part)
    page = StarTable(lcdvt.open_survey("new", tmp_path)).page(Query("Period"), 0, 9)
    place = page["columns"].index("Period")
    expected = stars.set_index("object_id")["Period"]
    assert [row[place] for row in page["rows"]] == pytest.approx(expected[[row[0] for row in page["rows"]]].tolist())


def test_a_training_that_does_not_end_is_ended(monkeypatch):
    monkeypatch.setattr(retraining, "PATIENCE_S", 0.1)
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
    work = retraining.Retraining(print)
    work.process = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE, text=True)
    assert work.process.stdout.readline() == "\n"
    work.stop()
    assert work.process.poll() == -signal.SIGKILL


def test_candidates_are_peaks_that_fold_differently():
    frequency = np.arange(1, 4001) * 1e-3
    score = np.zeros(len(frequency))
    for place, height in ((1999, 1.0), (2003, 0.9), (999, 0.8), (3333, 0.7), (500, 0.6)):
        score[place] = height
    found = candidate_periods(Periodogram(frequency, score, 3), best=1 / frequency[1999])
    # beside the best peak, and its half frequency, nothing new is to be seen
    assert found == pytest.approx([1 / frequency[3333], 1 / frequency[500]])


def test_the_periodogram_covers_the_periods_of_the_survey(data):
    survey = SurveyStars(lcdvt.open_survey("new", data))
    star = survey.star(survey.stored.objects()["object_id"].iloc[0])
    scan = survey.scan(star)
    assert scan is not None
    assert max(scan["score"]) == 1
    assert scan["period"] == sorted(scan["period"])
    assert min(scan["period"]) == pytest.approx(survey.stored.survey.period_range[0], rel=0.05)
    one_epoch = replace(star, epochs=star.epochs.head(1))
    assert survey.scan(one_epoch) is None


@pytest.mark.slow
def test_rounds_are_scored_on_the_same_stars(data, tmp_path):
    from lcdvt.protocol.retrain import retrain

    copy = shutil.copytree(data, tmp_path / "data")
    outside = lcdvt.open_run("run", copy).predictions().query("not in_draw").head(6)
    file = AnswerFile(answers_path("new", copy), "new")
    for number, star in enumerate(outside.to_dict(orient="records")):
        said = {"predicted": star["predicted"]}
        file.add(Answer(f"k{number}", star["object_id"], star["label"], who="ann", run="run", model=said))
    retrain("run", data=copy)
    first, second = rounds(copy / "runs" / "run-round-1", copy)
    assert (first["run"], second["run"]) == ("run", "run-round-1")
    assert second["labels"] == first["labels"] + 6
    assert (first["answers"], second["answers"]) == (0, 6)
    assert (
        first["scored"] == second["scored"] == len(lcdvt.open_run("run", copy).predictions().query("not in_draw")) - 6
    )
    agreed = [each["label"] == each["predicted"] for each in agreement(file.log)]
    assert agreed == (outside["label"] == outside["predicted"]).tolist()
    desk = Desk.of_run("run-round-1", who="ann", n=200, unlabelled=False, data=copy)
    asked = {star["id"] for star in desk.queue}
    assert len(asked) == first["scored"]
    assert asked.isdisjoint(outside["object_id"])


def test_answers_are_merged_listed_and_given_back(data, tmp_path, lcdvt_here):
    copy = shutil.copytree(data, tmp_path / "data")
    objects = lcdvt.open_survey("new", copy).objects().set_index("object_id")
    a, b, c = objects.index[:3]
    wrong = next(name for name in sorted(set(objects["label"])) if name != objects["label"][a])
    for who, said in (("ann", {a: wrong, b: "CEP"}), ("bob", {b: "EB", c: None})):
        file = AnswerFile(tmp_path / f"{who}.jsonl", "new")
        for star, label in said.items():
            file.add(Answer(f"{who}-{star}", star, label, who=who, when="2026-01-01", period=0.5, note="n"))
    file.add(Answer("bob-oops", a, "EB", who="bob"))
    file.add(Undo("bob-undo", "bob-oops", "bob"))
    merge = [tmp_path / "ann.jsonl", tmp_path / "bob.jsonl"]
    result = answers("new", merge=merge, out=tmp_path / "labels.csv", data=copy)
    assert result.merged == 6
    assert answers("new", merge=merge, data=copy).merged == 0
    found = result.stars.set_index("object_id")
    assert found["label"].astype(object).where(found["label"].notna(), None).to_dict() == {a: wrong, b: None, c: None}
    assert result.disputed["object_id"].tolist() == [b]
    written = pd.read_csv(tmp_path / "labels.csv", dtype=str).set_index("id")["class"]
    expected = objects["label"].copy()
    expected[a] = wrong
    assert written.to_dict() == expected.to_dict()
    told = lcdvt_here("answers", "new", "--data", copy, "--out", tmp_path / "only.csv", "--only-answers")
    assert told.returncode == 0
    assert "1 disputed" in told.stdout
    assert "nobody's label" in told.stdout and "nan" not in told.stdout
    assert pd.read_csv(tmp_path / "only.csv", dtype=str).to_dict(orient="records") == [{"id": a, "class": wrong}]
    with pytest.raises(LcdvtError, match="exists"):
        answers("new", out=tmp_path / "only.csv", data=copy)
    with pytest.raises(LcdvtError, match="not about old"):
        answers("old", merge=merge, data=copy)
    empty = lcdvt_here("answers", "old", "--data", copy, "--json", tmp_path / "old.json")
    assert "nobody has answered" in empty.stdout
