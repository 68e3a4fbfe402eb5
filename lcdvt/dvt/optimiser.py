"""Adam on one flat tensor that holds every trainable parameter.

Parameters and their gradients are views into two long tensors, so that zeroing the gradients and the
whole update are one operation each, whatever the number of layers. The update is torch's own function and not its
class `Adam`: making one of those imports torch's compiler, which takes longer than training on a small survey.
"""

import math

import torch
from torch import Tensor
from torch.optim.adam import adam

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
        self.start_rate, self.end_rate = config.learning_rate, config.learning_rate * config.final_learning_rate
        self.steps, self.schedule = config.steps, config.schedule
        self.betas, self.epsilon = config.betas, config.epsilon
        self.fused = device.type in ("cpu", "cuda")
        self.average, self.average_of_squares = torch.zeros_like(self.flat), torch.zeros_like(self.flat)
        # where the update is one operation, it counts the steps on the parameters' device
        self.taken = torch.zeros((), dtype=torch.float32, device=device if self.fused else None)

    def zero_gradient(self) -> None:
        """Forget the last step's gradients, in place: they are views."""
        self.gradient.zero_()

    def step(self, number: int) -> None:
        """Update all parameters; the learning rate falls over the phase."""
        share = number / self.steps
        if self.schedule == "cosine":
            share = (1 - math.cos(math.pi * share)) / 2
        with torch.no_grad():
            adam(
                [self.flat],
                [self.gradient],
                [self.average],
                [self.average_of_squares],
                [],
                [self.taken],
                fused=self.fused,
                amsgrad=False,
                beta1=self.betas[0],
                beta2=self.betas[1],
                lr=self.start_rate + share * (self.end_rate - self.start_rate),
                weight_decay=0.0,
                eps=self.epsilon,
                maximize=False,
            )

    def tensors(self) -> dict[str, Tensor]:
        """Return what Adam remembers."""
        return {"step": self.taken, "exp_avg": self.average, "exp_avg_sq": self.average_of_squares}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Continue from what `tensors` returned; the parameters themselves are restored by the model."""
        self.taken, self.average, self.average_of_squares = (
            tensors[name].clone() for name in ("step", "exp_avg", "exp_avg_sq")
        )
