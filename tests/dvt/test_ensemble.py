"""Mean probability, disagreement and entropy of members."""

import math

import pytest
import torch
from helpers.dvt_problems import quick_config, survey_rows, two_surveys

from lcdvt.dvt.ensemble import EnsemblePrediction, predict
from lcdvt.dvt.train import train
from lcdvt.evaluate import entropy


def test_three_opinions_by_hand() -> None:
    opinions = torch.tensor([[[0.9, 0.1]], [[0.8, 0.2]], [[0.1, 0.9]]])
    prediction = EnsemblePrediction(opinions)
    torch.testing.assert_close(prediction.probability, torch.tensor([[0.6, 0.4]]))
    assert prediction.class_number.tolist() == [0]
    assert prediction.disagreement.tolist() == pytest.approx([1 / 3])
    assert entropy(prediction.probability.numpy()).tolist() == pytest.approx(
        [-0.6 * math.log(0.6) - 0.4 * math.log(0.4)]
    )


def test_a_temperature_changes_how_sure_the_mean_is_and_no_class() -> None:
    opinions = torch.tensor([[[0.9, 0.1, 0.0], [0.2, 0.5, 0.3]], [[0.7, 0.3, 0.0], [0.4, 0.1, 0.5]]])
    plain, soft, sharp = (EnsemblePrediction(opinions, temperature) for temperature in (1.0, 2.0, 0.5))
    torch.testing.assert_close(plain.probability, opinions.mean(0))
    roots = torch.tensor([0.8, 0.2, 0.0]).sqrt()
    torch.testing.assert_close(soft.probability[0], roots / roots.sum())
    torch.testing.assert_close(sharp.probability[0], torch.tensor([0.64, 0.04, 0.0]) / 0.68)
    for other in (soft, sharp):
        assert torch.equal(other.probability.argsort(-1), plain.probability.argsort(-1))
        assert torch.equal(other.class_number, plain.class_number)
        assert torch.equal(other.disagreement, plain.disagreement)
        torch.testing.assert_close(other.probability.sum(-1), torch.ones(2))


def test_members_in_one_pass_equal_members_one_by_one() -> None:
    model = train(quick_config(steps=20), two_surveys(3), (1, 2, 3)).model
    x = torch.from_numpy(survey_rows("new", shift=0.7, seed=5)[0].x).float()
    x[0, 1] = float("nan")
    together = predict(model, x, 1).members
    for member in range(3):
        torch.testing.assert_close(predict(model.select([member]), x, 1).members[0], together[member])
    assert torch.isfinite(together).all()


def test_many_rows_are_predicted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    model = train(quick_config(steps=20), two_surveys(2), (1, 2)).model
    x = torch.from_numpy(survey_rows("new", shift=0.7, seed=5)[0].x).float()
    whole = predict(model, x, 1).members
    monkeypatch.setattr("lcdvt.dvt.model.PREDICTION_ROWS", 7)
    torch.testing.assert_close(predict(model, x, 1).members, whole)
