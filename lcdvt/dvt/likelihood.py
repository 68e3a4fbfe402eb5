"""−log p(x|z) of a batch: Gaussian or Bernoulli, features that were not observed left out."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from lcdvt.dvt.config import ModelConfig
from lcdvt.dvt.kernels import gaussian_cost


def reconstruction_cost(
    config: ModelConfig, output: Tensor, x: Tensor, observed: Tensor | None, labelled: int
) -> tuple[Tensor, Tensor]:
    """Return the mean of −log p(x|z) over the labelled rows and over the others, each (members, surveys).

    Features that were not observed do not count.
    """
    if config.likelihood == "gaussian" and x.device.type == "cpu":
        return _CompiledGaussianCost.apply(output, x, observed, *config.logvar_x, labelled).unbind(-1)
    if config.likelihood == "gaussian":
        cost = gaussian_costs(output, x, *config.logvar_x)
    else:
        cost = functional.binary_cross_entropy_with_logits(output, x, reduction="none")
    rows = (cost if observed is None else cost * observed).sum(-1)
    return mean_or_zero(rows[..., :labelled]), mean_or_zero(rows[..., labelled:])


def mean_or_zero(rows: Tensor) -> Tensor:
    """Return the mean over the last axis; without any rows (supervised training) zero and not NaN."""
    return rows.mean(-1) if rows.shape[-1] else rows.sum(-1)


def gaussian_costs(output: Tensor, x: Tensor, low: float, high: float) -> Tensor:
    """Return −log N(x; mean, exp logvar) of each feature, on any device."""
    mean, free_logvar = output.chunk(2, dim=-1)
    logvar = free_logvar.clamp(low, high)
    return 0.5 * ((mean - x).square() * torch.exp(-logvar) + logvar + math.log(2 * math.pi))


class _CompiledGaussianCost(torch.autograd.Function):
    """The two means of `gaussian_costs` over rows, (members, surveys, 2), and the gradient from the same pass.

    This is the widest array of a step: letting autograd record each elementary operation on it costs more
    than the layer that makes it. Taking the means in here makes the incoming gradient one number for
    thousands of neighbouring entries, which is a fast multiplication; one number per row is a slow one.
    """

    @staticmethod
    def forward(
        ctx: Any, output: Tensor, x: Tensor, observed: Tensor | None, low: float, high: float, labelled: int
    ) -> Tensor:
        rows, features = x.shape[-2:]
        groups = (-1, rows, features)
        seen = x.new_empty(0, rows, features) if observed is None else observed.reshape(groups)
        means, gradient = gaussian_cost(
            output.detach().reshape(-1, rows, 2 * features).numpy(),
            x.reshape(groups).numpy(),
            seen.numpy(),
            low,
            high,
            labelled,
        )
        ctx.gradient, ctx.labelled = torch.from_numpy(gradient).view(output.shape), labelled
        return torch.from_numpy(means).view(*x.shape[:-2], 2)

    @staticmethod
    def backward(ctx: Any, mean_gradient: Tensor) -> tuple[Tensor, None, None, None, None, None]:
        # scaled in place, so that it can be used once: a second way back through the same graph has to fail
        gradient, ctx.gradient = ctx.gradient, None
        parts = gradient[..., : ctx.labelled, :], gradient[..., ctx.labelled :, :]
        for part, factor in zip(parts, mean_gradient.unbind(-1), strict=True):
            part.mul_(factor[..., None, None])
        return gradient, None, None, None, None, None
