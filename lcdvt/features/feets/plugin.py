"""The fast kernels inside feets: `import lcdvt.features.feets.plugin`, then use `feets.FeatureSpace` as ever.

Importing registers one extractor per family under FATS' names. feets' registry takes a name once, so feets' own
extractor of that name is unregistered first, unless it also gives features that FATS does not have (LinearTrend):
then feets keeps it, as its number is the same. `unregister` brings everything back.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lcdvt.errors import SettingsError
from lcdvt.features import fast
from lcdvt.features.families import two_band
from lcdvt.features.gate import Curves, gate

try:
    from feets import extractor_registry
    from feets.extractors import Extractor
except ImportError as missing:
    raise SettingsError("lcdvt.features.feets.plugin needs feets: pip install feets.") from missing

FEWEST_EPOCHS: Final = 2
KEPT_BY_FEETS: Final = ("LinearTrend",)
# feets' Signature runs over a sequence of periods.
SEQUENCES: Final = ("PeriodLS",)

_ours: list[type[Extractor]] = []
_theirs: list[type[Extractor]] = []


def _one_curve(time: np.ndarray, magnitude: np.ndarray, error: np.ndarray) -> Curves:
    """Return one curve as the kernels take it; feets itself checks nothing."""
    time, magnitude, error = (np.ascontiguousarray(values, dtype=np.float64) for values in (time, magnitude, error))
    return gate(time, magnitude, error, np.array([0, len(time)]), FEWEST_EPOCHS).curves


def _single_band_extractor(family: str, names: tuple[str, ...]) -> type[Extractor]:
    def extract(self: Extractor, time: np.ndarray, magnitude: np.ndarray, error: np.ndarray) -> dict[str, Any]:
        values = fast.single_band(_one_curve(time, magnitude, error), names)[0]
        found = dict(zip(names, values.tolist(), strict=True))
        return {name: np.array([value]) if name in SEQUENCES else value for name, value in found.items()}

    return _extractor_class(f"Fast_{family}", names, extract)


def _two_band_extractor() -> type[Extractor]:
    names = tuple(name for name in two_band.FEATURES if name != "Color")

    def extract(
        self: Extractor,
        aligned_time: np.ndarray,
        aligned_magnitude: np.ndarray,
        aligned_magnitude2: np.ndarray,
        aligned_error: np.ndarray,
        aligned_error2: np.ndarray,
    ) -> dict[str, Any]:
        first = _one_curve(aligned_time, aligned_magnitude, aligned_error)
        second = _one_curve(aligned_time, aligned_magnitude2, aligned_error2)
        joined = Curves(
            np.concatenate((first.time, second.time)),
            np.concatenate((first.mag, second.mag)),
            np.concatenate((first.err, second.err)),
            np.array([0, len(first.time), len(first.time) + len(second.time)]),
        )
        return dict(zip(names, fast.colours(joined, 2, names)[0].tolist(), strict=True))

    return _extractor_class("Fast_two_band", names, extract)


def _extractor_class(title: str, names: tuple[str, ...], extract: Callable[..., dict[str, Any]]) -> type[Extractor]:
    def flatten_feature(self: Extractor, feature: str, value: Any) -> dict[str, Any]:
        return {feature: value[0] if feature in SEQUENCES else value}

    body = {"features": list(names), "extract": extract, "flatten_feature": flatten_feature, "__module__": __name__}
    return type(Extractor)(title, (Extractor,), body)


def register() -> None:
    """Put the fast kernels in the place of feets' own extractors."""
    if _ours:
        return
    made = [
        _single_band_extractor(family, tuple(name for name in names if name not in KEPT_BY_FEETS))
        for family, (names, _) in fast.SINGLE_BAND_FAMILIES.items()
    ]
    made.append(_two_band_extractor())
    replaced = {name for extractor in made for name in extractor.get_features()}
    rivals = {
        extractor_registry.extractor_of(name) for name in replaced if extractor_registry.is_feature_registered(name)
    }
    # What depends on a feature steps aside while the feature changes hands.
    dependants = {cls for cls in extractor_registry.registered_extractors if cls.get_dependencies() & replaced}
    for cls in (*dependants, *rivals):
        extractor_registry.unregister_extractor(cls)
    for cls in (*made, *dependants):
        extractor_registry.register_extractor(cls)
    _ours.extend(made)
    _theirs.extend(rivals)


def unregister() -> None:
    """Bring feets' own extractors back."""
    given = {name for extractor in _ours for name in extractor.get_features()}
    dependants = {cls for cls in extractor_registry.registered_extractors if cls.get_dependencies() & given}
    for cls in (*dependants, *_ours):
        extractor_registry.unregister_extractor(cls)
    for cls in (*_theirs, *dependants):
        extractor_registry.register_extractor(cls)
    _ours.clear()
    _theirs.clear()


register()
