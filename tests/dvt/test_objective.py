"""Every term of the objective against an independent computation."""

from dataclasses import replace

import pytest
import torch
from torch import distributions

from lcdvt.dvt.config import ModelConfig, ObjectiveConfig
from lcdvt.dvt.model import DVT
from lcdvt.dvt.objective import Batch, balanced_class_weights, objective_terms, survey_weights, tie_size


def component(number: int, config: ModelConfig) -> distributions.Independent:
    centre = torch.zeros(config.latent)
    centre[number] = config.component_distance
    return distributions.Independent(distributions.Normal(centre, config.component_sigma), 1)


def small_model(**changes: object) -> DVT:
    config = replace(ModelConfig(shared=(3,), latent=2, component_distance=1.5, component_sigma=0.8), **changes)  # type: ignore[arg-type]
    model = DVT(config, 2, (3, 3), 2)
    model.initialise([torch.Generator().manual_seed(seed) for seed in (7, 8)])
    return model


def small_batch(gumbel: bool = False) -> Batch:
    generator = torch.Generator().manual_seed(9)
    x = torch.randn(2, 2, 5, 3, generator=generator)
    noise = torch.randn(2, 2, 5, 2, generator=generator)
    gumbel_noise = -torch.empty(2, 2, 2, 3).exponential_(generator=generator).log() if gumbel else None
    return Batch(x, None, torch.tensor([[[0, 1], [1, 1]], [[1, 0], [0, 1]]]), None, noise, gumbel_noise)


def test_all_terms_against_a_row_by_row_computation() -> None:
    model, batch, config = small_model(), small_batch(), ObjectiveConfig(label_sampling="exact")
    model.class_prior[:] = torch.tensor([0.3, 0.7])
    terms, q = objective_terms(model, batch, config, slice(0, 2))
    for member in range(2):
        for survey in range(2):
            names = "rec_l kl_l ce rec_u kl_u prior".split()
            sums: dict[str, list[torch.Tensor]] = {name: [] for name in names}
            for row in range(5):
                encoded = [parameters(layer, member, survey) for layer in model.networks.encoder]
                hidden = (batch.x[member, survey, row] @ encoded[0][0] + encoded[0][1]).relu()
                mean, logvar = (hidden @ encoded[1][0] + encoded[1][1]).chunk(2)
                posterior = distributions.Independent(distributions.Normal(mean, (logvar / 2).exp()), 1)
                z = mean + (logvar / 2).exp() * batch.latent_noise[member, survey, row]
                decoded = [parameters(layer, member, survey) for layer in model.networks.decoder]
                out_mean, out_logvar = (
                    (z @ decoded[0][0] + decoded[0][1]).relu() @ decoded[1][0] + decoded[1][1]
                ).chunk(2)
                cost = (
                    -distributions.Normal(out_mean, (out_logvar.clamp(-6, 2) / 2).exp())
                    .log_prob(batch.x[member, survey, row])
                    .sum()
                )
                weight, bias = parameters(model.classifier, member, survey)
                posterior_y = distributions.Categorical(logits=z @ weight + bias)
                to_components = torch.stack(
                    [distributions.kl_divergence(posterior, component(k, model.config)) for k in range(2)]
                )
                if row < 2:
                    label = batch.y[member, survey, row]
                    sums["rec_l"].append(cost)
                    sums["kl_l"].append(to_components[label])
                    sums["ce"].append(-posterior_y.log_prob(label))
                else:
                    prior = distributions.Categorical(probs=torch.tensor([0.3, 0.7]))
                    sums["rec_u"].append(cost)
                    sums["kl_u"].append((posterior_y.probs * to_components).sum())
                    sums["prior"].append(distributions.kl_divergence(posterior_y, prior))
            expected = {name: torch.stack(values).mean() for name, values in sums.items()}
            ours = (
                terms.reconstruction_labelled,
                terms.component_labelled,
                terms.classification,
                terms.reconstruction_unlabelled,
                terms.component_unlabelled,
                terms.class_prior,
            )
            for name, values in zip(names, ours, strict=True):
                torch.testing.assert_close(values[member, survey], expected[name], rtol=1e-4, atol=1e-4)
    assert q.shape == (2, 2, 2, 3)
    torch.testing.assert_close(q.sum(-2), torch.ones(2, 2, 3))


def parameters(layer: torch.nn.Module, member: int, survey: int) -> tuple[torch.Tensor, torch.Tensor]:
    place = survey if layer.scope == "survey" else 0  # type: ignore[comparison-overlap]
    return layer.weight[member, place], layer.bias[member, place, 0]  # type: ignore[index]


def test_total_is_the_weighted_sum_of_the_paper() -> None:
    model = small_model()
    config = ObjectiveConfig(unlabelled_weight=0.2, classification_weight=7.0, source_weight=0.4)
    terms, _ = objective_terms(model, small_batch(gumbel=True), config, slice(0, 2))
    per_survey = [
        0.8 * (terms.reconstruction_labelled[:, s] + terms.component_labelled[:, s])
        + 0.2 * (terms.reconstruction_unlabelled[:, s] + terms.component_unlabelled[:, s] + terms.class_prior[:, s])
        + 7.0 * terms.classification[:, s]
        for s in range(2)
    ]
    torch.testing.assert_close(terms.total(config), 0.4 * per_survey[0] + 0.6 * per_survey[1])


def test_weights_of_three_surveys() -> None:
    assert survey_weights(ObjectiveConfig(source_weight=0.6), 3) == pytest.approx([0.3, 0.3, 0.4])
    assert survey_weights(ObjectiveConfig(), 1) == [1.0]


def test_tie_penalty_counts_corrections_only() -> None:
    model = small_model(heads="tied")
    assert tie_size(model).tolist() == [0.0, 0.0]
    with torch.no_grad():
        model.classifier.weight_correction[1] = 0.5
    torch.testing.assert_close(tie_size(model), torch.tensor([0.0, 4 * 0.25]))


def test_balanced_weights_make_classes_equal() -> None:
    counts = torch.tensor([[90.0, 10.0, 0.0]])
    weights = balanced_class_weights(counts)
    torch.testing.assert_close(weights * counts, torch.tensor([[50.0, 50.0, 0.0]]))
