"""Two small surveys of the same classes, one shifted and scaled against the other, with missing values."""

import numpy as np
from numpy.typing import NDArray

from lcdvt.baselines import TransferProblem

CLASSES = ("CEP", "EB", "LPV", "QSO")


def shifted(
    *,
    classes: int = 4,
    labels_per_class: int = 3,
    missing: float = 0.05,
    seed: int = 0,
    source_objects: int = 200,
    target_objects: int = 160,
    features: int = 8,
) -> tuple[TransferProblem, NDArray[np.int64]]:
    """Return a problem and the true class of every target object; class mixes of the surveys differ."""
    generator = np.random.default_rng(seed)
    centres = 2.5 * np.eye(classes, features)
    source_truth = np.arange(source_objects) % classes
    mix = np.arange(1, classes + 1) / np.arange(1, classes + 1).sum()
    target_truth = np.sort(generator.choice(classes, target_objects, p=mix))
    source_x = centres[source_truth] + 0.7 * generator.normal(size=(source_objects, features))
    target_x = 1.15 * (centres[target_truth] + 0.7 * generator.normal(size=(target_objects, features))) + 0.25
    for x in (source_x, target_x):
        x[generator.random(x.shape) < missing] = np.nan
    target_y = np.full(target_objects, -1)
    for number in range(classes):
        drawn = np.flatnonzero(target_truth == number)[:labels_per_class]
        target_y[drawn] = number
    problem = TransferProblem(
        source_x.astype(np.float32), source_truth, target_x.astype(np.float32), target_y, CLASSES[:classes]
    )
    return problem, target_truth
