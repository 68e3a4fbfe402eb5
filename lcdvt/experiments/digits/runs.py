"""One trained network of the digits table: what it is, training it, scoring it, and keeping the result.

A finished run is a small JSON file. The same command run again skips it; one that was interrupted goes on
from its last checkpoint.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from lcdvt.dataset.dataset import UNLABELLED, SurveyRows
from lcdvt.dataset.draws import LabelBudget, draw_labels
from lcdvt.disk.atomic import write_atomically, write_text
from lcdvt.disk.toml_config import to_table
from lcdvt.dvt.config import DVTConfig, TrainingMode
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.ensemble import predict
from lcdvt.dvt.model import DVT
from lcdvt.dvt.train import resolve_device
from lcdvt.errors import InputFileError
from lcdvt.evaluate import confusion_matrix
from lcdvt.experiments.digits.checkpoint import CHECKPOINT_FILE, train_resumable
from lcdvt.experiments.digits.files import CLASSES, NAMES, Digits, read_digits
from lcdvt.experiments.digits.pictures import Pictures, draw_pictures
from lcdvt.experiments.digits.presets import Augmentation, Likelihood, ModelName, digits_config

ScoredPart = Literal["test", "validation"]

MODES: dict[ModelName, tuple[TrainingMode, ...]] = {
    "DVT": ("supervised", "semi-supervised", "transfer", "multi-task"),
    # without unlabelled images there is no semi-supervised CNN
    "CNN": ("supervised", "transfer", "multi-task"),
}


@dataclass(frozen=True)
class Circumstances:
    """What all runs of a table have in common.

    Parameters
    ----------
    data
        The folder of the digits' files.
    out
        Where finished runs are kept.
    labels
        How many labels of a domain are used, as `LabelBudget` reads it.
    augment
        Whether training images are shifted at random.
    preset
        Named numbers.
    steps
        Batches of each phase; None takes the preset's.
    scored
        The test images, or, while settings are chosen, a part of the training images kept out of training.
    likelihood
        The distribution of a pixel: Bernoulli, as the paper has it for images, or Gaussian.
    noise
        Standard deviation of the noise that encoders see on pixels; None takes the preset's.
    device
        Where to train.
    """

    data: Path
    out: Path
    labels: str = "100"
    augment: Augmentation = "shift"
    preset: str = "digits"
    steps: int | None = None
    scored: ScoredPart = "test"
    likelihood: Likelihood = "bernoulli"
    noise: float | None = None
    device: str = "auto"

    def config(self, run: "DigitsRun") -> DVTConfig:
        """Return the numbers of one run."""
        return digits_config(
            run.mode,
            run.model,
            self.augment,
            self.preset,
            steps=self.steps,
            likelihood=self.likelihood,
            noise=self.noise,
        )


@dataclass(frozen=True)
class DigitsRun:
    """One network: what it is trained for, how, and from which seed."""

    target: str
    mode: TrainingMode
    model: ModelName
    seed: int

    @property
    def name(self) -> str:
        """What its files are called."""
        return f"{self.target}-{self.mode}-{self.model.lower()}-seed{self.seed}"

    @property
    def domains(self) -> tuple[str, ...]:
        """The digits it is trained on, the target last."""
        if self.mode in ("supervised", "semi-supervised"):
            return (self.target,)
        return (*(name for name in NAMES if name != self.target), self.target)


@dataclass(frozen=True)
class DigitsResult:
    """What is kept of a finished run.

    Parameters
    ----------
    run
        Which.
    accuracy
        Share of right digits, in percent.
    confusion
        (true digit, predicted digit) counts.
    seconds
        How long training took, from the start or, where it was resumed, from the last checkpoint.
    is_resumed
        Whether `seconds` is only the last part.
    settings
        All the numbers it was made with.
    """

    run: DigitsRun
    accuracy: float
    confusion: NDArray[np.int64]
    seconds: float
    is_resumed: bool
    settings: Mapping[str, Any]


def planned_runs(targets: tuple[str, ...], modes: tuple[str, ...], seeds: int) -> list[DigitsRun]:
    """Return the runs of a table, seed after seed, so that a table with fewer seeds is complete first."""
    return [
        DigitsRun(target, mode, model, seed)
        for seed in range(seeds)
        for model, its_modes in MODES.items()
        for target in targets
        for mode in its_modes
        if mode in modes
    ]


def complete_run(run: DigitsRun, circumstances: Circumstances) -> DigitsResult:
    """Return a run's result: the kept one, or that of training it now."""
    folder = circumstances.out / circumstances.augment
    path = folder / f"{run.name}.json"
    config = circumstances.config(run)
    settings = {"labels": circumstances.labels, "scored": circumstances.scored, **to_table(config)}
    if path.is_file():
        return _read_result(path, run, settings)
    domains = [read_digits(name, circumstances.data) for name in run.domains]
    if circumstances.scored == "validation":
        domains = [digits.for_validation() for digits in domains]
    trained = train_run(run, config, domains, circumstances.labels, folder / run.name, circumstances.device)
    result = DigitsResult(run, *trained.score(), trained.seconds, trained.is_resumed, settings)
    if run.model == "DVT":
        pictures = draw_pictures(trained.model, domains, run.seed)
        write_atomically(folder / f"{run.name}.npz", pictures.write)
    write_text(path, _to_text(result))
    return result


