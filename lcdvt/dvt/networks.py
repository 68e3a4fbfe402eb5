"""Dense encoder and decoder networks for all members and surveys at once.

A network works on tensors (members, surveys, rows, features). Surveys with fewer features than the
widest are padded with zeros, and the padding is masked in the likelihood. The first axes let a shared
layer see all rows as one batch, and a survey's own layer see its own rows, without copying anything.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from lcdvt.dvt.config import ModelConfig
from lcdvt.dvt.eyes import Eyes

Scope = Literal["shared", "survey", "tied"]


class DenseNetworks(nn.Module):
    """Fully connected: shared layers, then each survey's own; the decoder mirrors the encoder."""

    def __init__(self, config: ModelConfig, members: int, widths: tuple[int, ...], parameters_per_feature: int) -> None:
        super().__init__()
        features, surveys = max(widths), len(widths)
        own: Scope = "tied" if config.heads == "tied" else "survey"
        input_scope: Scope = "survey" if config.input_layer == "survey" else "shared"
        self.eyes = Eyes(config.eyes, members, features) if config.eyes else None
        encoder = [features, *config.shared, *config.specific, 2 * config.latent]
        further_shared: list[Scope] = ["shared"] * (len(config.shared) - 1)
        scopes = [input_scope, *further_shared, *[own] * (len(config.specific) + 1)]
        decoder = [config.latent, *reversed(encoder[1:-1]), parameters_per_feature * features]
        seen = [self.eyes.outputs if self.eyes else features, *encoder[1:]]
        self.encoder = _stack(members, surveys, seen, scopes)
        self.decoder = _stack(members, surveys, decoder, scopes[::-1])

    def encode(self, x: Tensor, surveys: slice, shown: Tensor | None = None) -> Tensor:
        """Return mean and log variance of q(z|x), side by side.

        Parameters
        ----------
        x
            (members, surveys, rows, features).
        surveys
            Which of the surveys these are.
        shown
            Like `x`: 0 for features that are hidden from the encoder, 1 for the others; None shows all.
        """
        if self.eyes is not None:
            return _run(self.encoder, self.eyes(x, shown), surveys)
        return _run(self.encoder, x if shown is None else x * shown, surveys)

    def decode(self, z: Tensor, surveys: slice) -> Tensor:
        """Return the parameters of p(x|z), side by side."""
        return _run(self.decoder, z, surveys)


def _stack(members: int, surveys: int, widths: list[int], scopes: list[Scope]) -> nn.ModuleList:
    last = len(scopes) - 1
    return nn.ModuleList(
        MemberLinear(members, surveys, widths[place], widths[place + 1], scope, rectified=place < last)
        for place, scope in enumerate(scopes)
    )


def _run(layers: nn.ModuleList, hidden: Tensor, surveys: slice) -> Tensor:
    for layer in layers:
        hidden = layer(hidden, surveys)
    return hidden


class MemberLayer(nn.Module):
    """Weights and biases of one layer for all members and surveys.

    Parameters
    ----------
    members, surveys
        Sizes of the two leading axes.
    weight_shape, bias_shape
        The shape of one member's weight and bias for one survey.
    fan_in
        Inputs of one output: weights start uniformly within ±1/√fan_in.
    scope
        Who uses the weights.
    """

    def __init__(
        self,
        members: int,
        surveys: int,
        weight_shape: Sequence[int],
        bias_shape: Sequence[int],
        fan_in: int,
        scope: Scope,
    ) -> None:
        super().__init__()
        self.scope = scope
        self.fan_in = fan_in
        own = surveys if scope == "survey" else 1
        self.weight = nn.Parameter(torch.zeros(members, own, *weight_shape))
        self.bias = nn.Parameter(torch.zeros(members, own, *bias_shape))
        self.corrections: list[nn.Parameter] = []
        if scope == "tied" and surveys > 1:
            self.weight_correction = nn.Parameter(torch.zeros(members, surveys - 1, *weight_shape))
            self.bias_correction = nn.Parameter(torch.zeros(members, surveys - 1, *bias_shape))
            self.corrections = [self.weight_correction, self.bias_correction]

    def initialise(self, member: int, generator: torch.Generator) -> None:
        """Draw one member's start from its own generator, so that it does not depend on the other members."""
        bound = 1 / math.sqrt(self.fan_in)
        with torch.no_grad():
            for parameter in (self.weight, self.bias):
                start = torch.empty(parameter.shape[1:]).uniform_(-bound, bound, generator=generator)
                parameter[member].copy_(start)

    def used_by(self, surveys: slice) -> tuple[Tensor, Tensor]:
        """Return weight and bias with one entry per survey of the slice (one in all where they are shared)."""
        if self.scope == "shared":
            return self.weight, self.bias
        if self.scope == "survey":
            return self.weight[:, surveys], self.bias[:, surveys]
        if not self.corrections or (surveys.start, surveys.stop) == (0, 1):
            return self.weight, self.bias
        weights = torch.cat([self.weight, self.weight + self.weight_correction], dim=1)
        biases = torch.cat([self.bias, self.bias + self.bias_correction], dim=1)
        return weights[:, surveys], biases[:, surveys]

    def freeze_shared(self) -> None:
        """Stop training what the target shares with the source (a tied layer's correction stays free)."""
        if self.scope != "survey":
            self.weight.requires_grad_(False)
            self.bias.requires_grad_(False)

    def copy_survey(self, start: int, end: int) -> None:
        """Give survey `end` the weights of survey `start`."""
        if self.scope == "survey":
            with torch.no_grad():
                self.weight[:, end] = self.weight[:, start]
                self.bias[:, end] = self.bias[:, start]


class MemberLinear(MemberLayer):
    """A dense layer of all members: (members, surveys, rows, inputs) to (members, surveys, rows, outputs)."""

    def __init__(
        self, members: int, surveys: int, inputs: int, outputs: int, scope: Scope, *, rectified: bool = False
    ) -> None:
        super().__init__(members, surveys, (inputs, outputs), (1, outputs), inputs, scope)
        self.rectified = rectified

    def forward(self, x: Tensor, surveys: slice) -> Tensor:
        """Apply the layer to rows of the surveys in the slice, as one batched product."""
        x_rows, weight, bias = self._factors(x, surveys)
        output = torch.baddbmm(bias, x_rows, weight)
        if self.rectified:
            # here and not after the view: autograd copies the array when a view is changed in place
            output = output.relu_()
        return output.view(*x.shape[:3], -1)

    def columns(self, x: Tensor, surveys: slice) -> Tensor:
        """Apply the layer with its outputs before the rows, (members, surveys, outputs, rows), not rectified.

        A product with few outputs is several times faster this way round: the rows are the fast axis.
        """
        members, n_surveys, rows, _ = x.shape
        x_rows, weight, bias = self._factors(x, surveys)
        output = torch.baddbmm(bias.transpose(1, 2), weight.transpose(1, 2), x_rows.transpose(1, 2))
        if self.scope == "shared":
            return output.view(members, -1, n_surveys, rows).transpose(1, 2)
        return output.view(members, n_surveys, -1, rows)

    def _factors(self, x: Tensor, surveys: slice) -> tuple[Tensor, Tensor, Tensor]:
        """Return rows, weights and biases as one stack of matrices each."""
        members, n_surveys, _, inputs = x.shape
        weight, bias = self.used_by(surveys)
        # A shared layer sees the rows of all surveys as one long batch; otherwise the surveys join the members.
        batch = members if self.scope == "shared" else members * n_surveys
        return x.reshape(batch, -1, inputs), weight.reshape(batch, inputs, -1), bias.reshape(batch, 1, -1)
