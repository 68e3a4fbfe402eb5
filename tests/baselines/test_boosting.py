"""Boosting in compiled loops grows scikit-learn's trees."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from lcdvt.baselines.boosting import HistogramBoosting, weighted_thresholds
from lcdvt.baselines.one_thread import one_thread

SETTINGS = {"max_iter": 15, "learning_rate": 0.2, "max_leaf_nodes": 15, "max_bins": 31, "random_state": 3}


def rows(n: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 7))
    x[:, 1] = np.round(x[:, 1], 1)  # many equal values
    x[:, 2] = rng.integers(0, 3, n)  # fewer values than bins
    x[:, :3][rng.random((n, 3)) < 0.2] = np.nan
    x[:, 3] = 7.0  # says nothing
    score = 2 * np.nan_to_num(x[:, 0]) + x[:, 4] + rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]))
    return x, 2 * y - 1  # classes by any numbers


@pytest.mark.parametrize(("share", "smallest_leaf"), [(1.0, 1), (0.3, 5)])
@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("n", [9, 25, 400])
def test_the_same_trees_as_scikit_learn(n, classes, share, smallest_leaf):
    x, y = rows(n, classes)
    settings = SETTINGS | {"max_features": share, "min_samples_leaf": smallest_leaf}
    with one_thread():
        theirs = HistGradientBoostingClassifier(**settings, early_stopping=False).fit(x, y)
    ours = HistogramBoosting(**settings).fit(x, y)
    new, _ = rows(200, 2)
    new[::5, 4] = np.nan  # a gap that no row had
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    for known_or_new in (x, new):
        with one_thread():
            np.testing.assert_array_equal(ours.predict_proba(known_or_new), theirs.predict_proba(known_or_new))


@pytest.mark.parametrize("n", [25, 400])
def test_weights_weigh_as_in_scikit_learn(n):
    x, y = rows(n, 3)
    rng = np.random.default_rng(n)
    weights = np.where(rng.random(n) < 0.1, 0.0, rng.gamma(2.0, size=n))
    settings = SETTINGS | {"max_features": 0.5, "min_samples_leaf": 5}
    with one_thread():
        theirs = HistGradientBoostingClassifier(**settings, early_stopping=False).fit(x, y, sample_weight=weights)
    ours = HistogramBoosting(**settings).fit(x, y, sample_weight=weights)
    known = rng.permutation(x)  # other rows of values that were learned from
    np.testing.assert_allclose(ours.predict_proba(known), theirs.predict_proba(known), atol=1e-12)
    new, _ = rows(200, 2)
    # where a share of the weight ends exactly with a value, rounding decides to which bin a new value belongs
    agree = ours.predict_proba(new).argmax(axis=1) == theirs.predict_proba(new).argmax(axis=1)
    assert agree.mean() > 0.97


def test_more_bins_than_one_number_can_count_are_refused():
    with pytest.raises(ValueError, match="max_bins must be 2 to 127, not 200"):
        HistogramBoosting(**SETTINGS | {"max_bins": 200}, max_features=1.0, min_samples_leaf=5)


def test_bins_have_about_the_same_weight():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=5000), rng.gamma(1.0, size=5000)
    thresholds = weighted_thresholds(values, weights, 20)
    assert len(thresholds) == 19
    share = np.bincount(np.searchsorted(thresholds, values), weights) / weights.sum()
    np.testing.assert_allclose(share, 0.05, atol=0.002)


def test_few_values_have_a_bin_each():
    values = np.array([3.0, 1.0, np.nan, 1.0, 10.0])
    np.testing.assert_array_equal(weighted_thresholds(values, np.ones(5), 31), [2.0, 6.5])
    assert not len(weighted_thresholds(np.full(4, np.nan), np.ones(4), 31))
