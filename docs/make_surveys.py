"""Write a page for each built-in survey, and the tables of all, from their TOML files: a part of `make docs`."""

from pathlib import Path

from lcdvt.catalogs.facts import dates_in_files, facts
from lcdvt.catalogs.registry import builtin_surveys
from lcdvt.catalogs.survey import Survey

FOLDER, LIST, DATES = "surveys", "surveys.md", "dates.md"


def page(survey: Survey) -> str:
    """Return what `lcdvt surveys show` says of a survey, and its TOML."""
    lines = [f"# {survey.name}", "", survey.title + ".", "", "| | |", "|---|---|"]
    last = ""
    for heading, words in facts(survey):
        lines.append(f"| {'' if heading == last else heading} | {words.replace('|', '&#124;').replace('<', '&lt;')} |")
        last = heading
    lines += ["", "## Its description", "", "```toml", survey.toml.strip(), "```", ""]
    return "\n".join(lines)


def list_of_surveys() -> str:
    """Return the table of all surveys, each with a link to its page."""
    lines = ["| survey | what | where its files are had |", "|---|---|---|"]
    for survey in builtin_surveys():
        lines.append(f"| [{survey.name}](generated/{FOLDER}/{survey.name}.md) | {survey.title} | {survey.archive} |")
    names = "\n".join(f"generated/{FOLDER}/{survey.name}" for survey in builtin_surveys())
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", names, "```", ""])


def table_of_dates() -> str:
    """Return the table of each survey's time system and who says so."""
    lines = ["| survey | dates in the files | stored | source |", "|---|---|---|---|"]
    for survey in builtin_surveys():
        lines.append(f"| `{survey.name}` | {dates_in_files(survey)} | {survey.time.stored} | {survey.time.source} |")
    return "\n".join(lines)


def write(folder: Path) -> None:
    """Write the pages into the folder."""
    (folder / FOLDER).mkdir(exist_ok=True)
    for survey in builtin_surveys():
        (folder / FOLDER / f"{survey.name}.md").write_text(page(survey), encoding="utf-8")
    (folder / DATES).write_text(table_of_dates() + "\n", encoding="utf-8")
    (folder / LIST).write_text(list_of_surveys(), encoding="utf-8")
