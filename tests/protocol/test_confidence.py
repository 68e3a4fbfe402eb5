"""One temperature: how sure DVT is of the target, by what its teachers disagree about."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.dvt_problems import quick_config, two_surveys

from lcdvt.dvt.ensemble import predict
from lcdvt.dvt.train import train
from lcdvt.protocol.confidence import HOTTEST, fitting_temperature, soften
from lcdvt.protocol.teaching import Lesson

SURE = torch.tensor([[0.99, 0.01], [0.9, 0.1], [0.05, 0.95]])
DRAWN = np.r_[np.zeros(20, dtype=int), np.full(100, -1)]


def test_the_temperature_gives_the_wanted_confidence():
    temperature = fitting_temperature(SURE, 0.8)
    powers = SURE.double() ** (1 / temperature)
    assert (powers.max(-1).values / powers.sum(-1)).mean() == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize(("confidence", "expected"), [(0.999, 1.0), (0.5, HOTTEST)])
def test_it_makes_nothing_surer_and_stays_within_its_limits(confidence, expected):
    assert fitting_temperature(SURE, confidence) == expected


@pytest.fixture(scope="module")
def trained():
    data = two_surveys(2)
    training = train(quick_config("robust", steps=200), data, (1, 2))
    return training, data, predict(training.model, data.rows[-120:], 1).probability


def lesson(told: torch.Tensor, agreement: float, confidence: float) -> Lesson:
    """Return teachers of that mean confidence, one of whom says the same as the members of that share of stars."""
    rest = (1 - confidence) / 2
    alone = np.full((120, 3), rest)
    other = np.arange(120) >= 20 + round(100 * agreement)
    alone[np.arange(120), (told.argmax(-1).numpy() + other) % 3] = confidence
    alone[:20] = 1 / 3  # what is said of drawn labels does not count
    return Lesson(DRAWN, (alone, alone), (1.0, 1.0), alone)


@pytest.mark.parametrize("agreement", [0.5, 0.7])
def test_members_become_as_sure_as_the_higher_of_the_two_signs(trained, agreement):
    training, data, before = trained
    own = float(before[20:].max(-1).values.mean())
    assert own > 0.75
    found = soften(training, data, lesson(before, agreement, 0.6))
    after = predict(training.model, data.rows[-120:], 1, found.temperature).probability
    assert float(after[20:].max(-1).values.mean()) == pytest.approx(max(agreement, 0.6), abs=1e-3)
    assert torch.equal(after.argmax(-1), before.argmax(-1))
    assert found == replace(training, temperature=found.temperature)


def test_nothing_is_softened_without_a_sign_or_a_reason(trained):
    training, data, before = trained
    given = lesson(before, 0.5, 0.6)
    assert soften(training, data, replace(given, alone=None)) is training
    assert soften(training, data, replace(given, drawn=np.zeros(120, dtype=int))) is training
    assert soften(training, data, lesson(before, 1.0, 0.6)).temperature == 1
    assert soften(training, data, lesson(before, 0.5, 0.9999)).temperature == 1
