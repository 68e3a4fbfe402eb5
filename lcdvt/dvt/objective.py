"""The objective of DVT as named terms, for all members and surveys at once.

Minimised for each member, with means over the rows of a batch::

    z      = m + exp(v / 2) ε                                             ε ~ N(0, I)
    KL_k   = ½ Σ_j [ log σ² − v_j + (exp v_j + (m_j − μ_kj)²) / σ² − 1 ]
    L_sup  = −log p(x|z) + KL_y
    L_un   = −log p(x|z) + Σ_k w_k KL_k + Σ_k q_k (log q_k − log π_k)     q = softmax C(z)
    J_d    = (1 − γ) L_sup + γ L_un + ρ (−log q_y) + κ S                  for survey d
    J      = η J_source + (1 − η) J_target + tie penalty

where w is a straight-through Gumbel sample of q (the paper) or q itself (the exact sum over y).

S is not in the paper: a star and its replicate x' (the same light curve with fewer epochs) should lie at the same place
and get the same class. With means over all rows of the batch that have a replicate, labelled or not::

    S      = ½ |m − m'|² / σ² + ½ Σ_k (p_k − p'_k) (log p_k − log p'_k)   p = softmax C(m), p' = softmax C(m')

The first part is KL(N(m, σ² I) ‖ N(m', σ² I)), the second the mean of KL(p ‖ p') and KL(p' ‖ p). What is hidden from
the encoder, and the noise it gets, are the same for both: only the epochs differ. The decoder does not see the
replicate.

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
C_S(G_T(F_T(G_S(x))) misses a bracket           C_S(G_T(F_T(G_S(x)))), see lcdvt.dvt.monitor
==============================================  =====================================================
"""

import math
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from lcdvt.dvt.config import ObjectiveConfig
from lcdvt.dvt.latent import sample_latent, straight_through_sample
from lcdvt.dvt.likelihood import mean_or_zero, reconstruction_cost
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
    shown
        Like `x`, 0 where a feature is hidden from the encoder; None hides nothing.
    again
        Like `x`, a replicate of each row's object; None where the objective does not ask for it.
    has_again
        (members, surveys, rows): 1 where a row has a replicate, 0 where not.
    """

    x: Tensor
    observed: Tensor | None
    y: Tensor
    encoder_noise: Tensor | None
    latent_noise: Tensor
    gumbel_noise: Tensor | None
    shown: Tensor | None = None
    again: Tensor | None = None
    has_again: Tensor | None = None


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
    consistency
        S, how far a star and its replicate are apart; None where the objective does not ask for it.
    """

    reconstruction_labelled: Tensor
    component_labelled: Tensor
    classification: Tensor
    reconstruction_unlabelled: Tensor
    component_unlabelled: Tensor
    class_prior: Tensor
    tie: Tensor
    consistency: Tensor | None = None

    def per_survey(self, config: ObjectiveConfig) -> Tensor:
        """Return J_d of eq. loss_j_alpha, (members, surveys)."""
        gamma = config.unlabelled_weight
        labelled = self.reconstruction_labelled + self.component_labelled
        unlabelled = self.reconstruction_unlabelled + self.component_unlabelled + self.class_prior
        tasks = (1 - gamma) * labelled + gamma * unlabelled + config.classification_weight * self.classification
        return tasks if self.consistency is None else tasks + config.consistency_weight * self.consistency

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
        terms = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: term.detach() for name, term in terms.items() if term is not None}


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
    if not config.generative:
        return _classification_alone(model, batch, config, surveys, class_weights)
    encoded = model.networks.encode(_seen(batch, batch.x), surveys, batch.shown)
    z, divergence = sample_latent(encoded, batch.latent_noise, model.classes, model.config)
    reconstruction = reconstruction_cost(model.config, model.decode(z, surveys), batch.x, batch.observed, labelled)
    # Classes before rows from here on: rows are many, classes few, and the last axis is the fast one.
    logits = model.class_columns(z, surveys)
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
        classification=_classification_cost(log_q[..., :labelled], batch.y, config.label_smoothing, class_weights),
        reconstruction_unlabelled=reconstruction[1],
        component_unlabelled=mean_or_zero((component * divergence[..., labelled:]).sum(-2)),
        class_prior=mean_or_zero((q * (log_q_unlabelled - log_prior)).sum(-2)),
        tie=tie_size(model),
        consistency=_consistency(model, batch, config, encoded.chunk(2, dim=-1)[0], surveys),
    )
    return terms, q.detach()


