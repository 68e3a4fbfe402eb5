"""Many members' opinions as one: mean probability, and how far the members disagree."""

from dataclasses import dataclass

import torch
from torch import Tensor

from lcdvt.dvt.model import DVT


@dataclass(frozen=True)
class EnsemblePrediction:
    """What the members say of each object.

    Parameters
    ----------
    members
        (members, objects, K): each member's probabilities.
    temperature
        Above 1 it makes the members' mean less sure, below 1 surer; no class changes by it.
    """

    members: Tensor
    temperature: float = 1.0

    @property
    def probability(self) -> Tensor:
        """The mean of the members' probabilities, at the ensemble's temperature, (objects, K)."""
        return at_temperature(self.members.mean(0), self.temperature)

    @property
    def class_number(self) -> Tensor:
        """The most probable class by the mean probability, (objects,)."""
        return self.probability.argmax(-1)

    @property
    def disagreement(self) -> Tensor:
        """The share of members whose own most probable class is another one, (objects,)."""
        return (self.members.argmax(-1) != self.class_number).float().mean(0)


def at_temperature(probability: Tensor, temperature: float) -> Tensor:
    """Return (objects, K) raised to the power of one over the temperature, normalised again; the order stays."""
    if temperature == 1:
        return probability
    logs = probability.clamp_min(torch.finfo(probability.dtype).tiny).log()
    return (logs / temperature).softmax(-1)


def predict(model: DVT, x: Tensor, survey: int, temperature: float = 1.0) -> EnsemblePrediction:
    """Classify rows of one survey with all members in one batched pass.

    Parameters
    ----------
    model
        The trained members.
    x
        Scaled features, (objects, features), NaN where missing.
    survey
        Which survey's encoder end and classifier to use.
    temperature
        Of the members' mean.
    """
    width = max(model.widths)
    padded = torch.nn.functional.pad(x, (0, width - x.shape[-1]))
    return EnsemblePrediction(model.probabilities(torch.nan_to_num(padded, nan=0.0), survey), temperature)
