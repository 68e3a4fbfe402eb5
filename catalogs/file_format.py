"""One kind of file of a survey: how it is told from others, and where in it stands what is needed."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from lcdvt.catalogs.time_zone import is_time_zone
from lcdvt.errors import SurveyError

TABLE_TYPES: Final = ("parquet", "fits", "votable", "json", "avro")
MAGNITUDE_KINDS: Final = ("calibrated", "instrumental", "flux")
SEPARATOR_NAMES: Final = {"whitespace": None, "tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}

Column = str | int
"""A column by its name, or by its number counted from 1."""


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
    def numbered_columns(self) -> dict[Column, int]:
        """The used columns that are given by their numbers, and their places counted from 0."""
        return {column: column - 1 for column in self.used_columns if isinstance(column, int)}

    @cached_property
    def named_columns(self) -> tuple[str, ...]:
        """The used columns that are given by their names."""
        return tuple(column for column in self.used_columns if isinstance(column, str))

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
