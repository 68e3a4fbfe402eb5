"""A finished run in a notebook: the same after a restart, with its table, figures and stars."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lcdvt
from lcdvt.errors import SettingsError, WorkspaceError

pytestmark = pytest.mark.usefixtures("few_trees")

QUICK = {"labels": "20%", "members": 2, "repeats": 2, "steps": 40, "rows": ["forest-target", "svm-target"], "jobs": 1}


@pytest.fixture(scope="module")
def made(two_surveys) -> lcdvt.Run:
    return lcdvt.transfer("old", "new", data=two_surveys, name="notebook", force=True, **QUICK)


def test_a_new_process_opens_the_same_table(made) -> None:
    code = f"import lcdvt; print(lcdvt.open_run('notebook', {str(made.data)!r}).table()._repr_html_(), end='')"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == made.table()._repr_html_()
    assert answer.stdout.count("<tr>") == 1 + 1 + len(made.table().rows)


def test_a_run_is_opened_by_name_and_by_folder(made, monkeypatch) -> None:
    by_folder = lcdvt.open_run(made.folder)
    assert (by_folder.surveys, by_folder.classes, by_folder.target) == (("old", "new"), made.classes, "new")
    assert by_folder.data == made.data.absolute()
    monkeypatch.setenv("LCDVT_DATA", str(made.data))
    assert lcdvt.open_run("notebook").table() == made.table()
    assert "notebook" in lcdvt.runs().index
    with pytest.raises(WorkspaceError, match="there is no run 'other'"):
        lcdvt.open_run("other")


def test_an_open_run_stays_open_where_the_notebook_changes_its_folder(made, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(made.data.parent)
    run = lcdvt.open_run("notebook", made.data.name)
    monkeypatch.chdir(tmp_path)
    assert run == made
    assert run.table() == made.table()
    assert len(run.suggest(2)) == 2


def test_confusion_counts_every_scored_object_of_every_draw(made) -> None:
    counts = made.confusion()
    scored = sum(int(draw.rows["dvt-ensemble"].confusion.sum()) for draw in made.draws())
    assert counts.to_numpy().sum() == scored == made.reliability().count.sum()
    assert counts.index.tolist() == counts.columns.tolist() == list(made.classes)
    f1 = 2 * np.diagonal(counts) / (counts.sum(axis=0) + counts.sum(axis=1))
    assert f1.mean() > 0.4
    with pytest.raises(SettingsError, match="no row 'magic': choose from"):
        made.confusion("magic")


def test_it_classifies_suggests_and_reports(made, tmp_path) -> None:
    stars = made.predict("new")
    known = made.predictions().set_index("object_id")["predicted"]
    same = stars.set_index("object_id")["predicted"].reindex(known.index)
    assert (same == known)[same.notna()].all()
    suggested = made.suggest(3)
    assert len(suggested) == 3 and not suggested["object_id"].isin(known.index[made.predictions()["in_draw"]]).any()
    page = made.report(tmp_path / "report.html")
    assert "notebook" in page.read_text(encoding="utf-8")
    assert made.plot_reliability(["dvt-ensemble", "forest-target"]).axes
    assert made.settings()["labels"] == "20%" and "table" not in made.settings()
    assert not made.history().empty


def test_a_survey_of_a_few_features_is_not_guessed_at(made, tmp_path) -> None:
    shutil.copytree(made.data / "old", tmp_path / "old")
    assert len(lcdvt.predict(made, "old", data=tmp_path).stars()) == 160
    lcdvt.extract("old", ["Std", "Skew", "Color"], data=tmp_path, jobs=1)
    with pytest.raises(SettingsError, match=r"'old' has only 2 of the run's \d+ features: run `lcdvt extract old`"):
        lcdvt.predict(made, "old", data=tmp_path)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda run: run.predict(run.predictions()), "what to classify is given as DataFrame: give an ingested survey"),
        (lambda run: lcdvt.open_run(3), "the run is given as int: give its name"),
        (lambda run: lcdvt.open_survey(None), "the survey is given as NoneType: give the name"),
        (lambda run: lcdvt.ingest(run.predictions()), "what to ingest is given as DataFrame: give a folder"),
        (lambda run: lcdvt.ingest(run.folder, catalog=run.predictions()), "catalog is given as DataFrame"),
        (lambda run: run.suggest(2.5), "n=2.5: give a whole number"),
        (lambda run: run.doubt("5"), "n='5': give a whole number"),
        (lambda run: run.report(seed=-1), "seed=-1: give 0 or more"),
        (lambda run: run.plot_latent(most_stars=0), "most_stars=0 seed=0: draw at least one star"),
        (lambda run: run.plot_latent(seed=-1), "seed=-1: draw at least one star, with a seed of 0"),
    ],
)
def test_what_a_notebook_gives_wrongly_is_one_sentence(made, asked, said, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(lcdvt.LcdvtError, match=said):
        asked(made)


def test_its_numbers_are_a_preset_for_another_run(made, two_surveys) -> None:
    config = made.config()
    assert config.training.steps == 40
    again = lcdvt.transfer(
        "old", "new", data=two_surveys, name="same-numbers", force=True, preset=config, **{**QUICK, "steps": None}
    )
    pd.testing.assert_frame_equal(again.predictions(), made.predictions())
    assert again.settings()["preset"] == "given in Python"
    compared = made.compare(again)
    assert compared.to_frame().iloc[:, 0].tolist() == compared.to_frame().iloc[:, 1].tolist()
    assert "<table" in compared._repr_html_()


def test_a_preset_may_be_a_file(made, tmp_path) -> None:
    from lcdvt.dvt.config import choose_preset, preset

    assert choose_preset(Path(made.folder) / "config.toml") == made.config()
    own = tmp_path / "mine.toml"
    own.write_text("[training]\nsteps = 7\n", encoding="utf-8")
    assert choose_preset(own).training.steps == 7
    own.write_text("[training]\nsteeps = 7\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"mine.toml.training: there is no setting named 'steeps'"):
        choose_preset(own)
    with pytest.raises(SettingsError, match=r"there is no preset named 'magic'.*ends in .toml"):
        choose_preset("magic")
    assert choose_preset("tied") == preset("tied")
