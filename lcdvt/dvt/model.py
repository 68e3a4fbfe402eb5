"""The DVT model: what generates a star, and how its class is inferred."""

import math

import torch
from torch import Tensor, nn

from lcdvt.dvt.config import ModelConfig
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.image_networks import ConvolutionalNetworks, MemberBatchNorm
from lcdvt.dvt.networks import DenseNetworks, MemberLayer, MemberLinear, Scope
from lcdvt.errors import SettingsError

PREDICTION_ROWS = 4096
"""Keeps the memory of a prediction flat, whatever the survey."""


class DVT(nn.Module):
    """Deep Variational Transfer: surveys aligned in one latent Gaussian mixture, many members at once.

    Generative process of one object of survey d (paper, section "Generative model")::

        y   ~ Categorical(π_d)                       its class; π_d is the survey's class prior
        z|y ~ Normal(μ e_y, σ² I)                    its latent; class y has the y-th axis, for every survey
        x|z ~ Normal(m_d(z), diag s²_d(z))           its features; Bernoulli(m_d(z)) for pixels

    Recognition (section "Recognition model")::

        z|x ~ Normal(m_d(x), diag exp v_d(x))        the encoder: shared layers, then the survey's own
        y|z ~ Categorical(softmax C_d(z))            the classifier of the survey

    The module holds parameters and networks only: the objective, the optimiser and files live elsewhere.

    Parameters
    ----------
    config
        The networks and the mixture.
    members
        How many models are trained side by side; the leading axis of every parameter.
    widths
        The number of features of each survey; the first survey is the source, the last the target.
    classes
        K.
    """

    def __init__(self, config: ModelConfig, members: int, widths: tuple[int, ...], classes: int) -> None:
        super().__init__()
        if config.latent < classes:
            raise SettingsError(
                f"model.latent = {config.latent}, but {classes} classes need an axis each: give at least {classes}."
            )
        if len(set(widths)) > 1 and config.input_layer == "shared" and config.convolution is None:
            raise SettingsError(
                f"the surveys have {', '.join(map(str, widths))} features, which a shared first layer cannot read: "
                "set model.input_layer to 'survey', or use the features all surveys have."
            )
        if len(set(widths)) > 1 and config.eyes is not None:
            raise SettingsError(
                f"the surveys have {', '.join(map(str, widths))} features, which model.eyes would take for the same: "
                "leave model.eyes out, or use the features all surveys have."
            )
        self.config, self.members, self.widths, self.classes = config, members, widths, classes
        gaussian = config.likelihood == "gaussian"
        build = DenseNetworks if config.convolution is None else ConvolutionalNetworks
        self.networks = build(config, members, widths, 2 if gaussian else 1)
        own: Scope = "tied" if config.heads == "tied" else "survey"
        scope: Scope = "shared" if config.classifier == "shared" else own
        self.classifier = MemberLinear(members, len(widths), config.latent, classes, scope)
        self.class_prior: Tensor
        self.register_buffer("class_prior", torch.full((members, len(widths), classes), 1 / classes))

    def initialise(self, generators: list[torch.Generator]) -> None:
        """Draw each member's starting weights from its own generator."""
        for member, generator in enumerate(generators):
            for layer in self.modules():
                if isinstance(layer, MemberLayer):
                    layer.initialise(member, generator)

    def start_at_components(self, odds: float) -> None:
        """Let every classifier begin by saying which component is the nearest.

        Parameters
        ----------
        odds
            By how much more probable a class is than any other where its component stands, at most as the mixture
            itself has it: exp(μ² / σ²).
        """
        distance = self.config.component_distance
        logit = min(math.log(odds), (distance / self.config.component_sigma) ** 2)
        scale = logit if self.config.scaled_latent else logit / distance
        with torch.no_grad():
            self.classifier.bias.zero_()
            self.classifier.weight.copy_(scale * torch.eye(self.config.latent, self.classes))

    def look_at(self, data: TrainingData) -> None:
        """Set the encoder's eyes, where it has any, by the labelled objects."""
        if isinstance(self.networks, DenseNetworks) and self.networks.eyes is not None:
            self.networks.eyes.look_at(data)

    def encode(self, x: Tensor, surveys: slice) -> tuple[Tensor, Tensor]:
        """Return mean and log variance of q(z|x), each (members, surveys, rows, J)."""
        mean, logvar = self.networks.encode(x, surveys).chunk(2, dim=-1)
        return mean, logvar.clamp(*self.config.logvar_z)

    def decode(self, z: Tensor, surveys: slice) -> Tensor:
        """Return the parameters of p(x|z): means, then log variances; or Bernoulli logits."""
        return self.networks.decode(self._scaled(z), surveys)

    def decoded_mean(self, z: Tensor, surveys: slice) -> Tensor:
        """Return E[x|z], padded to the widest survey."""
        output = self.decode(z, surveys)
        if self.config.likelihood == "bernoulli":
            return output.sigmoid()
        return output[..., : max(self.widths)]

    def classify(self, z: Tensor, surveys: slice) -> Tensor:
        """Return the logits of q(y|z), (members, surveys, rows, K)."""
        return self.class_columns(z, surveys).transpose(-1, -2)

    def class_columns(self, z: Tensor, surveys: slice) -> Tensor:
        """Return the logits of q(y|z) with classes before rows, (members, surveys, K, rows)."""
        return self.classifier.columns(self._scaled(z), surveys)

    def _scaled(self, z: Tensor) -> Tensor:
        return z / self.config.component_distance if self.config.scaled_latent else z

    @torch.no_grad()
    def probabilities(self, x: Tensor, survey: int) -> Tensor:
        """Return q(y|z) at z = E[z|x] of one survey's rows, (members, rows, K).

        `x` is (rows, features), or (members, rows, features) where each member has rows of its own.
        """
        surveys = slice(survey, survey + 1)
        was_training = self.training
        self.eval()
        pieces = []
        for start in range(0, x.shape[-2], PREDICTION_ROWS):
            rows = x[..., start : start + PREDICTION_ROWS, :]
            rows = rows.unsqueeze(-3).expand(self.members, 1, *rows.shape[-2:])
            mean, _ = self.encode(rows, surveys)
            pieces.append(self.classify(mean, surveys).softmax(dim=-1)[:, 0])
        self.train(was_training)
        return torch.cat(pieces, dim=1)

    def freeze_shared(self) -> None:
        """Stop training what the target shares with the source (the paper's transfer)."""
        for layer in self.modules():
            if isinstance(layer, MemberLayer):
                layer.freeze_shared()

    def start_survey_from(self, start: int, end: int) -> None:
        """Let a survey's own layers begin as copies of another's, wherever the shapes allow it."""
        for layer in self.modules():
            if isinstance(layer, MemberBatchNorm) or (
                isinstance(layer, MemberLayer) and layer.weight.shape[1] == len(self.widths)
            ):
                layer.copy_survey(start, end)

    def select(self, members: list[int]) -> "DVT":
        """Return a model of some of the members, with copies of their weights."""
        device = self.class_prior.device
        chosen = DVT(self.config, len(members), self.widths, self.classes).to(device)
        chosen.load_state_dict({name: tensor[members] for name, tensor in self.state_dict().items()})
        return chosen

    def corrections(self) -> list[nn.Parameter]:
        """Return the corrections of tied layers, which the objective penalises."""
        return [item for layer in self.modules() if isinstance(layer, MemberLayer) for item in layer.corrections]
