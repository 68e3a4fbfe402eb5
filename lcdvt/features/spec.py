"""Look features up: by name, by set, and by what a mistyped name is close to.

Nothing heavy is imported here, so that the command line can explain a feature at once. The kernels live in
one file per family; `lcdvt.features.fast` joins the two.
"""

import difflib
from collections.abc import Iterable
from typing import Final

from lcdvt.errors import SettingsError
from lcdvt.features.table import ALL_BANDS, FEATURES, FeatureSpec

FATS_FEATURES: Final = tuple(spec.name for spec in FEATURES.values() if spec.bands_needed != ALL_BANDS)
PERIOD_FAMILIES: Final = ("period", "period_fourier")
PERIOD_FEATURES: Final = tuple(spec.name for spec in FEATURES.values() if spec.family == "period")
FEATURE_SETS: Final[dict[str, tuple[str, ...]]] = {"fats": (*FATS_FEATURES, *PERIOD_FEATURES), "all": tuple(FEATURES)}
"""What belongs to the period is left out where no range of periods is known."""
DEFAULT_FEATURES: Final = "all"


def feature_spec(name: str) -> FeatureSpec:
    """Return the row of one feature, or say which names are close to the one asked for."""
    if name in FEATURES:
        return FEATURES[name]
    by_lower_case = {known.lower(): known for known in FEATURES}
    close = [by_lower_case[match] for match in difflib.get_close_matches(name.lower(), by_lower_case, n=3, cutoff=0.5)]
    hint = f"did you mean {', '.join(close)}?" if close else "`lcdvt features` lists them all."
    raise SettingsError(f"no feature is called {name!r}: {hint}")


def resolve_features(features: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names in the table's order for a set's name, one feature's name or several names.

    The order is the table's and not the caller's, so that two requests for the same features give the same columns.
    """
    if isinstance(features, str) and features in FEATURE_SETS:
        return FEATURE_SETS[features]
    wanted = {features} if isinstance(features, str) else set(features)
    for name in wanted:
        feature_spec(name)
    return tuple(name for name in FEATURES if name in wanted)
