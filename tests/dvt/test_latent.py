"""The latent against torch.distributions, Monte Carlo, a worked example, and its own uncompiled form."""

import math

import numpy as np
import torch
from torch import distributions

from lcdvt.dvt.config import ModelConfig
from lcdvt.dvt.latent import kl_to_components, plain_latent, sample_latent, straight_through_sample

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


def test_compiled_latent_and_its_gradient_equal_the_plain_ones() -> None:
    generator = torch.Generator().manual_seed(3)
    config = ModelConfig(latent=11, component_distance=2.0, component_sigma=0.7, logvar_z=(-2.0, 1.0))
    output = (2 * torch.randn(3, 2, 7, 22, generator=generator)).requires_grad_(True)
    noise = torch.randn(3, 5, 2, 7, 11, generator=generator)[:, 1]
    weights = torch.randn(3, 2, 7, 11, generator=generator), torch.randn(3, 2, 4, 7, generator=generator)
    compiled, plain = (make(output, noise, 4, config) for make in (sample_latent, plain_latent))
    gradients = [
        torch.autograd.grad(sum((w * part).sum() for w, part in zip(weights, parts, strict=True)), output)[0]
        for parts in (compiled, plain)
    ]
    for ours, theirs in zip((*compiled, gradients[0]), (*plain, gradients[1]), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    assert (gradients[0][..., 11:] == 0).any(), "some log variances are to lie beyond the limits"


def test_a_broken_member_shows_in_its_own_latent_only() -> None:
    output = torch.zeros(3, 1, 4, 8)
    output[1] = torch.nan
    for part in sample_latent(output, torch.zeros(3, 1, 4, 4), 2, MIXTURE):
        assert part.isnan().flatten(1).any(1).tolist() == [False, True, False]


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
