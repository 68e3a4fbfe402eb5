"""Scaling per survey, pooled and by rank, stored and applied to new objects."""

import json

import numpy as np
import pytest
from scipy.stats import norm

from lcdvt.dataset.scaling import Scaler, fit_scaler
from lcdvt.errors import DatasetError

SURVEY = np.repeat([0, 1], 500)


def features() -> np.ndarray:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(1000, 3)) * [1.0, 5.0, 0.1] + [0.0, 10.0, 3.0]
    x[500:] += 2.0
    x[3, 1] = np.nan
    return x


def test_survey_scaling_standardises_each_survey() -> None:
    x = features()
    scaler = fit_scaler(x, SURVEY, ("a", "b", "c"), "survey")
    for number in (0, 1):
        scaled = scaler.apply(x[number == SURVEY], number)
        np.testing.assert_allclose(np.nanmean(scaled, axis=0), 0, atol=1e-5)
        np.testing.assert_allclose(np.nanstd(scaled, axis=0), 1, atol=1e-4)


def test_pooled_scaling_keeps_the_shift_between_surveys() -> None:
    x = features()
    scaler = fit_scaler(x, SURVEY, ("a", "b", "c"), "pooled")
    shift = np.nanmean(scaler.apply(x[500:], 1), axis=0) - np.nanmean(scaler.apply(x[:500], 0), axis=0)
    expected = (np.nanmean(x[500:], axis=0) - np.nanmean(x[:500], axis=0)) / np.nanstd(x, axis=0)
    np.testing.assert_allclose(shift, expected, rtol=1e-4)


def test_ranks_become_normal_scores() -> None:
    x = np.exp(features())
    scaled = fit_scaler(x, SURVEY, ("a", "b", "c"), "rank").apply(x)
    ranks = (np.argsort(np.argsort(x[:, 0])) + 0.5) / len(x)
    middle = (ranks > 0.02) & (ranks < 0.98)
    np.testing.assert_allclose(scaled[middle, 0], norm.ppf(ranks[middle]), atol=0.05)
    assert np.isnan(scaled[3, 1])
    assert np.nanmax(np.abs(scaled)) <= 3 + 1e-6


def test_equal_values_share_the_middle_of_their_ranks() -> None:
    x = np.concatenate([np.zeros(600), np.linspace(1, 2, 400)])[:, None]
    scaled = fit_scaler(x, SURVEY, ("quantised",), "rank").apply(x)
    assert scaled[0, 0] == pytest.approx(norm.ppf(0.3), abs=0.02)


def test_new_objects_outside_the_range_stay_inside() -> None:
    scaler = fit_scaler(features(), SURVEY, ("a", "b", "c"), "rank")
    assert scaler.apply(np.array([[1e9, -1e9, 0.0]]))[0, :2].tolist() == pytest.approx([3, -3], abs=1e-3)


def test_heavy_tails_are_logged_and_impossible_logarithms_are_missing() -> None:
    generator = np.random.default_rng(1)
    x = np.exp(3 * generator.normal(size=(1000, 1)))
    scaler = fit_scaler(x, SURVEY, ("period",), "pooled")
    assert scaler.logged == (True,)
    assert np.abs(scaler.apply(x)).max() < 5
    assert np.isnan(scaler.apply(np.array([[-1.0]]))).all()


def test_a_constant_feature_is_centred() -> None:
    x = np.full((1000, 1), 7.0)
    assert (fit_scaler(x, SURVEY, ("flat",), "survey").apply(x) == 0).all()


def test_a_feature_that_one_survey_lacks() -> None:
    x = features()
    x[500:, 2] = np.nan
    scaler = fit_scaler(x, SURVEY, ("a", "b", "c"), "survey")
    assert np.isfinite(scaler.centre).all() and np.isfinite(scaler.width).all()


@pytest.mark.parametrize("method", ["survey", "pooled", "rank", "none"])
def test_a_stored_scaler_does_the_same(method: str) -> None:
    x = features()
    scaler = fit_scaler(x, SURVEY, ("a", "b", "c"), method)  # type: ignore[arg-type]
    again = Scaler.from_json(json.loads(json.dumps(scaler.to_json())))
    np.testing.assert_array_equal(scaler.apply(x, 1), again.apply(x, 1))


def test_what_cannot_be_scaled_is_named() -> None:
    x = features()
    with pytest.raises(DatasetError, match="2 features where the scaler knows 3"):
        fit_scaler(x, SURVEY, ("a", "b", "c")).apply(x[:, :2])
    x[:, 1] = np.nan
    with pytest.raises(DatasetError, match="feature b is missing for every object"):
        fit_scaler(x, SURVEY, ("a", "b", "c"))
    x[0, 2] = np.inf
    with pytest.raises(DatasetError, match="feature c is infinite"):
        fit_scaler(x, SURVEY, ("a", "b", "c"))
