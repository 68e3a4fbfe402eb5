"""The upper bound scores no object with a forest that trained on it."""

from dataclasses import replace

import numpy as np
from helpers.baseline_problems import shifted

from lcdvt.baselines.forests import ForestConfig, ForestUpperBound
from lcdvt.dataset.folds import stratified_folds

SMALL = ForestUpperBound(ForestConfig(trees=20), folds=4)


def test_random_classes_cannot_be_remembered() -> None:
    problem, truth = shifted(target_objects=300)
    shuffled = np.random.default_rng(5).permutation(truth)
    noise = replace(problem, target_x=np.random.default_rng(6).normal(size=problem.target_x.shape))
    right = SMALL.cross_validated_proba(noise, shuffled, 0).argmax(axis=1) == shuffled
    # a forest that had seen the objects would be right nearly always; the largest class has a share of 0.4
    assert right.mean() < 0.5


def test_an_objects_own_class_does_not_change_its_probabilities() -> None:
    problem, truth = shifted()
    place = int(np.flatnonzero(truth == 3)[0])
    fold = stratified_folds(truth, SMALL.folds, 0)
    proba = SMALL.cross_validated_proba(problem, truth, 0)
    moved = problem.target_x.copy()
    # an object far from all others changes what the other folds' forests learn, never what is said of its own fold
    moved[place] = 50
    again = SMALL.cross_validated_proba(replace(problem, target_x=moved), truth, 0)
    same_fold = (fold == fold[place]) & (np.arange(len(truth)) != place)
    np.testing.assert_array_equal(proba[same_fold], again[same_fold])
    assert (proba[fold != fold[place]] != again[fold != fold[place]]).any()


def test_objects_of_unknown_class_are_answered_too() -> None:
    problem, truth = shifted()
    unknown = np.arange(len(truth)) % 7 == 0
    proba = SMALL.cross_validated_proba(problem, np.where(unknown, -1, truth), 0)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (proba[unknown].argmax(axis=1) == truth[unknown]).mean() > 0.7


def test_folds_deal_every_class_out_evenly() -> None:
    y = np.array([0] * 10 + [1] * 7 + [2] * 2 + [-1] * 4)
    fold = stratified_folds(y, 3, seed=1)
    assert (fold[y < 0] == -1).all() and (fold[y >= 0] >= 0).all()
    for number in range(3):
        counts = np.bincount(fold[y == number], minlength=3)
        assert counts.max() - counts.min() <= 1
    totals = np.bincount(fold[fold >= 0])
    assert totals.max() - totals.min() <= 1


def test_a_class_with_one_object_is_scored_without_having_been_seen() -> None:
    problem, truth = shifted(classes=3)
    lonely = truth.copy()
    lonely[-1] = 3
    proba = SMALL.cross_validated_proba(replace(problem, classes=("A", "B", "C", "D")), lonely, 0)
    assert proba[-1, 3] == 0
    np.testing.assert_allclose(proba.sum(axis=1), 1)
