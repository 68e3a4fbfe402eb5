"""Features of different surveys under the same names, so that one model can look at all of them.

EROS observes in B and R, HiTS in g: `Std_B` and `Std_g` are the same question asked of bands that lie close together in
wavelength. The target's bands make the places (`Std_481nm`), and each band of another survey takes the nearest place
within a third of its wavelength, no place twice. A survey of one band meets the bluest band within that reach, because
variable stars vary most there: EROS-1's red plates are nearer to Catalina's band, and cost four to six points of macro
F1 beside the blue ones. Where a survey's wavelengths are not known, bands are matched by their order from blue to red,
as many as every survey has.

Every feature that the target and any of the sources have is used; where another survey lacks it, its stars have no
value there. What the target alone has could only be learned from its handful of labels, and costs half a point.
Features that depend on the zero point of the magnitudes tell where a star was observed rather than what it is, and are
left out.

But within the target they may tell the class: a red giant is red, and where all stars are about equally far, a Cepheid
is brighter than an RR Lyrae star. `own_features` are the target's colour, and its mean magnitudes where the survey's
description says `one_distance`; elsewhere a magnitude tells how the stars were chosen. They are kept apart, for whoever
learns from the target alone.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lcdvt.dataset.dataset import Dataset, SurveyData
from lcdvt.errors import DatasetError
from lcdvt.features.config import band_column
from lcdvt.features.table import FEATURES, SINGLE_BAND, TWO_BANDS
from lcdvt.names import LABEL, OBJECT_ID
from lcdvt.workspace.survey import StoredSurvey

DEPENDS_ON_ZERO_POINT: Final = frozenset(
    {"Mean", "Meanvariance", "CAR_mean", "PercentAmplitude", "PercentDifferenceFluxPercentile", "Color"}
)
OWN_COLOUR: Final = "Color"
OWN_BRIGHTNESS: Final = "Mean"
# Bands are the same question if their wavelengths differ by less than this, in natural logarithm.
WAVELENGTH_TOLERANCE: Final = 0.3
# Of a feature that fewer of the target's stars have, too little can be learned.
SMALLEST_SHARE: Final = 0.25
_PLACE: Final = re.compile(r"_(\d+(?:nm)?)$")


def band_places(
    bands: Sequence[str], wavelengths: Sequence[float], places: Sequence[str], count: int | None = None
) -> dict[str, str]:
    """Return which place each band takes: the nearest in wavelength, or the same number from blue to red.

    Parameters
    ----------
    bands, wavelengths
        The survey's bands, blue to red, and their nanometres; NaN where not known.
    places
        Names such as "481nm", or "1", "2", … where not all wavelengths are known.
    count
        How many places by number there are; all by default.

    Examples
    --------
    >>> band_places(["u", "g", "r"], [356.0, 482.0, 626.0], ["481nm", "617nm", "752nm"])
    {'g': '481nm', 'r': '617nm'}
    """
    targets = [float(place.removesuffix("nm")) if place.endswith("nm") else math.nan for place in places]
    if not all(map(math.isfinite, (*wavelengths, *targets))):
        return dict(zip(list(bands)[:count], places, strict=False))
    within = [
        (abs(math.log(wavelength / target)), wavelength + target, band, place)
        for band, wavelength in zip(bands, wavelengths, strict=True)
        for place, target in zip(places, targets, strict=True)
        if abs(math.log(wavelength / target)) <= WAVELENGTH_TOLERANCE
    ]
    if min(len(bands), len(places)) == 1:
        within.sort(key=lambda each: each[1])  # the bluest
    else:
        within.sort()
    taken: dict[str, str] = {}
    for _, _, band, place in within:
        if band not in taken and place not in taken.values():
            taken[band] = place
    return {band: taken[band] for band in bands if band in taken}


def place_names(wavelengths: Sequence[float]) -> tuple[str, ...]:
    """Return the names of a survey's own bands as places; "1", "2", … where a wavelength is not known."""
    names = tuple(f"{round(wavelength)}nm" for wavelength in wavelengths if math.isfinite(wavelength))
    known = len(set(names)) == len(wavelengths)
    return names if known else tuple(str(number) for number in range(1, len(wavelengths) + 1))


def places_of(features: Sequence[str]) -> tuple[str, ...]:
    """Return the places that feature names speak of, blue to red."""
    found = {match[1] for name in features if name not in FEATURES and (match := _PLACE.search(name))}
    return tuple(sorted(found, key=lambda place: int(place.removesuffix("nm"))))


