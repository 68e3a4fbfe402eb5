"""The likelihood against torch.distributions, and its own uncompiled form."""

import pytest
import torch
from torch import distributions

from lcdvt.dvt.config import ModelConfig
from lcdvt.dvt.likelihood import gaussian_costs, reconstruction_cost


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


@pytest.mark.parametrize("with_missing", [False, True])
def test_compiled_and_plain_likelihood_agree_over_the_whole_range_of_variances(with_missing: bool) -> None:
    generator = torch.Generator().manual_seed(4)
    config = ModelConfig(latent=4, logvar_x=(-14.0, 4.0))
    x = torch.randn(1, 2, 25, 7, generator=generator)
    logvar = torch.linspace(-16, 6, 350).view(x.shape)
    output = torch.cat([x + torch.randn(x.shape, generator=generator) * (logvar / 2).exp(), logvar], dim=-1)
    output.requires_grad_(True)
    observed = (torch.rand(x.shape, generator=generator) > 0.3).float() if with_missing else None
    costs = gaussian_costs(output, x, *config.logvar_x)
    rows = (costs if observed is None else costs * observed).sum(-1)
    for row in range(25):
        # one labelled row after the other, so that rows of very different variances are not summed
        part = output[:, :, row : row + 1]
        seen = None if observed is None else observed[:, :, row : row + 1]
        compiled, nothing = reconstruction_cost(config, part, x[:, :, row : row + 1], seen, labelled=1)
        torch.testing.assert_close(compiled, rows[..., row], rtol=1e-5, atol=1e-4)
        assert (nothing == 0).all()
        ours, theirs = (
            torch.autograd.grad(cost.sum(), output, retain_graph=True)[0] for cost in (compiled, rows[..., row])
        )
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_a_broken_member_shows_in_its_own_cost_only() -> None:
    output = torch.zeros(3, 1, 4, 6)
    output[1] = torch.nan
    cost, _ = reconstruction_cost(ModelConfig(latent=4), output, torch.zeros(3, 1, 4, 3), None, labelled=2)
    assert cost.isfinite().flatten().tolist() == [True, False, True]


def test_the_gradient_can_be_used_once() -> None:
    output = torch.zeros(1, 1, 4, 6, requires_grad=True)
    cost, _ = reconstruction_cost(ModelConfig(latent=4), output, torch.ones(1, 1, 4, 3), None, labelled=2)
    torch.autograd.grad(cost.sum(), output, retain_graph=True)
    with pytest.raises(TypeError):
        torch.autograd.grad(cost.sum(), output)


def test_bernoulli_reconstruction_equals_torch_distributions() -> None:
    generator = torch.Generator().manual_seed(4)
    x = torch.rand(1, 1, 6, 5, generator=generator).round()
    logits = torch.randn(1, 1, 6, 5, generator=generator)
    rows = -distributions.Bernoulli(logits=logits).log_prob(x).sum(-1)
    labelled, others = reconstruction_cost(ModelConfig(latent=4, likelihood="bernoulli"), logits, x, None, labelled=2)
    torch.testing.assert_close(labelled, rows[..., :2].mean(-1))
    torch.testing.assert_close(others, rows[..., 2:].mean(-1))
