"""A survey's TOML file to a Survey, every wrong key or value named."""

from pathlib import Path
from typing import Any, Final

from lcdvt.catalogs.file_format import BandColumns, Flag, Format
from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.time_system import TimeSystem
from lcdvt.disk.limited_text import parse_toml
from lcdvt.errors import SurveyError

SURVEY_TOML_SIZE_LIMIT: Final = 1 << 20
"""A description has a few kilobytes."""

TEXT, NUMBER, WHOLE, TEXTS, NUMBERS, TABLE, TABLES, YES_OR_NO = (
    "text",
    "a number",
    "a whole number",
    "a list of texts",
    "a list of numbers",
    "a table",
    "a list of tables",
    "true or false",
)
_TIME_KEYS: Final = {
    **dict.fromkeys(("system", "scale", "exposure", "source"), TEXT),
    **{"zero_point": NUMBER, "exposure_seconds": NUMBER, "convert": YES_OR_NO},
}
_MAGNITUDE_KEYS: Final = {
    **dict.fromkeys(("kind", "flux_unit"), TEXT),
    **dict.fromkeys(("flux_zero_point", "constant_error", "error_scale", "error_floor"), NUMBER),
}
_SENTINEL_KEYS: Final = {"mag": NUMBERS, "err": NUMBERS}
_TOP_KEYS: Final = {
    **dict.fromkeys(("name", "title", "citation", "archive", "class_scheme"), TEXT),
    **dict.fromkeys(("bands", "class_folders", "know"), TEXTS),
    **dict.fromkeys(("time", "magnitude", "sentinels", "classes", "wavelengths"), TABLE),
    **{"period_range": NUMBERS, "pairing_days": NUMBER, "clean": "", "formats": TABLES},
    **dict.fromkeys(("several_ids", "one_distance"), YES_OR_NO),
}
_FORMAT_KEYS: Final = {
    **dict.fromkeys(("name", "type", "separator", "comment", "head", "file_name", "id", "band"), TEXT),
    **dict.fromkeys(("path", "time_system", "time_zone", "kind", "newest", "dates_file", "dates_on", "refused"), TEXT),
    **{"flux_zero_point": NUMBER, "keywords": TEXTS, "flags": TABLES},
    **dict.fromkeys(("skip_lines", "columns"), WHOLE),
    **dict.fromkeys(("header", "time", "mag", "err", "band_column", "ra", "dec", "label"), ""),
    **dict.fromkeys(("zero_point_column", "flux", "limit", "limit_without_error", "joined"), ""),
    **dict.fromkeys(("reference", "reference_err", "sign", "camera"), ""),
    **dict.fromkeys(("wide", "band_names"), TABLE),
}


def _is(value: Any, kind: str) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "text":
            return isinstance(value, str)
        case "a number":
            return number
        case "a whole number":
            return number and isinstance(value, int) and value >= 0
        case "a list of texts":
            return isinstance(value, list) and all(isinstance(each, str) for each in value)
        case "a list of numbers":
            return isinstance(value, list) and all(_is(each, NUMBER) for each in value)
        case "a table":
            return isinstance(value, dict)
        case "a list of tables":
            return isinstance(value, list) and all(isinstance(each, dict) for each in value)
        case "true or false":
            return isinstance(value, bool)
    return True


def _take(table: dict[str, Any], where: str, known: dict[str, str]) -> None:
    """Refuse an unknown key, and a value of the wrong kind, by name."""
    for key, value in table.items():
        if key not in known:
            raise SurveyError(f"{where}: unknown key {key!r}; known are {', '.join(sorted(known))}.")
        if not _is(value, known[key]):
            raise SurveyError(f"{where}: {key} = {value!r}: {known[key]} is needed.")


def _format_from(table: dict[str, Any], where: str) -> Format:
    _take(table, where, _FORMAT_KEYS)
    wide = table.get("wide", {})
    if not isinstance(wide, dict) or not all(
        isinstance(columns, dict) and "mag" in columns for columns in wide.values()
    ):
        raise SurveyError(f"{where}: wide: write wide.<band> = {{ mag = …, err = … }}.")
    for band, columns in wide.items():
        _take(columns, f"{where}: wide.{band}", dict.fromkeys(("mag", "err", "time", "flux"), ""))
    bands = tuple(BandColumns(band, **columns) for band, columns in wide.items())
    flags = tuple(_flag_from(flag, f"{where}: flags") for flag in table.get("flags", ()))
    lists = {"wide": bands, "flags": flags, "keywords": tuple(table.get("keywords", ()))}
    return Format(**{**table, "name": str(table.get("name", "light curves")), **lists})


