"""The rule by which labels are doubted, on probabilities made by hand."""

import numpy as np
import pytest

from lcdvt.doubts.confident_learning import class_thresholds, judge


def test_a_threshold_is_what_is_usually_said_of_the_class():
    probability = np.array([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6]])
    assert class_thresholds(probability, np.array([0, 0, 1])) == pytest.approx([0.8, 0.6])


def test_a_class_without_a_star_has_the_mean_threshold():
    probability = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2]])
    assert class_thresholds(probability, np.array([0, 1])) == pytest.approx([0.8, 0.6, 0.7])


def test_the_wrong_label_is_first_and_gets_the_right_class():
    probability = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8], [0.05, 0.95]])
    found = judge(probability, np.array([0, 0, 1, 1, 0]))
    assert found.score.argmax() == 4
    assert found.score[4] > 0 > np.delete(found.score, 4).max()
    assert found.suggested.tolist() == [1, 1, 0, 0, 1]
    assert found.contradicted.tolist() == [False, False, False, False, True]


def test_a_class_of_which_the_classifier_is_never_sure_is_not_doubted_for_that():
    """Without thresholds the Cepheids of this classifier would all be doubtful."""
    sure, unsure = [[0.95, 0.05]] * 5, [[0.55, 0.45]] * 5
    found = judge(np.array(sure + unsure), np.repeat([0, 1], 5))
    assert not found.contradicted.any()
    assert (found.score <= 0).all()


def test_a_star_below_every_threshold_contradicts_nothing():
    probability = np.array([[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9], [0.3, 0.4, 0.3]])
    assert not judge(probability, np.array([0, 1, 2, 0])).contradicted[3]
