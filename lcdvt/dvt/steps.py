"""The steps of a phase: a batch, the objective, its gradient, the update."""

from torch import Tensor

from lcdvt.dvt.batches import BatchStream
from lcdvt.dvt.config import DVTConfig
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.model import DVT
from lcdvt.dvt.objective import ObjectiveTerms, objective_terms
from lcdvt.dvt.optimiser import FlatAdam

PRIOR_MOMENTUM = 0.02


class PhaseSteps:
    """Trains all members on some of the surveys, one step after the other.

    Parameters
    ----------
    model
        The members; what is frozen stays as it is.
    data
        Laid out for as many members.
    config
        Networks, objective and training.
    seeds
        One for each member.
    phase
        Its number, from which the batches' random numbers follow.
    surveys
        Which surveys it trains on.
    class_weights
        (members, surveys, K) of these surveys, or None to weigh each labelled row the same.
    """

    def __init__(
        self,
        model: DVT,
        data: TrainingData,
        config: DVTConfig,
        seeds: tuple[int, ...],
        phase: int,
        surveys: slice,
        class_weights: Tensor | None = None,
    ) -> None:
        self.model, self.objective, self.surveys, self.class_weights = model, config.objective, surveys, class_weights
        self.optimiser = FlatAdam(model, config.training)
        self.stream = BatchStream(data, config, seeds, phase, surveys)

    def take(self, number: int) -> tuple[ObjectiveTerms, Tensor]:
        """Take the step of this number; return the terms and each member's loss before it."""
        self.optimiser.zero_gradient()
        terms, q = objective_terms(
            self.model, self.stream.batch(number), self.objective, self.surveys, self.class_weights
        )
        loss = terms.total(self.objective)
        loss.sum().backward()
        self.optimiser.step(number)
        if self.objective.class_prior == "estimated" and q.shape[-1]:
            self.model.class_prior[:, self.surveys].lerp_(q.mean(-1), PRIOR_MOMENTUM)
        return terms, loss.detach()