def align_features(
    features: pd.DataFrame, bands: tuple[str, ...], places: Mapping[str, str] | int, pair: Sequence[str] = ()
) -> pd.DataFrame:
    """Rename band columns by the place their band takes, and keep what can be compared.

    Parameters
    ----------
    features
        A survey's features: object_id and one column per feature and band.
    bands
        The survey's bands, blue to red.
    places
        The place of each band that has one; or a number, to take that many bands by their order.
    pair
        The two places that the target's two-band features compare; features of another pair are left out.
    """
    if isinstance(places, int):
        places = {band: str(number) for number, band in enumerate(bands[:places], 1)}
    own_pair = tuple(places.get(band, "") for band in bands[:TWO_BANDS])
    has_pair = len(own_pair) == TWO_BANDS and all(own_pair) and (not pair or own_pair == tuple(pair))
    renamed = {OBJECT_ID: OBJECT_ID}
    for name, spec in FEATURES.items():
        if name in DEPENDS_ON_ZERO_POINT:
            continue
        if spec.bands_needed == SINGLE_BAND:
            renamed |= {band_column(name, band): f"{name}_{place}" for band, place in places.items()}
        elif spec.bands_needed != TWO_BANDS or has_pair:
            renamed[name] = name
    kept = [column for column in features.columns if column in renamed]
    return features[kept].rename(columns=renamed)


def aligned_surveys(surveys: Sequence[StoredSurvey]) -> list[SurveyData]:
    """Return the surveys' features under common names, with their labels; source first, target last."""
    names, places = _places(surveys)
    tables = [
        align_features(stored.features(), stored.survey.bands, place, names[:TWO_BANDS])
        for stored, place in zip(surveys, places, strict=True)
    ]
    target = tables[-1]
    usable = [
        column for column in target.columns if column == OBJECT_ID or target[column].notna().mean() >= SMALLEST_SHARE
    ]
    if len(tables) > 1:
        usable = [
            column
            for column in usable
            if column == OBJECT_ID or any(column in table and table[column].notna().any() for table in tables[:-1])
        ]
    if len(usable) < 2:
        together = " and ".join(stored.name for stored in surveys)
        if len(surveys) == 1:
            raise DatasetError(f"{together} has no feature to learn from: run `lcdvt extract {together}`.")
        raise DatasetError(f"{together} have no feature in common: run `lcdvt extract` on all, with the same features.")
    labels = [stored.objects().set_index(OBJECT_ID)[LABEL] for stored in surveys]
    return [
        SurveyData(stored.name, table.reindex(columns=usable), label)
        for stored, table, label in zip(surveys, tables, labels, strict=True)
    ]


def own_features(target: StoredSurvey, object_ids: NDArray[np.object_]) -> NDArray[np.float64] | None:
    """Return (objects, features) of what tells classes within a survey alone; None where there is nothing.

    Parameters
    ----------
    target
        The survey.
    object_ids
        Of which objects, in this order.
    """
    described, features = target.survey, target.features().set_index(OBJECT_ID)
    wanted = [OWN_COLOUR]
    if described.one_distance:
        wanted += [band_column(OWN_BRIGHTNESS, band) for band in described.bands]
    found = features.reindex(index=object_ids, columns=wanted).to_numpy(dtype=np.float64, na_value=np.nan)
    values = np.where(np.isfinite(found), found, np.nan)
    values = values[:, np.mean(~np.isnan(values), axis=0) >= SMALLEST_SHARE]
    return values if values.shape[1] else None


def with_replicates(
    dataset: Dataset, surveys: Sequence[StoredSurvey], replicates: Sequence[Sequence[pd.DataFrame]]
) -> Dataset:
    """Return the dataset with features of replicates of its objects, under the same names.

    Parameters
    ----------
    dataset
        Of these surveys, as `aligned_surveys` brought them together.
    surveys
        Sources first, target last.
    replicates
        For each replicate the tables of all surveys; an object that a table lacks has no value there.
    """
    made = np.full((len(replicates), *dataset.X.shape), np.nan)
    for number, tables in enumerate(replicates):
        for survey, table in enumerate(tables):
            rows = dataset.rows_of(survey)
            made[number, rows] = aligned_values(table, dataset.object_ids[rows], surveys, survey, dataset.features)
    return replace(dataset, replicates=made)


def aligned_values(
    table: pd.DataFrame,
    object_ids: NDArray[np.object_],
    surveys: Sequence[StoredSurvey],
    survey: int,
    features: Sequence[str],
) -> NDArray[np.float64]:
    """Return (objects, features) of some objects under the common names, NaN where a value is missing or infinite.

    Parameters
    ----------
    table
        Features of one of the surveys, as it has them.
    object_ids
        Of which objects, in this order; one that the table lacks has no value.
    surveys, survey
        All surveys, sources first, target last, and the number of the one that the table is of.
    features
        The common names.
    """
    names, places = _places(surveys)
    aligned = align_features(table, surveys[survey].survey.bands, places[survey], names[:TWO_BANDS])
    wanted = aligned.set_index(OBJECT_ID).reindex(index=object_ids, columns=list(features))
    values: NDArray[np.float64] = wanted.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def _places(surveys: Sequence[StoredSurvey]) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """Return the names of the places, and which of them each survey's bands take."""
    described = [stored.survey for stored in surveys]
    if not any(survey.bands_without_wavelength for survey in described):
        names = place_names(described[-1].wavelengths)
        return names, [band_places(survey.bands, survey.wavelengths, names) for survey in described]
    count = min(len(survey.bands) for survey in described)
    names = tuple(str(number) for number in range(1, count + 1))
    return names, [dict(zip(survey.bands, names, strict=False)) for survey in described]
