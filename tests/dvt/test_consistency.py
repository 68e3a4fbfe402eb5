"""A star and its replicate: the term against a row-by-row computation, what it does to a training, who meets whom."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.dvt_problems import CLASSES, quick_config, survey_rows, two_surveys
from torch import distributions

from lcdvt.dataset.dataset import SurveyRows
from lcdvt.dvt.batch_stream import BatchStream
from lcdvt.dvt.config import DVTConfig, EyesConfig, ModelConfig, ObjectiveConfig, TeachingConfig, preset
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.model import DVT
from lcdvt.dvt.objective import Batch, objective_terms
from lcdvt.dvt.train import TrainingState, train
from lcdvt.errors import DatasetError, SettingsError, TrainingError

SIGMA = 0.8


def small_model(**changes: object) -> DVT:
    config = replace(ModelConfig(shared=(3,), latent=2, component_distance=1.5, component_sigma=SIGMA), **changes)  # type: ignore[arg-type]
    model = DVT(config, 2, (3, 3), 2)
    model.initialise([torch.Generator().manual_seed(seed) for seed in (7, 8)])
    return model


def small_batch(has_again: torch.Tensor | None = None) -> Batch:
    """Return two labelled and three unlabelled rows of two members and two surveys, each with a replicate."""
    generator = torch.Generator().manual_seed(9)
    x, again, noise = (torch.randn(2, 2, 5, 3, generator=generator) for _ in range(3))
    shown = torch.rand(2, 2, 5, 3, generator=generator).ge(0.3).float()
    return Batch(
        x=x,
        observed=None,
        y=torch.tensor([[[0, 1], [1, 1]], [[1, 0], [0, 1]]]),
        encoder_noise=0.1 * noise,
        latent_noise=torch.randn(2, 2, 5, 2, generator=generator),
        gumbel_noise=None,
        shown=shown,
        again=again,
        has_again=torch.ones(2, 2, 5) if has_again is None else has_again,
    )


def consistency(model: DVT, batch: Batch, **changes: object) -> torch.Tensor:
    config = replace(ObjectiveConfig(label_sampling="exact", consistency_weight=3.0), **changes)  # type: ignore[arg-type]
    found = objective_terms(model, batch, config, slice(0, 2))[0].consistency
    assert found is not None
    return found


def test_the_term_against_a_row_by_row_computation() -> None:
    model = small_model(heads="tied", scaled_latent=True)
    for correction in model.corrections():
        torch.nn.init.normal_(correction, generator=torch.Generator().manual_seed(1))
    has_again = torch.tensor([[[1, 0, 1, 1, 0], [1, 1, 1, 1, 1]], [[0, 0, 0, 0, 1], [0, 0, 0, 0, 0]]]).float()
    batch = small_batch(has_again)
    found = consistency(model, batch)
    for member in range(2):
        for survey in range(2):
            costs = [torch.zeros(())] if not has_again[member, survey].any() else []
            for row in has_again[member, survey].nonzero().flatten().tolist():
                where, said = [], []
                for values in (batch.x, batch.again):
                    alone = torch.zeros(2, 2, 1, 3)
                    alone[member, survey, 0] = (values + batch.encoder_noise)[member, survey, row]  # type: ignore[operator]
                    alone *= batch.shown[member, survey, row]  # type: ignore[index]
                    mean = model.encode(alone, slice(0, 2))[0]
                    where.append(distributions.MultivariateNormal(mean[member, survey, 0], SIGMA**2 * torch.eye(2)))
                    said.append(distributions.Categorical(logits=model.classify(mean, slice(0, 2))[member, survey, 0]))
                both_ways = (distributions.kl_divergence(*said), distributions.kl_divergence(*said[::-1]))
                costs.append(distributions.kl_divergence(*where) + sum(both_ways) / 2)
            torch.testing.assert_close(found[member, survey], torch.stack(costs).mean(), rtol=1e-4, atol=1e-5)
    assert found[1, 1] == 0 < found[0].min()


def test_the_compiled_and_the_plain_way_with_and_without_a_decoder_agree() -> None:
    """In double precision the encoder's eyes take the way that other devices take."""
    model = small_model(eyes=EyesConfig(thresholds=2, half_width=2.0))
    assert model.networks.eyes is not None
    model.networks.eyes.height.fill_(1.0)
    batch = replace(small_batch(), encoder_noise=None)
    whole = consistency(model, batch)
    encoder_alone = consistency(model, batch, generative=False)
    model.double()
    in_double = {
        name: tensor.double() for name, tensor in vars(batch).items() if name in ("x", "again", "has_again", "shown")
    }
    plain = consistency(model, replace(batch, **in_double), generative=False)
    torch.testing.assert_close(whole, encoder_alone)
    torch.testing.assert_close(plain.float(), whole, rtol=1e-4, atol=1e-5)
    assert (whole > 0).all()


