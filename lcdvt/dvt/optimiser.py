"""Adam on one flat tensor that holds every trainable parameter.

Parameters and their gradients are views into two long tensors, so that zeroing the gradients and the
whole update are one operation each, whatever the number of layers.
"""

import math

import torch
from torch import Tensor

from lcdvt.dvt.config import TrainingConfig
from lcdvt.dvt.model import DVT


class FlatAdam:
    """Trains those parameters of the model that are not frozen.

    A survey's own layer may be in training for the target alone: the source's part then has gradients of
    exactly zero, and a fresh Adam leaves it exactly where it is.
    """

    def __init__(self, model: DVT, config: TrainingConfig) -> None:
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        device = parameters[0].device
        self.flat = torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
        self.gradient = torch.zeros_like(self.flat)
        start = 0
        for parameter in parameters:
            part = slice(start, start + parameter.numel())
            parameter.data = self.flat[part].view_as(parameter)
            parameter.grad = self.gradient[part].view_as(parameter)
            start = part.stop
        self.flat.grad = self.gradient
        self.start_rate, self.end_rate = config.learning_rate, config.learning_rate * config.final_learning_rate
        self.steps, self.schedule = config.steps, config.schedule
        fused = device.type in ("cpu", "cuda")
        self.adam = torch.optim.Adam(
            [self.flat], lr=config.learning_rate, betas=config.betas, eps=config.epsilon, fused=fused
        )

    def zero_gradient(self) -> None:
        """Forget the last step's gradients, in place: they are views."""
        self.gradient.zero_()

    def step(self, number: int) -> None:
        """Update all parameters; the learning rate falls over the phase."""
        share = number / self.steps
        if self.schedule == "cosine":
            share = (1 - math.cos(math.pi * share)) / 2
        self.adam.param_groups[0]["lr"] = self.start_rate + share * (self.end_rate - self.start_rate)
        self.adam.step()

    def tensors(self) -> dict[str, Tensor]:
        """Return what Adam remembers."""
        return dict(self.adam.state[self.flat])

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Continue from what `tensors` returned; the parameters themselves are restored by the model."""
        self.adam.state[self.flat] = {name: tensor.clone() for name, tensor in tensors.items()}
