"""Figures of the report, drawn from a few numbers."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from lcdvt.evaluate import ReliabilityBins, Spread
from lcdvt.figures.light_curves import (
    MOST_EPOCHS,
    band_colours,
    folded_figure,
    light_curve_figure,
    period_amplitude_figure,
)
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


BANDS = {"B": 436.1, "R": 640.7}


def test_bands_are_coloured_by_wavelength_whichever_survey_they_are_of():
    sdss = {"u": 355.7, "g": 482.5, "r": 626.1, "i": 767.2, "z": 909.7}
    colours = band_colours(sdss)
    assert colours["g"] == band_colours({"g": 482.5, "r": 626.1})["g"]
    assert len(set(colours.values())) == 5
    blue, red = (tuple(int(colours[band][place : place + 2], 16) for place in (1, 3, 5)) for band in ("u", "z"))
    assert blue[2] > blue[0]
    assert red[0] > red[2]


def test_bands_that_lie_close_together_or_beyond_the_colours_are_told_apart():
    assert len(set(band_colours({"W1": 3353.0, "W2": 4603.0, "W3": 11560.0}).values())) == 3
    assert len(set(band_colours({"a": float("nan"), "b": 500.0}).values())) == 2
    assert len(set(band_colours({str(number): 500.0 + number for number in range(12)}).values())) == 12


def test_many_bands_over_a_period_are_shown_about_their_medians_which_the_legend_tells():
    curve = star(60, 3.7).query("band == 'B'")
    parts = [curve.assign(band=band, mag=curve["mag"] + base) for band, base in (("g", 3.0), ("r", 2.0), ("i", 1.5))]
    epochs = pd.concat(parts)
    wavelengths = {"g": 482.5, "r": 626.1, "i": 767.2}
    folded = light_curve_figure(epochs, 3.7, wavelengths, title="a star")
    for container in folded.axes[0].containers:
        assert np.median(container.lines[0].get_ydata()) == pytest.approx(0.0, abs=1e-9)
    medians = [np.median(part["mag"]) for part in parts]
    shown = [text.get_text() for text in folded.legends[0].get_texts()]
    assert shown == [f"{band} − {middle:.2f}" for band, middle in zip("gri", medians, strict=True)]
    against_time = light_curve_figure(epochs, None, wavelengths, title="a star")
    assert np.median(against_time.axes[0].containers[0].lines[0].get_ydata()) == pytest.approx(medians[0])


def test_light_curves_are_folded_over_two_cycles_with_bright_above():
    axes = folded_figure(star(200, 3.7), 3.7, BANDS).axes[0]
    assert axes.yaxis_inverted()
    assert axes.get_xlim() == (0, 2)
    assert len(axes.containers) == 2
    phase, mag = axes.containers[0].lines[0].get_data()
    assert len(phase) == 400
    np.testing.assert_allclose(mag - mag.mean(), np.sin(2 * np.pi * np.asarray(phase)), atol=0.3)


def test_without_a_period_the_dates_are_shown_and_long_curves_are_thinned():
    axes = folded_figure(star(3 * MOST_EPOCHS, 3.7), None, BANDS).axes[0]
    assert axes.get_xlabel() == "MJD"
    assert len(axes.containers[0].lines[0].get_xdata()) == MOST_EPOCHS


def test_upper_limits_stand_where_the_light_curve_is_not_folded():
    epochs = star(40, 3.7).query("band == 'B'")
    limits = pd.DataFrame({"band": ["B", "B", "R"], "mjd": [10.0, 20.0, 30.0], "mag_limit": [21.0, 22.0, 23.0]})
    axes = folded_figure(epochs, None, BANDS, limits).axes[0]
    (drawn,) = [line for line in axes.lines if line.get_marker() == "v"]
    np.testing.assert_allclose(
        drawn.get_xydata(), [(10.0, 21.0 - epochs["mag"].median()), (20.0, 22.0 - epochs["mag"].median())]
    )
    assert drawn.get_color() == band_colours(BANDS)["B"]
    assert not [line for line in folded_figure(epochs, 3.7, BANDS, limits).axes[0].lines if line.get_marker() == "v"]


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
