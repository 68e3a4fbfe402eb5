"""How sure DVT may be of the target: one temperature for its probabilities, found without a label.

DVT learns the classes of its teachers' product as if they were true, and is as sure of them as the product, which
counts the same evidence five times. The mean of the same experts is not: where they disagree it is unsure. So the
ensemble's probabilities are raised to a power, the same for all stars, that makes their mean confidence that of the
experts' mean. No class changes by that, and no label is needed for it: of the drawn labels DVT and its experts have
learned, and a handful of held-out ones would tell the accuracy to five per cent at best.
"""

from dataclasses import replace
from typing import Final

import torch
from scipy.optimize import brentq

from lcdvt.dataset.dataset import UNLABELLED
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.ensemble import at_temperature, predict
from lcdvt.dvt.train import TrainingResult
from lcdvt.protocol.teaching import Lesson

COLDEST: Final = 1.0
HOTTEST: Final = 5.0


def as_sure_as_its_teachers(training: TrainingResult, data: TrainingData, lesson: Lesson) -> TrainingResult:
    """Return the trained members with the temperature at which they are as sure as the mean of their teachers.

    Parameters
    ----------
    training
        The members.
    data
        What they learned from, the target last.
    lesson
        What they were taught of it.
    """
    rows, target = data.rows[-len(lesson.drawn) :, : data.widths[-1]], len(data.widths) - 1
    unlabelled = torch.from_numpy(lesson.drawn == UNLABELLED)
    if not unlabelled.any():
        return training
    told = predict(training.model, rows, target).probability.cpu()[unlabelled]
    confidence = float(lesson.mean[unlabelled.numpy()].max(axis=1).mean())
    return replace(training, temperature=fitting_temperature(told, confidence))


def fitting_temperature(probability: torch.Tensor, confidence: float) -> float:
    """Return the temperature at which the mean of each object's largest probability is the wanted one.

    Parameters
    ----------
    probability
        (objects, classes).
    confidence
        Wanted; where no temperature within the limits gives it, the nearest limit is returned.
    """

    def too_sure(temperature: float) -> float:
        return float(at_temperature(probability.double(), temperature).max(-1).values.mean()) - confidence

    if too_sure(COLDEST) <= 0:
        return COLDEST
    if too_sure(HOTTEST) >= 0:
        return HOTTEST
    return float(brentq(too_sure, COLDEST, HOTTEST, xtol=1e-4))
