"""Batches of all members, each member with random numbers of its own.

Random numbers come in blocks of steps. A block's generator is seeded by (member's seed, phase, block), so
that a member draws the same numbers alone and beside others, and a resumed run draws the same numbers as
one that was never stopped, with no generator state to save.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lcdvt.dvt.config import DVTConfig
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.objective import Batch

STEPS_PER_BLOCK = 16

# What a member's seed is used for besides its batches, whose purpose is 1 + the phase.
STARTING_WEIGHTS = 0
MEASUREMENT = 1000

# A uniform number may be zero, whose logarithm is infinite.
SMALLEST_UNIFORM = 1e-30


def member_generator(seed: int, *purpose: int) -> torch.Generator:
    """Return a generator for one purpose of one member, independent of all others."""
    state = np.random.SeedSequence([seed, *purpose]).generate_state(1, np.uint32)
    return torch.Generator().manual_seed(int(state[0]))


@dataclass
class _Block:
    """The random numbers of a block of steps; every tensor is (members, steps, …)."""

    rows: Tensor
    y: Tensor
    latent_noise: Tensor
    gumbel_noise: Tensor | None
    encoder_noise: Tensor | None
    shown: Tensor | None
    shifts: Tensor | None


class BatchStream:
    """Gives the batch of any step of a phase.

    Labelled and unlabelled rows are streams of shuffled passes, so that every object is seen equally often
    within a block; a survey with fewer labels than the batch has rows shows them several times, each time
    with new noise.
    """

    def __init__(
        self, data: TrainingData, config: DVTConfig, seeds: tuple[int, ...], phase: int, surveys: slice
    ) -> None:
        self.data, self.config, self.seeds, self.phase = data, config, seeds, phase
        self.surveys = range(len(data.names))[surveys]
        self.device = data.rows.device
        most_labels = max(len(member[survey]) for member in data.labels for survey in self.surveys)
        wanted = config.training.labelled_batch or most_labels
        self.labelled_rows = min(wanted, most_labels)
        uses_unlabelled = config.objective.generative and config.training.mode != "supervised"
        self.unlabelled_rows = config.training.unlabelled_batch if uses_unlabelled else 0
        self.pools = [
            [self._unlabelled_pool(member, survey) for survey in self.surveys] for member in range(data.members)
        ]
        self._block_number = -1
        self._block: _Block | None = None

    def _unlabelled_pool(self, member: int, survey: int) -> Tensor:
        pool = self.data.unlabelled[member][survey]
        if survey == len(self.data.names) - 1:
            _, pool = split_held_out(pool, self.config.training.held_out, self.seeds[member])
        # A survey whose objects are all labelled still takes part in the unlabelled term, its labels unseen there.
        return pool if len(pool) else self.data.labels[member][survey]

    def batch(self, step: int) -> Batch:
        """Return the batch of one step of the phase."""
        number, place = divmod(step, STEPS_PER_BLOCK)
        if self._block is None or number != self._block_number:
            self._block, self._block_number = self._draw_block(number), number
        block = self._block
        rows = block.rows[:, place]
        chosen = rows.reshape(-1)
        x = self.data.rows.index_select(0, chosen).view(*rows.shape, -1)
        observed = None
        if self.data.observed is not None:
            observed = self.data.observed.index_select(0, chosen).view_as(x)
        again = has_again = None
        if self.data.again is not None and self.data.has_again is not None:
            again = self.data.again.index_select(0, chosen).view_as(x)
            has_again = self.data.has_again.index_select(0, chosen).view(rows.shape)
        if block.shifts is not None:
            x = self._shifted(x, block.shifts[:, place])
            again = None if again is None else self._shifted(again, block.shifts[:, place])
        return Batch(
            x=x,
            observed=observed,
            y=block.y[:, place],
            encoder_noise=None if block.encoder_noise is None else block.encoder_noise[:, place],
            shown=None if block.shown is None else block.shown[:, place],
            latent_noise=block.latent_noise[:, place],
            gumbel_noise=None if block.gumbel_noise is None else block.gumbel_noise[:, place],
            again=again,
            has_again=has_again,
        )

    def _draw_block(self, number: int) -> _Block:
        members, surveys = self.data.members, len(self.surveys)
        rows_in_batch = self.labelled_rows + self.unlabelled_rows
        shape = (members, STEPS_PER_BLOCK, surveys, rows_in_batch)
        training, model = self.config.training, self.config.model
        sampled = self.config.objective.label_sampling == "straight-through" and self.unlabelled_rows > 0
        rows = torch.empty(shape, dtype=torch.int64)
        y = torch.empty((*shape[:3], self.labelled_rows), dtype=torch.int64)
        latent_noise = torch.empty((*shape, model.latent))
        gumbel = torch.empty((*shape[:3], self.data.classes, self.unlabelled_rows)) if sampled else None
        encoder_noise = torch.empty((*shape, self.data.rows.shape[1])) if training.input_noise > 0 else None
        shown = torch.empty((*shape, self.data.rows.shape[1])) if training.hidden_features > 0 else None
        shifts = torch.empty((*shape, 2), dtype=torch.int64) if training.shift_pixels > 0 else None
        for member, seed in enumerate(self.seeds):
            generator = member_generator(seed, 1 + self.phase, number)
            for place, survey in enumerate(self.surveys):
                known = self.data.labels[member][survey]
                order = _shuffled_passes(len(known), STEPS_PER_BLOCK * self.labelled_rows, generator)
                labelled = (STEPS_PER_BLOCK, self.labelled_rows)
                rows[member, :, place, : self.labelled_rows] = known[order].view(labelled)
                y[member, :, place] = self.data.label_classes[member][survey][order].view(labelled)
                if self.unlabelled_rows:
                    pool = self.pools[member][place]
                    order = _shuffled_passes(len(pool), STEPS_PER_BLOCK * self.unlabelled_rows, generator)
                    rows[member, :, place, self.labelled_rows :] = pool[order].view(STEPS_PER_BLOCK, -1)
            latent_noise[member].normal_(generator=generator)
            if gumbel is not None:
                # by two logarithms of uniform numbers, which are vectorised, as exponential numbers are not
                gumbel[member].uniform_(SMALLEST_UNIFORM, 1, generator=generator).log_().neg_().log_().neg_()
            if encoder_noise is not None:
                encoder_noise[member].normal_(0, training.input_noise, generator=generator)
            if shown is not None:
                # by comparison, which is vectorised as a Bernoulli sample is not
                uniform = shown[member].uniform_(generator=generator)
                torch.ge(uniform, training.hidden_features, out=uniform)
            if shifts is not None:
                shifts[member].random_(-training.shift_pixels, training.shift_pixels + 1, generator=generator)
        tensors = (rows, y, latent_noise, gumbel, encoder_noise, shown, shifts)
        return _Block(*(None if tensor is None else tensor.to(self.device) for tensor in tensors))  # type: ignore[arg-type]

    def _shifted(self, x: Tensor, shifts: Tensor) -> Tensor:
        """Move each image by its own number of pixels; what enters is empty."""
        shifted = torch.zeros_like(x)
        reach = self.config.training.shift_pixels
        for place, survey in enumerate(self.surveys):
            width = self.data.widths[survey]
            side = round(width**0.5)
            images = x[:, place, :, :width].reshape(-1, side, side)
            padded = torch.nn.functional.pad(images, (reach,) * 4)
            offsets = shifts[:, place].reshape(-1, 2) + reach
            pixels = torch.arange(side, device=x.device)
            down = (offsets[:, :1] + pixels).unsqueeze(2)
            right = (offsets[:, 1:] + pixels).unsqueeze(1)
            image = torch.arange(len(images), device=x.device).view(-1, 1, 1)
            shifted[:, place, :, :width] = padded[image, down, right].view(*x.shape[:1], x.shape[2], width)
        return shifted


def _shuffled_passes(objects: int, wanted: int, generator: torch.Generator) -> Tensor:
    """Return `wanted` places of a pool of `objects`: one shuffled pass after another."""
    passes = [torch.randperm(objects, generator=generator) for _ in range(-(-wanted // objects))]
    return torch.cat(passes)[:wanted]


def split_held_out(pool: Tensor, held_out: int, seed: int) -> tuple[Tensor, Tensor]:
    """Split unlabelled row numbers into those only measured on (never more than half) and those trained on."""
    count = min(held_out, len(pool) // 2)
    shuffled = pool[torch.randperm(len(pool), generator=member_generator(seed, MEASUREMENT))]
    return shuffled[:count], shuffled[count:]
