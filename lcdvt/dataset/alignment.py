"""Features of different surveys under the same names, so that one model can look at all of them.

EROS observes in B and R, HiTS in g: `Std_B` and `Std_g` are the same question asked of the bluest band each has.
Bands are matched by their order from blue to red, as many as every survey has. Features that depend on the zero
point of the magnitudes tell where a star was observed rather than what it is, and are left out.
"""

from collections.abc import Sequence
from typing import Final

import pandas as pd

from lcdvt.dataset.dataset import SurveyData
from lcdvt.errors import DatasetError
from lcdvt.features.config import band_column
from lcdvt.features.table import FEATURES, SINGLE_BAND, TWO_BANDS
from lcdvt.names import LABEL, OBJECT_ID
from lcdvt.workspace.survey import StoredSurvey

DEPENDS_ON_ZERO_POINT: Final = frozenset(
    {"Mean", "Meanvariance", "CAR_mean", "PercentAmplitude", "PercentDifferenceFluxPercentile", "Color"}
)


def common_band_count(bands: Sequence[tuple[str, ...]]) -> int:
    """Return how many bands every survey has."""
    return min(len(each) for each in bands)


def align_features(features: pd.DataFrame, bands: tuple[str, ...], band_count: int) -> pd.DataFrame:
    """Rename band columns by the band's place from blue to red, and keep what can be compared.

    Parameters
    ----------
    features
        A survey's features: object_id and one column per feature and band.
    bands
        The survey's bands, blue to red.
    band_count
        How many bands all surveys have.
    """
    renamed = {OBJECT_ID: OBJECT_ID}
    for name, spec in FEATURES.items():
        if name in DEPENDS_ON_ZERO_POINT:
            continue
        if spec.bands_needed == SINGLE_BAND:
            renamed |= {band_column(name, band): f"{name}_{place}" for place, band in enumerate(bands[:band_count], 1)}
        elif spec.bands_needed != TWO_BANDS or band_count >= TWO_BANDS:
            renamed[name] = name
    kept = [column for column in features.columns if column in renamed]
    return features[kept].rename(columns=renamed)


def aligned_surveys(surveys: Sequence[StoredSurvey]) -> list[SurveyData]:
    """Return the surveys' features under common names, with their labels; source first, target last."""
    band_count = common_band_count([stored.survey.bands for stored in surveys])
    tables = [align_features(stored.features(), stored.survey.bands, band_count) for stored in surveys]
    usable = [
        column
        for column in tables[0].columns
        if column == OBJECT_ID or all(column in table and table[column].notna().any() for table in tables)
    ]
    if len(usable) < 2:
        names = " and ".join(stored.name for stored in surveys)
        raise DatasetError(f"{names} have no feature in common: run `lcdvt extract` on both, with the same features.")
    labels = [stored.objects().set_index(OBJECT_ID)[LABEL] for stored in surveys]
    return [
        SurveyData(stored.name, table[usable], label)
        for stored, table, label in zip(surveys, tables, labels, strict=True)
    ]
