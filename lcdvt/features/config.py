"""What to extract: the request that decides every column's name and place."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from lcdvt.catalogs.vocabulary import known_wavelength
from lcdvt.errors import SettingsError
from lcdvt.features.feets.defects import REFUSED, refusal
from lcdvt.features.spec import DEFAULT_FEATURES, FEATURE_SETS, PERIOD_FAMILIES, resolve_features
from lcdvt.features.table import ALL_BANDS, FEATURES, SINGLE_BAND, TWO_BANDS

Engine = Literal["fast", "feets"]
ENGINES: Final[tuple[Engine, ...]] = ("fast", "feets")

DEFAULT_MINIMUM_EPOCHS: Final = 10
"""As HiTS: moments and percentiles of fewer say nothing."""
DEFAULT_ERROR_FLOOR: Final = 0.01
BLUE_TO_RED: Final = "uUbBgGvVrRiIzZyYJHK"


@dataclass(frozen=True)
class FeatureConfig:
    """A request for features.

    Attributes
    ----------
    bands
        The survey's bands, blue to red; two-band features compare the first two.
    features
        A set's name ("all", or "fats" without the Fourier parameters at the period and without what all bands
        tell together), or feature names.
    engine
        "fast" (this package's kernels) or "feets" (the installed feets). What feets does not compute as FATS defines
        it is refused when asked for by name, and left out of a set.
    period_range
        Shortest and longest period (days) to search. With it a set of features includes the period search.
    minimum_epochs
        A light curve with fewer usable epochs has NaN features.
    pairing_days
        How far apart in time two bands' epochs may lie to be compared; 0 asks for equal times, as FATS does.
    wavelengths
        Nanometres, one for each band; empty takes what the bands' names tell.
    error_scale, error_floor
        Where bands are joined, true errors are sqrt((scale × error)² + floor²).
    calibrated
        Whether magnitudes of different bands can be compared.
    """

    bands: tuple[str, ...]
    features: str | tuple[str, ...] = DEFAULT_FEATURES
    engine: Engine = "fast"
    period_range: tuple[float, float] | None = None
    minimum_epochs: int = DEFAULT_MINIMUM_EPOCHS
    pairing_days: float = 0.0
    wavelengths: tuple[float, ...] = ()
    error_scale: float = 1.0
    error_floor: float = DEFAULT_ERROR_FLOOR
    calibrated: bool = True

    def __post_init__(self) -> None:
        if not self.bands or len(set(self.bands)) != len(self.bands):
            raise SettingsError(f"bands {self.bands}: name each of the survey's bands once, at least one.")
        if self.wavelengths and not (
            len(self.wavelengths) == len(self.bands) and all(0 < each < math.inf for each in self.wavelengths)
        ):
            raise SettingsError(f"wavelengths {self.wavelengths}: give nanometres for each of {', '.join(self.bands)}.")
        if not (0 < self.error_scale < math.inf and 0 <= self.error_floor < math.inf):
            raise SettingsError(
                f"error_scale {self.error_scale}, error_floor {self.error_floor}: a factor above zero, and magnitudes."
            )
        if self.engine not in ENGINES:
            raise SettingsError(f"no feature engine is called {self.engine!r}: take one of {', '.join(ENGINES)}.")
        if self.minimum_epochs < 2:
            raise SettingsError(f"minimum_epochs {self.minimum_epochs}: no feature of a single epoch has a meaning.")
        if not 0 <= self.pairing_days < float("inf"):
            raise SettingsError(f"pairing_days {self.pairing_days}: give a time in days, zero or more.")
        if self.period_range is not None and not _is_range(self.period_range):
            raise SettingsError(
                f"period_range {self.period_range}: give shortest and longest period in days, 0 < a < b."
            )
        if self.engine == "feets" and not self.is_named_set and refusal(self.names):
            raise SettingsError(
                f"engine='feets' cannot give {refusal(self.names)}; take engine='fast', or leave them out."
            )
        if self.wants_period and self.period_range is None:
            raise SettingsError("Period needs period_range=(shortest, longest) in days; the survey's TOML holds one.")

    @property
    def is_named_set(self) -> bool:
        """Whether a set was asked for rather than features by name."""
        return isinstance(self.features, str) and self.features in FEATURE_SETS

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features' names in the table's order."""
        chosen = resolve_features(self.features)
        if self.is_named_set and self.period_range is None:
            chosen = tuple(name for name in chosen if FEATURES[name].family not in PERIOD_FAMILIES)
        if self.is_named_set and self.engine == "feets":
            chosen = tuple(name for name in chosen if name not in REFUSED)
        return chosen

    @cached_property
    def wants_period(self) -> bool:
        """Whether the period search is part of the request."""
        return bool(self.period_names())

    def single_band_names(self) -> tuple[str, ...]:
        """Return the features computed in each band."""
        return tuple(name for name in self.names if FEATURES[name].bands_needed == SINGLE_BAND)

    def two_band_names(self) -> tuple[str, ...]:
        """Return the features of two bands; none in a survey of one band."""
        if len(self.bands) < TWO_BANDS:
            return ()
        return tuple(name for name in self.names if FEATURES[name].bands_needed == TWO_BANDS)

    def period_names(self) -> tuple[str, ...]:
        """Return the columns of the period search, the shape at the period among them."""
        return tuple(name for name in self.names if FEATURES[name].family in PERIOD_FAMILIES)

    def all_bands_names(self) -> tuple[str, ...]:
        """Return the features of the light curve that all bands make together."""
        return tuple(
            name
            for name in self.names
            if FEATURES[name].bands_needed == ALL_BANDS and FEATURES[name].family not in PERIOD_FAMILIES
        )

    @cached_property
    def joins_bands(self) -> bool:
        """Whether anything is computed from all bands together."""
        return bool(self.all_bands_names() or self.period_names())

    def band_wavelengths(self) -> tuple[float, ...]:
        """Return nanometres for each band, as given or as its name tells; NaN where nothing does."""
        return self.wavelengths or tuple(known_wavelength(band) or math.nan for band in self.bands)

    def columns(self) -> tuple[str, ...]:
        """Return the feature columns: band after band, two-band features, the period, what all bands tell together."""
        per_band = tuple(band_column(name, band) for band in self.bands for name in self.single_band_names())
        return (*per_band, *self.two_band_names(), *self.period_names(), *self.all_bands_names())


def _is_range(given: object) -> bool:
    """Say whether it is two finite periods, the shorter one first."""
    if not isinstance(given, Iterable):
        return False
    numbers = list(given)
    return len(numbers) == 2 and 0 < numbers[0] < numbers[1] < math.inf


def band_column(feature: str, band: str) -> str:
    """Return the name of a single-band feature's column."""
    return f"{feature}_{band}"


def complete_wavelengths(bands: Sequence[str], given: Mapping[str, float]) -> tuple[float, ...]:
    """Return nanometres for each band, as given or as its name tells; empty unless all are known."""
    found = [given.get(band) or known_wavelength(band) for band in bands]
    return tuple(each for each in found if each is not None) if all(found) else ()


def order_bands(bands: Iterable[str], given: Mapping[str, float] | None = None) -> tuple[str, ...]:
    """Sort bands blue to red: by wavelength where all names tell it, else by their first letter, then by name."""
    names = sorted(set(bands))
    wavelengths = complete_wavelengths(names, given or {})
    if wavelengths:
        return tuple(band for _, band in sorted(zip(wavelengths, names, strict=True)))

    def place(band: str) -> tuple[int, str]:
        position = BLUE_TO_RED.find(band[:1]) if band else -1
        return (position if position >= 0 else len(BLUE_TO_RED), band)

    return tuple(sorted(names, key=place))