def _classification_cost(log_q: Tensor, y: Tensor, smoothing: float, class_weights: Tensor | None) -> Tensor:
    row_cost = -log_q.gather(-2, y.unsqueeze(-2)).squeeze(-2)
    if smoothing:
        row_cost = (1 - smoothing) * row_cost - smoothing * log_q.mean(-2)
    if class_weights is not None:
        row_cost = row_cost * class_weights.gather(-1, y)
    return row_cost.mean(-1)


def _seen(batch: Batch, x: Tensor) -> Tensor:
    """Return features of the batch's objects as the encoder gets them, apart from those that are hidden."""
    return x if batch.encoder_noise is None else x + batch.encoder_noise


def _consistency(model: DVT, batch: Batch, config: ObjectiveConfig, mean: Tensor, surveys: slice) -> Tensor | None:
    """Return S of the rows that have a replicate, (members, surveys); zero where none has."""
    if config.consistency_weight == 0 or batch.again is None or batch.has_again is None:
        return None
    encoded = model.networks.encode(_seen(batch, batch.again), surveys, batch.shown)
    mean_again, _ = encoded.chunk(2, dim=-1)
    place = (mean - mean_again).square().sum(-1) / (2 * model.config.component_sigma**2)
    log_p, log_p_again = (model.class_columns(each, surveys).log_softmax(dim=-2) for each in (mean, mean_again))
    classes = ((log_p.exp() - log_p_again.exp()) * (log_p - log_p_again)).sum(-2) / 2
    return ((place + classes) * batch.has_again).sum(-1) / batch.has_again.sum(-1).clamp(min=1)


def _classification_alone(
    model: DVT, batch: Batch, config: ObjectiveConfig, surveys: slice, class_weights: Tensor | None
) -> tuple[ObjectiveTerms, Tensor]:
    """Return terms that are zero but the classification of the labelled rows at z = E[z|x], and their consistency."""
    mean, _ = model.networks.encode(_seen(batch, batch.x), surveys, batch.shown).chunk(2, dim=-1)
    log_q = model.class_columns(mean, surveys).log_softmax(dim=-2)
    cost = _classification_cost(log_q, batch.y, config.label_smoothing, class_weights)
    nothing = torch.zeros_like(cost)
    consistency = _consistency(model, batch, config, mean, surveys)
    terms = ObjectiveTerms(nothing, nothing, cost, nothing, nothing, nothing, tie_size(model), consistency)
    return terms, log_q[..., :0].detach()


def tie_size(model: DVT) -> Tensor:
    """Return each member's squared size of the corrections of tied layers, (members,)."""
    size = torch.zeros(model.members, device=model.class_prior.device)
    for correction in model.corrections():
        size = size + correction.square().flatten(1).sum(1)
    return size


def odds_of_a_label(smoothing: float, classes: int) -> float:
    """Return by how much more probable the class of a smoothed label is than any other."""
    return math.inf if smoothing == 0 else (1 - smoothing) * classes / smoothing + 1


def balanced_class_weights(counts: Tensor, power: float = 1.0) -> Tensor:
    """Return weights under which each class with labels counts the same, from label counts (..., K).

    Parameters
    ----------
    counts
        Labels of each class.
    power
        Of the weights: below 1 they are nearer to one, and classes with many labels count more.
    """
    present = (counts > 0).sum(-1, keepdim=True)
    weights = torch.where(counts > 0, counts.sum(-1, keepdim=True) / (present * counts.clamp(min=1)), 0.0)
    return weights if power == 1 else weights**power
