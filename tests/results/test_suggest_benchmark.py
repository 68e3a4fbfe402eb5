"""benchmarks/active.py is fair: it scores stars nobody may ask for, and no model sees a label nobody asked for."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.dvt_problems import CLASSES, quick_config, survey_rows

from lcdvt.dataset.dataset import UNLABELLED, Dataset

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "active.py"


@pytest.fixture(scope="module")
def active():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("benchmark_active", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def setting(active, tmp_path):
    surveys = [survey_rows(name, shift=shift, seed=seed) for name, shift, seed in (("old", 0.0, 1), ("new", 0.7, 2))]
    objects = len(surveys[0][1])
    dataset = Dataset(
        X=np.concatenate([rows.x for rows, _ in surveys]),
        y=np.concatenate([truth for _, truth in surveys]),
        survey=np.repeat([0, 1], objects),
        object_ids=np.arange(2 * objects).astype(str).astype(object),
        features=("a", "b", "c", "d"),
        classes=CLASSES,
        surveys=("old", "new"),
    )
    return active.Setting(dataset, quick_config("tied", steps=10), members=2, seed=3, kept=tmp_path)


def test_scored_stars_are_never_asked_for(active, setting):
    assert setting.scored.sum() == (setting.truth != UNLABELLED).sum() // 2
    rounds = [
        *active.ask_suggested(setting, [6, 10, 14]),
        *active.ask_at_random(setting, [6, 14], active.STRATIFIED),
        *active.ask_at_random(setting, [6, 14], active.SIMPLE),
    ]
    for size, opinions in rounds:
        assert opinions.labelled.sum() == size
        assert not (opinions.labelled & setting.scored).any()
        assert not (opinions.free & setting.scored).any()


def test_labels_that_were_not_asked_for_change_nothing(active, setting, tmp_path):
    *_, (_, honest) = active.ask_suggested(setting, [6, 12])
    target = np.flatnonzero(setting.dataset.rows_of(1))
    outside = target[~honest.labelled & ~setting.scored]
    y = setting.dataset.y.copy()
    y[outside] = np.roll(y[outside], 1)
    assert (y != setting.dataset.y).any()
    # the same stars are asked for in both: halves and first draw are made class by class, from the labels
    start = np.flatnonzero(honest.labelled)[:6]
    answers = []
    for number, dataset in enumerate((setting.dataset, replace(setting.dataset, y=y))):
        kept = tmp_path / str(number)
        kept.mkdir()
        answers.append(active.ask_model(replace(setting, dataset=dataset, kept=kept), start).probability)
    assert np.array_equal(*answers)


def test_an_answer_that_was_kept_is_the_same(active, setting):
    first, again = (active.ask_model(setting, np.array([0, 1, 2, 5])) for _ in range(2))
    assert len(list(setting.kept.glob("*.npz"))) == 1
    assert np.array_equal(first.probability, again.probability)


def test_labels_needed_is_where_the_curve_stays_above(active):
    curve = {10: [80.0, 80.0], 20: [70.0, 72.0], 30: [74.0, 76.0], 40: [77.0, 77.0]}
    assert active.labels_needed(curve, 75.0) == 30
    assert active.labels_needed(curve, 90.0) is None
