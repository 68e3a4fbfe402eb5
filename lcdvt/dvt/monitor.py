"""What is measured at a checkpoint, without target labels: cycle consistency, held-out bound, agreement.

Cycle consistency is the paper's criterion: source objects go to the latent by the source's encoder, to the
target's features by its decoder, back to the latent by the target's encoder, and the source's classifier
says what came back, C_S(G_T(F_T(G_S(x)))). It is high when a class lies in the same place for both surveys.
The held-out bound and the agreement between members are offered beside it, for cycle consistency follows
the target's F1 poorly where the surveys' layers are independent.
"""

import torch
from torch import Tensor

from lcdvt.dvt.batch_stream import MEASUREMENT, member_generator, split_held_out
from lcdvt.dvt.config import DVTConfig
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.latent import kl_to_components
from lcdvt.dvt.likelihood import reconstruction_cost
from lcdvt.dvt.model import DVT

CYCLE_ROWS = 2000
"""F1 of so many objects is good to a percent, and the check costs little."""


def macro_f1(truth: Tensor, predicted: Tensor, classes: int) -> Tensor:
    """Return the unweighted mean F1 (0 to 1) over the classes that occur, for each leading entry.

    Parameters
    ----------
    truth, predicted
        Class numbers, (members, rows).
    classes
        K.
    """
    pairs = (truth * classes + predicted).to(torch.int64)
    confusion = torch.zeros(len(pairs), classes * classes, device=pairs.device)
    confusion.scatter_add_(1, pairs, torch.ones_like(pairs, dtype=confusion.dtype))
    confusion = confusion.view(-1, classes, classes)
    hits = confusion.diagonal(dim1=1, dim2=2)
    occurrences = confusion.sum(1) + confusion.sum(2)
    scores = 2 * hits / occurrences.clamp(min=1)
    return scores.sum(1) / (occurrences > 0).sum(1)


class Monitor:
    """Measures every member at a checkpoint of the phase that trains the target."""

    def __init__(self, data: TrainingData, config: DVTConfig, seeds: tuple[int, ...]) -> None:
        self.data, self.config = data, config
        self.target = len(data.names) - 1
        self.source_rows, self.source_classes = self._labelled_source(seeds)
        held_out = [
            split_held_out(data.unlabelled[member][self.target], config.training.held_out, seed)[0]
            for member, seed in enumerate(seeds)
        ]
        rows = min(len(part) for part in held_out)
        self.held_out = torch.stack([part[:rows] for part in held_out])
        shape = (rows, config.model.latent)
        self.noise = torch.stack(
            [torch.randn(shape, generator=member_generator(seed, MEASUREMENT, 1)) for seed in seeds]
        ).to(data.rows.device)

    def _labelled_source(self, seeds: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        count = min(CYCLE_ROWS, *(len(member[0]) for member in self.data.labels))
        rows, classes = [], []
        for member, seed in enumerate(seeds):
            known = self.data.labels[member][0]
            order = torch.randperm(len(known), generator=member_generator(seed, MEASUREMENT, 2))[:count]
            rows.append(known[order])
            classes.append(self.data.label_classes[member][0][order])
        return torch.stack(rows), torch.stack(classes).to(self.data.rows.device)

    @torch.no_grad()
    def measure(self, model: DVT) -> dict[str, Tensor]:
        """Return each criterion by name, (members,); larger is better."""
        was_training = model.training
        model.eval()
        criteria = {"cycle": self._cycle(model)}
        if self.held_out.shape[1]:
            bound, votes = self._held_out(model)
            criteria["bound"] = bound
            majority = votes.mode(dim=0).values
            criteria["agreement"] = (votes == majority).float().mean(1)
        model.train(was_training)
        return criteria

    def _rows(self, numbers: Tensor) -> Tensor:
        rows = self.data.rows[numbers.to(self.data.rows.device)]
        return rows.unsqueeze(1)

    def _cycle(self, model: DVT) -> Tensor:
        source, target = slice(0, 1), slice(self.target, self.target + 1)
        z, _ = model.encode(self._rows(self.source_rows), source)
        back, _ = model.encode(model.decoded_mean(z, target), target)
        predicted = model.classify(back, source)[:, 0].argmax(-1)
        return macro_f1(self.source_classes, predicted, self.data.classes)

    def _held_out(self, model: DVT) -> tuple[Tensor, Tensor]:
        target = slice(self.target, self.target + 1)
        x = self._rows(self.held_out)
        observed = None
        if self.data.observed is not None:
            observed = self.data.observed[self.held_out.to(x.device)].unsqueeze(1)
        mean, logvar = model.encode(x, target)
        z = mean + (0.5 * logvar).exp() * self.noise.unsqueeze(1)
        log_q = model.class_columns(z, target).log_softmax(-2)
        _, cost = reconstruction_cost(model.config, model.decode(z, target), x, observed, labelled=0)
        divergence = kl_to_components(mean, logvar, model.classes, model.config)
        log_prior = model.class_prior[:, target].log().unsqueeze(-1)
        latent_cost = (log_q.exp() * (divergence + log_q - log_prior)).sum(-2).mean(-1)
        return -(cost + latent_cost)[:, 0], log_q[:, 0].argmax(-2)
