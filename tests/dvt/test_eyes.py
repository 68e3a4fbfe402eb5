"""Where trees would cut, what the encoder sees of it, and that eyes change nothing where there are none."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import mutual_info_score
from sklearn.tree import DecisionTreeClassifier

from lcdvt.dataset.dataset import SurveyRows
from lcdvt.dvt.config import DVTConfig, EyesConfig, ModelConfig, ObjectiveConfig, TrainingConfig
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.eyes import Eyes
from lcdvt.dvt.model import DVT
from lcdvt.dvt.thresholds import find_thresholds
from lcdvt.dvt.train import train
from lcdvt.errors import SettingsError


def stars(seed: int = 0, objects: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Return stars whose class changes abruptly with the first feature; the second says a little, the third nothing."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(objects, 3)).astype(np.float32)
    y = (x[:, 0] > 0.3).astype(np.int64) + (x[:, 0] > 1)
    x[:, 1] += 0.5 * y
    return x, y


def test_cuts_are_those_of_a_tree_on_the_feature_alone() -> None:
    x, y = stars()
    weights = np.random.default_rng(1).uniform(0.5, 2, len(y))
    thresholds, information = find_thresholds(x, y, weights, 3, most=5, smallest_leaf=12)
    for feature in (1, 2):  # with leaves of one class alone, which the first has, scikit-learn goes on to split
        tree = DecisionTreeClassifier(max_leaf_nodes=6, min_samples_leaf=12, random_state=0)
        tree.fit(x[:, [feature]], y, sample_weight=weights)
        expected = np.sort(tree.tree_.threshold[tree.tree_.feature >= 0])
        found = thresholds[:, feature]
        np.testing.assert_allclose(found[np.isfinite(found)], expected, rtol=1e-5)
    assert information[0] > information[1] > information[2] >= 0


def test_information_is_mutual_information_of_leaf_and_class() -> None:
    x, y = stars()
    thresholds, information = find_thresholds(x, y, np.ones(len(y)), 3, most=3, smallest_leaf=5)
    leaf = np.searchsorted(thresholds[np.isfinite(thresholds[:, 1]), 1], x[:, 1])
    assert information[1] == pytest.approx(mutual_info_score(leaf, y), rel=1e-5)


def test_a_constant_feature_and_a_single_class_have_no_cut() -> None:
    x = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 4.0]], dtype=np.float32)
    thresholds, information = find_thresholds(x, np.array([0, 0, 1, 1]), np.ones(4), 2, most=3, smallest_leaf=1)
    assert np.isnan(thresholds[:, 0]).all()
    np.testing.assert_allclose(thresholds[:, 1], [2.5, np.nan, np.nan])
    assert information.tolist() == [0, pytest.approx(np.log(2))]
    thresholds, information = find_thresholds(x, np.zeros(4, dtype=int), np.ones(4), 2, most=3, smallest_leaf=1)
    assert np.isnan(thresholds).all()
    assert information.tolist() == [0, 0]


def training_data(members: int = 2) -> TrainingData:
    (x, y), (other_x, other_y) = stars(), stars(1)
    other_y[20:] = -1
    return TrainingData.from_surveys(
        [SurveyRows("a", x, y), SurveyRows("b", other_x, other_y)], ["A", "B", "C"], members
    )


def test_ramps_reach_their_height_a_half_width_from_the_threshold() -> None:
    eyes = Eyes(EyesConfig(thresholds=2, half_width=0.1), 2, 3)
    eyes.look_at(training_data())
    place = int(eyes.threshold[1, :, 0].abs().argmin())
    assert eyes.threshold[1, place, 0] == pytest.approx(0.3, abs=0.05)
    assert eyes.height[:, :, 0].tolist() == [[1, 1], [1, 1]]  # the feature that tells most
    assert 0 < eyes.height[0, 0, 1] < 0.5
    threshold = eyes.threshold[1, place, 0]
    x = torch.zeros(2, 1, 4, 3)
    x[1, 0, :, 0] = threshold + torch.tensor([-1.0, -0.05, 0.05, 1.0])
    seen = eyes(x).view(2, 1, 4, 2, 3)
    torch.testing.assert_close(seen[1, 0, :, place, 0], torch.tensor([-1.0, -0.5, 0.5, 1.0]))
    shown = torch.ones_like(x)
    shown[..., 0] = 0
    hidden = eyes(x, shown).view(2, 1, 4, 2, 3)
    assert not hidden[..., 0].any()
    torch.testing.assert_close(hidden[..., 1:], seen[..., 1:])


def test_the_compiled_ramps_are_the_plain_ones() -> None:
    eyes = Eyes(EyesConfig(thresholds=3, half_width=0.05), 2, 3)
    eyes.look_at(training_data())
    x, shown = torch.randn(2, 2, 5, 3), torch.randint(0, 2, (2, 2, 5, 3)).float()
    plain = ((x[:, :, :, None] - eyes.threshold[:, None, None]) / 0.05).clamp(-1, 1) * eyes.height[:, None, None]
    torch.testing.assert_close(eyes(x), plain.flatten(-2))
    torch.testing.assert_close(eyes(x, shown), (plain * shown[:, :, :, None]).flatten(-2))
    torch.testing.assert_close(eyes(x[:1].expand(2, 2, 5, 3))[0], eyes(x)[0])
    torch.testing.assert_close(eyes(x[:, :, ::2]), eyes(x)[:, :, ::2])
    seen = eyes(x)
    torch.testing.assert_close(eyes.double()(x.double()), seen.double())


def small_config(**model: object) -> DVTConfig:
    return DVTConfig(
        model=ModelConfig(shared=(8, 8), latent=3, heads="tied", **model),  # type: ignore[arg-type]
        objective=ObjectiveConfig(label_smoothing=0.1, balanced_classification=True, balance=0.5),
        training=TrainingConfig(steps=20, hidden_features=0.3, schedule="cosine", check_every=10),
    )


def test_a_member_alone_and_beside_others_gets_the_same_numbers() -> None:
    config = small_config(eyes=EyesConfig())
    both = train(config, training_data(2), (5, 6)).model.state_dict()
    alone = train(config, training_data(1), (6,)).model.state_dict()
    assert both.keys() == alone.keys()
    for name, values in both.items():
        torch.testing.assert_close(values[1:], alone[name], msg=name)
    assert both["networks.eyes.height"].any()


def test_members_with_other_labels_have_other_eyes() -> None:
    x, y = stars()
    halves = np.stack([np.where(np.arange(len(y)) % 2 == part, y, -1) for part in (0, 1)])
    data = TrainingData.from_surveys([SurveyRows("a", x, halves)], ["A", "B", "C"], 2)
    eyes = Eyes(EyesConfig(), 2, 3)
    eyes.look_at(data)
    assert not torch.equal(eyes.threshold[0], eyes.threshold[1])


def test_hiding_features_and_smoothing_work_without_eyes_too() -> None:
    config = small_config()
    seen = train(config, training_data(1), (0,)).model.state_dict()
    plain = replace(config, training=replace(config.training, hidden_features=0.0))
    assert not torch.equal(
        seen["classifier.weight"], train(plain, training_data(1), (0,)).model.state_dict()["classifier.weight"]
    )


def test_eyes_need_the_same_features_in_all_surveys() -> None:
    with pytest.raises(SettingsError, match=r"3, 4 features, which model\.eyes would take for the same"):
        DVT(ModelConfig(eyes=EyesConfig(), input_layer="survey"), 1, (3, 4), 2)
