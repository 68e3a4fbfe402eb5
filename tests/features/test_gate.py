import numpy as np
import pandas as pd
import pytest

from lcdvt.features import GateReport, extract, extraction_report
from lcdvt.features.gate import gate


def _gate_one(time: list[float], mag: list[float], err: list[float], minimum: int = 2):
    return gate(np.array(time), np.array(mag), np.array(err), np.array([0, len(time)]), minimum)


def test_repeated_times_are_averaged_by_inverse_variance() -> None:
    curves = _gate_one([1.0, 2.0, 2.0, 3.0], [10.0, 11.0, 14.0, 12.0], [0.1, 0.1, 0.2, 0.1]).curves
    assert curves.time.tolist() == [1.0, 2.0, 3.0]
    weights = np.array([0.1, 0.2]) ** -2.0
    assert curves.mag[1] == pytest.approx(np.average([11.0, 14.0], weights=weights), rel=1e-14)
    assert curves.err[1] == pytest.approx(weights.sum() ** -0.5, rel=1e-14)


def test_times_are_sorted_and_rubbish_is_left_out() -> None:
    gated = _gate_one([3.0, np.nan, 1.0, 2.0, 5.0], [1.0, 2.0, 3.0, np.inf, 4.0], [0.1, 0.1, 0.1, 0.1, 0.0])
    assert gated.curves.time.tolist() == [1.0, 3.0]
    assert gated.curves.mag.tolist() == [3.0, 1.0]
    assert gated.epochs_dropped.tolist() == [2, 1, 0]


def test_the_gate_counts_every_reason() -> None:
    night = np.arange(20.0)
    epochs = pd.concat(
        [
            pd.DataFrame({"object_id": "good", "band": "B", "mjd": night, "mag": np.sin(night), "mag_err": 0.1}),
            pd.DataFrame({"object_id": "short", "band": "B", "mjd": night[:5], "mag": 1.0, "mag_err": 0.1}),
            pd.DataFrame({"object_id": "flat", "band": "B", "mjd": night, "mag": 1.0, "mag_err": 0.1}),
            pd.DataFrame({"object_id": "other", "band": "I", "mjd": night, "mag": 1.0, "mag_err": 0.1}),
        ]
    )
    report = extraction_report(extract(epochs, ["Std"], bands=("B",)))
    assert report == GateReport(
        4,
        {
            "B: no epochs in the band": 1,
            "B: too few usable epochs": 1,
            "B: constant magnitude (only location features have values)": 1,
        },
        {"band not among those asked for": 20},
    )


def test_reports_add_up_and_survive_json() -> None:
    one = GateReport(2, {"a": 1}, {"x": 5})
    two = GateReport(3, {"a": 2, "b": 1}, {})
    assert one + two == GateReport(5, {"a": 3, "b": 1}, {"x": 5})
    assert GateReport.from_json((one + two).to_json()) == one + two
