"""What is to be known of a survey, in words: `lcdvt surveys show` and the survey's page in the manual have them."""

from lcdvt.catalogs.file_format import Format
from lcdvt.catalogs.survey import Survey

Facts = list[tuple[str, str]]


def facts(survey: Survey) -> Facts:
    """Return what is known of a survey, each with its heading; a heading may come several times."""
    clean = survey.clean if isinstance(survey.clean, str) else ", ".join(str(step["step"]) for step in survey.clean)
    found = [
        ("cite", survey.citation or "(no citation given)"),
        ("where its files are had", survey.archive or "(not given)"),
        *(("what to know", sentence) for sentence in survey.know),
        ("bands", _bands(survey)),
        ("dates in the files", dates_in_files(survey)),
        ("who says so", survey.time.source or "(not given)"),
        ("stored dates", survey.time.stored),
        ("magnitudes", survey.magnitudes_in_words),
        *([("distance", "about the same for all stars: a magnitude tells a class")] if survey.one_distance else ()),
        ("no value", f"magnitude {_values(survey.mag_sentinels)}, error {_values(survey.err_sentinels)}"),
        ("periods searched", f"{survey.period_range[0]:g} to {survey.period_range[1]:g} days"),
        ("cleaning", clean),
    ]
    found += [(f"class {label}", ", ".join(names)) for label, names in survey.classes.items()]
    if survey.class_scheme:
        found.append(("other class names", f"those of {survey.class_scheme}"))
    if survey.class_folders:
        found.append(("class folders", ", ".join(survey.class_folders)))
    return found + [_format(form) for form in survey.formats]


def dates_in_files(survey: Survey) -> str:
    """Return the time system of the survey's files, and of the formats that have another."""
    systems = [survey.time_of(form).describe() for form in survey.formats]
    return "; ".join(dict.fromkeys([survey.time.describe(), *systems]))


def _format(form: Format) -> tuple[str, str]:
    if form.refused:
        return "refused", f"{form.name}: {form.refused}"
    many = "many objects per file" if form.many_objects else "one object per file"
    layout = (
        "bands side by side in a row"
        if form.wide
        else "one band per file"
        if form.splits_objects_by_band
        else "one band per row"
    )
    flags = f"; left out by {', '.join(str(flag.column) for flag in form.flags)}" if form.flags else ""
    return "format", f"{form.name}: {form.type}, {many}, {layout}, id {form.id}{flags}"


def _bands(survey: Survey) -> str:
    named = [
        band if wavelength != wavelength else f"{band} ({wavelength:g} nm)"
        for band, wavelength in zip(survey.bands, survey.wavelengths, strict=True)
    ]
    order = ", blue to red" if len(named) > 1 else ""
    question = f"; {survey.wavelength_question}" if survey.wavelength_question else ""
    return ", ".join(named) + order + question


def _values(sentinels: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in sentinels) or "(none)"
