"""What there is to report of a run: its folder, and those of its surveys that the workspace still has."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lcdvt.errors import LcdvtError, WorkspaceError, first_line
from lcdvt.results.draw_record import DrawRecord, read_draws
from lcdvt.results.folder import CONFIG_FILE, PREDICTIONS_FILE, find_run, workspace_of_run
from lcdvt.results.saved import SavedRun, load_run
from lcdvt.tables.record import from_record
from lcdvt.tables.table import ResultTable
from lcdvt.workspace.survey import StoredSurvey, open_survey


@dataclass(frozen=True)
class RunMaterial:
    """A run with everything that its part of the report is made of.

    Parameters
    ----------
    name, saved
        The run.
    config_text
        Its `config.toml`, word for word.
    table
        Its result table; none where nothing was scored.
    draws
        Confusion and reliability of each draw that was scored.
    predictions
        The file of predicted classes, where there is one.
    surveys, absent
        The run's surveys that are in the workspace, and why the others are not.
    citations
        What to cite for each survey, as far as it is known.
    simulated
        Whether any survey was made by the simulator.
    """

    name: str
    saved: SavedRun
    config_text: str
    table: ResultTable | None
    draws: tuple[DrawRecord, ...]
    predictions: Path | None
    surveys: Mapping[str, StoredSurvey]
    absent: Mapping[str, str]
    citations: Mapping[str, str]
    simulated: bool

    @property
    def classes(self) -> tuple[str, ...]:
        """What the run tells apart."""
        return self.saved.description.classes

    @property
    def target(self) -> str:
        """The survey that was classified."""
        return self.saved.description.surveys[-1]

    @property
    def title(self) -> str:
        """The surveys, source to target."""
        *sources, target = self.saved.description.surveys
        return f"{' + '.join(sources)} → {target}" if sources else target


def read_material(run: str | Path, data: str | Path | None = None) -> RunMaterial:
    """Read a run's folder; a damaged one is refused, a survey that is gone is only noted.

    Parameters
    ----------
    run
        Its name in the workspace, or its folder.
    data
        The workspace; by default the one the folder lies in, else the usual one.
    """
    folder = find_run(run, data)
    data = workspace_of_run(folder, data)
    try:
        saved = load_run(folder)
        record = saved.metrics.get("table")
        table = from_record(record, str(folder)) if record else None
        draws = tuple(draw for draw in read_draws(folder) if draw.is_scored)
        citations = {str(name): str(text) for name, text in dict(saved.metrics.get("citations", {})).items()}
        config_text = (folder / CONFIG_FILE).read_text(encoding="utf-8")
    except LcdvtError:
        raise
    # what the readers above do not foresee: JSON of the wrong shape, a history cut short, a file that is a folder
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise WorkspaceError(f"{folder}: the run is damaged ({first_line(error)}); make it again.") from error
    surveys, absent = _open_surveys(saved.description.surveys, data)
    known = {name: stored.survey.citation for name, stored in surveys.items() if stored.survey.citation}
    simulated = bool(saved.metrics.get("simulated")) or bool(table and table.circumstances.simulated)
    predictions = folder / PREDICTIONS_FILE
    return RunMaterial(
        name=folder.absolute().name,
        saved=saved,
        config_text=config_text,
        table=table,
        draws=draws,
        predictions=predictions if predictions.is_file() else None,
        surveys=surveys,
        absent=absent,
        citations={**known, **citations},
        simulated=simulated or any(stored.is_simulated for stored in surveys.values()),
    )


def _open_surveys(names: tuple[str, ...], data: str | Path | None) -> tuple[dict[str, StoredSurvey], dict[str, str]]:
    surveys, absent = {}, {}
    for name in names:
        try:
            stored = open_survey(name, data)
            stored.is_simulated  # noqa: B018 - reads the survey's summary, which may be damaged
            surveys[name] = stored
        except LcdvtError as error:
            absent[name] = str(error)
        except (OSError, ValueError, AttributeError) as error:
            absent[name] = f"survey {name!r} is damaged in the workspace ({first_line(error)}): ingest it again."
    return surveys, absent
