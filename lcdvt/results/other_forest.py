"""How much a new star looks like none of the classes: the forest of a run's `other_score`, kept as plain arrays.

The score of the target's stars is what a forest expects of each of them (`lcdvt.protocol.novelty`). The same forest
says what to expect of a new star, and the target's stars say how high that ranks.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as parse
from safetensors.numpy import save as serialise

from lcdvt.disk.atomic import write_atomically
from lcdvt.errors import WorkspaceError, first_line

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestRegressor

OTHER_FILE: Final = "other.safetensors"
LEAF: Final = -1
MOST_BYTES: Final = 1 << 28
"""A forest of ours, which learns from at most ten thousand stars, has some ten megabytes."""


@dataclass(frozen=True)
class OtherForest:
    """Trees one below the other, node by node, and what they say of the target's stars.

    Parameters
    ----------
    roots
        The first node of each tree.
    feature, threshold
        What each node asks: is this feature at most that large? -1 for a leaf.
    left, right
        The node to go to if so, and if not; both further down than the node itself.
    missing_left
        Whether a star without the feature goes to the left.
    value
        What a leaf expects.
    reference
        What the forest expects of each star of the target, sorted.
    """

    roots: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    reference: NDArray[np.float64]

    @classmethod
    def from_sklearn(cls, forest: "RandomForestRegressor", expected: NDArray[np.float64]) -> "OtherForest":
        """Take the arrays out of a fitted forest."""
        trees = [one.tree_ for one in forest.estimators_]
        roots = np.concatenate(([0], np.cumsum([tree.node_count for tree in trees])))[:-1]
        left, right = (
            np.concatenate([getattr(tree, side) + root for tree, root in zip(trees, roots, strict=True)])
            for side in ("children_left", "children_right")
        )
        is_leaf = np.concatenate([tree.children_left < 0 for tree in trees])
        return cls(
            roots=roots.astype(np.int64),
            feature=np.where(is_leaf, LEAF, np.concatenate([tree.feature for tree in trees])).astype(np.int64),
            threshold=np.concatenate([tree.threshold for tree in trees]).astype(np.float64),
            left=np.where(is_leaf, 0, left).astype(np.int64),
            right=np.where(is_leaf, 0, right).astype(np.int64),
            missing_left=np.concatenate([tree.missing_go_to_left for tree in trees]).astype(bool),
            value=np.concatenate([tree.value[:, 0, 0] for tree in trees]).astype(np.float64),
            reference=np.sort(expected).astype(np.float64),
        )

    def expected(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return what the trees expect on average of each row of scaled features, NaN where one is missing."""
        rows = np.asarray(x, dtype=np.float32)  # as scikit-learn's trees look at them
        total = np.zeros(len(rows))
        for root in self.roots:
            node = np.full(len(rows), root)
            asking = np.flatnonzero(self.feature[node] != LEAF)
            while asking.size:
                here = node[asking]
                seen = rows[asking, self.feature[here]]
                goes_left = np.where(np.isnan(seen), self.missing_left[here], seen <= self.threshold[here])
                node[asking] = np.where(goes_left, self.left[here], self.right[here])
                asking = asking[self.feature[node[asking]] != LEAF]
            total += self.value[node]
        return total / len(self.roots)

    def score(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return for each row the share of the target's stars that look more like one of the classes."""
        return np.searchsorted(self.reference, self.expected(x), side="left") / len(self.reference)

    def write(self, folder: Path) -> None:
        """Write the arrays into a run's folder."""
        content = serialise({each.name: np.ascontiguousarray(getattr(self, each.name)) for each in fields(self)})
        write_atomically(folder / OTHER_FILE, lambda path: path.write_bytes(content))


def read_other_forest(folder: Path, features: int) -> OtherForest | None:
    """Read a run's forest; None for a run of a version that kept none.

    Parameters
    ----------
    folder
        The run's folder.
    features
        How many the run knows: the forest may ask for no other.
    """
    path = folder / OTHER_FILE
    if not path.is_file():
        return None
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"it is larger than {MOST_BYTES >> 20} MiB")
        forest = OtherForest(**parse(path.read_bytes()))
        _check(forest, features)
    except (OSError, SafetensorError, ValueError, TypeError, IndexError) as error:
        raise WorkspaceError(
            f"{path}: not what lcdvt wrote ({first_line(error)}); the run is damaged, train again."
        ) from error
    return forest


def _check(forest: OtherForest, features: int) -> None:
    """Refuse arrays by which a star would walk in circles or out of the trees."""
    nodes = len(forest.value)
    for each in fields(forest):
        wanted = nodes if each.name not in ("roots", "reference") else len(getattr(forest, each.name))
        if getattr(forest, each.name).shape != (wanted,) or wanted == 0:
            raise ValueError(f"{each.name} has the shape {getattr(forest, each.name).shape}")
    asks = forest.feature != LEAF
    here = np.flatnonzero(asks)
    walks_down = (forest.left[asks] > here) & (forest.right[asks] > here)
    inside = (forest.left[asks] < nodes) & (forest.right[asks] < nodes)
    if not (walks_down & inside).all() or forest.feature[asks].min(initial=0) < 0:
        raise ValueError("a node leads out of its tree")
    if forest.feature.max() >= features or forest.roots.min() < 0 or forest.roots.max() >= nodes:
        raise ValueError("a node asks for a feature that the run does not know")
    if forest.missing_left.dtype != bool or not np.isfinite(forest.value).all():
        raise ValueError("other values than trees have")
