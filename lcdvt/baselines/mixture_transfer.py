"""Transfer by Gaussian mixtures in the style of Benavente et al. (2017).

Each class of the source is a Gaussian mixture. The target is the same mixture seen through a translation,
a rotation and a scaling along each axis. The map is the one under which the target's objects, without any
label, are most likely. The classes of the target then follow by Bayes' rule.

    z = D Q (x − t),   log p(x) = log Σ_m w_m N(z | μ_m, Σ_m) + Σ_j log d_j,   Q = exp(W), W skew

It is fitted in few principal components of both surveys, where the covariances are well conditioned. A
normal prior about the identity keeps directions that the data leave open where they are. Class shares of the
target are estimated with the map by EM. Where the paper moves each Gaussian by itself, one map moves all here.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm, expm_frechet, solve_triangular
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import Pipeline, make_pipeline

from lcdvt.baselines.fitting import pooled_imputer
from lcdvt.baselines.problem import TransferProblem
from lcdvt.errors import DatasetError


@dataclass(frozen=True)
class MixtureTransferConfig:
    """Size of the mixtures and freedom of the map.

    Parameters
    ----------
    dimensions
        Principal components.
    components
        Gaussians per class, fewer where a class has few objects.
    objects_per_component
        A class gets another Gaussian only with this many objects per dimension.
    ridge
        Variance added along each (whitened) component.
    prior
        Class shares of the target: those of the source, or estimated with the map by EM.
    rounds
        Alternations between map and class shares, when those are estimated.
    iterations
        Steps of the optimiser in each round.
    prior_width
        Standard deviation of the prior about the identity: of the translation (in standard deviations of a
        component), of the logarithm of the scaling, and of the rotation (in radians). Narrow, and yet weak
        against thousands of objects; a wide one let classes trade places between real surveys.
    most_objects
        Target objects on which the map is fitted; more hardly change it.
    """

    dimensions: int = 10
    components: int = 3
    objects_per_component: int = 5
    ridge: float = 0.05
    prior: Literal["source", "estimated"] = "estimated"
    rounds: int = 3
    iterations: int = 60
    prior_width: float = 0.02
    most_objects: int = 3000


@dataclass(frozen=True)
class SourceMixture:
    """All Gaussians of all classes.

    Parameters
    ----------
    mean
        (Gaussians, dimensions).
    whiten
        (Gaussians, dimensions, dimensions): inverse Cholesky factors of the covariances.
    log_weight
        Logarithm of each Gaussian's weight within its class.
    owner
        Class number of each Gaussian.
    """

    mean: NDArray[np.float64]
    whiten: NDArray[np.float64]
    log_weight: NDArray[np.float64]
    owner: NDArray[np.int64]

    def log_joint(self, z: NDArray[np.float64], log_prior: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (rows, Gaussians): log of class share, weight and density."""
        return self._log_joint(self._scores(z), log_prior)

    def log_density_and_slope(
        self, z: NDArray[np.float64], log_prior: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return log p(z) of each row and its gradient."""
        scores = self._scores(z)
        joint = self._log_joint(scores, log_prior)
        density = logsumexp(joint, axis=1)
        responsibility = np.exp(joint - density[:, None])
        slope = -np.einsum("nm,mni,mij->nj", responsibility, scores, self.whiten, optimize=True)
        return density, slope

    def _scores(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.einsum("mij,mnj->mni", self.whiten, z[None] - self.mean[:, None], optimize=True)

    def _log_joint(self, scores: NDArray[np.float64], log_prior: NDArray[np.float64]) -> NDArray[np.float64]:
        dimensions = self.mean.shape[1]
        log_volume = np.log(np.diagonal(self.whiten, axis1=1, axis2=2)).sum(axis=1)
        constant = self.log_weight + log_volume - 0.5 * dimensions * np.log(2 * np.pi)
        return (constant + log_prior[self.owner])[None] - 0.5 * (scores**2).sum(axis=2).T


class MixtureTransfer:
    """Class mixtures of the source, moved onto the unlabelled target."""

    def __init__(self, config: MixtureTransferConfig | None = None) -> None:
        self.config = config or MixtureTransferConfig()
        self._project: Pipeline
        self._mixture: SourceMixture
        self._log_prior: NDArray[np.float64]
        self._map: NDArray[np.float64]

    def fit(self, problem: TransferProblem, seed: int) -> None:
        """Fit the mixtures on the source's labels and the map on the target's features."""
        if not (problem.source_y >= 0).any():
            raise DatasetError("the mixture transfer needs labelled source objects: label some, or leave it out.")
        imputer = pooled_imputer(problem)
        pooled = imputer.transform(np.concatenate([problem.source_x, problem.target_x])).astype(np.float64)
        dimensions = min(self.config.dimensions, *pooled.shape)
        self._project = make_pipeline(imputer, PCA(dimensions, whiten=True, svd_solver="full"))
        self._project.named_steps["pca"].fit(pooled)
        points, y = self._points(problem.source_x), problem.source_y
        self._mixture = _fit_classes(points, y, self.config, seed)
        counts = np.bincount(y[y >= 0], minlength=len(problem.classes))
        with np.errstate(divide="ignore"):
            self._log_prior = np.log(counts / counts.sum())
        target = self._points(problem.target_x)
        if len(target) > self.config.most_objects:
            chosen = np.random.default_rng(seed).choice(len(target), self.config.most_objects, replace=False)
            target = target[chosen]
        self._map = np.zeros(2 * dimensions + dimensions * (dimensions - 1) // 2)
        self._fit_map(target)

    def predict_proba(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the classes' shares of the moved mixture at each row."""
        return self._class_shares(self._points(x))

    def _points(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        return self._project.transform(x).astype(np.float64)

    def _class_shares(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        joint = self._mixture.log_joint(_moved(self._map, points), self._log_prior)
        share = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        return share @ np.eye(len(self._log_prior))[self._mixture.owner]

    def _fit_map(self, target: NDArray[np.float64]) -> None:
        for _ in range(self.config.rounds if self.config.prior == "estimated" else 1):
            found = minimize(
                _loss,
                self._map,
                args=(target, self._mixture, self._log_prior, self.config.prior_width),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": self.config.iterations},
            )
            self._map = found.x
            if self.config.prior == "estimated":
                with np.errstate(divide="ignore"):
                    self._log_prior = np.log(self._class_shares(target).mean(axis=0))


def _fit_classes(
    points: NDArray[np.float64], y: NDArray[np.integer], config: MixtureTransferConfig, seed: int
) -> SourceMixture:
    means, whitens, log_weights, owners = [], [], [], []
    dimensions = points.shape[1]
    overall = points[y >= 0].var(axis=0)
    for number in np.unique(y[y >= 0]):
        members = points[y == number]
        components = int(np.clip(len(members) // (config.objects_per_component * dimensions), 1, config.components))
        mixture = GaussianMixture(components, reg_covar=config.ridge, random_state=seed)
        if len(members) > 1:
            mixture.fit(members)
            weight, mean, covariance = mixture.weights_, mixture.means_, mixture.covariances_
        else:
            weight, mean, covariance = np.ones(1), members, np.zeros((1, dimensions, dimensions))
        # few objects leave a covariance open; as many pretended objects as dimensions have the survey's own spread
        effective = weight * len(members)
        shrink = (dimensions / (dimensions + effective))[:, None, None]
        covariance = (1 - shrink) * covariance + shrink * np.diag(overall + config.ridge)
        factor = np.linalg.cholesky(covariance)
        means.append(mean)
        whitens += [solve_triangular(part, np.eye(dimensions), lower=True) for part in factor]
        log_weights.append(np.log(weight))
        owners.append(np.full(len(weight), number))
    return SourceMixture(np.concatenate(means), np.stack(whitens), np.concatenate(log_weights), np.concatenate(owners))


def _unpack(
    parameters: NDArray[np.float64], dimensions: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return translation, log scaling and the skew matrix of the rotation."""
    skew = np.zeros((dimensions, dimensions))
    skew[np.triu_indices(dimensions, 1)] = parameters[2 * dimensions :]
    return parameters[:dimensions], parameters[dimensions : 2 * dimensions], skew - skew.T


def _moved(parameters: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring target points to where the source's mixture is."""
    translation, log_scale, skew = _unpack(parameters, points.shape[1])
    return ((points - translation) @ expm(skew).T) * np.exp(log_scale)


def _loss(
    parameters: NDArray[np.float64],
    points: NDArray[np.float64],
    mixture: SourceMixture,
    log_prior: NDArray[np.float64],
    prior_width: float,
) -> tuple[float, NDArray[np.float64]]:
    """Return minus the mean log posterior of the map, and its gradient."""
    objects, dimensions = points.shape
    translation, log_scale, skew = _unpack(parameters, dimensions)
    rotation, scale = expm(skew), np.exp(log_scale)
    centred = points - translation
    z = (centred @ rotation.T) * scale
    density, slope = mixture.log_density_and_slope(z, log_prior)
    loss = -(density.mean() + log_scale.sum())
    by_rotated = slope * scale
    by_rotation = by_rotated.T @ centred / objects
    # the adjoint of the matrix exponential's derivative; W has each free number twice, with opposite signs
    by_skew = expm_frechet(skew.T, by_rotation, compute_expm=False)
    gradient = -np.concatenate(
        [
            -(by_rotated @ rotation).mean(axis=0),
            (slope * z).mean(axis=0) + 1,
            (by_skew - by_skew.T)[np.triu_indices(dimensions, 1)],
        ]
    )
    penalty = parameters / prior_width**2 / objects
    return float(loss + 0.5 * parameters @ penalty), gradient + penalty
