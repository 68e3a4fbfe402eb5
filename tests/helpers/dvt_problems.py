"""A small two-survey problem that a few dozen steps can learn."""

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from lcdvt.dataset.dataset import UNLABELLED, SurveyRows
from lcdvt.dvt.config import DVTConfig, preset
from lcdvt.dvt.data import TrainingData

# Problems this small are slower on two threads, and very slow where two test workers share two cores.
torch.set_num_threads(1)

CLASSES = ("A", "B", "C")


def survey_rows(
    name: str, *, shift: float, seed: int, objects: int = 120, labelled: int = 30, features: int = 4
) -> tuple[SurveyRows, NDArray[np.int64]]:
    """Return a survey whose classes are three blobs, and the true class of every object."""
    generator = np.random.default_rng(seed)
    truth = np.arange(objects) % len(CLASSES)
    centres = 3 * np.eye(len(CLASSES), features)
    x = centres[truth] + shift + 0.5 * generator.normal(size=(objects, features))
    y = np.where(np.arange(objects) < labelled, truth, UNLABELLED)
    return SurveyRows(name, x, y), truth


def two_surveys(members: int, **changes: int) -> TrainingData:
    source, _ = survey_rows("old", shift=0.0, seed=1, **changes)
    target, _ = survey_rows("new", shift=0.7, seed=2, **changes)
    return TrainingData.from_surveys([source, target], CLASSES, members)


def quick_config(name: str = "paper", **training: object) -> DVTConfig:
    chosen = preset(name)
    return replace(
        chosen,
        model=replace(chosen.model, shared=(16, 16), latent=4),
        training=replace(
            chosen.training, **{"steps": 60, "check_every": 20, "labelled_batch": 24, "unlabelled_batch": 24} | training
        ),
    )
