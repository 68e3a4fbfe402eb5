"""The map of the mixture transfer: its gradient, and that it finds what moved the survey."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.baseline_problems import shifted
from scipy.linalg import expm
from scipy.optimize import check_grad

from lcdvt.baselines.mixture_transfer import (
    MixtureTransfer,
    MixtureTransferConfig,
    SourceMixture,
    _fit_classes,
    _loss,
    _moved,
)
from lcdvt.evaluate import macro_f1

DIMENSIONS = 4


def source_points(objects: int = 600) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(2)
    y = np.arange(objects) % 3
    return 3 * np.eye(3, DIMENSIONS)[y] + generator.normal(size=(objects, DIMENSIONS)), y


def mixture() -> SourceMixture:
    points, y = source_points()
    return _fit_classes(points, y, MixtureTransferConfig(components=2), seed=0)


def test_the_gradient_is_the_slope_of_the_loss() -> None:
    generator = np.random.default_rng(0)
    points, _ = source_points(50)
    parameters = 0.3 * generator.normal(size=2 * DIMENSIONS + DIMENSIONS * (DIMENSIONS - 1) // 2)
    fixed = (points, mixture(), np.log(np.full(3, 1 / 3)), 0.5)
    error = check_grad(lambda p: _loss(p, *fixed)[0], lambda p: _loss(p, *fixed)[1], parameters)
    assert error < 1e-4


def test_the_density_of_the_mixture_sums_to_one() -> None:
    points, y = source_points()
    flat = _fit_classes(points[:, :2], y, MixtureTransferConfig(components=2), seed=0)
    axis = np.linspace(-8, 12, 300)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    density, _ = flat.log_density_and_slope(grid, np.log(np.array([0.2, 0.3, 0.5])))
    assert np.exp(density).sum() * (axis[1] - axis[0]) ** 2 == pytest.approx(1, rel=1e-3)


def test_moving_is_translation_rotation_and_scaling() -> None:
    points, _ = source_points(20)
    rest = DIMENSIONS * (DIMENSIONS - 1) // 2
    assert np.allclose(_moved(np.zeros(2 * DIMENSIONS + rest), points), points)
    only_scaled = np.r_[np.ones(DIMENSIONS), np.log([2, 1, 1, 0.5]), np.zeros(rest)]
    np.testing.assert_allclose(_moved(only_scaled, points), (points - 1) * [2, 1, 1, 0.5])
    only_turned = np.r_[np.zeros(2 * DIMENSIONS), np.arange(rest) / 3]
    np.testing.assert_allclose(np.linalg.norm(_moved(only_turned, points), axis=1), np.linalg.norm(points, axis=1))


def test_a_moved_survey_is_found_again() -> None:
    problem, truth = shifted(missing=0, features=4, source_objects=600, target_objects=600)
    generator = np.random.default_rng(1)
    skew = 0.2 * generator.normal(size=(4, 4))
    turned = (problem.target_x @ expm(skew - skew.T).T * 1.3 + np.array([2, -2, 1, -1])).astype(np.float32)
    moved = replace(problem, target_x=turned)
    scores = {}
    for freedom in (1e-6, 0.5):
        model = MixtureTransfer(MixtureTransferConfig(dimensions=4, prior_width=freedom))
        model.fit(moved, 0)
        scores[freedom] = macro_f1(truth, model.predict_proba(turned).argmax(axis=1), 4)
    assert scores[0.5] > 0.85 > 0.7 > scores[1e-6]


def test_class_shares_come_from_the_source_or_from_the_target() -> None:
    problem, truth = shifted(target_objects=600, missing=0)
    shares = {}
    for prior in ("source", "estimated"):
        model = MixtureTransfer(MixtureTransferConfig(prior=prior))
        model.fit(problem, 0)
        shares[prior] = np.exp(model._log_prior)
    np.testing.assert_allclose(shares["source"], 0.25)
    np.testing.assert_allclose(shares["estimated"], np.bincount(truth) / len(truth), atol=0.08)
