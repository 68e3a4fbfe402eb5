"""Drawn labels that the sources contradict: who is doubted, who is not, and what DVT learns in their place."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from helpers.baseline_problems import shifted

import lcdvt
from lcdvt.baselines.problem import TransferProblem
from lcdvt.dvt.config import TeachingConfig
from lcdvt.errors import SettingsError
from lcdvt.protocol.doubtful import (
    MOST_CHANGED,
    MOST_CONTRADICTED,
    _opinion_of_sources,
    believed_labels,
    changed_share,
    contradicted_share,
    doubtful_labels,
)
from lcdvt.protocol.plan import TransferOptions
from lcdvt.protocol.teaching import teach
from lcdvt.results.draw_record import read_draws


def with_wrong_label() -> tuple[TransferProblem, int]:
    """Return a problem with eight labels of each class, one of them wrong, and the star that has it."""
    problem, _ = shifted(labels_per_class=8, missing=0.0, source_objects=400)
    star = int(np.flatnonzero(problem.target_y == 3)[2])
    target_y = problem.target_y.copy()
    target_y[star] = 0
    return replace(problem, target_y=target_y), star


def test_the_wrong_label_among_right_ones_is_found_and_left_out():
    problem, star = with_wrong_label()
    doubtful = doubtful_labels(problem, seed=0)
    assert np.flatnonzero(doubtful).tolist() == [star]
    assert np.array_equal(doubtful, doubtful_labels(problem, seed=0))
    assert believed_labels(problem, TeachingConfig(doubtful_labels="keep"), seed=0) is problem
    left = believed_labels(problem, TeachingConfig(doubtful_labels="leave-out"), seed=0)
    assert left.target_y[star] == -1
    assert np.array_equal(np.delete(left.target_y, star), np.delete(problem.target_y, star))


def test_right_labels_are_left_as_they_are():
    problem, _ = shifted(labels_per_class=8, missing=0.0, source_objects=400)
    assert believed_labels(problem, TeachingConfig(doubtful_labels="leave-out"), seed=0) is problem


def test_sources_that_do_not_know_the_target_doubt_nothing():
    problem, _ = with_wrong_label()
    source_y = np.random.default_rng(0).permutation(problem.source_y)
    assert not doubtful_labels(replace(problem, source_y=source_y), seed=0).any()


def test_sources_that_the_drawn_labels_teach_better_doubt_nothing(monkeypatch):
    problem, _ = with_wrong_label()
    moved = replace(problem, source_x=problem.source_x + 2)
    nearby, far = (changed_share(each, _opinion_of_sources(each, 0), seed=0) for each in (problem, moved))
    assert nearby < MOST_CHANGED <= far
    assert not doubtful_labels(moved, seed=0).any()
    monkeypatch.setattr("lcdvt.protocol.doubtful.MOST_CHANGED", 1.0)
    assert doubtful_labels(moved, seed=0).any()


def test_sources_whose_own_labels_contradict_each_other_doubt_nothing(monkeypatch):
    problem, star = with_wrong_label()
    generator = np.random.default_rng(0)
    wrong = generator.random(len(problem.source_y)) < 0.08
    by_eye = replace(problem, source_y=np.where(wrong, (problem.source_y + 1) % 4, problem.source_y))
    assert contradicted_share(problem, seed=0) < MOST_CONTRADICTED <= contradicted_share(by_eye, seed=0) < 0.15
    assert not doubtful_labels(by_eye, seed=0).any()
    monkeypatch.setattr("lcdvt.protocol.doubtful.MOST_CONTRADICTED", 1.0)
    assert doubtful_labels(by_eye, seed=0)[star]


def test_of_many_labels_some_are_judged_and_nothing_of_the_target(monkeypatch):
    problem, _ = with_wrong_label()
    whole = contradicted_share(problem, seed=0)
    other = replace(problem, target_x=problem.target_x + 1, target_y=np.full_like(problem.target_y, 2))
    assert contradicted_share(other, seed=0) == whole
    judged = []
    monkeypatch.setattr("lcdvt.protocol.doubtful.JUDGED_LABELS", 100)
    monkeypatch.setattr(
        "lcdvt.protocol.doubtful.opinion_within",
        lambda x, y, n_classes, seed, repeats: (judged.append(len(y)), np.eye(n_classes)[y])[1],
    )
    assert contradicted_share(problem, seed=0) == 0
    assert judged == [100]


def test_what_a_person_answered_is_believed():
    problem, star = with_wrong_label()
    leave_out = TeachingConfig(doubtful_labels="leave-out")
    answered = np.zeros(len(problem.target_y), dtype=bool)
    assert believed_labels(problem, leave_out, 0, answered).target_y[star] == -1
    answered[star] = True
    assert believed_labels(problem, leave_out, 0, answered) is problem


def test_answers_take_no_part_in_the_judgement():
    problem, _ = with_wrong_label()
    answered = np.zeros(len(problem.target_y), dtype=bool)
    asked = np.flatnonzero(problem.target_y == -1)[:40]
    answered[asked] = True
    target_y = problem.target_y.copy()
    target_y[asked] = np.random.default_rng(0).integers(0, 4, len(asked))
    many = replace(problem, target_y=target_y)
    assert not doubtful_labels(many, seed=0).any(), "if these were labels, the sources would disagree with most"
    assert not doubtful_labels(many, 0, answered)[answered].any()
    only_answers = replace(problem, target_y=np.where(answered, target_y, -1))
    assert believed_labels(only_answers, TeachingConfig(), 0, answered) is only_answers


def test_a_class_that_no_source_knows_is_not_doubted():
    problem, _ = with_wrong_label()
    unknown = replace(problem, source_y=np.where(problem.source_y == 1, -1, problem.source_y))
    assert not doubtful_labels(unknown, seed=0)[problem.target_y == 1].any()
    nothing = replace(problem, source_y=np.full_like(problem.source_y, -1))
    assert not doubtful_labels(nothing, seed=0).any()
    unlabelled = replace(problem, target_y=np.full_like(problem.target_y, -1))
    assert not doubtful_labels(unlabelled, seed=0).any()


def test_a_class_keeps_its_labels_if_every_one_of_them_is_contradicted():
    problem, truth = shifted(labels_per_class=8, missing=0.0, source_objects=400)
    target_y = np.where(problem.target_y == 2, -1, problem.target_y)
    wrong = np.flatnonzero((truth == 3) & (target_y == -1))[:2]
    target_y[wrong] = 2
    assert not doubtful_labels(replace(problem, target_y=target_y), seed=0)[wrong].any()
    target_y[np.flatnonzero(truth == 2)[:6]] = 2
    assert doubtful_labels(replace(problem, target_y=target_y), seed=0)[wrong].all()


def test_a_doubted_star_is_taught_what_the_trees_say():
    problem, star = with_wrong_label()
    quick = TeachingConfig(students=1)
    assert teach(problem, quick, seed=0).classes[star] == 0
    left = believed_labels(problem, TeachingConfig(doubtful_labels="leave-out"), seed=0)
    taught = teach(left, quick, seed=0).classes
    assert taught[star] == 3
    believed = left.target_y != -1
    assert (taught[believed] == problem.target_y[believed]).all()


def test_the_option_reaches_the_teachers_and_a_wrong_one_is_refused():
    assert TransferOptions().config.teaching.doubtful_labels == "leave-out"
    assert TransferOptions(doubtful_labels="keep").config.teaching.doubtful_labels == "keep"
    assert TransferOptions(doubtful_labels="keep", replicates=2).config.teaching.replicates == 2
    with pytest.raises(SettingsError, match="doubtful_labels=drop: choose from keep, leave-out"):
        _ = TransferOptions(doubtful_labels="drop").config
    with pytest.raises(SettingsError, match="doubtful_labels=keep: preset tied has no teachers"):
        _ = TransferOptions(doubtful_labels="keep", preset="tied").config


@pytest.mark.slow
def test_the_table_says_how_many_labels_were_doubted_and_the_draw_names_their_stars(two_surveys, tmp_path, monkeypatch):
    # simulated quasars and binaries are hard to tell apart: by their own labels these sources would doubt nothing
    monkeypatch.setattr("lcdvt.protocol.doubtful.MOST_CONTRADICTED", 1.0)
    data = tmp_path / "data"
    shutil.copytree(two_surveys, data)
    objects = lcdvt.open_survey("new", data).objects()
    star = objects[objects["label"] == "RRLYR"]["object_id"].iloc[3]
    objects["label"] = objects["label"].mask(objects["object_id"] == star, "EB")
    objects[["object_id", "label"]].to_csv(tmp_path / "wrong.csv", index=False)
    lcdvt.ingest(two_surveys.parent / "new", name="new", catalog=tmp_path / "wrong.csv", data=data, jobs=1)
    quick = {"members": 1, "repeats": 1, "steps": 5, "rows": ["forest-source"], "replicates": 0, "jobs": 1}
    run = lcdvt.transfer("old", "new", "60%", data=data, **quick)
    (draw,) = read_draws(run.folder)
    assert star in draw.doubted
    said = f"Contradicted by the sources: {len(draw.doubted)} of these labels (by draw)."
    assert any(note.startswith(said) for note in run.table().notes)
    kept = lcdvt.transfer("old", "new", "60%", data=data, name="kept", doubtful_labels="keep", **quick)
    assert read_draws(kept.folder)[0].doubted == ()
    assert not any(note.startswith("Contradicted") for note in kept.table().notes)
