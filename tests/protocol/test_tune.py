"""Random search: folds, trials that follow from their number, going on after a stop."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.dvt_problems import CLASSES, quick_config, survey_rows

from lcdvt.dataset.folds import stratified_folds
from lcdvt.dvt.config import DVTConfig
from lcdvt.errors import DatasetError, SettingsError
from lcdvt.protocol.tune import SearchRanges, best_config, draw_trial, score_trial, search

ROWS = survey_rows("old", shift=0.0, seed=1)[0]
BASE = quick_config(steps=40)
NEAR = SearchRanges(component_distance=(5.0, 12.0), classification_weight=(1e3, 1e4), width=(8, 16))


def test_folds_hold_each_class_in_equal_parts() -> None:
    fold = stratified_folds(ROWS.y, 5, seed=3, each_class_from_first=True)
    assert (fold[ROWS.y < 0] == -1).all()
    for number in range(3):
        assert np.bincount(fold[ROWS.y == number], minlength=5).tolist() == [2] * 5


def test_a_class_with_one_label_cannot_be_tuned_on(tmp_path: Path) -> None:
    y = np.where(ROWS.y == 1, -1, ROWS.y)
    y[np.flatnonzero(ROWS.y == 1)[0]] = 1
    with pytest.raises(DatasetError, match=f"class {CLASSES[1]} has one labelled object"):
        search(replace(ROWS, y=y), CLASSES, BASE, trials=1, results=tmp_path / "tune.jsonl")


def test_trials_follow_from_seed_and_number() -> None:
    first, again, other = (draw_trial(BASE, NEAR, 1, number) for number in (0, 0, 1))
    assert first == again != other
    assert NEAR.component_distance[0] <= first.model.component_distance <= NEAR.component_distance[1]
    assert first.model.shared[0] in NEAR.width
    assert first.training.mode == "semi-supervised"


def test_the_score_is_of_objects_that_were_held_out() -> None:
    config = replace(BASE, training=replace(BASE.training, mode="semi-supervised", steps=150))
    assert score_trial(config, ROWS, CLASSES, seed=0) > 85
    # labels without any relation to the features cannot be predicted when held out
    generator = np.random.default_rng(0)
    random_labels = np.where(np.arange(len(ROWS.y)) < 90, generator.permutation(np.arange(len(ROWS.y)) % 3), -1)
    assert score_trial(config, replace(ROWS, y=random_labels), CLASSES, seed=0) < 60


def test_a_broken_trial_scores_nothing() -> None:
    assert np.isnan(
        score_trial(
            replace(BASE, training=replace(BASE.training, mode="semi-supervised", learning_rate=1e30)), ROWS, CLASSES, 0
        )
    )


def test_a_search_goes_on_where_it_was(tmp_path: Path) -> None:
    results = tmp_path / "tune.jsonl"
    short = search(ROWS, CLASSES, BASE, trials=2, results=results, ranges=NEAR)
    lines = results.read_text().splitlines()
    # a search killed while it wrote leaves half a line
    results.write_text(lines[0] + "\n" + lines[1][:20])
    done: list[int] = []

    def progress(now: int, total: int | None, note: str = "") -> None:
        done.append(now)

    long = search(ROWS, CLASSES, BASE, trials=3, results=results, ranges=NEAR, progress=progress)
    assert done == [1, 2, 3]
    assert len(long) == 3
    merged = long.set_index("trial")["macro_f1"]
    for row in short.itertuples():
        assert merged[row.trial] == row.macro_f1
    assert (long["macro_f1"].diff().dropna() <= 0).all()
    best = best_config(results)
    assert isinstance(best, DVTConfig)
    assert best.training.learning_rate == long["learning_rate"].iloc[0]
    assert json.loads(results.read_text().splitlines()[-1])["trial"] == 2


def test_results_of_another_search_are_refused(tmp_path: Path) -> None:
    results = tmp_path / "tune.jsonl"
    search(ROWS, CLASSES, BASE, trials=1, results=results, ranges=NEAR)
    with pytest.raises(SettingsError, match="other settings"):
        search(ROWS, CLASSES, BASE, trials=1, results=results, ranges=NEAR, seed=5)
    with pytest.raises(SettingsError, match="no finished trial"):
        best_config(tmp_path / "absent.jsonl")


def test_results_of_other_labels_or_features_are_refused(tmp_path: Path) -> None:
    results = tmp_path / "tune.jsonl"
    search(ROWS, CLASSES, BASE, trials=1, results=results, ranges=NEAR)
    fewer = np.where(np.arange(len(ROWS.y)) == np.flatnonzero(ROWS.y == 0)[0], -1, ROWS.y)
    for other in (replace(ROWS, y=fewer), replace(ROWS, x=ROWS.x + 1)):
        with pytest.raises(SettingsError, match="other stars, labels or features"):
            search(other, CLASSES, BASE, trials=1, results=results, ranges=NEAR)


@pytest.mark.parametrize("content", ["id,class\n1,RRLYR\n", "5\n", '{"run": 1}\n'])
def test_a_file_that_is_no_search_stays_as_it_is(content: str, tmp_path: Path) -> None:
    results = tmp_path / "labels.csv"
    results.write_text(content)
    with pytest.raises(SettingsError, match="not the results of a search"):
        search(ROWS, CLASSES, BASE, trials=1, results=results, ranges=NEAR)
    assert results.read_text() == content
    with pytest.raises(SettingsError, match="as TOML"):
        search(ROWS, CLASSES, BASE, trials=1, results=tmp_path / "tune.toml", ranges=NEAR)


@pytest.mark.slow
def test_the_command_on_an_ingested_survey(
    lcdvt: Callable[..., subprocess.CompletedProcess[str]], workspace: Path, tmp_path: Path
) -> None:
    for arguments in (
        ("simulate", "hits", "raw", "--objects", 120),
        ("ingest", "raw", "--survey", "hits", "--jobs", 1),
        (
            "tune",
            "--survey",
            "hits",
            "--labels",
            "50%",
            "--trials",
            1,
            "--steps",
            20,
            "--out",
            "tune.jsonl",
            "--json",
            "best.json",
        ),
    ):
        done = lcdvt(*arguments)
        assert done.returncode == 0, done.stderr
    assert "macro_f1" in done.stdout
    (trial,) = json.loads((tmp_path / "best.json").read_text())["trials"]
    assert 0 <= trial["macro_f1"] <= 100
    assert best_config(tmp_path / "tune.jsonl").training.steps == 20
    used = lcdvt("train", "--survey", "hits", "--preset", "tune.toml", "--members", 1, "--repeats", 2, "--jobs", 1)
    assert used.returncode == 0, used.stderr
    assert "preset: tune.toml" in lcdvt("runs", "show", "hits").stdout
    wrong = lcdvt("tune", "--survey", "hits", "--scaling", "magic")
    assert wrong.returncode == 2
    assert "choose from survey, pooled, rank, none" in wrong.stderr
