"""One star in a notebook: plotted, folded, handed to astropy."""

import numpy as np
import pandas as pd
import pytest
from astropy import units

import lcdvt
from lcdvt.errors import SettingsError, WorkspaceError
from lcdvt.workspace.light_curve import LightCurve

MJD = np.array([50000.0, 50000.25, 50000.6, 50001.1, 50002.9])


def star(period: float | None = 0.5) -> LightCurve:
    epochs = pd.DataFrame({"band": list("BBRRR"), "mjd": MJD, "mag": np.arange(15.0, 20.0), "mag_err": 0.1})
    return LightCurve("V 1", "mine", epochs, {"B": 436.1, "R": 640.7}, period=period, label="RRLYR")


def test_phases_are_those_of_the_period_and_the_epoch() -> None:
    folded = star().fold()
    assert folded.period == 0.5
    np.testing.assert_allclose(folded.phase, (MJD / 0.5) % 1)
    by_phase = star().fold(2.0, epoch=50000.25).epochs
    assert by_phase["phase"].is_monotonic_increasing
    assert by_phase.loc[0, ["mjd", "phase"]].tolist() == [50000.25, 0.0]
    np.testing.assert_allclose(by_phase["phase"], ((by_phase["mjd"] - 50000.25) / 2) % 1)


@pytest.mark.parametrize(
    "period", [0.0, -1.0, float("nan"), float("inf"), "short", 1 * units.mag, np.array([1.0, 2.0])]
)
def test_a_period_is_positive(period: object) -> None:
    with pytest.raises(SettingsError, match="positive number of days"):
        star().fold(period)


def test_a_period_may_be_a_quantity_and_the_epoch_is_a_number() -> None:
    assert star().fold(12 * units.hour).period == star().fold(1 / (2 / units.day)).period == 0.5
    with pytest.raises(SettingsError, match="epoch=nan: the MJD"):
        star().fold(epoch=float("nan"))


def test_without_a_period_one_is_asked_for() -> None:
    with pytest.raises(WorkspaceError, match=r"no period in the features of 'mine': give one, as fold\(0.5\)"):
        star(period=None).fold()


def test_a_band_is_picked_or_refused() -> None:
    assert star().band("B")["mag"].tolist() == [15.0, 16.0]
    with pytest.raises(SettingsError, match="band=V: survey 'mine' has B, R"):
        star().band("V")


def test_the_figures_show_every_epoch_and_magnitudes_upside_down() -> None:
    raw, folded = star().plot(), star().fold().plot()
    for figure, times in ((raw, 1), (folded, 2)):
        (axes,) = figure.axes
        drawn = [len(line.get_xdata()) for line, *_ in axes.containers]
        assert drawn == [2 * times, 3 * times]
        assert axes.yaxis_inverted()
        assert "V 1 (mine), RRLYR" in axes.get_title()
    assert folded.axes[0].get_xlabel() == "phase" and "period 0.5 d" in folded.axes[0].get_title()


def test_a_stored_star_knows_its_period_label_and_units(two_surveys) -> None:
    survey = lcdvt.open_survey("old", two_surveys)
    features, objects = survey.features().set_index("object_id"), survey.objects().set_index("object_id")
    chosen = features["Period"].notna() & objects["label"].reindex(features.index).notna()
    object_id = features.index[chosen][0]
    found = survey.light_curve(object_id)
    assert found.period == features.loc[object_id, "Period"]
    assert found.label == objects.loc[object_id, "label"]
    assert found.fold().period == found.period
    series = found.to_timeseries()
    assert str(series["mag"].unit) == "mag" and len(series) == len(found)
    assert series.meta["survey"] == "old"
