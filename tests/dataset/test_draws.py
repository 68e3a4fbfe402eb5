"""Label draws: parsed, stratified, nested, seeded."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcdvt.dataset.draws import LabelBudget, draw_labels
from lcdvt.errors import SettingsError

SURVEY = np.repeat([0, 1, 2, 3, -1], [1777, 604, 339, 8, 100])


@pytest.mark.parametrize(
    ("text", "amount", "kind"),
    [
        ("1%", 0.01, "share"),
        ("0.01", 0.01, "share"),
        ("2.5 %", 0.025, "share"),
        ("25", 25, "objects"),
        ("3/class", 3, "per class"),
        ("all", 1.0, "share"),
        ("100%", 1.0, "share"),
    ],
)
def test_budgets_are_read(text: str, amount: float, kind: str) -> None:
    assert LabelBudget.parse(text) == LabelBudget(pytest.approx(amount), kind)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "few", "-1%", "0", "0%", "101%", "1.5", "3/night", "nan%", "x/class"])
def test_wrong_budgets_are_refused_with_examples(text: str) -> None:
    with pytest.raises(SettingsError, match="3/class"):
        LabelBudget.parse(text)


@given(st.lists(st.integers(1, 200), min_size=2, max_size=5), st.integers(0, 10), st.data())
def test_larger_draws_contain_smaller_ones(sizes: list[int], seed: int, data: st.DataObject) -> None:
    y = np.repeat(np.arange(len(sizes)), sizes)
    budgets = sorted(data.draw(st.lists(st.integers(len(sizes), len(y)), min_size=2, max_size=4)))
    draws = [draw_labels(y, LabelBudget(budget, "objects"), seed) for budget in budgets]
    for budget, draw in zip(budgets, draws, strict=True):
        assert len(draw) == len(set(draw.tolist())) == budget
        assert set(y[draw]) == set(y)
    for smaller, larger in pairwise(draws):
        assert set(smaller.tolist()) <= set(larger.tolist())


@given(st.floats(0.001, 1.0), st.integers(0, 5))
def test_shares_keep_the_proportions_of_classes(share: float, seed: int) -> None:
    drawn = draw_labels(SURVEY, LabelBudget(share, "share"), seed)
    counts, sizes = np.bincount(SURVEY[drawn], minlength=4), np.bincount(SURVEY[SURVEY >= 0])
    expected = sizes * len(drawn) / sizes.sum()
    # Each class is within one object of its share, apart from what the guaranteed first ones take.
    assert (np.abs(counts - expected) <= 4).all()
    assert counts.min() >= 1


def test_one_percent_lies_inside_five_percent() -> None:
    one, five = (set(draw_labels(SURVEY, LabelBudget.parse(text), 7).tolist()) for text in ("1%", "5%"))
    assert one < five
    assert len(one) == round(0.01 * 2728)


def test_seeds_make_draws() -> None:
    first, again, other = (draw_labels(SURVEY, LabelBudget.parse("1%"), seed) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize(
    ("text", "message"),
    [("9/class", "has 8 labelled objects"), ("5000", "only 2728 labelled"), ("3", "4 classes need at least one")],
)
def test_draws_larger_than_the_data_and_smaller_than_the_classes(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        draw_labels(SURVEY, LabelBudget.parse(text), 0)


def test_nothing_to_draw() -> None:
    with pytest.raises(SettingsError, match="no object has a label"):
        draw_labels(np.full(5, -1), LabelBudget.parse("1%"), 0)


@pytest.mark.parametrize("text", ["1%", "25", "3/class"])
def test_budgets_print_as_they_were_written(text: str) -> None:
    assert str(LabelBudget.parse(text)) == text