def test_no_star_is_apart_from_itself() -> None:
    batch = small_batch()
    assert consistency(small_model(), replace(batch, again=batch.x)).eq(0).all()


def test_the_replicate_of_a_row_without_one_is_not_looked_at() -> None:
    has_again = torch.ones(2, 2, 5)
    has_again[:, :, 3] = 0
    batch = small_batch(has_again)
    other = batch.again.clone()  # type: ignore[union-attr]
    other[:, :, 3] = 100.0
    assert torch.equal(consistency(small_model(), batch), consistency(small_model(), replace(batch, again=other)))


def test_the_decoder_does_not_see_the_replicate_and_the_total_has_the_weighted_term() -> None:
    model, batch = small_model(), small_batch()
    config = ObjectiveConfig(label_sampling="exact", source_weight=0.4, consistency_weight=3.0)
    terms, _ = objective_terms(model, batch, config, slice(0, 2))
    plain, _ = objective_terms(model, batch, replace(config, consistency_weight=0.0), slice(0, 2))
    assert plain.consistency is None
    added = 3.0 * (0.4 * terms.consistency[:, 0] + 0.6 * terms.consistency[:, 1])  # type: ignore[index]
    torch.testing.assert_close(terms.total(config), plain.total(config) + added)
    assert all(torch.equal(terms.as_columns()[name], value) for name, value in plain.as_columns().items())
    terms.consistency.sum().backward()  # type: ignore[union-attr]
    assert all(parameter.grad is None for parameter in model.networks.decoder.parameters())
    assert model.classifier.weight.grad.abs().max() > 0  # type: ignore[union-attr]


def replicated_surveys(seed: int = 3) -> list[SurveyRows]:
    """Return two surveys whose stars have a replicate each, but for every tenth star."""
    generator = np.random.default_rng(seed)
    surveys = []
    for name, shift, number in (("old", 0.0, 1), ("new", 0.7, 2)):
        rows, _ = survey_rows(name, shift=shift, seed=number)
        again = rows.x + 0.5 * generator.normal(size=rows.x.shape)
        again[::10] = np.nan
        surveys.append(replace(rows, replicates=again[None]))
    return surveys


def with_weight(weight: float, name: str = "tied", **training: object) -> DVTConfig:
    config = quick_config(name, **training)
    return replace(config, objective=replace(config.objective, consistency_weight=weight))


