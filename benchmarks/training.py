"""How fast the engine trains ten members at once, against ten runs, a plain PyTorch loop, and the limit.

A problem of the size of the stars experiment: 60 features, two surveys, batches of 130 labelled and 100
unlabelled rows of each, five classes. What is timed are training steps: drawing the batch and its random
numbers, objective, gradient, update. What a run does once (laying out the data, starting weights) and at its
checkpoints is left out on all sides, for how much it weighs depends on how long one trains. The bare products
are the matrix products of ten members' step, with its shapes and nothing else.

All contenders live in one process and take turns of a few steps, so that a busy moment of the machine meets
each of them; the best turn of each counts, and medians stand beside it. With one thread the clock is the
processor time of this process; the wall's time is printed too, and on an idle machine they agree.

    python benchmarks/training.py [--threads 1] [--preset paper] [--json FILE]
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from lcdvt.dataset.dataset import UNLABELLED, SurveyRows
from lcdvt.dvt.batch_stream import STARTING_WEIGHTS, member_generator
from lcdvt.dvt.config import DVTConfig, preset
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.model import DVT
from lcdvt.dvt.networks import MemberLinear
from lcdvt.dvt.train import PhaseSteps
from lcdvt.parallel.memory import keep_freed_memory

FEATURES, CLASSES, MEMBERS = 60, 5, 10
OBJECTS, LABELS = (6000, 3000), 1000
LABELLED, UNLABELLED_ROWS = 130, 100
# The engine draws its random numbers for 16 steps at a time: a turn has all of one draw's costs.
STEPS_PER_TURN, TURNS = 16, 40
TARGETS = {"ten_separate_over_batch": 2.5, "plain_loop_over_ours": 3.0, "matmul_share": 0.5}


def make_surveys() -> list[SurveyRows]:
    """Return two surveys of random features."""
    generator = np.random.default_rng(0)
    surveys = []
    for number, objects in enumerate(OBJECTS):
        x = generator.normal(size=(objects, FEATURES)).astype(np.float32)
        y = np.where(np.arange(objects) < LABELS, generator.integers(0, CLASSES, objects), UNLABELLED)
        surveys.append(SurveyRows(f"survey {number}", x, y))
    return surveys


class PlainModel(nn.Module):
    """One DVT written the usual way: a module per layer, a survey per forward pass."""

    def __init__(self, config: DVTConfig) -> None:
        super().__init__()
        first, second = config.model.shared
        latent = config.model.latent
        self.encoder = nn.Sequential(nn.Linear(FEATURES, first), nn.ReLU(), nn.Linear(first, second), nn.ReLU())
        self.encoder_ends = nn.ModuleList(nn.Linear(second, 2 * latent) for _ in OBJECTS)
        self.decoder_starts = nn.ModuleList(nn.Linear(latent, second) for _ in OBJECTS)
        self.decoder = nn.Sequential(nn.ReLU(), nn.Linear(second, first), nn.ReLU(), nn.Linear(first, 2 * FEATURES))
        self.classifiers = nn.ModuleList(nn.Linear(latent, CLASSES) for _ in OBJECTS)
        self.components = config.model.component_distance * torch.eye(CLASSES, latent)
        self.variance = config.model.component_sigma**2

    def forward(self, x: Tensor, survey: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return −log p(x|z), the divergence to each component and the logits of each row."""
        mean, logvar = self.encoder_ends[survey](self.encoder(x)).chunk(2, dim=-1)
        logvar = logvar.clamp(-14, 4)
        z = mean + (0.5 * logvar).exp() * torch.randn_like(mean)
        x_mean, x_logvar = self.decoder(self.decoder_starts[survey](z)).chunk(2, dim=-1)
        cost = functional.gaussian_nll_loss(x_mean, x, x_logvar.clamp(-6, 2).exp(), full=True, reduction="none")
        distance = (mean.unsqueeze(1) - self.components).square()
        spread = (logvar.exp().unsqueeze(1) + distance) / self.variance
        divergence = 0.5 * (np.log(self.variance) - logvar.unsqueeze(1) + spread - 1).sum(-1)
        return cost.sum(-1), divergence, self.classifiers[survey](z)


def endless(loader: DataLoader) -> Iterator[list[Tensor]]:
    """Yield batches for ever."""
    while True:
        yield from loader


class PlainLoop:
    """Trains one plain model with DataLoaders."""

    def __init__(self, config: DVTConfig, surveys: list[SurveyRows]) -> None:
        self.objective = config.objective
        self.streams = []
        for survey in surveys:
            x, y = torch.from_numpy(survey.x), torch.from_numpy(survey.y)
            known = y != UNLABELLED
            labelled = DataLoader(TensorDataset(x[known], y[known]), LABELLED, shuffle=True, drop_last=True)
            others = DataLoader(TensorDataset(x[~known]), UNLABELLED_ROWS, shuffle=True, drop_last=True)
            self.streams.append((endless(labelled), endless(others)))
        self.model = PlainModel(config)
        training = config.training
        self.adam = torch.optim.Adam(self.model.parameters(), training.learning_rate, training.betas, training.epsilon)

    def take(self, _: int) -> None:
        """Take one step."""
        gamma, rho = self.objective.unlabelled_weight, self.objective.classification_weight
        self.adam.zero_grad()
        loss = torch.zeros(())
        for survey, (labelled, others) in enumerate(self.streams):
            x, y = next(labelled)
            cost, divergence, logits = self.model(x, survey)
            sup = (cost + divergence.gather(1, y.unsqueeze(1)).squeeze(1)).mean()
            (x,) = next(others)
            cost, divergence, free_logits = self.model(x, survey)
            sample = functional.gumbel_softmax(free_logits, self.objective.temperature, hard=True)
            log_q = free_logits.log_softmax(-1)
            prior = (log_q.exp() * (log_q + np.log(CLASSES))).sum(-1)
            un = (cost + (sample * divergence).sum(-1) + prior).mean()
            loss = loss + 0.5 * ((1 - gamma) * sup + gamma * un + rho * functional.cross_entropy(logits, y))
        loss.backward()
        self.adam.step()


