"""A survey is data: what its files look like and what its numbers mean.

The built-in surveys and a user's own are written in the same TOML (`lcdvt.catalogs.survey_toml` reads it);
`lcdvt surveys show NAME` prints it and `docs/surveys.md` explains each key.
"""

import math
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from lcdvt.catalogs.crosswalk import class_by_scheme, crosswalk
from lcdvt.catalogs.time_zone import is_time_zone
from lcdvt.catalogs.vocabulary import known_wavelength
from lcdvt.errors import SurveyError
from lcdvt.names import CANONICAL_CLASSES

JD_OF_MJD_ZERO: Final = 2_400_000.5
JULIAN_SYSTEMS: Final = ("JD", "HJD", "BJD")
MODIFIED_SYSTEMS: Final = ("MJD", "HMJD", "BMJD")
ANY_DAYS: Final = "days"
TIME_SCALES: Final = ("utc", "tai", "tt", "tdb", "tcb", "tcg", "ut1", "local")
CONVERTED_SCALES: Final = ("utc", "tai", "tt", "tdb", "tcb")
STORED_SCALE: Final = "tdb"
TABLE_TYPES: Final = ("parquet", "fits", "votable", "json", "avro")
EXPOSURE_MOMENTS: Final = ("", "start", "middle")
MAGNITUDE_KINDS: Final = ("calibrated", "instrumental", "flux")
SEPARATOR_NAMES: Final = {"whitespace": None, "tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}

Column = str | int
"""A column by its name, or by its number counted from 1."""


@dataclass(frozen=True)
class TimeSystem:
    """How the file's dates become MJD.

    The file's number plus `zero_point` is a date in `system`: "HJD-2450000" is system HJD, zero point 2450000.
    System "days" is for a survey whose zero point is not known: its days are kept as they are.
    """

    system: str = "MJD"
    zero_point: float = 0.0
    scale: str = "utc"
    exposure: str = ""
    """Which moment of the exposure the date is: its start or its middle; empty where nobody says."""
    exposure_seconds: float = 0.0
    """How long an exposure is, where the date is that of its start."""
    convert: bool = False
    """Whether dates are brought to the barycentre and to TDB: only where system and scale are vouched for."""
    source: str = field(default="", compare=False)
    """Who says so."""

    def __post_init__(self) -> None:
        shorthand = re.fullmatch(r"([A-Z]+)\s*[-−]\s*([0-9.]+)", self.system)
        if shorthand:
            object.__setattr__(self, "system", shorthand[1])
            object.__setattr__(self, "zero_point", float(shorthand[2]))
        if self.scale not in TIME_SCALES:
            raise SurveyError(f"time.scale = {self.scale!r} is not known: use one of {', '.join(TIME_SCALES)}.")
        if self.exposure not in EXPOSURE_MOMENTS:
            raise SurveyError(f"time.exposure = {self.exposure!r} is not known: use start or middle.")
        known = (*JULIAN_SYSTEMS, *MODIFIED_SYSTEMS, ANY_DAYS)
        if self.system not in known:
            raise SurveyError(f"time.system = {self.system!r} is not known: use one of {', '.join(known)}.")
        if not 0 <= self.exposure_seconds < math.inf:
            raise SurveyError(f"time.exposure_seconds = {self.exposure_seconds}: zero or more seconds.")
        if self.convert and (self.system == ANY_DAYS or self.scale not in CONVERTED_SCALES):
            raise SurveyError(
                f"time.convert = true: dates in {self.system} ({self.scale}) cannot be converted; that needs a date in "
                f"one of {', '.join(CONVERTED_SCALES)}."
            )

    @property
    def observer(self) -> str:
        """Where the light is when it is this late: at the Earth, the Sun or the barycentre."""
        return {"H": "sun", "B": "barycentre"}.get(self.system[0], "earth")

    @property
    def stored_scale(self) -> str:
        """The scale of the stored dates."""
        return STORED_SCALE if self.convert else self.scale

    @property
    def stored(self) -> str:
        """Say in words what the stored dates are."""
        if not self.convert:
            return f"as in the files: {self.describe()}, as MJD"
        if self.observer == "barycentre":
            return "MJD, barycentric, TDB"
        middle = ", middle of the exposure" if self.exposure else ""
        where = "heliocentric" if self.observer == "sun" else "at the Earth"
        return f"MJD, barycentric, TDB{middle}; {where} for stars whose files give no position"

    @property
    def offset_to_mjd(self) -> float:
        """Days to add to the file's number."""
        return self.zero_point - (JD_OF_MJD_ZERO if self.system in JULIAN_SYSTEMS else 0.0)

    def describe(self) -> str:
        """Say the time system in words."""
        zero = f" − {self.zero_point:.10g}" if self.zero_point else ""
        moment = f", {self.exposure} of the exposure" if self.exposure else ""
        length = f" of {self.exposure_seconds:g} s" if self.exposure_seconds else ""
        return f"{self.system}{zero} ({self.scale}{moment}{length})"


@dataclass(frozen=True)
class BandColumns:
    """Where one band's magnitude and error stand in a wide row."""

    band: str
    mag: Column
    err: Column | None = None
    time: Column | None = None
    """The band's own date, where the bands of a row were not observed together."""
    flux: Column | None = None
    """The flux that `err` is the error of, beside a magnitude without an error of its own."""


@dataclass(frozen=True)
class Flag:
    """A column that says which rows not to use.

    A row is flagged if its number has one of the `bits`, if its text is among `drop`, or if it is not among `keep`.
    """

    column: Column
    bits: int = 0
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    band: str = ""
    """The one band of a wide row that it is about; empty for all."""

    def __post_init__(self) -> None:
        if (self.bits > 0) + bool(self.keep) + bool(self.drop) != 1:
            raise SurveyError(f"flags: column {self.column!r}: give one of bits, keep and drop.")

    @property
    def reason(self) -> str:
        """Why an epoch was left out, for the counts."""
        return f"flagged in {self.column}" if isinstance(self.column, str) else f"flagged in column {self.column}"


@dataclass(frozen=True)
class Format:
    """One kind of file of a survey.

    Values an object needs (its id, band, position) come from columns, from the groups of `file_name` or from
    the groups of `head`, a pattern looked for in the file's first lines. `id` is a template of such names,
    for example "{field}.{tile}.{seq}".
    """

    name: str
    type: str = "text"
    separator: str = "whitespace"
    comment: str = ""
    header: bool | str = False
    skip_lines: int = 0
    columns: int = 0
    head: str = ""
    file_name: str = ""
    id: str = ""
    time: Column = 1
    mag: Column | None = None
    err: Column | None = None
    band: str = ""
    band_column: Column | None = None
    ra: Column | None = None
    dec: Column | None = None
    label: Column | None = None
    wide: tuple[BandColumns, ...] = ()
    band_names: dict[str, str] = field(default_factory=dict)
    path: str = ""
    keywords: tuple[str, ...] = ()
    time_system: str = ""
    time_zone: str = ""
    kind: str = ""
    flux_zero_point: float | None = None
    zero_point_column: Column | None = None
    flux: Column | None = None
    limit: Column | None = None
    limit_without_error: bool = False
    reference: Column | None = None
    reference_err: Column | None = None
    sign: Column | None = None
    flags: tuple[Flag, ...] = ()
    joined: bool = False
    camera: Column | None = None
    newest: str = ""
    dates_file: str = ""
    dates_on: str = ""
    refused: str = ""

    def __post_init__(self) -> None:
        where = f"format {self.name!r}"
        if self.type not in ("text", *TABLE_TYPES):
            raise SurveyError(f"{where}: type = {self.type!r} is not known: use text, {', '.join(TABLE_TYPES)}.")
        if not self.wide and self.mag is None:
            raise SurveyError(
                f"{where}: no magnitude column: give mag, or wide.<band>.mag for rows with several bands."
            )
        if self.separator not in SEPARATOR_NAMES and len(self.separator.encode()) != 1:
            raise SurveyError(
                f"{where}: separator = {self.separator!r}: give one character or {', '.join(SEPARATOR_NAMES)}."
            )
        if self.header not in (True, False, "comment", "ipac"):
            raise SurveyError(f'{where}: header = {self.header!r}: use true, false, "comment" or "ipac".')
        if self.dates_file and (not self.dates_on or self.type != "parquet"):
            raise SurveyError(f"{where}: dates_file needs dates_on, and a format of type parquet.")
        difference = (self.reference, self.reference_err, self.sign)
        if any(difference) and not all(difference):
            raise SurveyError(f"{where}: a difference needs reference, reference_err and sign: give all three.")
        if self.camera is not None and self.wide:
            raise SurveyError(f"{where}: camera is for rows with one band: leave it out beside wide.")
        if self.time_zone and not is_time_zone(self.time_zone):
            raise SurveyError(f"{where}: time_zone = {self.time_zone!r} is not known: use a name such as Europe/Paris.")
        if self.kind not in ("", *MAGNITUDE_KINDS):
            raise SurveyError(f"{where}: kind = {self.kind!r}: use one of {', '.join(MAGNITUDE_KINDS)}.")
        if len(self.comment.encode()) > 1:
            raise SurveyError(f"{where}: comment = {self.comment!r}: give one character.")
        for key in ("head", "file_name", "path", "dates_file"):
            try:
                re.compile(getattr(self, key))
            except re.error as error:
                raise SurveyError(f"{where}: {key} is not a regular expression: {error}.") from error
        if self.type == "text" and self.header is False:
            named = [column for column in self.used_columns if isinstance(column, str)]
            if named:
                raise SurveyError(f"{where}: column {named[0]!r} is named, but header = false: give its number from 1.")
        numbers = [column for column in self.used_columns if isinstance(column, int) and column < 1]
        if numbers:
            raise SurveyError(f"{where}: column {numbers[0]}: columns are counted from 1.")
        if self.type != "text" and any(isinstance(column, int) for column in self.used_columns):
            raise SurveyError(f"{where}: a {self.type} file has named columns: give names, not numbers.")
        if self.band_in_head_only:
            raise SurveyError(
                f"{where}: a band in head needs a file_name pattern that names the star, to pair its files."
            )
        if not self.id_fields:
            raise SurveyError(f'{where}: id = {self.id!r}: name at least one column or group, as in id = "{{star}}".')
        if not (self.wide or self.band or self.band_column is not None or "band" in self.pattern_groups):
            raise SurveyError(f"{where}: no band: give band, band_column, wide.<band> or a (?P<band>…) group.")

    @cached_property
    def pattern_groups(self) -> tuple[str, ...]:
        """Names that the file's name and first lines provide."""
        patterns = (self.file_name, self.head, self.path)
        return (*(name for pattern in patterns for name in re.compile(pattern).groupindex), *self.keywords)

    @property
    def band_in_head_only(self) -> bool:
        """Say whether only the first lines tell the band, and nothing tells which files belong together."""
        names_the_star = re.compile(self.file_name).groupindex or re.compile(self.path).groupindex
        return "band" in re.compile(self.head).groupindex and not names_the_star

    @cached_property
    def id_fields(self) -> tuple[str, ...]:
        """Names in the id's template, in order."""
        return tuple(re.findall(r"{([^{}]+)}", self.id))

    @cached_property
    def id_columns(self) -> tuple[Column, ...]:
        """Columns the id is made of; empty where the file's name or head tells it."""
        names = [name for name in self.id_fields if name not in self.pattern_groups]
        return tuple(int(name) if name.isdigit() else name for name in names)

    @cached_property
    def many_objects(self) -> bool:
        """Say whether one file may hold several objects."""
        return bool(self.id_columns)

    @cached_property
    def used_columns(self) -> tuple[Column, ...]:
        """Every column the reader needs."""
        wide = [column for band in self.wide for column in (band.mag, band.err, band.time, band.flux)]
        plain = (
            None if self.each_band_has_its_time else self.dates_on or self.time,
            self.mag,
            self.err,
            self.band_column,
            self.ra,
            self.dec,
            self.label,
            self.zero_point_column,
            self.flux,
            self.limit,
            self.reference,
            self.reference_err,
            self.sign,
            self.camera,
            *(flag.column for flag in self.flags),
            *wide,
            *self.id_columns,
        )
        return tuple(dict.fromkeys(column for column in plain if column is not None))

    @cached_property
    def each_band_has_its_time(self) -> bool:
        """Say whether every band of a wide row has a date of its own."""
        return bool(self.wide) and all(band.time is not None for band in self.wide)

    @cached_property
    def measurements(self) -> tuple[BandColumns, ...]:
        """The columns of each measurement in a row: one per band of a wide row, one for all bands of a long one."""
        if self.wide:
            return self.wide
        return (BandColumns("", self.mag, self.err, None, self.flux),) if self.mag is not None else ()

    def time_column(self, measured: BandColumns) -> Column:
        """Return the column of the date of one of the measurements."""
        return self.time if measured.time is None else measured.time

    @cached_property
    def splits_objects_by_band(self) -> bool:
        """Say whether an object's bands may come in separate files."""
        return not self.many_objects and not self.wide and self.band_column is None


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
    time: TimeSystem = TimeSystem()
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