def test_training_brings_replicates_together() -> None:
    distances = []
    data = TrainingData.from_surveys(replicated_surveys(), CLASSES, 2, replicates=True)
    assert data.again is not None
    assert data.has_again is not None
    for weight in (0.0, 1.0, 10.0):
        config = with_weight(weight, steps=60)
        # a label weighs a thousand otherwise, and 1 would be next to nothing
        config = replace(config, objective=replace(config.objective, classification_weight=10.0))
        model = train(config, data, (1, 2)).model
        of_target = slice(len(data.rows) // 2, None)
        star, again = (
            model.encode(part[of_target].expand(2, 1, -1, -1), slice(1, 2))[0] for part in (data.rows, data.again)
        )
        apart = (star - again).norm(dim=-1)[..., data.has_again[of_target] > 0]
        distances.append(apart.mean().item())
    assert distances[0] > 1.02 * distances[1] > 1.1 * distances[2]


@pytest.mark.parametrize("name", ["paper", "tied"])
def test_without_a_weight_nothing_changes(name: str) -> None:
    """Replicates in the data, and replicates kept for the engine, give the same bits as no replicates at all."""
    surveys, seeds = replicated_surveys(), (1, 2)
    never = [replace(survey, replicates=None) for survey in surveys]
    config = quick_config(name, steps=20)
    assert TrainingData.from_surveys(surveys, CLASSES, 2).again is None
    plain = train(config, TrainingData.from_surveys(never, CLASSES, 2), seeds)
    for kept in (False, True):
        data = TrainingData.from_surveys(surveys, CLASSES, 2, replicates=kept)
        found = train(with_weight(0.0, name, steps=20), data, seeds)
        assert found.history == plain.history
        weights = found.model.state_dict()
        assert all(torch.equal(tensor, weights[key]) for key, tensor in plain.model.state_dict().items())
    assert "consistency" not in plain.history_table()


def test_random_numbers_of_batches_do_not_depend_on_replicates() -> None:
    with_them, without = (
        BatchStream(
            TrainingData.from_surveys(replicated_surveys(), CLASSES, 2, replicates=kept),
            with_weight(float(kept)), (1, 2), 0, slice(0, 2),
        ).batch(17)
        for kept in (True, False)
    )  # fmt: skip
    assert without.again is None
    for name in ("x", "y", "latent_noise", "shown"):
        assert torch.equal(getattr(with_them, name), getattr(without, name))


def test_a_replicate_only_ever_meets_its_own_star() -> None:
    """Rows carry their star's number: a batch that mixed them up would show it."""
    surveys = []
    for number, shift in enumerate((0.0, 0.7)):
        rows, _ = survey_rows(f"survey{number}", shift=shift, seed=number)
        x = np.repeat(1000.0 * number + np.arange(len(rows.x))[:, None], 4, axis=1)
        again = x + 0.5
        again[::7] = np.nan
        again[1::7, 0] = np.nan  # only a feature is missing: it is a replicate all the same
        surveys.append(replace(rows, x=x, replicates=np.stack([again, np.full_like(x, 9e9)])))
    data = TrainingData.from_surveys(surveys, CLASSES, 2, replicates=True)
    stream = BatchStream(data, with_weight(1.0), (1, 2), 0, slice(0, 2))
    for step in range(20):
        batch = stream.batch(step)
        assert batch.again is not None
        assert batch.has_again is not None
        star = batch.x[..., -1] % 1000
        assert torch.equal(batch.has_again, star.remainder(7).ne(0).float())
        met = batch.has_again > 0
        assert torch.equal(batch.again[..., -1][met], batch.x[..., -1][met] + 0.5)
        assert batch.again[~met].eq(0).all()


def test_the_same_seed_gives_the_same_and_a_resumed_run_ends_the_same() -> None:
    states: list[TrainingState] = []
    data = TrainingData.from_surveys(replicated_surveys(), CLASSES, 2, replicates=True)
    config = with_weight(1.0, steps=40)
    whole = train(config, data, (0, 1), on_checkpoint=lambda state: states.append(copy.deepcopy(state)))
    for other in (train(config, data, (0, 1)), train(config, data, (0, 1), resume=states[0])):
        assert other.history == whole.history
        weights = other.model.state_dict()
        assert all(torch.equal(tensor, weights[key]) for key, tensor in whole.model.state_dict().items())
    assert whole.history_table()["consistency"].gt(0).all()


def test_a_transfer_makes_replicates_where_teachers_or_the_objective_need_them() -> None:
    assert preset("tied").replicates == 0
    assert with_weight(1.0).replicates == 1
    teaching = TeachingConfig(replicates=2)
    assert replace(with_weight(1.0), teaching=teaching).replicates == 2
    assert replace(preset("tied"), teaching=teaching).replicates == 2


def test_what_cannot_be_consistent_is_refused() -> None:
    for weight in (-1.0, float("inf"), float("nan")):
        with pytest.raises(SettingsError, match="consistency_weight"):
            ObjectiveConfig(consistency_weight=weight)
    with pytest.raises(TrainingError, match=r"consistency_weight = 1\.0, but the objects have no replicates"):
        train(with_weight(1.0), two_surveys(1), (1,))
    rows, _ = survey_rows("old", shift=0.0, seed=1)
    with pytest.raises(DatasetError, match="old: objects are"):
        TrainingData.from_surveys([replace(rows, replicates=rows.x[None, :5])], CLASSES, 1, replicates=True)
