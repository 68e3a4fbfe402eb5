"""What is particular to the weighted rows, CORAL, label spreading and the support-vector machine."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.baseline_problems import shifted

from lcdvt.baselines.coral import CoralForest, _power
from lcdvt.baselines.fitting import balanced_weights
from lcdvt.baselines.label_spreading import LabelSpreading
from lcdvt.baselines.support_vectors import SVMOnTarget
from lcdvt.baselines.weighted import WeightedBothSurveys, WeightedConfig
from lcdvt.evaluate import macro_f1


@pytest.mark.parametrize("model", ["boosting", "forest"])
def test_a_source_that_misleads_gets_little_weight(model: str) -> None:
    problem, _ = shifted(labels_per_class=10)
    config = WeightedConfig(target_weights=(0.01, 100.0), search_rounds=20)
    wrong = replace(problem, source_y=(problem.source_y + 1) % 4)
    chosen = WeightedBothSurveys(model, config)  # type: ignore[arg-type]
    chosen.fit(wrong, 0)
    assert chosen.chosen_weight == 100.0


def test_target_labels_that_mislead_get_little_weight() -> None:
    problem, _ = shifted(labels_per_class=10)
    labelled = problem.target_y >= 0
    guessed = problem.target_y.copy()
    # half of the labels wrong at random: others of the target help less than the source does
    flip = labelled & (np.random.default_rng(0).random(len(guessed)) < 0.5)
    guessed[flip] = (guessed[flip] + np.random.default_rng(1).integers(1, 4, flip.sum())) % 4
    chosen = WeightedBothSurveys("forest", WeightedConfig(target_weights=(0.01, 100.0), search_rounds=50))
    chosen.fit(replace(problem, target_y=guessed), 0)
    assert chosen.chosen_weight == 0.01


def test_balanced_weights_give_every_class_the_same_total() -> None:
    y = np.array([0, 0, 0, 2, 2, 5])
    weights = balanced_weights(y)
    assert weights.sum() == pytest.approx(6)
    assert [weights[y == number].sum() for number in (0, 2, 5)] == pytest.approx([2, 2, 2])
    assert balanced_weights(y[:0]).shape == (0,)


def test_coral_gives_the_source_the_targets_covariance() -> None:
    generator = np.random.default_rng(0)
    source = generator.normal(size=(500, 3)) @ generator.normal(size=(3, 3))
    target = generator.normal(size=(500, 3)) @ generator.normal(size=(3, 3))
    aligned = source @ _power(source, 0.0, -0.5) @ _power(target, 0.0, 0.5)
    np.testing.assert_allclose(np.cov(aligned, rowvar=False), np.cov(target, rowvar=False), atol=1e-8)


def test_coral_undoes_a_stretch_that_the_source_alone_does_not_survive() -> None:
    problem, truth = shifted(missing=0, target_objects=400, source_objects=400)
    mixing = np.random.default_rng(3).normal(size=(8, 8)) / 4 + np.eye(8)
    generator = np.random.default_rng(4)
    # the same class mix in both surveys, as the method supposes
    same_mix = np.concatenate([generator.choice(np.flatnonzero(truth == number), 40) for number in range(4)])
    target_x = (problem.target_x[same_mix] @ mixing + 3).astype(np.float32)
    moved = replace(problem, target_x=target_x, target_y=np.full(len(same_mix), -1))
    model = CoralForest()
    model.fit(moved, 0)
    assert macro_f1(truth[same_mix], model.predict_proba(target_x).argmax(axis=1), 4) > 0.6


def test_labels_spread_along_a_chain_of_objects() -> None:
    # two parallel lines; each has one label at its end, and the nearest label of many objects is the wrong one
    along = np.linspace(0, 10, 200)
    x = np.concatenate([np.stack([along, np.zeros(200)], axis=1), np.stack([along, np.ones(200)], axis=1)])
    truth = np.repeat([0, 1], 200)
    y = np.full(400, -1)
    y[0], y[399] = 0, 1
    problem, _ = shifted(classes=2)
    chain = replace(problem, source_x=x[:4], source_y=np.full(4, -1), target_x=x, target_y=y)
    model = LabelSpreading()
    model.fit(chain, 0)
    proba = model.predict_proba(x)
    reached = proba.max(axis=1) > 0.99
    assert reached.mean() > 0.5 and (proba.argmax(axis=1)[reached] == truth[reached]).all()


def test_objects_that_no_label_reaches_are_undecided() -> None:
    problem, _ = shifted(classes=2, missing=0)
    far = problem.target_x.copy()
    far[100:] += 1000
    model = LabelSpreading()
    model.fit(replace(problem, target_x=far, target_y=np.where(np.arange(len(far)) < 100, problem.target_y, -1)), 0)
    reached = model.predict_proba(far)
    assert np.isfinite(reached).all()
    seen = problem.target_y[:100]
    equal = np.isin([0, 1], seen) / len(np.unique(seen[seen >= 0]))
    np.testing.assert_allclose(reached[100:], np.tile(equal, (len(far) - 100, 1)))


def test_svm_probabilities_rank_classes_as_the_machine_does() -> None:
    problem, _ = shifted()
    model = SVMOnTarget()
    model.fit(problem, 0)
    filled = model._imputer.transform(problem.target_x)
    np.testing.assert_array_equal(
        model.predict_proba(problem.target_x).argmax(axis=1), model._proba.estimator.predict(filled)
    )
