"""No star's own label reaches the model that judges it, and labels of the target reach no transfer."""

import shutil

import numpy as np
import pandas as pd
import pytest

import lcdvt
from lcdvt.dataset.dataset import UNLABELLED
from lcdvt.doubts import opinions
from lcdvt.doubts.opinions import mean_opinion, opinion_by_transfer, opinion_within


@pytest.fixture
def stars(monkeypatch) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of three classes, some labels missing; a quick cross-validation."""
    monkeypatch.setattr(opinions, "REPEATS", 2)
    monkeypatch.setattr(opinions, "FOREST", opinions.ForestConfig(trees=20, smallest_leaf=2))
    generator = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    x = generator.normal(size=(60, 4)) + 2 * np.eye(3, 4)[y]
    x[generator.random(x.shape) < 0.1] = np.nan
    y[::10] = UNLABELLED
    return x, y


def test_a_label_of_a_star_never_touches_its_own_opinion(stars):
    x, y = stars
    honest = opinion_within(x, y, 3, seed=5)
    others_changed = False
    for star in np.flatnonzero(y != UNLABELLED)[::7]:
        lying = y.copy()
        lying[star] = (y[star] + 1) % 3
        changed = opinion_within(x, lying, 3, seed=5)
        assert np.array_equal(changed[star], honest[star])
        others_changed |= not np.array_equal(changed, honest, equal_nan=True)
    assert others_changed


def test_opinions_within_are_probabilities_of_labelled_stars_and_the_seed_decides(stars):
    x, y = stars
    first, again, other = (opinion_within(x, y, 3, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again, equal_nan=True)
    assert not np.array_equal(first, other, equal_nan=True)
    assert np.isnan(first[y == UNLABELLED]).all()
    assert first[y != UNLABELLED].sum(axis=1) == pytest.approx(1.0)


def test_a_survey_with_many_labels_is_learned_from_a_sample(stars, monkeypatch):
    x, y = stars
    whole = opinion_within(x, y, 3, seed=1)
    monkeypatch.setattr(opinions, "MOST_LEARNED", 20)
    assert not np.array_equal(opinion_within(x, y, 3, seed=1), whole, equal_nan=True)


def test_no_label_of_the_target_reaches_a_transfer(two_surveys, tmp_path):
    data = shutil.copytree(two_surveys, tmp_path / "data")
    objects = pd.read_parquet(data / "new" / "objects.parquet")
    classes = sorted(objects["label"].unique())

    def judged() -> np.ndarray:
        return opinion_by_transfer([lcdvt.open_survey("old", data)], lcdvt.open_survey("new", data), classes, 0)

    honest = judged()
    objects["label"] = np.roll(objects["label"], 7)
    objects.to_parquet(data / "new" / "objects.parquet")
    assert np.array_equal(judged(), honest)


def test_the_mean_is_over_the_opinions_that_there_are():
    one = np.array([[0.2, 0.8], [np.nan, np.nan], [np.nan, np.nan]])
    two = np.array([[0.6, 0.4], [0.5, 0.5], [np.nan, np.nan]])
    assert mean_opinion([one, two])[:2] == pytest.approx(np.array([[0.4, 0.6], [0.5, 0.5]]))
    assert np.isnan(mean_opinion([one, two])[2]).all()
