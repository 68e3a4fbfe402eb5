"""Write the page of built-in surveys from their TOML files: a part of `make docs`."""

from pathlib import Path

from lcdvt.catalogs.registry import builtin_surveys
from lcdvt.catalogs.survey import Survey

PAGE = "surveys.md"


def values(numbers: tuple[float, ...]) -> str:
    """Return numbers as words of a sentence."""
    return ", ".join(f"{number:g}" for number in numbers) or "none"


def section(survey: Survey) -> str:
    """Return what one survey is, and its TOML."""
    clean = survey.clean if isinstance(survey.clean, str) else ", ".join(str(step["step"]) for step in survey.clean)
    facts = {
        "cite": survey.citation,
        "bands": " ".join(survey.bands) + (" (blue to red)" if len(survey.bands) > 1 else ""),
        "dates": survey.time.describe(),
        "magnitudes": survey.magnitude_kind,
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


def write(folder: Path) -> None:
    """Write the page into the folder."""
    (folder / PAGE).write_text("\n".join(map(section, builtin_surveys())), encoding="utf-8")
