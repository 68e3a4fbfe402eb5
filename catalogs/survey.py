"""A survey is data: what its files look like and what its numbers mean.

The built-in surveys and a user's own are written in the same TOML (`lcdvt.catalogs.survey_toml` reads it);
`lcdvt surveys show NAME` prints it and `docs/surveys.md` explains each key. What is to be known of one kind of file is
in `lcdvt.catalogs.file_format`, and of dates in `lcdvt.catalogs.time_system`.
"""

import math
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from lcdvt.catalogs.crosswalk import class_by_scheme, crosswalk
from lcdvt.catalogs.file_format import MAGNITUDE_KINDS, Format
from lcdvt.catalogs.time_system import TimeSystem
from lcdvt.catalogs.vocabulary import known_wavelength
from lcdvt.errors import SurveyError
from lcdvt.names import CANONICAL_CLASSES


@dataclass(frozen=True)
class Survey:
    """Everything lcdvt knows of a survey."""

    name: str
    bands: tuple[str, ...]
    """Blue to red: by wavelength where all are known, else as written. Colours are the first minus the second."""
    formats: tuple[Format, ...]
    title: str = ""
    citation: str = ""
    archive: str = field(default="", compare=False)
    """Where its files are had."""
    know: tuple[str, ...] = field(default=(), compare=False)
    """What whoever uses it should know, a sentence or two each."""
    time: TimeSystem = field(default_factory=TimeSystem)
    magnitude_kind: str = "calibrated"
    flux_zero_point: float = 25.0
    """The magnitude of flux 1; stored fluxes of all formats are brought to it."""
    flux_unit: str = field(default="", compare=False)
    constant_error: float | None = None
    # How files are read does not depend on these three, so that a survey stored without them can still be added to.
    error_scale: float = field(default=1.0, compare=False)
    error_floor: float = field(default=0.01, compare=False)
    """True errors are sqrt((error_scale × error)² + error_floor²), wherever bands are compared or joined."""
    mag_sentinels: tuple[float, ...] = ()
    err_sentinels: tuple[float, ...] = ()
    period_range: tuple[float, float] = (0.1, 1000.0)
    pairing_days: float = 0.0
    """Epochs of two bands this close in time are compared as one; 0 for bands observed at the same moment."""
    clean: str | tuple[dict[str, Any], ...] = "fats"
    classes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    class_folders: tuple[str, ...] = ()
    class_scheme: str = ""
    """The names that labels of this survey follow besides `classes`: a scheme of `lcdvt.catalogs.crosswalk`."""
    several_ids: bool = field(default=False, compare=False)
    """Whether one star has several ids, as of each band and field: `join_radius` makes one star of them."""
    one_distance: bool = field(default=False, compare=False)
    """Whether its stars are about equally far, as in a galaxy or a cluster: then a magnitude tells a luminosity."""
    band_wavelengths: dict[str, float] = field(default_factory=dict, compare=False)
    """Nanometres, as the description gives them; bands with a well-known name need none."""
    toml: str = field(default="", compare=False, repr=False)
    """The text it was read from, kept beside the survey's data."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", self.name):
            raise SurveyError(f"survey name {self.name!r}: use letters, digits, '_', '-', '.'; it names a folder.")
        if not self.bands or len(set(self.bands)) != len(self.bands):
            raise SurveyError(f"survey {self.name!r}: bands = {list(self.bands)}: name each band once.")
        self._check_wavelengths()
        if not (self.error_scale > 0 and self.error_floor >= 0):
            raise SurveyError(
                f"survey {self.name!r}: magnitude.error_scale = {self.error_scale} must be above zero, "
                f"and magnitude.error_floor = {self.error_floor} zero or more."
            )
        if not self.formats:
            raise SurveyError(f"survey {self.name!r} has no [[formats]]: describe at least one kind of file.")
        low, high = self.period_range
        if not 0 < low < high:
            raise SurveyError(f"survey {self.name!r}: period_range = [{low}, {high}]: two growing numbers of days.")
        if self.constant_error is not None and not self.constant_error > 0:
            raise SurveyError(f"survey {self.name!r}: magnitude.constant_error = {self.constant_error}: above zero.")
        if self.pairing_days < 0:
            raise SurveyError(f"survey {self.name!r}: pairing_days = {self.pairing_days}: zero or more days.")
        if self.magnitude_kind not in MAGNITUDE_KINDS:
            raise SurveyError(f"survey {self.name!r}: magnitude.kind: use one of {', '.join(MAGNITUDE_KINDS)}.")
        if self.class_scheme and self.class_scheme not in crosswalk():
            raise SurveyError(
                f"survey {self.name!r}: class_scheme = {self.class_scheme!r}: use one of {', '.join(crosswalk())}."
            )
        for form in self.formats:
            unknown = {band.band for band in form.wide} | ({form.band} - {""}) | set(form.band_names.values())
            unknown |= {flag.band for flag in form.flags} - {""}
            unknown -= set(self.bands)
            if form.time_system:
                TimeSystem(form.time_system)  # refuses an unknown one
            if form.camera is not None and self.is_flux(form):
                raise SurveyError(
                    f"survey {self.name!r}, format {form.name!r}: camera is for magnitudes, not for fluxes."
                )
            if unknown:
                raise SurveyError(
                    f"survey {self.name!r}, format {form.name!r}: band {sorted(unknown)[0]!r} is not among "
                    f"bands = {list(self.bands)}."
                )
            has_errors = form.err is not None or (all(band.err is not None for band in form.wide) and form.wide)
            if not has_errors and self.constant_error is None:
                raise SurveyError(
                    f"survey {self.name!r}, format {form.name!r}: no error column: "
                    "give err, or magnitude.constant_error."
                )

    @cached_property
    def has_tables(self) -> bool:
        """Say whether some format is no text."""
        return any(form.type != "text" for form in self.formats)

    def time_shift(self, form: Format) -> float:
        """Return the days from a date in this format to one in the survey's own system."""
        return self.time_of(form).offset_to_mjd - self.time.offset_to_mjd if form.time_system else 0.0

    def time_of(self, form: Format) -> TimeSystem:
        """Return the time system of this format's dates."""
        if not form.time_system:
            return self.time
        system = TimeSystem(form.time_system)
        return replace(self.time, system=system.system, zero_point=system.zero_point)

    @cached_property
    def keeps_flux(self) -> bool:
        """Say whether the epochs table has fluxes: some format gives them."""
        return any(self.is_flux(form) for form in self.formats if not form.refused)

    @property
    def magnitudes_in_words(self) -> str:
        """What the stored magnitudes are, and whether fluxes stand beside them."""
        if not self.keeps_flux:
            return self.magnitude_kind
        some = "" if self.magnitude_kind == "flux" else f"{self.magnitude_kind}; for files of fluxes "
        unit = f" in {self.flux_unit}" if self.flux_unit else ""
        return (
            f"{some}asinh magnitudes (flux 1{unit} is magnitude {self.flux_zero_point:g}), softened by the star's "
            "median flux error in the band; the fluxes are kept beside them, those of zero or below, too"
        )

    def is_flux(self, form: Format) -> bool:
        """Say whether this format's numbers are fluxes."""
        return (form.kind or self.magnitude_kind) == "flux"

    def _check_wavelengths(self) -> None:
        """Refuse wavelengths that make no sense, and put the bands in their order."""
        for band, wavelength in self.band_wavelengths.items():
            if band not in self.bands:
                raise SurveyError(
                    f"survey {self.name!r}: wavelengths.{band}: the band is not among bands = {list(self.bands)}."
                )
            if not (wavelength > 0 and math.isfinite(wavelength)):
                raise SurveyError(f"survey {self.name!r}: wavelengths.{band} = {wavelength}: nanometres, above zero.")
        if self.band_wavelengths and self.bands_without_wavelength:
            raise SurveyError(self.wavelength_question)
        if not self.bands_without_wavelength:
            ordered = sorted(zip(self.wavelengths, self.bands, strict=True), key=lambda each: each[0])
            object.__setattr__(self, "bands", tuple(band for _, band in ordered))

    @property
    def wavelengths(self) -> tuple[float, ...]:
        """The wavelength (nm) of each band, in the order of `bands`; NaN where nothing tells it."""
        known = [self.band_wavelengths.get(band, known_wavelength(band)) for band in self.bands]
        return tuple(math.nan if wavelength is None else float(wavelength) for wavelength in known)

    @property
    def nanometres(self) -> dict[str, float]:
        """The wavelength of each band by its name, blue to red."""
        return dict(zip(self.bands, self.wavelengths, strict=True))

    @property
    def bands_without_wavelength(self) -> tuple[str, ...]:
        """The bands of which neither the description nor the name tells the wavelength."""
        return tuple(
            band for band, wavelength in zip(self.bands, self.wavelengths, strict=True) if not math.isfinite(wavelength)
        )

    @property
    def wavelength_question(self) -> str:
        """The sentence that asks for wavelengths; empty where all are known."""
        missing = self.bands_without_wavelength
        if not missing:
            return ""
        lines = ", ".join(f"{band} = …" for band in missing)
        return (
            f"survey {self.name!r}: the wavelength of band {', '.join(missing)} is not known: add a table "
            f"[wavelengths] with {lines} (nanometres) to its description."
        )

    def canonical_class(self, survey_label: str) -> str:
        """Translate the survey's own class name; one without translation keeps its name."""
        name = survey_label.strip()
        own = self._class_of.get(name.casefold())
        by_scheme = class_by_scheme(self.class_scheme, name) if self.class_scheme and own is None else None
        return own or by_scheme or name

    def folder_class(self, folder: str) -> str | None:
        """Return the class a folder of this name stands for, if any.

        Class numbers are left out: a folder called "1" is a field more often than a class.
        """
        return folder if not folder.isdigit() and folder.casefold() in self._known_folders else None

    @cached_property
    def _known_folders(self) -> frozenset[str]:
        return frozenset(self._class_of) | {folder.casefold() for folder in self.class_folders}

    @cached_property
    def _class_of(self) -> dict[str, str]:
        canonical = {name.casefold(): name for name in (*CANONICAL_CLASSES, *self.classes)}
        return canonical | {alias.casefold(): name for name, aliases in self.classes.items() for alias in aliases}
