"""The installed feets as an engine, its redefinitions turned back into FATS' definitions.

feets 1.0.1 passes 1/err² where light-curve expects σ (so StetsonK is given errors whose 1/err² is σ), divides by N−1
where FATS divides by N, and returns the periodogram's three highest samples (the last is the highest). What cannot be
turned back is listed in `feets_defects`.
"""

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import numpy as np

from lcdvt.errors import SettingsError
from lcdvt.features.gate import Curves, varies

Correct = Callable[[Any, np.ndarray], float]


class Native(NamedTuple):
    """Where feets keeps a feature, and how its number becomes FATS'."""

    extractor: str
    feature: str
    correct: Correct = lambda value, mag: float(value)


def _highest(value: Any, mag: np.ndarray) -> float:
    return float(value[-1])


def _population_std(value: Any, mag: np.ndarray) -> float:
    return float(value) * math.sqrt((len(mag) - 1) / len(mag))


def _biased_skew(value: Any, mag: np.ndarray) -> float:
    count = len(mag)
    return float(value) * (count - 2) / math.sqrt(count * (count - 1))


def _population_kurtosis(value: Any, mag: np.ndarray) -> float:
    count = len(mag)
    offset = 3.0 * (count - 1) ** 2 / ((count - 2) * (count - 3))
    return (float(value) + offset) * (count / (count - 1)) ** 2 - offset


def _logistic_anderson_darling(value: Any, mag: np.ndarray) -> float:
    count = len(mag)
    statistic = float(value) / (1.0 + 4.0 / count - 25.0 / count**2)
    return 1.0 / (1.0 + math.exp(-10.0 * (statistic - 0.3)))


SAME_NAME: Final = {
    "Mean": "Mean",
    "LinearTrend": "LinearTrend",
    "MaxSlope": "MaxSlope",
    "MedianAbsDev": "MedianAbsDev",
    "Autocor_length": "AutocorLength",
    "Con": "Con",
    "Gskew": "Gskew",
    "PairSlopeTrend": "PairSlopeTrend",
    "Q31": "Q31",
    "Rcs": "RCS",
    "StetsonK": "StetsonK",
    "StetsonK_AC": "StetsonKAC",
    "CAR_sigma": "CAR",
    "CAR_tau": "CAR",
    "CAR_mean": "CAR",
    "StructureFunction_index_21": "StructureFunctions",
    "StructureFunction_index_31": "StructureFunctions",
    "StructureFunction_index_32": "StructureFunctions",
    "Color": "Color",
    "Eta_color": "EtaColor",
    "Q31_color": "Q31Color",
    "StetsonJ": "StetsonJ",
    "StetsonL": "StetsonL",
}
NATIVE: Final[dict[str, Native]] = {
    **{feature: Native(extractor, feature) for feature, extractor in SAME_NAME.items()},
    "PeriodLS": Native("AstropyLombScargle", "PeriodLS", _highest),
    "Psi_CS": Native("AstropyLombScargle", "Psi_CS", _highest),
    "Psi_eta": Native("AstropyLombScargle", "Psi_eta", _highest),
    "Amplitude": Native("MedianAmplitude", "MedianAmplitude"),
    "SlottedA_length": Native("SlottedALength", "SlottedALength"),
    "Beyond1Std": Native("WeightedBeyondNStd", "WeightedBeyondNStd"),
    "Std": Native("Std", "Std", _population_std),
    "Meanvariance": Native("MeanVariance", "MeanVariance", _population_std),
    "Skew": Native("Skew", "Skew", _biased_skew),
    "SmallKurtosis": Native("SmallKurtosis", "SmallKurtosis", _population_kurtosis),
    "Eta_e": Native("EtaE", "EtaE", lambda value, mag: float(value) * (len(mag) - 1) / len(mag)),
    "AndersonDarling": Native("AndersonDarling", "AndersonDarling", _logistic_anderson_darling),
    "PercentAmplitude": Native(
        "PercentAmplitude", "PercentAmplitude", lambda value, mag: float(value) / float(np.median(mag))
    ),
    "MedianBRP": Native("MedianBRP", "MedianBRP"),
}
# FATS' buffer is a tenth of the range to either side of the median, light-curve's half of its quantile.
PARAMETERS: Final[dict[str, dict[str, float]]] = {"MedianBRP": {"quantile": 0.2}, "WeightedBeyondNStd": {"nstd": 1}}


