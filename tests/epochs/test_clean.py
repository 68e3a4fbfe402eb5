"""Cleaning rules against independent computations."""

import numpy as np
import pytest
from astropy.stats import sigma_clip
from hypothesis import given
from hypothesis import strategies as st

from lcdvt.catalogs.reading.curves import RawCurves, RawEpochs, RawObject
from lcdvt.catalogs.survey_toml import survey_from_toml
from lcdvt.epochs.block import EpochBlock, block_from_raw
from lcdvt.epochs.clean import RULES, ErrorLimit, FatsPreprocessing, MagnitudeLimits, SigmaClip, clean, find_rule
from lcdvt.errors import SurveyError

SURVEY = survey_from_toml(
    'name = "s"\nbands = ["g"]\n[[formats]]\nid = "{i}"\nfile_name = "(?P<i>.+)"\nband = "g"\nmag = 2\nerr = 3\n',
    "s.toml",
)
curves_of_numbers = st.lists(
    st.lists(st.tuples(st.floats(10, 25), st.floats(0.001, 3)), min_size=1, max_size=40), min_size=1, max_size=5
)


def block_of(curves: list[list[tuple[float, float]]]) -> EpochBlock:
    index = np.concatenate([np.full(len(curve), number) for number, curve in enumerate(curves)])
    mag, err = (np.array([epoch[column] for curve in curves for epoch in curve]) for column in (0, 1))
    time = np.concatenate([50000 + np.arange(float(len(curve))) for curve in curves])
    objects = [RawObject(f"{number:03d}", "x") for number in range(len(curves))]
    return block_from_raw(SURVEY, RawCurves(objects, RawEpochs(index, np.zeros_like(index), time, mag, err)))


@given(curves_of_numbers)
def test_fats_preprocessing_keeps_what_its_definition_keeps(curves):
    block = block_of(curves)
    clean(block, (FatsPreprocessing(),))
    expected = []
    for curve in curves:
        mag, err = np.array(curve).T
        with np.errstate(invalid="ignore", divide="ignore"):
            far = np.abs(mag - mag.mean()) / mag.std() >= 5 if mag.std() else np.zeros(mag.size, dtype=bool)
        expected += mag[(err < 3 * err.mean()) & ~far].tolist()
    assert block.mag.tolist() == expected
    assert sum(block.dropped_epochs.values()) == sum(map(len, curves)) - len(expected)


@given(curves_of_numbers)
def test_the_sigma_clip_is_astropys(curves):
    block = block_of(curves)
    clean(block, (SigmaClip(3.0),))
    expected = []
    for curve in curves:
        mag = np.array([magnitude for magnitude, _ in curve])
        clipped = sigma_clip(mag, sigma=3, maxiters=1, cenfunc="mean")
        expected += mag[~np.ma.getmaskarray(clipped)].tolist()
    assert block.mag.tolist() == expected


def test_the_hits_rule_in_its_order():
    long_enough = [(20.0 + i % 5 / 100, 0.05) for i in range(16)]
    saturated = long_enough[:12] + [(14.9, 0.01)] * 4  # 16 detections, 12 after saturation
    too_few_left = long_enough[:9] + [(14.9, 0.01)] * 7
    too_few = long_enough[:14]
    outlier = [*long_enough, (25.0, 0.05)]
    block = block_of([long_enough, saturated, too_few_left, too_few, outlier])
    clean(block, RULES["hits"])
    assert [found.object_id for found in block.objects] == ["000", "001", "004"]
    assert np.diff(block.start).tolist() == [16, 12, 16]
    assert block.dropped_objects == {"fewer than 15 epochs": 1, "fewer than 10 epochs": 1}


def test_limits_count_what_they_drop():
    block = block_of([[(14.0, 0.1), (15.0, 0.1), (20.0, 0.5), (26.0, 0.1)]])
    clean(block, (MagnitudeLimits(brightest=15, faintest=25), ErrorLimit(0.2)))
    assert block.mag.tolist() == [15.0]
    assert block.dropped_epochs == {"brighter than 15 mag": 1, "fainter than 25 mag": 1, "error above 0.2 mag": 1}


def test_a_constant_curve_survives_fats():
    block = block_of([[(15.0, 0.1)] * 5])
    clean(block, RULES["fats"])
    assert block.mag.size == 5


def test_a_constant_curve_keeps_no_other_curves_outlier():
    outlier = [(15.0 + i % 2 / 10, 0.1) for i in range(60)] + [(20.0, 0.1)]
    block = block_of([[(15.0, 0.1)] * 5 + [(15.0, 9.0)], outlier])
    clean(block, RULES["fats"])
    assert np.diff(block.start).tolist() == [5, 60]
    assert block.dropped_epochs == {"error above 3 × mean error": 1, "magnitude beyond 5σ": 1}


def test_a_survey_lists_its_own_steps():
    steps = ({"step": "magnitude_limits", "brightest": 14}, {"step": "minimum_epochs", "count": 5})
    assert [type(step).__name__ for step in find_rule(steps, "s")] == ["MagnitudeLimits", "MinimumEpochs"]


@pytest.mark.parametrize(
    "rule",
    [
        "soap",
        ({"step": "soap"},),
        ({"step": "sigma_clip", "sigmas": 3},),
        ({"step": "minimum_epochs"},),
        ({"step": "sigma_clip", "sigma": "3"},),
    ],
)
def test_a_wrong_rule_is_refused_in_a_sentence(rule):
    with pytest.raises(SurveyError, match="cleaning"):
        find_rule(rule, "survey s")
