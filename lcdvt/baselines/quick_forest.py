"""Random forests that check their rows once: scikit-learn checks them again for every tree.

On the few hundred rows of a label draw scikit-learn spends most of a forest's time in Python, copying settings and
checking rows for each tree. Here the forest's own checks count for all its trees; the trees are grown by scikit-learn's
compiled builder from the same random numbers, and are the same. So are the answers, for which scikit-learn prepares
threads for each tree, whether there are any or not.
"""

from typing import Any, Final

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

SHORTENED: Final = ("1.9",)
"""Versions of scikit-learn that this was tried with; with any other one the forest is scikit-learn's own."""

# Where a tree's random state is drawn from; scikit-learn takes the same range.
_STATES: Final = np.iinfo(np.int32).max


def _is_shortened() -> bool:
    return sklearn.__version__.rpartition(".")[0] in SHORTENED


class _CheckedTree(DecisionTreeClassifier):
    """A classification tree on dense rows of one output that its forest has checked: classes 0, 1, …, none missing."""

    def _fit(
        self,
        X: NDArray[np.float32],
        y: NDArray[np.float64],
        sample_weight: NDArray[Any] | None = None,
        check_input: bool = True,
        missing_values_in_feature_mask: NDArray[np.bool_] | None = None,
    ) -> "_CheckedTree":
        from sklearn.tree._criterion import Gini
        from sklearn.tree._splitter import BestSplitter
        from sklearn.tree._tree import DepthFirstTreeBuilder, Tree

        self.n_features_in_, self.n_outputs_ = X.shape[1], 1
        self.n_classes_ = int(y.max()) + 1
        self.classes_ = np.arange(self.n_classes_, dtype=np.float64)
        self.max_features_ = max(1, int(np.sqrt(self.n_features_in_)))
        counts = np.array([self.n_classes_], dtype=np.intp)
        leaf, weight = self.min_samples_leaf, 0.0
        chance = np.random.RandomState(self.random_state)  # the builder takes no other generator
        splitter = BestSplitter(Gini(1, counts), self.max_features_, leaf, weight, chance, None)
        self.tree_ = Tree(self.n_features_in_, counts, 1)
        builder = DepthFirstTreeBuilder(splitter, max(2, 2 * leaf), leaf, weight, _STATES, 0.0)
        weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
        builder.build(self.tree_, X, y, weights, missing_values_in_feature_mask)
        return self


class QuickForest(RandomForestClassifier):
    """A random forest on dense rows with scikit-learn's settings, leaves' size excepted; the same trees, sooner."""

    def __init__(
        self, n_estimators: int = 100, *, min_samples_leaf: int = 1, class_weight: Any = None, random_state: Any = None
    ) -> None:
        super().__init__(
            n_estimators,
            min_samples_leaf=min_samples_leaf,
            class_weight=class_weight,
            random_state=random_state,
            n_jobs=1,
        )

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of the trees' leaf shares, (rows, classes)."""
        if not _is_shortened():
            proba: NDArray[np.float64] = super().predict_proba(X)
            return proba
        x = np.asarray(X, dtype=np.float32)
        total = np.zeros((len(x), len(self.classes_)))
        for tree in self.estimators_:
            total += tree.tree_.predict(x)
        return total / len(self.estimators_)

    def _make_estimator(self, append: bool = True, random_state: Any = None) -> DecisionTreeClassifier:
        if not _is_shortened():
            tree: DecisionTreeClassifier = super()._make_estimator(append, random_state)
            return tree
        tree = _CheckedTree(min_samples_leaf=self.min_samples_leaf, random_state=random_state.randint(_STATES))
        if append:
            self.estimators_.append(tree)
        return tree
