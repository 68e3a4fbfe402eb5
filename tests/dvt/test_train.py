"""The ways to train, members alone and side by side, stopping, failing and going on."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.dvt_problems import CLASSES, quick_config, survey_rows, two_surveys
from sklearn.metrics import f1_score

from lcdvt.dataset.dataset import SurveyRows
from lcdvt.dvt.config import ConvolutionConfig
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.ensemble import predict
from lcdvt.dvt.monitor import Monitor, macro_f1
from lcdvt.dvt.train import TrainingError, TrainingState, resolve_device, train

SEEDS = tuple(range(20, 30))


@pytest.mark.parametrize("name", ["paper", "tied", "robust"])
@pytest.mark.parametrize("mode", ["transfer", "multi-task"])
def test_both_surveys_are_learned(name: str, mode: str) -> None:
    result = train(quick_config(name, mode=mode, steps=150), two_surveys(2), (1, 2))
    for survey, (shift, seed) in enumerate([(0.0, 1), (0.7, 2)]):
        rows, truth = survey_rows("test", shift=shift, seed=seed)
        prediction = predict(result.model, torch.from_numpy(rows.x).float(), survey)
        assert (prediction.class_number.numpy() == truth).mean() > 0.9
    assert all(0 <= value <= 1 for value in result.cycle)


@pytest.mark.parametrize("mode", ["supervised", "semi-supervised"])
def test_one_survey_is_learned(mode: str) -> None:
    rows, truth = survey_rows("only", shift=0.0, seed=3)
    data = TrainingData.from_surveys([rows], CLASSES, 2)
    result = train(quick_config(mode=mode, steps=150), data, (1, 2))
    assert (predict(result.model, torch.from_numpy(rows.x).float(), 0).class_number.numpy() == truth).mean() > 0.9


@pytest.mark.parametrize("name", ["paper", "tied"])
@pytest.mark.parametrize("mode", ["transfer", "multi-task"])
def test_a_member_alone_equals_the_member_in_a_batch_of_ten(name: str, mode: str) -> None:
    config = quick_config(name, mode=mode, steps=30)
    together = train(config, two_surveys(10), SEEDS)
    for member in (0, 6, 9):
        alone = train(config, two_surveys(1), (SEEDS[member],))
        for key, tensor in alone.model.state_dict().items():
            torch.testing.assert_close(together.model.state_dict()[key][member], tensor[0], rtol=2e-3, atol=2e-4)


def test_the_same_seed_gives_the_same_weights_and_another_does_not() -> None:
    config = quick_config(steps=20)
    first, again, other = (train(config, two_surveys(1), (seed,)).model.state_dict() for seed in (5, 5, 6))
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not torch.equal(first["classifier.weight"], other["classifier.weight"])


def test_transfer_freezes_what_is_shared_and_the_source() -> None:
    states: dict[int, TrainingState] = {}
    config = quick_config(mode="transfer")
    result = train(
        config, two_surveys(1), (1,), on_checkpoint=lambda state: states.update({100 * state.phase + state.step: state})
    )
    before = {key.removeprefix("model."): value for key, value in states[60].tensors.items()}
    after = result.model.state_dict()
    assert torch.equal(before["networks.encoder.0.weight"], after["networks.encoder.0.weight"])
    own = "networks.encoder.2.weight"
    assert torch.equal(before[own][:, 0], after[own][:, 0])
    assert not torch.equal(before[own][:, 1], after[own][:, 1])


@pytest.mark.parametrize("mode", ["transfer", "multi-task"])
@pytest.mark.parametrize("stop", ["never", "cycle"])
def test_resuming_from_any_checkpoint_ends_the_same(mode: str, stop: str) -> None:
    config = quick_config(mode=mode, stop=stop, steps=50)
    states: list[TrainingState] = []
    whole = train(config, two_surveys(2), (1, 2), on_checkpoint=lambda state: states.append(copy.deepcopy(state)))
    for state in (states[0], states[-1]):
        resumed = train(config, two_surveys(2), (1, 2), resume=state)
        assert all(
            torch.equal(tensor, resumed.model.state_dict()[key]) for key, tensor in whole.model.state_dict().items()
        )
        assert resumed.history == whole.history


def test_a_member_that_breaks_is_ended_and_the_others_go_on() -> None:
    rows, _ = survey_rows("old", shift=0.0, seed=1)
    target, _ = survey_rows("new", shift=0.7, seed=2)
    broken = np.stack([rows.x, np.where(np.arange(len(rows.x))[:, None] == 0, 1e25, rows.x), rows.x])
    data = TrainingData.from_surveys([SurveyRows("old", broken, rows.y), target], CLASSES, 3)
    healthy = TrainingData.from_surveys([rows, target], CLASSES, 1)
    config = quick_config(steps=40)
    result = train(config, data, (1, 2, 3))
    assert result.seeds == (1, 3)
    assert "member 1 (seed 2)" in result.failures[2]
    assert "learning_rate" in result.failures[2]
    alone = train(config, healthy, (3,))
    for key, tensor in alone.model.state_dict().items():
        torch.testing.assert_close(result.model.state_dict()[key][1], tensor[0], rtol=2e-3, atol=2e-4)


def test_no_member_left_is_an_error() -> None:
    rows, _ = survey_rows("old", shift=0.0, seed=1)
    data = TrainingData.from_surveys([SurveyRows("old", rows.x * 1e25, rows.y)], CLASSES, 1)
    with pytest.raises(TrainingError, match="no member came through"):
        train(quick_config(mode="semi-supervised"), data, (1,))


def test_stopping_keeps_the_best_snapshot() -> None:
    config = quick_config(steps=400, check_every=10, stop="cycle", patience=2)
    result = train(config, two_surveys(3), (1, 2, 3))
    history = result.history_table()
    assert history["step"].max() < 400
    best = history.groupby("seed")["cycle"].max()
    for seed, cycle in zip(result.seeds, result.cycle, strict=True):
        assert cycle == pytest.approx(best[seed], abs=1e-6)
    assert result.cycle[result.top_member] == max(result.cycle)


@pytest.mark.parametrize("stop", ["bound", "agreement"])
def test_label_free_criteria_are_measured_on_held_out_objects(stop: str) -> None:
    config = quick_config(stop=stop, held_out=20)
    history = train(config, two_surveys(2), (1, 2)).history_table()
    assert np.isfinite(history[stop]).all()


def test_three_surveys_of_which_one_lacks_features_and_a_class() -> None:
    first, _ = survey_rows("first", shift=0.0, seed=1)
    second, _ = survey_rows("second", shift=0.4, seed=2, features=6)
    third, truth = survey_rows("third", shift=0.7, seed=3)
    second.y[second.y == 2] = -1
    third.x[::3, 1] = np.nan
    config = quick_config(steps=150)
    config = replace(config, model=replace(config.model, input_layer="survey"))
    data = TrainingData.from_surveys([first, second, third], CLASSES, 1)
    result = train(config, data, (1,))
    prediction = predict(result.model, torch.from_numpy(third.x).float(), 2)
    assert (prediction.class_number.numpy() == truth).mean() > 0.85


@pytest.mark.parametrize("prior", ["uniform", "empirical", "estimated"])
def test_class_priors(prior: str) -> None:
    config = quick_config(steps=150)
    config = replace(config, objective=replace(config.objective, class_prior=prior))  # type: ignore[arg-type]
    rows, truth = survey_rows("new", shift=0.0, seed=1, objects=300)
    keep = (truth != 2) | (np.arange(300) < 60)
    source, _ = survey_rows("old", shift=0.0, seed=4)
    target = SurveyRows("new", rows.x[keep], rows.y[keep])
    result = train(config, TrainingData.from_surveys([source, target], CLASSES, 1), (1,))
    learned = result.model.class_prior[0, 1].numpy()
    assert learned.sum() == pytest.approx(1, abs=1e-5)
    if prior == "uniform":
        assert learned == pytest.approx(1 / 3)
    if prior == "empirical":
        assert learned == pytest.approx((np.bincount(target.y[target.y >= 0]) + 1) / (30 + 3))
    if prior == "estimated":
        unlabelled = np.bincount(truth[keep][target.y < 0], minlength=3) / (target.y < 0).sum()
        assert learned == pytest.approx(unlabelled, abs=0.08)


@pytest.mark.parametrize("members", [1, 2])
def test_convolutional_members_train_with_shifted_images(members: int) -> None:
    generator = np.random.default_rng(1)
    truth = np.arange(60) % 2
    images = np.zeros((60, 8, 8))
    images[truth == 0, 3, 1:7] = 1
    images[truth == 1, 1:7, 3] = 1
    x = np.clip(images + 0.05 * generator.random(images.shape), 0, 1).reshape(60, -1)
    rows = [SurveyRows(name, x, np.where(np.arange(60) < 40, truth, -1)) for name in ("old", "new")]
    config = quick_config(steps=80, shift_pixels=1)
    model = replace(
        config.model, likelihood="bernoulli", convolution=ConvolutionConfig((4, 4, 4), 4), classifier="shared"
    )
    result = train(
        replace(config, model=model), TrainingData.from_surveys(rows, ("-", "|"), members), tuple(range(members))
    )
    prediction = predict(result.model, torch.from_numpy(x).float(), 1)
    assert (prediction.class_number.numpy() == truth).mean() > 0.9


def test_macro_f1_equals_scikit_learn() -> None:
    generator = torch.Generator().manual_seed(1)
    truth, predicted = torch.randint(4, (3, 50), generator=generator), torch.randint(3, (3, 50), generator=generator)
    truth[2], predicted[2] = truth[2] % 2, predicted[2] % 2
    ours = macro_f1(truth, predicted, 5)
    theirs = [f1_score(t, p, average="macro") for t, p in zip(truth, predicted, strict=True)]
    assert ours.tolist() == pytest.approx(theirs)


def test_cycle_consistency_step_by_step() -> None:
    config, data = quick_config(), two_surveys(2)
    result = train(config, data, (1, 2))
    rows, _ = survey_rows("old", shift=0.0, seed=1)
    known = rows.y >= 0
    x = torch.from_numpy(rows.x[known]).float().expand(2, 1, -1, -1)
    source, target = slice(0, 1), slice(1, 2)
    with torch.no_grad():
        z_source, _ = result.model.encode(x, source)
        x_target = result.model.decode(z_source, target)[..., :4]
        z_target, _ = result.model.encode(x_target, target)
        said = result.model.classify(z_target, source)[:, 0].argmax(-1)
    expected = [f1_score(rows.y[known], answer, average="macro") for answer in said]
    assert Monitor(data, config, (1, 2)).measure(result.model)["cycle"].tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("mode", "surveys", "message"),
    [("semi-supervised", 2, "takes one survey"), ("transfer", 1, "two surveys"), ("multi-task", 1, "two surveys")],
)
def test_modes_and_surveys_must_fit(mode: str, surveys: int, message: str) -> None:
    rows = [survey_rows(str(number), shift=0.0, seed=number)[0] for number in range(surveys)]
    with pytest.raises(TrainingError, match=message):
        train(quick_config(mode=mode), TrainingData.from_surveys(rows, CLASSES, 1), (1,))


def test_seeds_must_be_one_per_member_and_different() -> None:
    with pytest.raises(TrainingError, match="one different seed"):
        train(quick_config(), two_surveys(2), (1, 1))


def test_devices() -> None:
    assert resolve_device("cpu").type == "cpu"
    assert resolve_device("auto").type in ("cpu", "cuda", "mps")
    with pytest.raises(TrainingError, match="choose from"):
        resolve_device("tpu")
    if not torch.cuda.is_available():
        with pytest.raises(TrainingError, match="no such device"):
            resolve_device("cuda")
