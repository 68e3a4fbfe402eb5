"""Labelled stars that look alike: what a doubtful star stands among, whatever a classifier says."""

from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

NEIGHBOURS: Final = 5
SEPARATOR: Final = ";"
"""Between the neighbours of a star in one cell of a table."""
DIMENSIONS: Final = 10
"""Principal components in which stars are compared: in all features at once every star is far from every other."""


def nearest_labelled(
    scaled: NDArray[np.floating], labelled: NDArray[np.bool_], asked: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Return (asked, neighbours) rows of the nearest other labelled stars, the nearest first.

    Parameters
    ----------
    scaled
        (stars, features) on a common scale with mean zero, NaN where missing.
    labelled
        Who may be a neighbour.
    asked
        Rows of the stars whose neighbours are wanted, all of them labelled.
    """
    filled = np.nan_to_num(scaled.astype(np.float64), nan=0.0)
    rows = np.flatnonzero(labelled)
    centred = filled - filled[rows].mean(axis=0)
    # by their products, not star by star: there are far fewer features than stars
    _, directions = np.linalg.eigh(centred[rows].T @ centred[rows])
    places = centred @ directions[:, ::-1][:, :DIMENSIONS]
    wanted = min(NEIGHBOURS, len(rows) - 1)
    search = NearestNeighbors(n_neighbors=wanted + 1).fit(places[rows])
    found = rows[search.kneighbors(places[asked], return_distance=False)]
    # a star is its own nearest; among stars that are all the same it may not come first, or not at all
    return np.stack([near[near != star][:wanted] for near, star in zip(found, asked, strict=True)])


def counted_labels(listed: str) -> str:
    """Return the labels of a star's neighbours, the most frequent first.

    Examples
    --------
    >>> counted_labels("EB;CEP;EB")
    '2 EB, 1 CEP'
    """
    return ", ".join(f"{count} {name}" for name, count in Counter(listed.split(SEPARATOR)).most_common())
