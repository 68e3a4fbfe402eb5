"""The latent of a batch: samples of q(z|x), their divergence to every component, samples of q(y|z)."""

import math
from typing import Any

import torch
from torch import Tensor

from lcdvt.dvt.config import ModelConfig
from lcdvt.dvt.kernels import latent_gradient, latent_sample


def sample_latent(output: Tensor, noise: Tensor, classes: int, config: ModelConfig) -> tuple[Tensor, Tensor]:
    """Return z = m + exp(v / 2) ε and KL(q(z|x) ‖ p(z|k)) of each class k.

    Parameters
    ----------
    output
        The encoder's means and log variances before their limits, (members, surveys, rows, 2 J).
    noise
        ε, (members, surveys, rows, J).
    classes
        K.
    config
        The limits and the components.

    Returns
    -------
    z
        (members, surveys, rows, J).
    divergence
        (members, surveys, K, rows): rows are many, classes few, and the last axis is the fast one.
    """
    if output.device.type == "cpu":
        return _CompiledLatent.apply(output, noise, classes, config)
    return plain_latent(output, noise, classes, config)


def plain_latent(output: Tensor, noise: Tensor, classes: int, config: ModelConfig) -> tuple[Tensor, Tensor]:
    """Do what `sample_latent` does, on any device."""
    mean, free_logvar = output.chunk(2, dim=-1)
    logvar = free_logvar.clamp(*config.logvar_z)
    z = torch.addcmul(mean, (0.5 * logvar).exp(), noise)
    return z, kl_to_components(mean, logvar, classes, config)


def kl_to_components(mean: Tensor, logvar: Tensor, classes: int, config: ModelConfig) -> Tensor:
    """Return KL(N(m, diag exp v) ‖ N(μ e_k, σ² I)) of each class k and row, (…, K, rows).

    Only m_k tells the components apart: Σ_j (m_j − μ_kj)² = |m|² − 2 μ m_k + μ², so no (K, J) array is made.
    """
    variance, distance = config.component_sigma**2, config.component_distance
    common = (mean.square() + logvar.exp() - variance * logvar).sum(-1) / variance
    constant = mean.shape[-1] * (math.log(variance) - 1) + distance**2 / variance
    towards = mean[..., :classes].transpose(-1, -2)
    return (0.5 * (common + constant)).unsqueeze(-2) - (distance / variance) * towards


class _CompiledLatent(torch.autograd.Function):
    """What `sample_latent` returns, in one pass forward and one backward instead of some thirty."""

    @staticmethod
    def forward(ctx: Any, output: Tensor, noise: Tensor, classes: int, config: ModelConfig) -> tuple[Tensor, Tensor]:
        rows, width = noise.shape[-2:]
        encoded, drawn = output.detach().reshape(-1, rows, 2 * width).numpy(), noise.reshape(-1, rows, width).numpy()
        low, high = config.logvar_z
        variance, distance = config.component_sigma**2, config.component_distance
        z, deviation, divergence = latent_sample(encoded, drawn, classes, low, high, variance, distance)
        ctx.arrays, ctx.mixture = (encoded, drawn, deviation), (low, high, variance, distance)
        ctx.shape = output.shape
        leading = noise.shape[:-2]
        return torch.from_numpy(z).view(noise.shape), torch.from_numpy(divergence).view(*leading, classes, rows)

    @staticmethod
    def backward(ctx: Any, z_gradient: Tensor, divergence_gradient: Tensor) -> tuple[Tensor, None, None, None]:
        rows, width = z_gradient.shape[-2:]
        classes = divergence_gradient.shape[-2]
        encoded, drawn, deviation = ctx.arrays
        low, high, variance, distance = ctx.mixture
        gradient = latent_gradient(
            encoded,
            drawn,
            deviation,
            low,
            high,
            variance,
            distance,
            z_gradient.reshape(-1, rows, width).numpy(),
            divergence_gradient.reshape(-1, classes, rows).numpy(),
        )
        return torch.from_numpy(gradient).view(ctx.shape), None, None, None


def straight_through_sample(logits: Tensor, gumbel_noise: Tensor, temperature: float) -> Tensor:
    """Return one-hot samples of softmax(logits), (…, K, rows), whose gradient is that of the Gumbel softmax."""
    soft = ((logits + gumbel_noise) / temperature).softmax(dim=-2)
    frozen = soft.detach()
    # the largest by comparison, several times faster than argmax here; two that are equal share the sample
    largest = (frozen == frozen.amax(dim=-2, keepdim=True)).to(soft.dtype)
    return largest / largest.sum(dim=-2, keepdim=True) + (soft - frozen)
