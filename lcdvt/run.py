"""One finished run as a notebook holds it: its table, its figures, and what it says of other stars.

Everything is read from the run's folder when it is asked for, so that a run looks the same in the process that made it
and after a restart of the kernel.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
import pandas as pd

from lcdvt.baselines.rows import DVT_ENSEMBLE
from lcdvt.errors import SettingsError, WorkspaceError
from lcdvt.evaluate import ReliabilityBins, pooled_reliability
from lcdvt.parallel.progress import Progress
from lcdvt.results.comparison import Comparison, compare
from lcdvt.results.draw_record import DrawRecord, read_draws
from lcdvt.results.folder import (
    CONFIG_FILE,
    HISTORY_FILE,
    PREDICTIONS_FILE,
    find_run,
    read_config,
    read_metrics,
    read_run_table,
    workspace_of_run,
)
from lcdvt.tables.table import ResultTable
from lcdvt.workspace.folder import read_part

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lcdvt.desk.notebook import NotebookDesk
    from lcdvt.doubts.doubt import DoubtResult
    from lcdvt.doubts.subject import Way
    from lcdvt.dvt.config import DVTConfig
    from lcdvt.reports.write import ReportResult
    from lcdvt.results.suggest import SuggestResult


class PredictKeywords(TypedDict, total=False):
    """What `Run.predict` hands on to `lcdvt.predict`, for editors and type checkers."""

    like: str | None
    survey: str | None
    jobs: int | None
    dask: str | None
    force: bool
    progress: Progress


@dataclass(frozen=True)
class Run:
    """A finished run; `lcdvt.open_run` opens one, `transfer`, `ensemble` and `train` return one.

    What is cheap is an attribute; what reads a file is a method.

    Parameters
    ----------
    name, folder
        The run, and its folder; `lcdvt.results.folder` says what that holds.
    surveys
        The surveys it knows: sources first, the one it classifies last.
    classes
        What it tells apart.
    data
        The workspace that holds its surveys.
    """

    name: str
    folder: Path
    surveys: tuple[str, ...]
    classes: tuple[str, ...]
    data: Path | None = field(default=None, repr=False)

    def __fspath__(self) -> str:
        """Return the folder, so that every verb that takes a run's name or folder takes the run itself."""
        return str(self.folder)

    @property
    def target(self) -> str:
        """The survey that it classifies."""
        return self.surveys[-1]

    def table(self) -> ResultTable | None:
        """Return the table in the paper's style; none where no label was left to score with."""
        return read_run_table(self.folder)

    def draws(self) -> tuple[DrawRecord, ...]:
        """Return the scores, confusion counts and reliability of each draw of labels."""
        return tuple(read_draws(self.folder))

    def problems(self) -> list[str]:
        """Return the members that were ended, in a sentence each."""
        return [problem for draw in self.draws() for problem in draw.problems]

    def predictions(self) -> pd.DataFrame:
        """Return the first draw's class probabilities of every object of the target."""
        return read_part(self.folder / PREDICTIONS_FILE, remedy="make the run again").to_pandas()

    def history(self) -> pd.DataFrame:
        """Return the first draw's training: losses and criteria by step, member and survey."""
        return read_part(self.folder / HISTORY_FILE, remedy="make the run again").to_pandas()

    def config(self) -> "DVTConfig":
        """Return every number of the model, ready to be the `preset` of another run."""
        from lcdvt.dvt.config import choose_preset

        return choose_preset(self.folder / CONFIG_FILE)

    def settings(self) -> dict[str, object]:
        """Return how the run was made: verb, labels, preset, seed, citations."""
        return {key: value for key, value in read_metrics(self.folder).items() if key != "table"}

    def confusion(self, row: str = DVT_ENSEMBLE) -> pd.DataFrame:
        """Return how many objects of each true class (rows) were given to which class (columns), over all draws.

        Parameters
        ----------
        row
            A row of the table, by its name there.
        """
        counts = np.sum([draw.rows[row].confusion for draw in self._scored_draws(row)], axis=0)
        names = pd.Index(self.classes)
        return pd.DataFrame(counts, index=names.rename("true class"), columns=names.rename("predicted"))

    def reliability(self, row: str = DVT_ENSEMBLE) -> ReliabilityBins:
        """Return how often predictions of a given confidence were right, the stars of all draws together."""
        return pooled_reliability([draw.rows[row].reliability for draw in self._scored_draws(row)])

    def plot_reliability(self, rows: str | Sequence[str] = (DVT_ENSEMBLE,)) -> "Figure":
        """Draw how often predictions of a given confidence were right, for some rows of the table."""
        from lcdvt.figures.scores import reliability_figure

        named = [rows] if isinstance(rows, str) else rows
        return reliability_figure({row: self.reliability(row) for row in named})

    def plot_latent(self, *, most_stars: int | None = None, seed: int = 0) -> "Figure":
        """Draw the stars of all surveys among the components of the latent mixture.

        Parameters
        ----------
        most_stars, seed
            How many stars of each survey are drawn at most (None: 2000), and the random seed that says which.
        """
        from lcdvt.results.latent import MOST_STARS, plot_run
        from lcdvt.results.saved import load_run

        most = MOST_STARS if most_stars is None else most_stars
        return plot_run(load_run(self.folder), self.data, most_stars=most, seed=seed)

    def predict(
        self, what: str | Path, out: str | Path | None = None, **keywords: Unpack[PredictKeywords]
    ) -> pd.DataFrame:
        """Classify an ingested survey or raw light curves; return one row for each object.

        Parameters
        ----------
        what
            An ingested survey's name, or raw light curves.
        out
            Where to write the table, too.
        keywords
            Everything else that `lcdvt.predict` takes.
        """
        from lcdvt.results.predict import predict

        return predict(self.folder, what, out, data=self.data, **keywords).stars()

    def suggest(self, n: int = 20, *, per_class: bool = False, unlabelled: bool = False, seed: int = 0) -> pd.DataFrame:
        """Return the stars of the target whose labels would help most, the most useful first.

        Parameters
        ----------
        n, per_class, unlabelled, seed
            As in `lcdvt.suggest`.
        """
        from lcdvt.results.suggest import suggest

        found: SuggestResult = suggest(
            self.folder, n, per_class=per_class, unlabelled=unlabelled, seed=seed, data=self.data
        )
        return found.stars

    def label(self, n: int = 20, *, unlabelled: bool = False, who: str | None = None) -> "NotebookDesk":
        """Show the suggested stars in a frame of the notebook, to be answered by a key each.

        Served by the kernel until it ends, or until `.stop()`; a browser on another machine sees nothing.

        Parameters
        ----------
        n, unlabelled, who
            As in `lcdvt.label`.
        """
        from lcdvt.desk.notebook import NotebookDesk

        return NotebookDesk(self.folder, n, unlabelled=unlabelled, who=who, data=self.data)

    def doubt(self, n: int | None = 20, *, way: "Way | None" = None, seed: int = 0) -> pd.DataFrame:
        """Return the labels of the target that the light curves contradict most, the most doubtful first.

        Parameters
        ----------
        n, way, seed
            As in `lcdvt.doubt`.
        """
        from lcdvt.doubts.doubt import doubt

        found: DoubtResult = doubt(self.folder, n, way=way, seed=seed, data=self.data)
        return found.stars

    def report(self, out: str | Path | None = None, *, force: bool = False, seed: int = 0) -> Path:
        """Write the run's HTML report and return where it is.

        Parameters
        ----------
        out, force, seed
            As in `lcdvt.report`.
        """
        from lcdvt.reports.write import report

        written: ReportResult = report(self.folder, out, data=self.data, seed=seed, force=force)
        return written.path

    def compare(self, *others: "Run | str | Path") -> Comparison:
        """Put this run's table beside those of others.

        Parameters
        ----------
        others
            Runs, their names or their folders.
        """
        folders = [other.folder if isinstance(other, Run) else other for other in others]
        return compare(self.folder, *folders, data=self.data)

    def _scored_draws(self, row: str) -> list[DrawRecord]:
        scored = [draw for draw in self.draws() if draw.is_scored]
        if not scored:
            raise WorkspaceError(f"run {self.name} has no scores: no label was left to score with.")
        if row not in scored[0].rows:
            raise SettingsError(f"run {self.name} has no row {row!r}: choose from {', '.join(scored[0].rows)}.")
        return scored

    def _repr_html_(self) -> str:
        table = self.table()
        if table is None:
            return f"<p>{html.escape(self.name)}: no label was left to score with</p>"
        return table._repr_html_()


def open_run(run: str | Path, data: str | Path | None = None) -> Run:
    """Open a finished run by its name in the workspace, or by its folder.

    Parameters
    ----------
    run
        The name or the folder; `lcdvt.runs()` lists them.
    data
        The workspace; None takes the one the folder lies in, else LCDVT_DATA or ./lcdvt-data.
    """
    folder = find_run(run, data).absolute()  # a notebook may change its folder
    about, _ = read_config(folder)
    return Run(folder.name, folder, about.surveys, about.classes, workspace_of_run(folder, data))
