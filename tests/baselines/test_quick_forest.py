"""A forest that checks its rows once is scikit-learn's own, tree for tree."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from lcdvt.baselines import quick_forest
from lcdvt.baselines.quick_forest import QuickForest


def rows(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 12))
    x[:, :3][rng.random((n, 3)) < 0.2] = np.nan
    y = np.where(np.nan_to_num(x[:, 0]) + x[:, 5] > 0.3, 4, np.where(x[:, 6] > 0.5, 7, 1))
    return x, y, rng.gamma(2.0, size=n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize(("n", "smallest_leaf"), [(12, 1), (300, 1), (300, 5)])
def test_the_same_trees_as_scikit_learn(n, smallest_leaf, class_weight, weighted):
    x, y, weights = rows(n)
    settings = {"min_samples_leaf": smallest_leaf, "class_weight": class_weight, "random_state": 3}
    sample_weight = weights if weighted else None
    theirs = RandomForestClassifier(15, **settings).fit(x, y, sample_weight=sample_weight)
    ours = clone(QuickForest(15, **settings)).fit(x, y, sample_weight=sample_weight)
    for one, other in zip(ours.estimators_, theirs.estimators_, strict=True):
        np.testing.assert_array_equal(one.tree_.__getstate__()["nodes"], other.tree_.__getstate__()["nodes"])
        np.testing.assert_array_equal(one.tree_.value, other.tree_.value)
    new, _, _ = rows(100)
    np.testing.assert_array_equal(ours.predict_proba(new), theirs.predict_proba(new))
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    np.testing.assert_array_equal(ours.classes_, [1, 4, 7])


def test_another_scikit_learn_goes_its_own_way(monkeypatch):
    monkeypatch.setattr(quick_forest, "SHORTENED", ())
    x, y, _ = rows(60)
    forest = QuickForest(5, random_state=1).fit(x, y)
    assert type(forest.estimators_[0]).__name__ == "DecisionTreeClassifier"
    monkeypatch.undo()
    again = QuickForest(5, random_state=1).fit(x, y)
    assert type(again.estimators_[0]).__name__ == "_CheckedTree"
    np.testing.assert_array_equal(again.predict_proba(x), forest.predict_proba(x))