def _flag_from(table: dict[str, Any], where: str) -> Flag:
    _take(table, where, {"column": "", "bits": WHOLE, "keep": TEXTS, "drop": TEXTS, "band": TEXT})
    words: dict[str, Any] = {key: tuple(value) for key, value in table.items() if isinstance(value, list)}
    return Flag(**{**table, **words})


def survey_from_toml(text: str, where: str) -> Survey:
    """Build a survey from the text of its TOML file."""
    try:
        table = parse_toml(text)
    except ValueError as error:
        raise SurveyError(f"{where} is not valid TOML: {error}.") from error
    if isinstance(table.get("formats"), dict):
        raise SurveyError(f"{where}: [formats] has to be written [[formats]]: there may be several.")
    _take(table, where, _TOP_KEYS)
    try:
        time, magnitude, sentinels = (dict(table.get(key, {})) for key in ("time", "magnitude", "sentinels"))
        _take(time, f"{where}: [time]", _TIME_KEYS)
        _take(magnitude, f"{where}: [magnitude]", _MAGNITUDE_KEYS)
        _take(sentinels, f"{where}: [sentinels]", _SENTINEL_KEYS)
        wavelengths = table.get("wavelengths", {})
        _take(wavelengths, f"{where}: [wavelengths]", dict.fromkeys(wavelengths, NUMBER))
        for label, names in table.get("classes", {}).items():
            if not isinstance(names, list):
                raise SurveyError(f"{where}: classes.{label} = {names!r}: a list of the survey's own names is needed.")
        clean = table.get("clean", "fats")
        if not isinstance(clean, str) and not all(isinstance(step, dict) and "step" in step for step in clean):
            raise SurveyError(f'{where}: clean: a rule\'s name, or a list of steps such as {{ step = "sigma_clip" }}.')
        low, high = table.get("period_range", (0.1, 1000.0))
        return Survey(
            name=table["name"],
            title=table.get("title", ""),
            citation=table.get("citation", ""),
            archive=table.get("archive", ""),
            know=tuple(table.get("know", ())),
            bands=tuple(table["bands"]),
            formats=tuple(_format_from(dict(form), f"{where}: [[formats]]") for form in table.get("formats", ())),
            time=TimeSystem(**time),
            magnitude_kind=magnitude.get("kind", "calibrated"),
            flux_zero_point=float(magnitude.get("flux_zero_point", 25.0)),
            flux_unit=magnitude.get("flux_unit", ""),
            constant_error=magnitude.get("constant_error"),
            error_scale=float(magnitude.get("error_scale", 1.0)),
            error_floor=float(magnitude.get("error_floor", 0.01)),
            band_wavelengths={band: float(wavelength) for band, wavelength in wavelengths.items()},
            mag_sentinels=tuple(float(value) for value in sentinels.get("mag", ())),
            err_sentinels=tuple(float(value) for value in sentinels.get("err", ())),
            period_range=(float(low), float(high)),
            pairing_days=float(table.get("pairing_days", 0.0)),
            clean=clean if isinstance(clean, str) else tuple(dict(step) for step in clean),
            classes={
                name: tuple(str(alias) for alias in aliases) for name, aliases in table.get("classes", {}).items()
            },
            class_folders=tuple(table.get("class_folders", ())),
            class_scheme=table.get("class_scheme", ""),
            several_ids=table.get("several_ids", False),
            one_distance=table.get("one_distance", False),
            toml=text,
        )
    except KeyError as error:
        raise SurveyError(f"{where}: the key {error.args[0]!r} is missing.") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise SurveyError(f"{where}: a value has the wrong type: {error}.") from error
    except SurveyError as error:
        raise error if str(error).startswith(where) else SurveyError(f"{where}: {error}") from error


def survey_from_file(path: Path) -> Survey:
    """Read a survey's TOML file."""
    try:
        if path.stat().st_size > SURVEY_TOML_SIZE_LIMIT:
            raise SurveyError(f"{path} is too large for a survey description (over 1 MiB).")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SurveyError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SurveyError(f"{path} is not UTF-8 text: save the survey description as UTF-8.") from error
    return survey_from_toml(text, str(path))
