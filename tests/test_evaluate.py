"""Scores against scikit-learn's, and where theirs does not apply."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from lcdvt.errors import DatasetError
from lcdvt.evaluate import (
    RowScores,
    Score,
    confusion_matrix,
    expected_calibration_error,
    f1_by_class,
    macro_f1,
    reliability,
    score,
    spread,
)

CLASSES = ("CEP", "EB", "LPV", "QSO")
PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)


def random_proba(objects: int, classes: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(classes, 0.5), size=objects)


@given(PAIRS)
def test_confusion_and_f1_agree_with_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    truth, predicted = np.array(pairs).T
    np.testing.assert_array_equal(
        confusion_matrix(truth, predicted, 4), metrics.confusion_matrix(truth, predicted, labels=range(4))
    )
    present = np.unique(truth)
    theirs = metrics.f1_score(truth, predicted, labels=present, average=None, zero_division=0)
    ours = f1_by_class(truth, predicted, 4)
    np.testing.assert_allclose(ours[present], theirs)
    assert np.isnan(np.delete(ours, present)).all()
    assert macro_f1(truth, predicted, 4) == pytest.approx(theirs.mean())


def test_a_class_the_target_lacks_has_no_f1_but_costs_the_others() -> None:
    truth, predicted = np.array([0, 0, 1, 1]), np.array([0, 2, 1, 1])
    f1 = f1_by_class(truth, predicted, 3)
    assert f1[0] == pytest.approx(2 / 3) and f1[1] == 1 and np.isnan(f1[2])
    assert macro_f1(truth, predicted, 3) == pytest.approx(5 / 6)


def test_objects_of_unknown_class_are_left_out() -> None:
    truth, predicted = np.array([0, 1, -1, -1]), np.array([0, 1, 0, 1])
    assert confusion_matrix(truth, predicted, 2).tolist() == [[1, 0], [0, 1]]
    assert macro_f1(truth, predicted, 2) == 1


def test_a_calibrated_and_an_overconfident_classifier() -> None:
    generator = np.random.default_rng(1)
    proba = random_proba(20_000)
    truth = (generator.random(len(proba))[:, None] > proba.cumsum(axis=1)).sum(axis=1).clip(0, 3)
    assert expected_calibration_error(truth, proba) < 0.02
    certain = np.eye(4)[proba.argmax(axis=1)]
    accuracy = (proba.argmax(axis=1) == truth).mean()
    assert expected_calibration_error(truth, certain) == pytest.approx(1 - accuracy)


def test_reliability_bins_hold_every_object_where_it_belongs() -> None:
    proba = np.array([[0.5, 0.5], [0.95, 0.05], [0.0, 1.0], [0.35, 0.65]])
    bins = reliability(np.array([0, 0, 1, 0]), proba, bins=10)
    # an edge belongs to the bin below it: 0.5 to (0.4, 0.5]
    assert bins.count.tolist() == [0, 0, 0, 0, 1, 0, 1, 0, 0, 2]
    assert bins.confidence[9] == pytest.approx(0.975) and bins.accuracy[9] == 1
    assert bins.accuracy[6] == 0 and np.isnan(bins.accuracy[0])
    assert bins.expected_calibration_error == pytest.approx((0.5 + 0.65 + 2 * 0.025) / 4)


def test_a_score_counts_only_the_objects_asked_for() -> None:
    truth = np.array([0, 1, 2, 0, 1, -1])
    proba = np.eye(4)[[0, 1, 2, 1, 1, 3]]
    scored = np.array([True, True, False, True, True, True])
    result = score(truth, proba, CLASSES, scored)
    assert set(result.f1) == {"CEP", "EB"}
    assert result.f1["CEP"] == pytest.approx(2 / 3) and result.f1["EB"] == pytest.approx(0.8)
    assert result.macro_f1 == pytest.approx((2 / 3 + 0.8) / 2)
    assert result.calibration_error == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("truth", "proba", "sentence"),
    [
        (np.array([0, 1]), np.eye(4)[:3], "do not fit"),
        (np.array([-1, -1]), np.eye(4)[:2], "no object is left to score"),
        (np.array([0, 1]), np.full((2, 4), np.nan), "not a number"),
    ],
)
def test_what_cannot_be_scored_is_said(truth: np.ndarray, proba: np.ndarray, sentence: str) -> None:
    with pytest.raises(DatasetError, match=sentence):
        score(truth, proba, CLASSES)


def test_spread_over_draws() -> None:
    assert spread([0.5]).deviation is None
    both = spread([0.4, 0.6])
    assert both.mean == pytest.approx(0.5) and both.deviation == pytest.approx(np.std([0.4, 0.6], ddof=1))
    with pytest.raises(DatasetError, match="no draw has this class"):
        spread([])


def test_a_rows_column_skips_draws_without_the_class() -> None:
    draws = (Score({"CEP": 0.5, "EB": 0.7}, 0.6, 0.1), Score({"EB": 0.9}, 0.9, 0.1))
    row = RowScores("svm-target", "Target labels", "SVM", False, draws)
    assert row.column("CEP") == [0.5] and row.column("EB") == [0.7, 0.9] and row.column() == [0.6, 0.9]
