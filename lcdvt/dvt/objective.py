"""The objective of DVT as named terms, for all members and surveys at once.

Minimised for each member, with means over the rows of a batch::

    z      = m + exp(v / 2) ε                                             ε ~ N(0, I)
    KL_k   = ½ Σ_j [ log σ² − v_j + (exp v_j + (m_j − μ_kj)²) / σ² − 1 ]
    L_sup  = −log p(x|z) + KL_y
    L_un   = −log p(x|z) + Σ_k w_k KL_k + Σ_k q_k (log q_k − log π_k)     q = softmax C(z)
    J_d    = (1 − γ) L_sup + γ L_un + ρ (−log q_y)                        for survey d
    J      = η J_source + (1 − η) J_target + tie penalty

where w is a straight-through Gumbel sample of q (the paper) or q itself (the exact sum over y).

What the paper prints and what is used here:

==============================================  =====================================================
printed in the paper                            used here
==============================================  =====================================================
eq. kl_gaussians has (μ̃_j − μ²_yj)              (m_j − μ_yj)²
eq. kl_gaussians lacks the entropy of q(z|x)    − v_j − 1 in the sum; the log 2π of both cancel
eq. likelihood_rep scales ε by σ²               σ = exp(v / 2)
eq. loss_unsup_kl_simpl adds +E[log p(x|z)]     −log p(x|z): it is a loss beside two divergences
eq. gumbel_conditional_normalization feeds      the logits α: a Gumbel-max sample needs
probabilities π_φ(z) to the Gumbel softmax      unnormalised log probabilities
eq. loss_j_alpha has q(y|x)                     q(y|z) at the sampled z: the classifier's input is z
sums over data in eq. loss_j                    means over the batch, so that ρ and γ keep their meaning
Table 1: λ = 0.1                                γ, the weight of the unlabelled term
Table 1: η = 0.005                              the learning rate; η in the text is the source's weight
C_S(G_T(F_T(G_S(x))) misses a bracket           C_S(G_T(F_T(G_S(x)))), see lcdvt.dvt.cycle
==============================================  =====================================================
"""

import math
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from lcdvt.dvt.config import ModelConfig, ObjectiveConfig
from lcdvt.dvt.kernels import gaussian_cost
from lcdvt.dvt.model import DVT


@dataclass(frozen=True)
class Batch:
    """Rows of every survey of a phase: the labelled ones first, then the unlabelled ones.

    Parameters
    ----------
    x
        (members, surveys, rows, features), zeros where nothing was observed.
    observed
        Like `x`, 1 where a feature was observed and 0 where not; None when all were.
    y
        Classes of the labelled rows, (members, surveys, labelled rows).
    encoder_noise
        Added to what the encoder sees, like `x`; None for none.
    latent_noise
        ε, (members, surveys, rows, J).
    gumbel_noise
        (members, surveys, K, unlabelled rows); None for the exact sum over y.
    """

    x: Tensor
    observed: Tensor | None
    y: Tensor
    encoder_noise: Tensor | None
    latent_noise: Tensor
    gumbel_noise: Tensor | None


@dataclass(frozen=True)
class ObjectiveTerms:
    """The terms in nats, each (members, surveys), a mean over its rows; `tie` is (members,).

    Parameters
    ----------
    reconstruction_labelled, reconstruction_unlabelled
        −log p(x|z), eqs. loss_sup and loss_unsup.
    component_labelled
        KL(q(z|x) ‖ p(z|y)) to the component of the known class, eq. loss_sup.
    component_unlabelled
        Its expectation over q(y|z), eq. gumbel_conditional_reparametrization.
    class_prior
        KL(q(y|z) ‖ p(y)), eq. gumbel_prior_reparametrization.
    classification
        −log q(y|z), eq. loss_j_alpha.
    tie
        Squared size of the corrections of tied layers.
    """

    reconstruction_labelled: Tensor
    component_labelled: Tensor
    classification: Tensor
    reconstruction_unlabelled: Tensor
    component_unlabelled: Tensor
    class_prior: Tensor
    tie: Tensor

    def per_survey(self, config: ObjectiveConfig) -> Tensor:
        """Return J_d of eq. loss_j_alpha, (members, surveys)."""
        gamma = config.unlabelled_weight
        labelled = self.reconstruction_labelled + self.component_labelled
        unlabelled = self.reconstruction_unlabelled + self.component_unlabelled + self.class_prior
        return (1 - gamma) * labelled + gamma * unlabelled + config.classification_weight * self.classification

    def total(self, config: ObjectiveConfig) -> Tensor:
        """Return J of eq. loss_j_alpha_transfer, (members,)."""
        weights = survey_weights(config, self.classification.shape[1])
        tasks = self.per_survey(config)
        total = config.tie_penalty * self.tie
        for weight, task in zip(weights, tasks.unbind(1), strict=True):
            total = total + weight * task
        return total

    def as_columns(self) -> dict[str, Tensor]:
        """Return the terms by name, for the history."""
        return {field.name: getattr(self, field.name).detach() for field in fields(self)}


