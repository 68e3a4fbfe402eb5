"""Each member's best weights by a criterion, and whether it should go on."""

from typing import Any

import torch
from torch import Tensor

from lcdvt.dvt.model import DVT


class Snapshots:
    """Keeps the best state of each member, and ends members that got no better for a while.

    A member that has stopped stays in the batch, where it costs little, and keeps its snapshot: leaving the
    batch would change nothing but the speed.
    """

    def __init__(self, model: DVT, patience: int) -> None:
        self.patience = patience
        self.best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        self.values = [float("-inf")] * model.members
        self.waited = [0] * model.members
        self.steps = [0] * model.members
        self.stopped = [False] * model.members

    def consider(self, model: DVT, values: Tensor, step: int) -> None:
        """Take the criterion's values of a checkpoint, (members,); NaN counts as no better."""
        state = model.state_dict()
        for member, value in enumerate(values.tolist()):
            if self.stopped[member]:
                continue
            if value > self.values[member]:
                self.values[member], self.steps[member], self.waited[member] = value, step, 0
                for name, tensor in state.items():
                    self.best[name][member] = tensor[member]
            else:
                self.waited[member] += 1
                self.stopped[member] = self.waited[member] >= self.patience

    def finished(self) -> bool:
        """Return whether every member has stopped."""
        return all(self.stopped)

    def restore_best(self, model: DVT) -> None:
        """Give each member its best weights."""
        with torch.no_grad():
            model.load_state_dict(self.best)

    def record(self) -> dict[str, Any]:
        """Return what JSON can hold of the state."""
        # JSON has no infinity: a member without a value yet is written as null
        values = [None if value == float("-inf") else value for value in self.values]
        return {"values": values, "waited": self.waited, "steps": self.steps, "stopped": self.stopped}

    def restore(self, record: dict[str, Any], best: dict[str, Tensor]) -> None:
        """Continue from `record` and the best tensors saved with it."""
        self.values = [float("-inf") if value is None else value for value in record["values"]]
        self.waited, self.steps, self.stopped = record["waited"], record["steps"], record["stopped"]
        for name, tensor in best.items():
            self.best[name].copy_(tensor)
