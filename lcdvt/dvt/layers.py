"""Layers of many models at once: every parameter has a leading member axis.

A dense layer of E members is one batched matrix product, so that ten models cost little more than one where
a model is too small to fill a processor. Convolutions are in `lcdvt.dvt.image_networks`.

A layer's scope says who uses its weights. `shared`: all surveys. `survey`: each survey has its own.
`tied`: each survey has the first one's plus a correction that starts at zero and is penalised, so that a
survey with few labels leaves the source's layer only where its data ask for it.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

Scope = Literal["shared", "survey", "tied"]


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