def survey_weights(config: ObjectiveConfig, surveys: int) -> list[float]:
    """Return the weight of each survey's task: η shared by the sources, 1 − η for the last, the target."""
    if surveys == 1:
        return [1.0]
    return [config.source_weight / (surveys - 1)] * (surveys - 1) + [1 - config.source_weight]


def objective_terms(
    model: DVT, batch: Batch, config: ObjectiveConfig, surveys: slice, class_weights: Tensor | None = None
) -> tuple[ObjectiveTerms, Tensor]:
    """Return the terms of one batch, and q(y|z) of its unlabelled rows, (members, surveys, K, rows).

    Parameters
    ----------
    model
        The members.
    batch
        Rows of the surveys in the slice.
    config
        Weights and the way to sum over y.
    surveys
        Which of the model's surveys the batch holds.
    class_weights
        (members, surveys, K), see `balanced_class_weights`; None weighs each row the same.
    """
    labelled = batch.y.shape[-1]
    x_seen = batch.x if batch.encoder_noise is None else batch.x + batch.encoder_noise
    mean, logvar = model.encode(x_seen, surveys)
    if not config.generative:
        return _classification_alone(model, mean, batch.y, surveys, class_weights)
    z = torch.addcmul(mean, (0.5 * logvar).exp(), batch.latent_noise)
    reconstruction = reconstruction_cost(model.config, model.decode(z, surveys), batch.x, batch.observed, labelled)
    divergence = kl_to_components(mean, logvar, model.classes, model.config)
    # Classes before rows from here on: rows are many, classes few, and the last axis is the fast one.
    logits = model.classify(z, surveys).transpose(-1, -2).contiguous()
    log_q = logits.log_softmax(dim=-2)
    y = batch.y.unsqueeze(-2)
    log_q_unlabelled = log_q[..., labelled:]
    q = log_q_unlabelled.exp()
    component = q
    if batch.gumbel_noise is not None:
        component = straight_through_sample(logits[..., labelled:], batch.gumbel_noise, config.temperature)
    log_prior = model.class_prior[:, surveys].log().unsqueeze(-1)

    terms = ObjectiveTerms(
        reconstruction_labelled=reconstruction[0],
        component_labelled=divergence[..., :labelled].gather(-2, y).mean((-1, -2)),
        classification=_classification_cost(log_q[..., :labelled], batch.y, class_weights),
        reconstruction_unlabelled=reconstruction[1],
        component_unlabelled=_mean_or_zero((component * divergence[..., labelled:]).sum(-2)),
        class_prior=_mean_or_zero((q * (log_q_unlabelled - log_prior)).sum(-2)),
        tie=tie_size(model),
    )
    return terms, q.detach()


def _classification_cost(log_q: Tensor, y: Tensor, class_weights: Tensor | None) -> Tensor:
    row_cost = -log_q.gather(-2, y.unsqueeze(-2)).squeeze(-2)
    if class_weights is not None:
        row_cost = row_cost * class_weights.gather(-1, y)
    return row_cost.mean(-1)


def _classification_alone(
    model: DVT, mean: Tensor, y: Tensor, surveys: slice, class_weights: Tensor | None
) -> tuple[ObjectiveTerms, Tensor]:
    """Return terms that are all zero but the classification of the labelled rows at z = E[z|x]."""
    log_q = model.classify(mean, surveys).transpose(-1, -2).log_softmax(dim=-2)
    cost = _classification_cost(log_q, y, class_weights)
    nothing = torch.zeros_like(cost)
    terms = ObjectiveTerms(nothing, nothing, cost, nothing, nothing, nothing, tie_size(model))
    return terms, log_q[..., :0].detach()


def _mean_or_zero(rows: Tensor) -> Tensor:
    # Supervised training has no unlabelled rows, and the mean of nothing would be NaN.
    return rows.mean(-1) if rows.shape[-1] else rows.sum(-1)


def kl_to_components(mean: Tensor, logvar: Tensor, classes: int, config: ModelConfig) -> Tensor:
    """Return KL(N(m, diag exp v) ‖ N(μ e_k, σ² I)) of each class k and row, (…, K, rows).

    Only m_k tells the components apart: Σ_j (m_j − μ_kj)² = |m|² − 2 μ m_k + μ², so no (K, J) array is made.
    """
    variance, distance = config.component_sigma**2, config.component_distance
    common = (mean.square() + logvar.exp() - variance * logvar).sum(-1) / variance
    constant = mean.shape[-1] * (math.log(variance) - 1) + distance**2 / variance
    towards = mean[..., :classes].transpose(-1, -2).contiguous()
    return (0.5 * (common + constant)).unsqueeze(-2) - (distance / variance) * towards


