"""How sure DVT may be of the target: one temperature for its probabilities, found without a held-out label.

DVT learns the classes of its teachers' product as if they were true, and is as sure of them whether the teachers agreed
or not. Two things say how far that is warranted, both too low as a rule: the confidence of the teachers' mean, and the
share of stars of which the one teacher that never saw the source, a forest on the drawn labels alone, says the same
as DVT. Where DVT is surer on the mean than the higher of the two, its probabilities are raised to a power, the same for
all stars, that makes it as sure. No class changes by that, and nothing becomes surer.

Held-out labels would tell more, but there are a handful: 35 of them give the accuracy to five per cent at best.
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

HOTTEST: Final = 3.0
"""More than twice of what was ever needed: then it is the teachers that fail."""


def soften(training: TrainingResult, data: TrainingData, lesson: Lesson) -> TrainingResult:
    """Return the trained members with the temperature at which they are no surer of the target than is warranted.

    Parameters
    ----------
    training
        The members.
    data
        What they learned from, the target last.
    lesson
        What they were taught of it; where the target's labels lack a class, nothing is softened.
    """
    unlabelled = lesson.drawn == UNLABELLED
    if lesson.alone is None or not unlabelled.any():
        return training
    rows, target = data.rows[-len(unlabelled) :, : data.widths[-1]], len(data.widths) - 1
    told = predict(training.model, rows, target).probability.cpu()[torch.from_numpy(unlabelled)]
    agreement = (lesson.alone[unlabelled].argmax(axis=1) == told.argmax(-1).numpy()).mean()
    warranted = max(float(agreement), float(lesson.mean[unlabelled].max(axis=1).mean()))
    return replace(training, temperature=fitting_temperature(told, warranted))


def fitting_temperature(probability: torch.Tensor, confidence: float) -> float:
    """Return the temperature, 1 or above, at which the mean of each object's largest probability is the wanted one.

    Parameters
    ----------
    probability
        (objects, classes).
    confidence
        Wanted; where even the highest temperature leaves the objects surer, it is returned.
    """

    def surplus(temperature: float) -> float:
        return float(at_temperature(probability.double(), temperature).max(-1).values.mean()) - confidence

    if surplus(1.0) <= 0:
        return 1.0
    if surplus(HOTTEST) >= 0:
        return HOTTEST
    return float(brentq(surplus, 1.0, HOTTEST, xtol=1e-4))
