"""Whose labels are judged: a survey or the target of a run, its classes, and the surveys that may judge it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lcdvt.dataset.alignment import aligned_surveys
from lcdvt.dataset.dataset import UNLABELLED, Dataset, SurveyData, build_dataset
from lcdvt.errors import DatasetError, SettingsError, WorkspaceError
from lcdvt.names import LABEL, OBJECT_ID
from lcdvt.results.folder import find_run, list_runs, read_config, workspace_of_run
from lcdvt.workspace.folder import ingested_surveys, workspace_folder
from lcdvt.workspace.survey import StoredSurvey, open_survey

Way = Literal["within", "transfer", "both"]
FEWEST_STARS: Final = 5
"""Of a class with fewer labels a fold may have none to learn from, so that it cannot be judged."""


@dataclass(frozen=True)
class Subject:
    """A survey whose labels are judged.

    Parameters
    ----------
    survey
        The survey.
    dataset
        Its features, and its labels of the classes that can be judged.
    left_out
        Classes that cannot be: too few stars have them, or those who judge do not know them.
    sources
        Surveys that judge it.
    run
        The folder of a run that judges it.
    """

    survey: StoredSurvey
    dataset: Dataset = field(repr=False)
    left_out: tuple[str, ...]
    sources: tuple[StoredSurvey, ...] = ()
    run: Path | None = None

    @property
    def given(self) -> NDArray[np.int64]:
        """Class numbers of the labels, −1 where there is none or the star has no feature to judge it by."""
        has_features = np.isfinite(self.dataset.X).any(axis=1)
        return np.where(has_features, self.dataset.y, UNLABELLED)

    def ways(self, way: Way | None) -> tuple[Way, ...]:
        """Return in which ways its labels are judged: as wanted, or all that there are."""
        if way is not None and way not in get_args(Way):
            raise SettingsError(f"way={way}: choose from {', '.join(get_args(Way))}.")
        by_others = bool(self.sources) or self.run is not None
        if way in ("transfer", "both") and not by_others:
            raise SettingsError(
                f"way={way}: nothing is transferred to {self.survey.name} yet; name another survey with source=…, "
                "or a run in place of the survey."
            )
        if way in ("within", "transfer"):
            return (way,)
        return ("within", "transfer") if by_others else ("within",)


def find_subject(what: str | Path, source: Sequence[str], data: str | Path | None) -> Subject:
    """Find a survey, or else a run, of that name; a survey comes first, because a run can be named by its folder.

    Parameters
    ----------
    what
        An ingested survey's name, a run's name, or a run's folder.
    source
        Ingested surveys that judge the survey's labels; none with a run, which has its own.
    data
        The workspace.
    """
    workspace = workspace_folder(data)
    if str(what) in ingested_surveys(workspace):
        stored = open_survey(str(what), data)
        if stored.name in source:
            raise SettingsError(f"source={stored.name}: a survey cannot judge itself by transfer; name another one.")
        sources = tuple(open_survey(each, data) for each in source)
        known = [set(each.objects()[LABEL].dropna()) for each in sources]
        return _subject(stored, set.union(*known) if known else None, sources, None)
    folder = _find_run(what, workspace, data)
    if source:
        raise SettingsError(f"source={source[0]}: the run {folder.name} has its own sources; name the survey instead.")
    about, _ = read_config(folder)
    stored = open_survey(about.surveys[-1], workspace_of_run(folder, data))
    return _subject(stored, set(about.classes), (), folder)


def _find_run(what: str | Path, workspace: Path, data: str | Path | None) -> Path:
    try:
        return find_run(what, data)
    except WorkspaceError as error:
        surveys, runs = (", ".join(names) or "none yet" for names in (ingested_surveys(workspace), list_runs(data)))
        raise WorkspaceError(
            f"there is no survey and no run {str(what)!r} in {workspace} (surveys: {surveys}; runs: {runs}): "
            "run `lcdvt ingest` first."
        ) from error


def _subject(
    stored: StoredSurvey, judged: set[str] | None, sources: tuple[StoredSurvey, ...], run: Path | None
) -> Subject:
    """Keep the classes that have enough stars and, where other surveys judge, are known to them."""
    (tables,) = aligned_surveys([stored])
    found = _labels(tables).value_counts()
    if found.empty:
        raise DatasetError(f"{stored.name} has no labels: ingest it with catalog=FILE, or choose another survey.")
    classes = [
        str(name) for name in sorted(found.index) if found[name] >= FEWEST_STARS and (judged is None or name in judged)
    ]
    if len(classes) < 2:
        by_whom = " and that those who judge know" if judged is not None else ""
        have = ", ".join(f"{name} {count}" for name, count in found.items())
        raise DatasetError(
            f"{stored.name} has {have}: at least two classes are needed that {FEWEST_STARS} stars or more "
            f"have{by_whom}."
        )
    left_out = tuple(sorted(set(map(str, found.index)) - set(classes)))
    return Subject(stored, build_dataset([tables], classes=classes), left_out, sources, run)


def _labels(tables: SurveyData) -> pd.Series:
    """Return the labels of the stars that have features."""
    return tables.labels[tables.labels.index.isin(tables.features[OBJECT_ID])].dropna()