def straight_through_sample(logits: Tensor, gumbel_noise: Tensor, temperature: float) -> Tensor:
    """Return one-hot samples of softmax(logits), (…, K, rows), whose gradient is that of the Gumbel softmax."""
    soft = ((logits + gumbel_noise) / temperature).softmax(dim=-2)
    frozen = soft.detach()
    # the largest by comparison, several times faster than argmax here; two that are equal share the sample
    largest = (frozen == frozen.amax(dim=-2, keepdim=True)).to(soft.dtype)
    return largest / largest.sum(dim=-2, keepdim=True) + (soft - frozen)


def reconstruction_cost(
    config: ModelConfig, output: Tensor, x: Tensor, observed: Tensor | None, labelled: int
) -> tuple[Tensor, Tensor]:
    """Return the mean of −log p(x|z) over the labelled rows and over the others, each (members, surveys).

    Features that were not observed do not count.
    """
    if config.likelihood == "gaussian":
        return _GaussianCost.apply(output, x, observed, *config.logvar_x, labelled)
    cost = functional.binary_cross_entropy_with_logits(output, x, reduction="none")
    rows = (cost if observed is None else cost * observed).sum(-1)
    return _mean_or_zero(rows[..., :labelled]), _mean_or_zero(rows[..., labelled:])


class _GaussianCost(torch.autograd.Function):
    """−log N(x; mean, exp logvar), its two means over rows, and the gradient worked out in the same passes.

    This is the widest array of a step: letting autograd record each elementary operation on it costs more
    than the layer that makes it. Taking the means in here makes the incoming gradient one number for
    thousands of neighbouring entries, which is a fast multiplication; one number per row is a slow one.
    """

    @staticmethod
    def forward(
        ctx: Any, output: Tensor, x: Tensor, observed: Tensor | None, low: float, high: float, labelled: int
    ) -> tuple[Tensor, Tensor]:
        gradient = torch.empty_like(output)
        double_cost = (_compiled_cost if x.device.type == "cpu" else _plain_cost)(
            output, x, observed, low, high, gradient
        )
        seen = x.shape[-1] if observed is None else observed.sum(-1)
        cost = 0.5 * (double_cost + math.log(2 * math.pi) * seen)
        ctx.save_for_backward(gradient)
        ctx.labelled = labelled
        return _mean_or_zero(cost[..., :labelled]), _mean_or_zero(cost[..., labelled:])

    @staticmethod
    def backward(ctx: Any, *mean_gradients: Tensor) -> tuple[Tensor, None, None, None, None, None]:
        (gradient,) = ctx.saved_tensors
        parts = gradient[..., : ctx.labelled, :], gradient[..., ctx.labelled :, :]
        for part, mean_gradient in zip(parts, mean_gradients, strict=True):
            part.mul_((mean_gradient / max(part.shape[-2], 1))[..., None, None])
        return gradient, None, None, None, None, None


def _compiled_cost(
    output: Tensor, x: Tensor, observed: Tensor | None, low: float, high: float, gradient: Tensor
) -> Tensor:
    features = x.shape[-1]
    seen = x.new_empty(0, features) if observed is None else observed.reshape(-1, features)
    cost = gaussian_cost(
        output.detach().reshape(-1, 2 * features).numpy(),
        x.reshape(-1, features).numpy(),
        seen.numpy(),
        low,
        high,
        gradient.view(-1, 2 * features).numpy(),
    )
    return torch.from_numpy(cost).view(x.shape[:-1])


def _plain_cost(
    output: Tensor, x: Tensor, observed: Tensor | None, low: float, high: float, gradient: Tensor
) -> Tensor:
    """Do what `gaussian_cost` does, on any device."""
    features = x.shape[-1]
    free_logvar = output[..., features:]
    logvar = free_logvar.clamp(low, high)
    residual = output[..., :features] - x
    pull = residual * torch.exp(-logvar)
    square = residual * pull
    spread = (0.5 - 0.5 * square).masked_fill(free_logvar != logvar, 0.0)
    cost = square + logvar
    gradient[..., :features] = pull
    gradient[..., features:] = spread
    if observed is not None:
        cost = cost * observed
        gradient.unflatten(-1, (2, features)).mul_(observed.unsqueeze(-2))
    return cost.sum(-1)


def tie_size(model: DVT) -> Tensor:
    """Return each member's squared size of the corrections of tied layers, (members,)."""
    size = torch.zeros(model.members, device=model.class_prior.device)
    for correction in model.corrections():
        size = size + correction.square().flatten(1).sum(1)
    return size


def balanced_class_weights(counts: Tensor) -> Tensor:
    """Return weights under which each class with labels counts the same, from label counts (..., K)."""
    present = (counts > 0).sum(-1, keepdim=True)
    return torch.where(counts > 0, counts.sum(-1, keepdim=True) / (present * counts.clamp(min=1)), 0.0)
