"""What an ingest will do, where the user left it open: name, catalogue, features; and what it must not mix."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.survey_toml import survey_from_toml
from lcdvt.errors import InputFileError, WorkspaceError
from lcdvt.features.config import Engine, FeatureConfig
from lcdvt.features.spec import DEFAULT_FEATURES
from lcdvt.labels import LabelCatalogue, catalogue_beside, load_catalogue
from lcdvt.limited_text import read_json_object
from lcdvt.manifest import Journal
from lcdvt.part import survey_features
from lcdvt.workspace import RUNS_FOLDER, SurveyFolder

NO_CATALOGUE: Final = "none"
NO_FEATURES: Final = "none"
ANEW: Final = "use --force to ingest anew"


def checked_name(name: str) -> str:
    """Return a survey's name in the workspace; it names a folder there."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", name) or name == RUNS_FOLDER:
        raise InputFileError(f"--name {name!r}: use letters, digits, '_', '-', '.', '+' (and not {RUNS_FOLDER!r}).")
    return name


def choose_catalogue(
    inputs: list[Path], catalog: str | Path | None, match_radius: str | None, folder: SurveyFolder | None
) -> LabelCatalogue | None:
    """Load the catalogue that was given, that lies beside the light curves, or that was used last time."""
    if catalog is not None and str(catalog) == NO_CATALOGUE:
        return None
    path = Path(catalog) if catalog is not None else catalogue_beside(inputs)
    if path is None and folder is not None and folder.summary.is_file():
        try:
            labels = read_json_object(folder.summary)["labels"]
            path, match_radius = Path(labels["catalogue"]) if labels["catalogue"] else None, labels.get("match_radius")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise WorkspaceError(
                f"{folder.summary} is damaged and no longer tells which catalogue the labels came from: "
                "give --catalog FILE, or --catalog none."
            ) from error
        if path is not None and not path.is_file():
            raise InputFileError(f"the labels came from {path}, which is gone: give --catalog FILE, or --catalog none.")
    if path is None and match_radius is not None:
        raise InputFileError("--match-radius needs a catalogue to match with: give --catalog FILE.")
    return load_catalogue(path, match_radius=match_radius) if path is not None else None


def choose_features(
    survey: Survey, features: str | Sequence[str] | None, engine: Engine, journal: Journal
) -> FeatureConfig | None:
    """Return what to extract: what was asked for, else what the survey has already, else all of them."""
    if features is None and journal.settings is not None:
        return stored_features(journal)
    return None if features == NO_FEATURES else survey_features(survey, features or DEFAULT_FEATURES, engine)


def stored_features(journal: Journal) -> FeatureConfig | None:
    """Return which features the survey has, if any."""
    stored = (journal.settings or {}).get("features")
    if stored is None:
        return None
    try:
        values: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in stored.items()}
        return FeatureConfig(**values)
    except (AttributeError, TypeError, ValueError) as error:
        raise WorkspaceError(f"{journal.path} names features that are not known ({error}): {ANEW}.") from error


def refuse_other_settings(journal: Journal, survey: Survey, settings: dict[str, Any]) -> None:
    """Refuse to mix two ways of reading in one survey."""
    stored, wanted = journal.settings or {}, json.loads(json.dumps(settings))
    changed = [key for key in ("clean", "features") if stored.get(key) != wanted[key]]
    if survey_from_toml(stored["survey"], "the stored survey.toml") != survey:
        changed.insert(0, "survey")
    if changed:
        raise WorkspaceError(
            f"{journal.folder.parent} was ingested with another setting of {', '.join(changed)}: "
            "use --force to ingest it anew, or --name to keep both."
        )
