"""Drawn labels that the sources contradict: who is doubted, who is not, and what the teachers make of it."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.baseline_problems import shifted

from lcdvt.baselines.problem import TransferProblem
from lcdvt.baselines.weighted import WeightedBothSurveys, WeightedConfig
from lcdvt.dvt.config import TeachingConfig
from lcdvt.errors import DatasetError, SettingsError
from lcdvt.protocol.plan import TransferOptions
from lcdvt.protocol.teaching import taught_classes
from lcdvt.protocol.trust import TRUST_IN_DOUBTFUL, trust_in_drawn_labels, with_doubtful_labels_weighed_down


def with_wrong_label() -> tuple[TransferProblem, int]:
    """Return a problem with eight labels of each class, one of them wrong, and the star that has it."""
    problem, _ = shifted(labels_per_class=8, missing=0.0)
    star = int(np.flatnonzero(problem.target_y == 3)[2])
    target_y = problem.target_y.copy()
    target_y[star] = 0
    return replace(problem, target_y=target_y), star


def test_the_wrong_label_among_right_ones_is_found():
    problem, star = with_wrong_label()
    trust = trust_in_drawn_labels(problem, seed=0)
    assert trust[star] == TRUST_IN_DOUBTFUL
    assert np.array_equal(trust, trust_in_drawn_labels(problem, seed=0))
    others = np.delete(np.flatnonzero(problem.target_y != -1), np.flatnonzero(problem.target_y != -1) == star)
    assert np.mean(trust[others] == 1) > 0.9
    assert (trust[problem.target_y == -1] == 1).all()


def test_sources_that_do_not_know_the_target_doubt_nothing():
    problem, _ = with_wrong_label()
    source_y = np.random.default_rng(0).permutation(problem.source_y)
    assert (trust_in_drawn_labels(replace(problem, source_y=source_y), seed=0) == 1).all()


def test_a_class_that_no_source_knows_is_not_doubted():
    problem, _ = with_wrong_label()
    unknown = replace(problem, source_y=np.where(problem.source_y == 1, -1, problem.source_y))
    assert (trust_in_drawn_labels(unknown, seed=0)[problem.target_y == 1] == 1).all()
    nothing = replace(problem, source_y=np.full_like(problem.source_y, -1))
    assert (trust_in_drawn_labels(nothing, seed=0) == 1).all()
    unlabelled = replace(problem, target_y=np.full_like(problem.target_y, -1))
    assert (trust_in_drawn_labels(unlabelled, seed=0) == 1).all()


def test_a_class_keeps_its_labels_if_every_one_of_them_is_contradicted():
    problem, truth = shifted(labels_per_class=8, missing=0.0)
    target_y = np.where(problem.target_y == 2, -1, problem.target_y)
    wrong = np.flatnonzero((truth == 3) & (target_y == -1))[:2]
    target_y[wrong] = 2
    assert (trust_in_drawn_labels(replace(problem, target_y=target_y), seed=0)[wrong] == 1).all()
    target_y[np.flatnonzero(truth == 2)[:6]] = 2
    assert (trust_in_drawn_labels(replace(problem, target_y=target_y), seed=0)[wrong] == TRUST_IN_DOUBTFUL).all()


def test_a_star_and_its_replicates_are_trusted_alike():
    x, y = np.arange(8.0).reshape(4, 2), np.array([0, -1, 1, 0])
    again = np.stack([x + 10, x + 20])
    again[1, 2] = np.nan
    trust = np.array([1.0, 1.0, 0.1, 0.5])
    problem = TransferProblem(x, y, x, y, ("a", "b"), again, again, target_trust=trust)
    assert problem.trust_in_target().tolist() == [1.0, 0.1, 0.5, 1.0, 0.1, 0.5, 1.0, 0.5]
    assert problem.trust_in_source().tolist() == [1.0] * 8
    assert problem.without_replicates().target_trust is None, "rivals trust every label"
    with pytest.raises(DatasetError, match="trust"):
        replace(problem, target_trust=trust[:2])


@pytest.mark.parametrize("model", ["boosting", "forest"])
def test_teachers_learn_less_from_a_label_they_trust_less(model):
    problem, star = with_wrong_label()
    config = replace(WeightedConfig(), target_weights=(3.0,), smallest_leaf=2)
    probability = []
    for given in (problem, with_doubtful_labels_weighed_down(problem, seed=0)):
        teacher = WeightedBothSurveys(model, config)
        teacher.fit(given, seed=1)
        probability.append(teacher.predict_proba(problem.target_x[[star]])[0, problem.target_y[star]])
    assert probability[1] < probability[0]


def test_a_doubted_star_is_taught_what_the_trees_say():
    problem, star = with_wrong_label()
    quick = TeachingConfig(students=1)
    assert taught_classes(problem, quick, seed=0)[star] == 0
    doubted = with_doubtful_labels_weighed_down(problem, seed=0)
    taught = taught_classes(doubted, quick, seed=0)
    assert taught[star] == 3
    believed = (problem.target_y != -1) & (doubted.target_trust == 1)
    assert (taught[believed] == problem.target_y[believed]).all()


def test_the_option_reaches_the_teachers_and_a_wrong_one_is_refused():
    assert TransferOptions().config.teaching.doubtful_labels == "weigh-down"
    assert TransferOptions(doubtful_labels="keep").config.teaching.doubtful_labels == "keep"
    assert TransferOptions(doubtful_labels="keep", replicates=2).config.teaching.replicates == 2
    with pytest.raises(SettingsError, match="doubtful_labels=drop: choose from keep, weigh-down"):
        _ = TransferOptions(doubtful_labels="drop").config
    with pytest.raises(SettingsError, match="doubtful_labels=keep: preset tied has no teachers"):
        _ = TransferOptions(doubtful_labels="keep", preset="tied").config
