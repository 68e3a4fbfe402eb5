"""Features whose rule of the source holds in the target are told from those whose rule misleads."""

from dataclasses import replace

import numpy as np
import pytest

from lcdvt.baselines.problem import TransferProblem
from lcdvt.dvt.config import TeachingConfig
from lcdvt.errors import SettingsError
from lcdvt.protocol import steady
from lcdvt.protocol.steady import steady_features
from lcdvt.protocol.teaching import teach

SAME, REVERSED, SHIFTED, NOISE, WEAKER = range(5)
QUICK = TeachingConfig(students=1)


def two_surveys(n_classes: int = 2, objects: int = 300) -> tuple[TransferProblem, np.ndarray]:
    """Return a draw with one label of each class, whose features keep, reverse, shift, lack or weaken their rule."""
    generator = np.random.default_rng(0)
    source_y, truth = (np.arange(objects) % n_classes for _ in range(2))

    def columns(y: np.ndarray, direction: float, shift: float, strength: float) -> np.ndarray:
        means = np.stack([3.0 * y, 3.0 * direction * y, 3.0 * y + shift, 0.0 * y, 3.0 * strength * y], axis=1)
        return means + generator.normal(size=means.shape)

    source_x = columns(source_y, 1.0, 0.0, 1.0)
    target_x = columns(truth, -1.0, 30.0, 0.7)
    drawn = np.where(np.arange(objects) < n_classes, truth, -1)
    return TransferProblem(source_x, source_y, target_x, drawn, tuple("ABCD"[:n_classes])), truth


def test_a_rule_that_holds_is_kept_and_one_that_misleads_is_not():
    problem, truth = two_surveys()
    assert steady_features(problem, truth, 0.6, seed=0).tolist() == [True, False, False, False, False]
    assert steady_features(problem, truth, 0.2, seed=0).tolist() == [True, False, False, False, True]


def test_drawn_labels_count_beside_the_guesses():
    problem, truth = two_surveys()
    nobody = np.full_like(truth, -1)
    labelled = replace(problem, target_y=truth)
    assert np.array_equal(steady_features(labelled, nobody, 0.6, 0), steady_features(problem, truth, 0.6, 0))
    # two labels are too few to tell anything
    assert not steady_features(problem, nobody, 0.6, 0).any()


def test_gaps_are_left_out_and_a_feature_that_one_survey_lacks_is_not_steady():
    problem, truth = two_surveys()
    source_x, target_x = problem.source_x.copy(), problem.target_x.copy()
    source_x[::3, SAME] = target_x[::4, SAME] = np.nan
    source_x[:, WEAKER] = np.nan
    gappy = replace(problem, source_x=source_x, target_x=target_x)
    assert steady_features(gappy, truth, 0.2, 0).tolist() == [True, False, False, False, False]
    target_x[:, SAME] = np.nan
    assert not steady_features(replace(problem, target_x=target_x), truth, 0.6, 0)[SAME]


def test_stars_of_a_class_that_no_source_knows_do_not_judge_its_rules():
    problem, truth = two_surveys(n_classes=3)
    known = problem.source_y != 2
    lacking = replace(problem, source_x=problem.source_x[known], source_y=problem.source_y[known])
    strange = lacking.target_x.copy()
    strange[truth == 2] = -99.0
    assert steady_features(replace(lacking, target_x=strange), truth, 0.6, 0)[SAME]


def test_of_a_large_source_a_part_is_looked_at(monkeypatch):
    problem, truth = two_surveys(objects=600)
    whole = steady_features(problem, truth, 0.6, seed=0)
    monkeypatch.setattr(steady, "JUDGED_STARS", 200)
    assert np.array_equal(steady_features(problem, truth, 0.6, seed=0), whole)


def steady_and_misleading(steady_columns: int) -> tuple[TransferProblem, np.ndarray]:
    """Return a draw in which so many features hold what the source says of them, and three say the reverse."""
    problem, truth = two_surveys()
    generator = np.random.default_rng(1)

    def columns(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        good = 2.0 * y[:, None] + generator.normal(size=(len(y), steady_columns))
        return np.concatenate([good, x[:, [REVERSED, SHIFTED, NOISE]]], axis=1)

    return replace(
        problem, source_x=columns(problem.source_x, problem.source_y), target_x=columns(problem.target_x, truth)
    ), truth


def test_two_more_students_are_asked_where_enough_features_are_steady():
    problem, truth = steady_and_misleading(4)
    without = teach(problem, replace(QUICK, steady_share=0.0), seed=0)
    lesson = teach(problem, QUICK, seed=0)
    assert lesson.weights == (*without.weights, 1.0, 1.0)
    assert all(np.array_equal(a, b) for a, b in zip(lesson.experts, without.experts, strict=False))
    with_source = lesson.experts[-2]
    assert np.mean(with_source.argmax(axis=1) == truth) > np.mean(lesson.experts[0].argmax(axis=1) == truth)


def test_too_few_steady_features_teach_nothing():
    problem, _ = steady_and_misleading(3)
    without, lesson = (teach(problem, replace(QUICK, steady_share=share), seed=0) for share in (0.0, 0.6))
    assert lesson.weights == without.weights
    assert np.array_equal(lesson.posterior, without.posterior)


def test_without_self_training_nobody_guesses_and_no_feature_is_judged():
    problem, _ = steady_and_misleading(4)
    assert len(teach(problem, replace(QUICK, self_training_rounds=0), seed=0).experts) == 3


def test_replicates_keep_the_same_features_and_the_targets_own_are_left_alone():
    problem, truth = two_surveys()
    again = problem.source_x[None] + 1.0
    full = replace(
        problem, source_replicates=again, target_replicates=problem.target_x[None], target_own=truth[:, None]
    )
    kept = np.array([True, False, False, True, False])
    fewer = full.with_features(kept)
    np.testing.assert_array_equal(fewer.source_x, problem.source_x[:, [0, 3]])
    np.testing.assert_array_equal(fewer.target_x, problem.target_x[:, [0, 3]])
    np.testing.assert_array_equal(fewer.source_replicates, again[..., [0, 3]])
    np.testing.assert_array_equal(fewer.target_replicates[0], problem.target_x[:, [0, 3]])
    assert fewer.target_own is full.target_own
    assert problem.with_features(kept).source_replicates is None


def test_a_negative_share_is_refused():
    with pytest.raises(SettingsError, match=r"teaching\.steady_share = -1.0: give 0 or more"):
        TeachingConfig(steady_share=-1.0)