def engine(config: DVTConfig, surveys: list[SurveyRows], seeds: tuple[int, ...]) -> PhaseSteps:
    """Return the steps of a multi-task run of some members."""
    data = TrainingData.from_surveys(surveys, [str(number) for number in range(CLASSES)], len(seeds))
    model = DVT(config.model, len(seeds), data.widths, data.classes)
    model.initialise([member_generator(seed, STARTING_WEIGHTS) for seed in seeds])
    return PhaseSteps(model.train(), data, config, seeds, phase=0, surveys=slice(0, len(surveys)))


class BareProducts:
    """The step's matrix products alone, forward and backward, with the engine's shapes."""

    def __init__(self, config: DVTConfig) -> None:
        surveys, rows = len(OBJECTS), LABELLED + UNLABELLED_ROWS
        model = DVT(config.model, MEMBERS, (FEATURES,) * surveys, CLASSES)
        self.products = []
        for name, layer in model.named_modules():
            if not isinstance(layer, MemberLinear):
                continue
            inputs, outputs = layer.weight.shape[-2:]
            shared = layer.scope == "shared"
            batch, height = (MEMBERS, surveys * rows) if shared else (MEMBERS * surveys, rows)
            x, weight = torch.randn(batch, height, inputs), torch.randn(batch, inputs, outputs)
            gradient = torch.randn(batch, height, outputs)
            if layer is model.classifier:
                # the engine multiplies this one the other way round, see MemberLinear.columns
                x, weight, gradient = weight.transpose(1, 2), x.transpose(1, 2), gradient.transpose(1, 2).contiguous()
            # nothing asks for the gradient by the features themselves
            x_gradient = None if name == "networks.encoder.0" else torch.empty_like(x)
            self.products.append(
                (x, weight, gradient, torch.empty_like(gradient), torch.empty_like(weight), x_gradient)
            )

    def take(self, _: int) -> None:
        """Multiply everything once."""
        for x, weight, gradient, output, weight_gradient, x_gradient in self.products:
            torch.bmm(x, weight, out=output)
            torch.bmm(x.transpose(1, 2), gradient, out=weight_gradient)
            if x_gradient is not None:
                torch.bmm(gradient, weight.transpose(1, 2), out=x_gradient)


@dataclass
class Contender:
    """Runs that together do what is compared, and the milliseconds per step of each turn by both clocks."""

    runs: Sequence[PhaseSteps | PlainLoop | BareProducts]
    processor: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def take_turn(self, turn: int) -> None:
        """Let each run take the steps of one turn."""
        started = time.process_time(), time.perf_counter()
        for run in self.runs:
            for step in range(turn * STEPS_PER_TURN, (turn + 1) * STEPS_PER_TURN):
                run.take(step)
        # the first turn compiles and warms up
        if turn:
            self.processor.append(1000 * (time.process_time() - started[0]) / STEPS_PER_TURN)
            self.wall.append(1000 * (time.perf_counter() - started[1]) / STEPS_PER_TURN)


def benchmark_config(preset_name: str, width: int | None) -> DVTConfig:
    """Return a preset with this benchmark's batches, and with other widths if asked for."""
    chosen = preset(preset_name)
    model = replace(chosen.model, shared=(width,) * len(chosen.model.shared)) if width else chosen.model
    training = replace(
        chosen.training,
        mode="multi-task",
        steps=STEPS_PER_TURN * (TURNS + 1),
        labelled_batch=LABELLED,
        unlabelled_batch=UNLABELLED_ROWS,
    )
    return replace(chosen, model=model, training=training)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--width", type=int, help="width of the shared layers, instead of the preset's")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    keep_freed_memory()
    config, surveys = benchmark_config(arguments.preset, arguments.width), make_surveys()
    seeds = tuple(range(MEMBERS))
    contenders = {
        "batch": Contender([engine(config, surveys, seeds)]),
        "separate": Contender([engine(config, surveys, (seed,)) for seed in seeds]),
        "plain": Contender([PlainLoop(config, surveys)]),
        "products": Contender([BareProducts(config)]),
    }
    for turn in range(TURNS + 1):
        for contender in contenders.values():
            contender.take_turn(turn)
    labels = {
        "batch": "ten members in one batch",
        "separate": "ten separate runs",
        "plain": "plain loop, one model",
        "products": "bare matrix products of ten",
    }
    print(f"{'milliseconds per step':30s}   processor best, median      wall best, median")
    for name, contender in contenders.items():
        times = [f"{min(t):10.2f} {np.median(t):10.2f}" for t in (contender.processor, contender.wall)]
        print(f"{labels[name]:30s} {'    '.join(times)}")
    # processor time adds up over threads: with several only the wall's clock tells how long one waits
    clock = "processor" if arguments.threads == 1 else "wall"
    best = {name: min(getattr(contender, clock)) for name, contender in contenders.items()}
    ratios = {
        "ten_separate_over_batch": best["separate"] / best["batch"],
        "plain_loop_over_ours": best["plain"] / (best["batch"] / MEMBERS),
        "matmul_share": best["products"] / best["batch"],
    }
    for name, value in ratios.items():
        print(f"{name:30s} {value:8.2f}   target {TARGETS[name]}   (best turns, {clock} time)")
    if arguments.json:
        arguments.json.write_text(json.dumps(ratios), encoding="utf-8")


if __name__ == "__main__":
    main()
