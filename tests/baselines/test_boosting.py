"""Boosting with bins found at once answers as scikit-learn's own."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier

from lcdvt.baselines.boosting import QuicklyBinnedBoosting, weighted_thresholds

SETTINGS = {"max_iter": 15, "max_bins": 31, "max_features": 0.5, "min_samples_leaf": 5, "random_state": 3}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [25, 400])
def test_the_same_answers_as_scikit_learn(n, weighted):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 6))
    x[:, 1] = np.round(x[:, 1], 1)  # many equal values
    x[:, 2] = rng.integers(0, 3, n)  # fewer values than bins
    x[rng.random(x.shape) < 0.2] = np.nan
    x[:, 3] = 7.0  # says nothing
    y = (np.nan_to_num(x[:, 0]) + np.nan_to_num(x[:, 2]) > 0.5).astype(int) + (np.nan_to_num(x[:, 4]) > 1)
    weights = np.where(rng.random(n) < 0.1, 0.0, rng.gamma(2.0, size=n)) if weighted else None
    theirs = HistGradientBoostingClassifier(**SETTINGS).fit(x, y, sample_weight=weights)
    ours = clone(QuicklyBinnedBoosting(**SETTINGS)).fit(x, y, sample_weight=weights)
    known = rng.permutation(x)  # other rows of values that were learned from
    np.testing.assert_allclose(ours.predict_proba(known), theirs.predict_proba(known), atol=1e-12)
    new = rng.normal(size=(200, 6))
    # a new value inside an empty bin may fall on the other side: hardly ever, and no class changes by it
    agree = ours.predict(new) == theirs.predict(new)
    assert agree.mean() > 0.97
    assert set(ours.predict(new)) <= set(ours.classes_)


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