@dataclass(frozen=True)
class TrainedRun:
    """A network just trained, not yet scored."""

    model: DVT
    domains: list[Digits]
    seconds: float
    is_resumed: bool

    def score(self) -> tuple[float, NDArray[np.int64]]:
        """Return accuracy in percent and the confusion matrix of the target's test images."""
        target = self.domains[-1]
        images = torch.from_numpy(target.test_x).to(self.model.class_prior.device)
        found = predict(self.model, images, len(self.domains) - 1).class_number.cpu().numpy()
        counts = confusion_matrix(target.test_y, found, len(CLASSES))
        return 100 * float(np.diagonal(counts).sum() / counts.sum()), counts


def train_run(
    run: DigitsRun, config: DVTConfig, domains: list[Digits], labels: str, folder: Path, device: str
) -> TrainedRun:
    """Train one network on its domains; `folder` holds the checkpoint while it is trained."""
    rows = []
    for place, digits in enumerate(domains):
        is_target = place == len(domains) - 1
        known = "all" if _knows_all(run, is_target) else labels
        y = np.full(len(digits.train_y), UNLABELLED, dtype=np.int64)
        drawn = draw_labels(digits.train_y, LabelBudget.parse(known), run.seed)
        y[drawn] = digits.train_y[drawn]
        rows.append(SurveyRows(digits.name, digits.train_x, y))
    data = TrainingData.from_surveys(rows, CLASSES, 1, resolve_device(device))
    is_resumed = (folder / CHECKPOINT_FILE).is_file()
    started = time.perf_counter()
    result = train_resumable(config, data, (run.seed,), folder)
    folder.rmdir()
    return TrainedRun(result.model, domains, time.perf_counter() - started, is_resumed)


def _knows_all(run: DigitsRun, is_target: bool) -> bool:
    """Whether all labels of a domain are used.

    The paper's CNN for transfer is "trained on source" before its last layers see the target's labels; with 100
    labels of the source it would have little to carry over, so it is given all of them. DVT has 100 in each.
    """
    return run.mode == "supervised" or (run.model == "CNN" and run.mode == "transfer" and not is_target)


def _to_text(result: DigitsResult) -> str:
    record = {
        **asdict(result.run),
        "accuracy": result.accuracy,
        "seconds": result.seconds,
        "is_resumed": result.is_resumed,
        "confusion": result.confusion.tolist(),
        "settings": result.settings,
    }
    return json.dumps(record, indent=1) + "\n"


def _read_result(path: Path, run: DigitsRun, settings: Mapping[str, Any]) -> DigitsResult:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        result = DigitsResult(
            run,
            float(record["accuracy"]),
            np.array(record["confusion"], dtype=np.int64),
            float(record["seconds"]),
            bool(record["is_resumed"]),
            record["settings"],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputFileError(f"{path} is damaged ({error}): delete it, and the run is made again.") from error
    # through JSON, because a tuple comes back as a list
    if result.settings != json.loads(json.dumps(settings)):
        raise InputFileError(f"{path} was made with other settings: choose another folder (out=…), or delete it.")
    return result


def read_pictures(run: DigitsRun, circumstances: Circumstances) -> Pictures:
    """Return what a finished DVT run reconstructed and generated."""
    return Pictures.read(circumstances.out / circumstances.augment / f"{run.name}.npz")
