"""How fast the engine trains ten members at once, against ten runs, a plain PyTorch loop, and the limit.

A problem of the size of the stars experiment: 60 features, two surveys, batches of 130 labelled and 100
unlabelled rows of each, five classes. Three ratios, all measured in the same process, in turns, so that a
busy moment of the machine meets every contender; the best of the turns counts. With one thread the clock is
the processor time of this process, which is the wall's on an idle machine and steadier on a busy one.

    python benchmarks/training.py [--threads 1] [--preset paper] [--json FILE]
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from lcdvt.dataset import UNLABELLED, SurveyRows
from lcdvt.dvt.config import DVTConfig, preset
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.layers import MemberLinear
from lcdvt.dvt.model import DVT
from lcdvt.dvt.train import train

FEATURES, CLASSES, MEMBERS = 60, 5, 10
OBJECTS, LABELS = (6000, 3000), 1000
LABELLED, UNLABELLED_ROWS = 130, 100
STEPS, TURNS = 160, 5
# Set by main: the wall's clock when there are more threads than one.
clock: Callable[[], float] = time.process_time
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


def plain_loop(config: DVTConfig, surveys: list[SurveyRows]) -> float:
    """Train one plain model with DataLoaders; return the seconds of the steps."""
    streams = []
    for survey in surveys:
        x, y = torch.from_numpy(survey.x), torch.from_numpy(survey.y)
        known = y != UNLABELLED
        labelled = DataLoader(TensorDataset(x[known], y[known]), LABELLED, shuffle=True, drop_last=True)
        others = DataLoader(TensorDataset(x[~known]), UNLABELLED_ROWS, shuffle=True, drop_last=True)
        streams.append((endless(labelled), endless(others)))
    model = PlainModel(config)
    adam = torch.optim.Adam(model.parameters(), config.training.learning_rate, config.training.betas)
    gamma, rho = config.objective.unlabelled_weight, config.objective.classification_weight
    started = clock()
    for _ in range(STEPS):
        adam.zero_grad()
        loss = torch.zeros(())
        for survey, (labelled, others) in enumerate(streams):
            x, y = next(labelled)
            cost, divergence, logits = model(x, survey)
            sup = (cost + divergence.gather(1, y.unsqueeze(1)).squeeze(1)).mean()
            (x,) = next(others)
            cost, divergence, free_logits = model(x, survey)
            sample = functional.gumbel_softmax(free_logits, config.objective.temperature, hard=True)
            log_q = free_logits.log_softmax(-1)
            prior = (log_q.exp() * (log_q + np.log(CLASSES))).sum(-1)
            un = (cost + (sample * divergence).sum(-1) + prior).mean()
            loss = loss + 0.5 * ((1 - gamma) * sup + gamma * un + rho * functional.cross_entropy(logits, y))
        loss.backward()
        adam.step()
    return clock() - started


def engine(config: DVTConfig, surveys: list[SurveyRows], seeds: tuple[int, ...]) -> float:
    """Train members in one batched run; return the seconds of all of it, from features to trained members."""
    started = clock()
    data = TrainingData.from_surveys(surveys, [str(number) for number in range(CLASSES)], len(seeds))
    train(config, data, seeds)
    return clock() - started


def bare_products(config: DVTConfig) -> Callable[[], float]:
    """Return a timer of the step's matrix products alone, forward and backward, with the engine's shapes."""
    surveys, rows = len(OBJECTS), LABELLED + UNLABELLED_ROWS
    model = DVT(config.model, MEMBERS, (FEATURES,) * surveys, CLASSES)
    products = []
    for name, layer in model.named_modules():
        if not isinstance(layer, MemberLinear):
            continue
        inputs, outputs = layer.weight.shape[-2:]
        shared = layer.scope == "shared"
        batch, height = (MEMBERS, surveys * rows) if shared else (MEMBERS * surveys, rows)
        x, weight = torch.randn(batch, height, inputs), torch.randn(batch, inputs, outputs)
        gradient = torch.randn(batch, height, outputs)
        first = name == "networks.encoder.0"
        products.append(
            (x, weight, gradient, torch.empty_like(gradient), torch.empty_like(weight), None if first else x)
        )

    def run() -> float:
        started = clock()
        for _ in range(STEPS):
            for x, weight, gradient, output, weight_gradient, x_wanted in products:
                torch.bmm(x, weight, out=output)
                torch.bmm(x.transpose(1, 2), gradient, out=weight_gradient)
                if x_wanted is not None:
                    torch.bmm(gradient, weight.transpose(1, 2))
        return clock() - started

    return run


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--width", type=int, help="width of the shared layers, instead of the preset's")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.threads > 1:
        global clock
        clock = time.perf_counter
    chosen = preset(arguments.preset)
    model = chosen.model
    if arguments.width:
        model = replace(model, shared=(arguments.width,) * len(model.shared))
    training = replace(
        chosen.training,
        mode="multi-task",
        steps=STEPS,
        check_every=STEPS,
        labelled_batch=LABELLED,
        unlabelled_batch=UNLABELLED_ROWS,
    )
    config = replace(chosen, model=model, training=training)
    surveys = make_surveys()
    seeds = tuple(range(MEMBERS))
    contenders: dict[str, Callable[[], float]] = {
        "ten members in one batch": lambda: engine(config, surveys, seeds),
        "ten separate runs": lambda: sum(engine(config, surveys, (seed,)) for seed in seeds),
        "plain loop, one model": lambda: plain_loop(config, surveys),
        "bare matrix products of ten": bare_products(config),
    }
    best = dict.fromkeys(contenders, float("inf"))
    for turn in range(TURNS + 1):
        for name, run in contenders.items():
            seconds = run()
            # the first turn compiles and warms up
            if turn:
                best[name] = min(best[name], seconds)
    for name, seconds in best.items():
        print(f"{name:30s} {1000 * seconds / STEPS:8.2f} ms per step")
    batch = best["ten members in one batch"]
    ratios = {
        "ten_separate_over_batch": best["ten separate runs"] / batch,
        "plain_loop_over_ours": best["plain loop, one model"] / (batch / MEMBERS),
        "matmul_share": best["bare matrix products of ten"] / batch,
    }
    for name, value in ratios.items():
        print(f"{name:30s} {value:8.2f}   target {TARGETS[name]}")
    if arguments.json:
        arguments.json.write_text(json.dumps(ratios), encoding="utf-8")


if __name__ == "__main__":
    main()
