"""The columns of the period search: one period per object, shared by its bands."""

from typing import Final

import numpy as np

from lcdvt.features.config import FeatureConfig
from lcdvt.features.gate import Curves
from lcdvt.features.period.search import PeriodResult, search_curves

FIELD_OF_COLUMN = {
    "Period": "period",
    "Period_fap": "fap",
    "Period_power": "power",
    "Period_amplitude": "amplitude",
    "Period_R21": "r21",
    "Period_phi21": "phi21",
    "Period_R31": "r31",
    "Period_phi31": "phi31",
}


MANY_BANDS: Final = 3


def search_periods(curves: Curves, every: Curves | None, config: FeatureConfig) -> np.ndarray:
    """Return one row per object and the columns `config.period_names()`.

    Parameters
    ----------
    curves
        Bands with enough epochs, for surveys of one or two bands.
    every
        All bands, however few epochs they have, for surveys of more.
    config
        What to compute.
    """
    if every is not None and len(config.bands) >= MANY_BANDS:
        from lcdvt.features.period.joint import search_joint_periods

        names = config.period_names()
        found = search_joint_periods(every, config)
        out = np.array([[getattr(each, FIELD_OF_COLUMN[name]) for name in names] for each in found], dtype=np.float64)
        out = out.reshape(len(found), len(names))
        out[~np.isfinite(out)] = np.nan
        return out
    if config.period_range is None:
        raise ValueError("a request for periods has a period range")
    fields = [PeriodResult._fields.index(FIELD_OF_COLUMN[name]) for name in config.period_names()]
    out = search_curves(curves, len(config.bands), config.period_range)[:, fields]
    out[~np.isfinite(out)] = np.nan
    return out
