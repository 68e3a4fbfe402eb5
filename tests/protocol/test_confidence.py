"""One temperature: how sure DVT is of the target, by what its teachers disagree about."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.dvt_problems import quick_config, two_surveys

from lcdvt.dvt.ensemble import predict
from lcdvt.dvt.train import train
from lcdvt.protocol.confidence import HOTTEST, as_sure_as_its_teachers, fitting_temperature
from lcdvt.protocol.teaching import Lesson

SURE = torch.tensor([[0.99, 0.01], [0.9, 0.1], [0.05, 0.95]])


def test_the_temperature_gives_the_wanted_confidence():
    temperature = fitting_temperature(SURE, 0.8)
    powers = SURE.double() ** (1 / temperature)
    assert (powers.max(-1).values / powers.sum(-1)).mean() == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize(("confidence", "expected"), [(0.999, 1.0), (0.5, HOTTEST)])
def test_it_makes_nothing_surer_and_stays_within_its_limits(confidence, expected):
    assert fitting_temperature(SURE, confidence) == expected


def test_members_become_as_sure_of_unlabelled_stars_as_the_mean_of_their_teachers():
    data = two_surveys(2)
    training = train(quick_config("tied", steps=60), data, (1, 2))
    rows = data.rows[-120:]
    before = predict(training.model, rows, 1).probability
    wanted = float(before[20:].max(-1).values.mean()) - 0.05
    sides = np.full((120, before.shape[1]), (1 - wanted) / (before.shape[1] - 1))
    sides[:, 0] = wanted
    sides[:20] = 1 / before.shape[1]  # what is said of drawn labels does not count
    drawn = np.r_[np.zeros(20, dtype=int), np.full(100, -1)]
    found = as_sure_as_its_teachers(training, data, Lesson(drawn, (sides, sides), (1.0, 1.0)))
    after = predict(training.model, rows, 1, found.temperature).probability
    assert float(after[20:].max(-1).values.mean()) == pytest.approx(wanted, abs=1e-3)
    assert torch.equal(after.argmax(-1), before.argmax(-1))
    assert found == replace(training, temperature=found.temperature)
    every = Lesson(np.zeros(120, dtype=int), (sides, sides), (1.0, 1.0))
    assert as_sure_as_its_teachers(training, data, every) is training
