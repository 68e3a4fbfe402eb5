"""Write the page of built-in surveys from their TOML files: a part of `make docs`."""

from pathlib import Path

from lcdvt.catalogs.registry import builtin_surveys
from lcdvt.catalogs.survey import Survey

PAGE, DATES = "surveys.md", "dates.md"


def values(numbers: tuple[float, ...]) -> str:
    """Return numbers as words of a sentence."""
    return ", ".join(f"{number:g}" for number in numbers) or "none"


def section(survey: Survey) -> str:
    """Return what one survey is, and its TOML."""
    clean = survey.clean if isinstance(survey.clean, str) else ", ".join(str(step["step"]) for step in survey.clean)
    facts = {
        "cite": survey.citation,
        "bands": " ".join(survey.bands) + (" (blue to red)" if len(survey.bands) > 1 else ""),
        "dates": f"{dates_of(survey)}; stored: {survey.time.stored}",
        "magnitudes": survey.magnitudes_in_words,
        "stands for no value": f"magnitude {values(survey.mag_sentinels)}, error {values(survey.err_sentinels)}",
        "periods searched": f"{survey.period_range[0]:g} to {survey.period_range[1]:g} days",
        "cleaning": f"`{clean}`",
        "formats": "<br>".join(form.name for form in survey.formats),
        "classes": "<br>".join(f"{label}: {', '.join(names)}" for label, names in survey.classes.items()) or "–",
    }
    lines = [f"## {survey.name}", "", survey.title + ".", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {text.replace('|', '&#124;')} |" for name, text in facts.items()]
    lines += ["", f":::{{dropdown}} {survey.name}.toml", "```toml", survey.toml.strip(), "```", ":::", ""]
    return "\n".join(lines)


def dates_of(survey: Survey) -> str:
    """Return the time system of the survey's files, and of the formats that have another."""
    systems = [survey.time_of(form).describe() for form in survey.formats]
    return "; ".join(dict.fromkeys([survey.time.describe(), *systems]))


def table_of_dates() -> str:
    """Return the table of each survey's time system and who says so."""
    lines = ["| survey | dates in the files | stored | source |", "|---|---|---|---|"]
    for survey in builtin_surveys():
        lines.append(f"| `{survey.name}` | {dates_of(survey)} | {survey.time.stored} | {survey.time.source} |")
    return "\n".join(lines)


def write(folder: Path) -> None:
    """Write the pages into the folder."""
    (folder / DATES).write_text(table_of_dates() + "\n", encoding="utf-8")
    (folder / PAGE).write_text("\n".join(map(section, builtin_surveys())), encoding="utf-8")
