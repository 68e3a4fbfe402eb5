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
    """

    members: Tensor

    @property
    def probability(self) -> Tensor:
        """The mean of the members' probabilities, (objects, K)."""
        return self.members.mean(0)

    @property
    def class_number(self) -> Tensor:
        """The most probable class by the mean probability, (objects,)."""
        return self.probability.argmax(-1)

    @property
    def disagreement(self) -> Tensor:
        """The share of members whose own most probable class is another one, (objects,)."""
        return (self.members.argmax(-1) != self.class_number).float().mean(0)


def predict(model: DVT, x: Tensor, survey: int) -> EnsemblePrediction:
    """Classify rows of one survey with all members in one batched pass.

    Parameters
    ----------
    model
        The trained members.
    x
        Scaled features, (objects, features), NaN where missing.
    survey
        Which survey's encoder end and classifier to use.
    """
    width = max(model.widths)
    padded = torch.nn.functional.pad(x, (0, width - x.shape[-1]))
    return EnsemblePrediction(model.probabilities(torch.nan_to_num(padded, nan=0.0), survey))