def single_band(curves: Curves, names: Iterable[str]) -> np.ndarray:
    """Return one row per curve and one column per feature asked for."""
    names = tuple(names)
    out = np.full((len(curves.offsets) - 1, len(names)), np.nan)
    for row in range(len(out)):
        part = slice(curves.offsets[row], curves.offsets[row + 1])
        data = {"time": curves.time[part], "magnitude": curves.mag[part], "error": curves.err[part]}
        # On constant magnitudes feets' autocorrelation never ends.
        if varies(data["magnitude"]):
            out[row] = _measure(data, names)
    return out


def colours(curves: Curves, bands: int, names: Iterable[str], pairing_days: float = 0.0) -> np.ndarray:
    """Return one row per object and one column per two-band feature asked for."""
    names = tuple(names)
    out = np.full(((len(curves.offsets) - 1) // bands, len(names)), np.nan)
    for row in range(len(out)):
        start, middle, stop = curves.offsets[row * bands : row * bands + 3]
        if not start < middle < stop:
            continue
        first, second = slice(start, middle), slice(middle, stop)
        in_first, in_second = common_epochs(curves.time[first], curves.time[second], pairing_days)
        data = {
            "magnitude": curves.mag[first],
            "magnitude2": curves.mag[second],
            "aligned_time": curves.time[first][in_first],
            "aligned_magnitude": curves.mag[first][in_first],
            "aligned_magnitude2": curves.mag[second][in_second],
            "aligned_error": curves.err[first][in_first],
            "aligned_error2": curves.err[second][in_second],
        }
        wanted = names if len(in_first) > 2 else tuple(name for name in names if name == "Color")
        out[row, [names.index(name) for name in wanted]] = _measure(data, wanted)
    return out


def common_epochs(first: np.ndarray, second: np.ndarray, pairing_days: float) -> tuple[list[int], list[int]]:
    """Return the positions of times in two sorted arrays that lie no more than `pairing_days` apart, each used once."""
    in_first, in_second = [], []
    i = j = 0
    while i < len(first) and j < len(second):
        if first[i] < second[j] - pairing_days:
            i += 1
        elif first[i] > second[j] + pairing_days:
            j += 1
        else:
            in_first.append(i)
            in_second.append(j)
            i += 1
            j += 1
    return in_first, in_second


def _measure(data: dict[str, np.ndarray], names: tuple[str, ...]) -> list[float]:
    measured: dict[str, dict[str, Any]] = {}
    values = []
    for name in names:
        native = NATIVE[name]
        if native.extractor not in measured:
            measured[native.extractor] = _run(native.extractor, data)
        found = measured[native.extractor]
        value = native.correct(found[native.feature], data["magnitude"]) if found else np.nan
        values.append(value if math.isfinite(value) else np.nan)
    return values


def _run(extractor_name: str, data: dict[str, np.ndarray]) -> dict[str, Any]:
    """Run one extractor; a curve it cannot digest gives nothing."""
    extractor = getattr(_feets_extractors(), extractor_name)
    if extractor_name == "StetsonK":
        data = {**data, "error": 1.0 / np.sqrt(data["error"])}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            prepared = extractor.prepare_extract(data, {})
            return extractor(**PARAMETERS.get(extractor_name, {})).extract(**prepared)
        except (ValueError, IndexError, ZeroDivisionError, np.linalg.LinAlgError):
            return {}


def _feets_extractors() -> Any:
    try:
        import feets.extractors
    except ImportError as error:
        raise SettingsError("engine='feets' needs feets: pip install feets, or take engine='fast'.") from error
    return feets.extractors
