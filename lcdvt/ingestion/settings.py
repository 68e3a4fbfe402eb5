"""What an ingest will do: what the user asked for, completed by the files, the survey and what was stored before."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.survey_toml import survey_from_toml
from lcdvt.disk.limited_text import read_json_object
from lcdvt.epochs.clean import Step
from lcdvt.errors import InputFileError, SettingsError, WorkspaceError
from lcdvt.features.config import Engine, FeatureConfig
from lcdvt.features.spec import DEFAULT_FEATURES
from lcdvt.ingestion.join_rule import JoinRule
from lcdvt.ingestion.labels import LabelCatalogue, catalogue_beside, load_catalogue
from lcdvt.names import FLUX, OBJECT_ID
from lcdvt.workspace.folder import PARTS, RUNS_FOLDER, SurveyFolder, pieces_folder
from lcdvt.workspace.journal import ANEW, Journal, stored_features

NO_CATALOGUE: Final = "none"
NO_FEATURES: Final = "none"


@dataclass(frozen=True)
class IngestPlan:
    """All that decides how a survey's files become parts; a worker gets it with every batch.

    Parameters
    ----------
    survey
        What the files are.
    clean
        The name of the cleaning rule, or its steps as the survey's description has them.
    rule
        The steps themselves.
    features
        What to extract; None for nothing.
    folder
        Where the parts go.
    roots
        The inputs as the user gave them: class folders are looked for from there downwards.
    simulated
        Whether the simulator made the files.
    join
        How light curves are joined to stars; None keeps each light curve as a star of its own.
    """

    survey: Survey
    clean: str | Sequence[Any]
    rule: tuple[Step, ...]
    features: FeatureConfig | None
    folder: SurveyFolder
    roots: tuple[str, ...]
    simulated: bool
    join: JoinRule | None = None

    @property
    def reading(self) -> "IngestPlan":
        """The plan by which files are read: light curves that are joined wait in a folder of their own."""
        if self.join is None:
            return self
        return replace(self, folder=pieces_folder(self.folder), features=None, join=None)

    @property
    def settings(self) -> dict[str, Any]:
        """What the journal keeps of the plan, so that nothing read in another way is mixed in later."""
        return {
            "survey": self.survey.toml,
            "clean": self.clean if isinstance(self.clean, str) else list(self.clean),
            "features": asdict(self.features) if self.features else None,
            "simulated": self.simulated,
            "join": self.join.settings if self.join else None,
        }

    def refuse_mixing(self, journal: Journal) -> None:
        """Refuse to mix two ways of reading in one survey."""
        stored, wanted = journal.settings or {}, json.loads(json.dumps(self.settings))
        changed = [key for key in ("clean", "features") if not _agree(stored.get(key), wanted[key])]
        if survey_from_toml(stored["survey"], "the stored survey.toml") != self.survey:
            changed.insert(0, "survey")
        if self.join is not None and stored.get("join") is None:
            raise WorkspaceError(
                f"{journal.folder.parent} was ingested without joining light curves: {ANEW}, or name=… to keep both."
            )
        if changed:
            raise WorkspaceError(
                f"{journal.folder.parent} was ingested with another setting of {', '.join(changed)}: "
                f"{ANEW}, or name=… to keep both."
            )

    def refuse_older_epochs(self) -> None:
        """Refuse to put fluxes beside epochs of a version that kept magnitudes alone, and dropped what has none."""
        part = next(iter(sorted(self.folder.epochs.glob(PARTS))), None)
        if self.survey.keeps_flux and part is not None and FLUX not in pq.read_schema(part).names:
            raise WorkspaceError(
                f"{self.folder.root} was ingested by a version that kept no fluxes: {ANEW}, or name=… to keep both."
            )

    def refuse_older_features(self) -> None:
        """Refuse to put features of today beside those of a version that knew fewer of them."""
        part = next(iter(sorted(self.folder.features.glob(PARTS))), None)
        if self.features is None or part is None:
            return
        stored, today = set(pq.read_schema(part).names) - {OBJECT_ID}, set(self.features.columns())
        if stored != today:
            name = self.folder.root.name
            raise WorkspaceError(
                f"{self.folder.root} has {len(stored)} features of an earlier version, which knew others than the "
                f"{len(today)} of today: run `lcdvt extract {name}` on what is stored, then the same command again."
            )


def _agree(stored: Any, wanted: Any) -> bool:
    """Say whether settings are the same, as far as an earlier version wrote them down."""
    if isinstance(stored, dict) and isinstance(wanted, dict):
        return all(wanted.get(key) == value for key, value in stored.items())
    return bool(stored == wanted)


def checked_name(name: str) -> str:
    """Return a survey's name in the workspace; it names a folder there."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", name) or name == RUNS_FOLDER:
        raise SettingsError(f"name={name!r}: use letters, digits, '_', '-', '.', '+' (and not {RUNS_FOLDER!r}).")
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
                "give catalog=FILE, or catalog=none."
            ) from error
        if path is not None and not path.is_file():
            raise InputFileError(f"the labels came from {path}, which is gone: give catalog=FILE, or catalog=none.")
    if path is None and match_radius is not None:
        raise InputFileError("match_radius needs a catalogue to match with: give catalog=FILE.")
    return load_catalogue(path, match_radius=match_radius) if path is not None else None


def choose_features(
    survey: Survey, features: str | Sequence[str] | None, engine: Engine, journal: Journal
) -> FeatureConfig | None:
    """Return what to extract: what was asked for, else what the survey has already, else all of them."""
    if features is None and journal.settings is not None:
        return stored_features(journal)
    return None if features == NO_FEATURES else survey_features(survey, features or DEFAULT_FEATURES, engine)


def survey_features(survey: Survey, features: str | Sequence[str], engine: Engine) -> FeatureConfig:
    """Return what to extract from a survey's light curves."""
    chosen = features if isinstance(features, str) else tuple(features)
    return FeatureConfig(
        survey.bands,
        chosen,
        engine,
        survey.period_range,
        pairing_days=survey.pairing_days,
        wavelengths=() if survey.bands_without_wavelength else survey.wavelengths,
        error_scale=survey.error_scale,
        error_floor=survey.error_floor,
        calibrated=survey.magnitude_kind != "instrumental",
    )
