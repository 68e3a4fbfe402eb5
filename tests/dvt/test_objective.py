"""Every term of the objective against an independent computation."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import distributions

from lcdvt.dvt.config import ModelConfig, ObjectiveConfig
from lcdvt.dvt.model import DVT
from lcdvt.dvt.objective import (
    Batch,
    _compiled_cost,
    _plain_cost,
    balanced_class_weights,
    kl_to_components,
    objective_terms,
    reconstruction_cost,
    straight_through_sample,
    survey_weights,
    tie_size,
)

MIXTURE = ModelConfig(latent=4, component_distance=2.0, component_sigma=0.7)


def component(number: int, config: ModelConfig = MIXTURE) -> distributions.Independent:
    centre = torch.zeros(config.latent)
    centre[number] = config.component_distance
    return distributions.Independent(distributions.Normal(centre, config.component_sigma), 1)


def test_divergence_equals_torch_distributions() -> None:
    generator = torch.Generator().manual_seed(1)
    mean = torch.randn(3, 2, 5, 4, generator=generator)
    logvar = torch.randn(3, 2, 5, 4, generator=generator)
    ours = kl_to_components(mean, logvar, 3, MIXTURE)
    posterior = distributions.Independent(distributions.Normal(mean, (0.5 * logvar).exp()), 1)
    for number in range(3):
        theirs = distributions.kl_divergence(posterior, component(number).expand(mean.shape[:-1]))
        torch.testing.assert_close(ours[..., number, :], theirs, rtol=1e-5, atol=1e-4)


def test_divergence_equals_monte_carlo() -> None:
    torch.manual_seed(2)
    mean, logvar = torch.tensor([0.5, -0.3, 0.2, 0.0]), torch.tensor([-1.0, 0.3, -0.5, 0.1])
    ours = kl_to_components(mean[None], logvar[None], 3, MIXTURE)[:, 0]
    posterior = distributions.Independent(distributions.Normal(mean, (0.5 * logvar).exp()), 1)
    z = posterior.sample((400_000,))
    for number in range(3):
        differences = posterior.log_prob(z) - component(number).log_prob(z)
        error = differences.std() / math.sqrt(len(z))
        assert abs(differences.mean() - ours[number]) < 5 * error


def test_divergence_worked_by_hand() -> None:
    # J = 2, μ = 1, σ = 1, m = (1, 0), v = (0, 0): q is exactly the component of class 0 and one unit
    # along two axes away from that of class 1, so KL_0 = 0 and KL_1 = ½ (1² + 1²) = 1.
    config = ModelConfig(latent=2, component_distance=1.0, component_sigma=1.0)
    divergence = kl_to_components(torch.tensor([[1.0, 0.0]]), torch.zeros(1, 2), 2, config)
    torch.testing.assert_close(divergence, torch.tensor([[0.0], [1.0]]))


@pytest.mark.parametrize("with_missing", [False, True])
def test_gaussian_reconstruction_equals_torch_distributions(with_missing: bool) -> None:
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(2, 2, 7, 3, generator=generator)
    output = 2 * torch.randn(2, 2, 7, 6, generator=generator)
    output.requires_grad_(True)
    observed = (torch.rand(x.shape, generator=generator) > 0.4).float() if with_missing else None
    config = ModelConfig(latent=4, logvar_x=(-1.0, 1.5))

    mean, logvar = output[..., :3], output[..., 3:].clamp(-1.0, 1.5)
    likelihood = distributions.Normal(mean, (0.5 * logvar).exp()).log_prob(x)
    rows = -(likelihood if observed is None else likelihood * observed).sum(-1)
    weights = torch.rand(2, 2, 2, generator=generator)

    def weighted(labelled: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
        return (weights[..., 0] * labelled + weights[..., 1] * others).sum()

    theirs = weighted(rows[..., :4].mean(-1), rows[..., 4:].mean(-1))
    (their_gradient,) = torch.autograd.grad(theirs, output)
    ours = weighted(*reconstruction_cost(config, output, x, observed, labelled=4))
    (our_gradient,) = torch.autograd.grad(ours, output)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(our_gradient, their_gradient)


def test_compiled_and_plain_likelihood_agree_over_the_whole_range_of_variances() -> None:
    generator = torch.Generator().manual_seed(4)
    x = torch.randn(50, 7, generator=generator)
    output = torch.cat([torch.randn(50, 7, generator=generator), torch.linspace(-16, 6, 350).view(50, 7)], dim=1)
    for observed in (None, (torch.rand(50, 7, generator=generator) > 0.3).float()):
        gradients = torch.empty_like(output), torch.empty_like(output)
        compiled = _compiled_cost(output, x, observed, -14.0, 4.0, gradients[0])
        plain = _plain_cost(output, x, observed, -14.0, 4.0, gradients[1])
        torch.testing.assert_close(compiled, plain, rtol=1e-5, atol=1e-4)
        torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-5)


def test_bernoulli_reconstruction_equals_torch_distributions() -> None:
    generator = torch.Generator().manual_seed(4)
    x = torch.rand(1, 1, 6, 5, generator=generator).round()
    logits = torch.randn(1, 1, 6, 5, generator=generator)
    rows = -distributions.Bernoulli(logits=logits).log_prob(x).sum(-1)
    labelled, others = reconstruction_cost(ModelConfig(latent=4, likelihood="bernoulli"), logits, x, None, labelled=2)
    torch.testing.assert_close(labelled, rows[..., :2].mean(-1))
    torch.testing.assert_close(others, rows[..., 2:].mean(-1))


def test_straight_through_sample_is_one_hot_with_the_right_frequencies() -> None:
    generator = torch.Generator().manual_seed(5)
    logits = torch.tensor([0.3, -1.0, 0.9])
    noise = -torch.empty(3, 200_000).exponential_(generator=generator).log()
    samples = straight_through_sample(logits[:, None].expand_as(noise), noise, temperature=0.5)
    assert set(np.unique(samples.numpy())) <= {0.0, 1.0}
    assert (samples.sum(0) == 1).all()
    torch.testing.assert_close(samples.mean(1), logits.softmax(0), rtol=0, atol=0.005)


def test_straight_through_gradient_matches_the_exact_sum_in_expectation() -> None:
    """The forward value is unbiased; the gradient is biased by the relaxation, and less so as τ grows cold."""
    generator = torch.Generator().manual_seed(6)
    costs = torch.tensor([1.0, 3.0, -2.0])
    logits = torch.tensor([0.2, -0.4, 0.5], requires_grad=True)
    exact = (logits.softmax(0) * costs).sum()
    (exact_gradient,) = torch.autograd.grad(exact, logits)
    noise = -torch.empty(3, 400_000).exponential_(generator=generator).log()
    bias = {}
    for temperature in (2.0, 0.5, 0.1):
        sampled = (
            (straight_through_sample(logits[:, None].expand_as(noise), noise, temperature) * costs[:, None])
            .sum(0)
            .mean()
        )
        (gradient,) = torch.autograd.grad(sampled, logits)
        assert abs(sampled.item() - exact.item()) < 0.02
        bias[temperature] = (gradient - exact_gradient).abs().max().item()
    assert bias[0.1] < 0.03 * exact_gradient.abs().max().item()
    assert bias[0.1] < bias[0.5] < bias[2.0]


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
