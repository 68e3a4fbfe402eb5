"""Labels that spread along a graph of neighbouring target objects (Zhou et al. 2004)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline, make_pipeline

from lcdvt.baselines.fitting import pooled_imputer
from lcdvt.baselines.problem import TransferProblem
from lcdvt.errors import DatasetError


@dataclass(frozen=True)
class LabelSpreadingConfig:
    """How far labels spread.

    Parameters
    ----------
    neighbours
        Edges from each object.
    keep
        Share that each step takes from the neighbours; the rest stays with the drawn labels.
    steps
        Number of steps; what has not reached an object after so many never matters.
    dimensions
        Principal components in which neighbours are looked for: distances in all features are mostly noise.
    """

    neighbours: int = 10
    keep: float = 0.95
    steps: int = 100
    dimensions: int = 20


class LabelSpreading:
    """Semi-supervised on the target: drawn labels and unlabelled objects, no source labels."""

    def __init__(self, config: LabelSpreadingConfig | None = None) -> None:
        self.config = config or LabelSpreadingConfig()
        self._project: Pipeline
        self._neighbours: NearestNeighbors
        self._spread: NDArray[np.float64]

    def fit(self, problem: TransferProblem, seed: int) -> None:
        """Spread the labels over all target objects."""
        labelled = np.flatnonzero(problem.target_y >= 0)
        if not len(labelled):
            raise DatasetError("label spreading needs at least one target label: draw some, or leave its row out.")
        objects, features = problem.target_x.shape
        dimensions = min(self.config.dimensions, objects, features)
        imputer = pooled_imputer(problem)
        self._project = make_pipeline(imputer, PCA(dimensions, svd_solver="full"))
        # the medians are those of both surveys, fitted above; the axes are the target's
        self._project.named_steps["pca"].fit(imputer.transform(problem.target_x))
        points = self._project.transform(problem.target_x)
        self._neighbours = NearestNeighbors(n_neighbors=min(self.config.neighbours, objects), n_jobs=1).fit(points)
        graph = _normalised_graph(self._neighbours, points)
        seeds = np.zeros((objects, len(problem.classes)))
        seeds[labelled, problem.target_y[labelled]] = 1
        # every class starts with the same mass, so that many labels of one class do not drown the others
        seeds /= np.maximum(seeds.sum(axis=0), 1)
        spread = seeds
        for _ in range(self.config.steps):
            spread = self.config.keep * (graph @ spread) + (1 - self.config.keep) * seeds
        self._spread = spread
        self._seen = seeds.any(axis=0)

    def predict_proba(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the mean over each row's nearest target objects; where no label came, all seen classes are equal."""
        _, nearest = self._neighbours.kneighbors(self._project.transform(x))
        mass = self._spread[nearest].mean(axis=1)
        total = mass.sum(axis=1, keepdims=True)
        return np.where(total > 0, mass / np.where(total > 0, total, 1), self._seen / self._seen.sum())


def _normalised_graph(neighbours: NearestNeighbors, points: NDArray[np.float64]) -> Any:
    """Return D^-1/2 W D^-1/2 of the symmetric neighbour graph, edges weighted by a Gaussian of local width."""
    distance, place = neighbours.kneighbors(points)
    width = np.maximum(distance[:, -1], np.finfo(float).tiny)
    weight = np.exp(-((distance / width[:, None]) ** 2))
    row = np.repeat(np.arange(len(points)), place.shape[1])
    directed = csr_matrix((weight.ravel(), (row, place.ravel())), shape=(len(points), len(points)))
    directed.setdiag(0)
    symmetric = directed.maximum(directed.T)
    degree = np.asarray(symmetric.sum(axis=1)).ravel()
    scale = diags(np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0))
    return scale @ symmetric @ scale
