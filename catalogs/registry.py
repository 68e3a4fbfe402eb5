"""Which surveys are known: the built-in ones by name, any other by its TOML file."""

from functools import cache
from importlib import resources
from pathlib import Path

from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.survey_toml import survey_from_file, survey_from_toml
from lcdvt.errors import SurveyError


def builtin_names() -> tuple[str, ...]:
    """Return the names of the surveys that come with lcdvt."""
    files = resources.files("lcdvt.catalogs").joinpath("data").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def builtin_toml(name: str) -> str:
    """Return the TOML text of a built-in survey."""
    return resources.files("lcdvt.catalogs").joinpath("data", f"{name}.toml").read_text(encoding="utf-8")


@cache
def builtin_surveys() -> tuple[Survey, ...]:
    """Return the surveys that come with lcdvt."""
    return tuple(survey_from_toml(builtin_toml(name), f"{name}.toml") for name in builtin_names())


def find_survey(name_or_path: str | Path) -> Survey:
    """Return a built-in survey by name, or the one that a TOML file describes."""
    text = str(name_or_path)
    for survey in builtin_surveys():
        if survey.name == text.lower():
            return survey
    path = Path(text)
    if path.suffix == ".toml" or path.is_file():
        return survey_from_file(path)
    raise SurveyError(
        f"survey {text!r} is not known: use one of {', '.join(builtin_names())}, or a TOML file "
        f"(`lcdvt surveys new {text} FILE` writes one from a light-curve file)."
    )
