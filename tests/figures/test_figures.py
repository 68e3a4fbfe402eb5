"""Figures of the report, drawn from a few numbers."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from lcdvt.evaluate import ReliabilityBins, Spread
from lcdvt.figures.light_curves import MOST_EPOCHS, folded_figure, period_amplitude_figure
from lcdvt.figures.scores import LabelCurve, label_fraction_figure, reliability_figure, share_interval
from lcdvt.figures.style import CLASS_COLOURS, class_colours
from lcdvt.reports.svg import INK, draw_svg

ONE_SIGMA = 0.6826894921370859


def star(epochs: int, period: float) -> pd.DataFrame:
    """A sine in two bands."""
    time = np.random.default_rng(0).uniform(0, 500, epochs)
    mag = 15 + np.sin(2 * np.pi * time / period)
    curve = pd.DataFrame({"band": "B", "mjd": time, "mag": mag, "mag_err": 0.01})
    return pd.concat([curve, curve.assign(band="R", mag=mag - 1)])


@pytest.mark.parametrize(("right", "count"), [(0, 1), (1, 1), (3, 7), (7, 7), (400, 1000)])
def test_intervals_of_shares_are_wilsons(right, count):
    expected = binomtest(right, count).proportion_ci(ONE_SIGMA, method="wilson")
    low, high = share_interval(np.array([right / count]), np.array([count]))
    assert low[0] == pytest.approx(expected.low, abs=1e-12)
    assert high[0] == pytest.approx(expected.high, abs=1e-12)


def test_empty_bins_are_not_drawn():
    bins = ReliabilityBins(
        np.linspace(0, 1, 4), np.array([0, 2, 8]), np.array([np.nan, 0.5, 0.9]), np.array([np.nan, 0.5, 1.0])
    )
    figure = reliability_figure({"DVT ensemble": bins})
    line = figure.axes[0].lines[1]
    assert line.get_xdata().tolist() == [0.5, 0.9]
    assert line.get_ydata().tolist() == [0.5, 1.0]


def test_upper_bounds_are_dashed_and_axes_are_in_percent():
    curves = [
        LabelCurve("DVT ensemble", (0.01, 0.1), (Spread(0.6, 0.05), Spread(0.7, None))),
        LabelCurve("Random forest", (0.01, 0.1), (Spread(0.9, 0.01), Spread(0.9, 0.01)), is_upper_bound=True),
    ]
    ours, bound = (line for line in label_fraction_figure(curves).axes[0].lines if line.get_linestyle() != "None")
    assert ours.get_linestyle() == "-"
    assert bound.get_linestyle() == "--"
    np.testing.assert_allclose(np.asarray(ours.get_xdata(), dtype=float), [1, 10])
    np.testing.assert_allclose(np.asarray(ours.get_ydata(), dtype=float), [60, 70])


def test_light_curves_are_folded_over_two_cycles_with_bright_above():
    axes = folded_figure(star(200, 3.7), 3.7, ("B", "R")).axes[0]
    assert axes.yaxis_inverted()
    assert axes.get_xlim() == (0, 2)
    assert len(axes.containers) == 2
    phase, mag = axes.containers[0].lines[0].get_data()
    assert len(phase) == 400
    np.testing.assert_allclose(mag - mag.mean(), np.sin(2 * np.pi * np.asarray(phase)), atol=0.3)


def test_without_a_period_the_dates_are_shown_and_long_curves_are_thinned():
    axes = folded_figure(star(3 * MOST_EPOCHS, 3.7), None, ("B", "R")).axes[0]
    assert axes.get_xlabel() == "MJD"
    assert len(axes.containers[0].lines[0].get_xdata()) == MOST_EPOCHS


def test_each_class_has_its_own_colour_however_many_there_are():
    names = [f"class {number}" for number in range(20)]
    colours = class_colours(names)
    assert list(colours) == names
    assert len(set(colours.values())) == 20
    assert class_colours(names[:3]) == dict(zip(names, CLASS_COLOURS[:3], strict=False))


def test_a_drawing_takes_the_ink_of_the_page_and_leaves_nothing_of_its_maker():
    stars = pd.DataFrame({"predicted": ["a<b", "a<b", "$c"], "period": [0.5, 1.0, 30.0], "amplitude": [0.1, 0.2, 2.0]})
    drawing = draw_svg(lambda: period_amplitude_figure(stars, ("a<b", "$c"), "amplitude"), 'a "figure"', "x-")
    assert drawing.startswith('<svg class="plot" viewBox="')
    assert 'aria-label="a &quot;figure&quot;"' in drawing
    assert INK not in drawing
    assert "currentColor" in drawing
    assert "a&lt;b" in drawing
    assert "$c" in drawing
    for unwanted in ("xmlns", "metadata", "<style", "http"):
        assert unwanted not in drawing
