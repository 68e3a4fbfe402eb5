"""A run from its plan: draws one after the other or side by side, each kept as it is finished, then the table.

`transfer`, `ensemble`, `train` and `experiment stars` differ in their plans only. A run that was stopped goes on with
the draws that are missing, for the same command gives the same tasks; the table is made from the kept files.
"""

import hashlib
import html
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import tomli_w

from lcdvt import __version__
from lcdvt.baselines.registry import ROWS
from lcdvt.config import to_table
from lcdvt.dataset import UNLABELLED, Dataset
from lcdvt.draw_record import DrawRecord, draw_path, draw_paths, read_draws
from lcdvt.draw_scores import DVT_ENSEMBLE, DVT_TOP, DVT_UPPER_BOUND, DrawResult, DrawTask, run_draw
from lcdvt.errors import WorkspaceError
from lcdvt.evaluate import DrawScores
from lcdvt.executors import default_jobs, run_batches
from lcdvt.latent_map import MOST_STARS, plot_latent, surveys_of
from lcdvt.names import LABEL, OBJECT_ID
from lcdvt.progress import Progress, silent
from lcdvt.run_folder import PREDICTIONS_FILE, check_free, growing_folder, held, publish
from lcdvt.run_list import METRICS_FILE
from lcdvt.store import SavedRun, load_run, save_run
from lcdvt.table_formats import to_html
from lcdvt.table_json import to_record
from lcdvt.tables import Circumstances, ResultTable, build_table
from lcdvt.workspace import StoredSurvey, write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lcdvt.prediction import PredictResult

ALL_ROWS: Final = (DVT_UPPER_BOUND, *ROWS, DVT_TOP, DVT_ENSEMBLE)
# Where there is no source, "target labels" would make a reader look for one.
ONE_SURVEY_TRAINING: Final = {
    "forest-target": "Supervised",
    "svm-target": "Supervised",
    "label-spreading": "Semi-supervised",
}
ONE_SURVEY_ROWS: Final = (*ONE_SURVEY_TRAINING, DVT_TOP, DVT_ENSEMBLE)


@dataclass(frozen=True)
class Plan:
    """A run before it is made.

    Parameters
    ----------
    surveys
        Sources first, the survey to classify last.
    dataset
        Of these surveys, with all known labels.
    tasks
        One for each draw; the first one's ensemble is kept to classify new stars.
    settings
        What `metrics.json` says of how the run was made.
    folds
        Whether draws hold out folds.
    left_out
        Classes that the surveys have, and that the run does not tell apart.
    """

    surveys: tuple[StoredSurvey, ...]
    dataset: Dataset
    tasks: tuple[DrawTask, ...]
    settings: Mapping[str, Any]
    folds: bool = False
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunResult:
    """What a run found; its folder classifies new stars.

    Parameters
    ----------
    name, folder
        Of the run; `lcdvt.run_folder` says what the folder holds.
    dataset
        What it was trained and scored on.
    draws
        Scores, confusion counts and reliability of each draw.
    scores, circumstances
        What the table is made of.
    predictions
        The first draw's class probabilities of every object of the target.
    """

    name: str
    folder: Path
    dataset: Dataset = field(repr=False)
    draws: tuple[DrawRecord, ...] = field(repr=False)
    scores: tuple[DrawScores, ...] = field(repr=False)
    circumstances: Circumstances = field(repr=False)
    predictions: pd.DataFrame = field(repr=False)

    @property
    def problems(self) -> list[str]:
        """Members that were ended, in a sentence each."""
        return [problem for draw in self.draws for problem in draw.problems]

    def table(self) -> ResultTable | None:
        """Return the table in the paper's style; none where every label was in use and nothing could be scored."""
        return build_table(self.scores, self.circumstances) if self.scores else None

    def predict(self, what: str | Path, out: str | Path, **options: Any) -> "PredictResult":
        """Classify an ingested survey or raw light curves; `options` are those of `lcdvt.predict`."""
        from lcdvt.prediction import predict  # reading raw files takes long to import, and draws do without

        return predict(self.folder, what, out, **options)

    def plot_latent(self, *, most_stars: int = MOST_STARS, seed: int = 0) -> "Figure":
        """Draw the stars of all surveys among the components of the latent mixture.

        Parameters
        ----------
        most_stars, seed
            Stars of each survey that are drawn at most, and which.
        """
        return plot_latent(load_run(self.folder), surveys_of(self.dataset), most_stars=most_stars, seed=seed)

    def _repr_html_(self) -> str:
        table = self.table()
        return to_html(table) if table else f"<p>{html.escape(self.name)}: no labels left to score on</p>"


def carry_out(
    plan: Plan,
    folder: Path,
    *,
    force: bool = False,
    reuse: bool = False,
    jobs: int | None = 1,
    dask: str | None = None,
    progress: Progress = silent,
) -> RunResult:
    """Make the draws that are missing, keep each as it is finished, and put the run into its folder.

    Parameters
    ----------
    plan
        What to do.
    folder
        Where the finished run goes; it grows beside that place.
    force
        Throw away draws of an unfinished run that do not belong to this plan, and replace a finished run.
    reuse
        Take a finished run of this very plan as it is.
    jobs, dask
        Draws are spread over worker processes, or over a Dask cluster that sees the same disk.
    progress
        Called with the number of draws done.
    """
    identities = [draw_identity(task) for task in plan.tasks]
    if reuse and [draw.identity for draw in read_draws(folder)] == identities:
        return _result(plan, folder)
    with held(folder):
        check_free(folder, force)
        _complete(plan, folder, identities, force, jobs, dask, progress)
    return _result(plan, folder)


def _complete(
    plan: Plan,
    folder: Path,
    identities: list[str],
    force: bool,
    jobs: int | None,
    dask: str | None,
    progress: Progress,
) -> None:
    growing = growing_folder(folder.absolute())
    missing = _missing_draws(growing, identities, force)
    done = len(plan.tasks) - len(missing)
    progress(done, len(plan.tasks))
    keep = partial(_run_and_keep, growing, plan.settings)
    work = [(number, identities[number], plan.tasks[number]) for number in missing]
    # as many workers as the whole plan has use for: the last draw of a resumed run is computed like the others were
    workers = min(default_jobs() if jobs is None else jobs, len(plan.tasks))
    for _ in run_batches(keep, work, jobs=workers, dask=dask):
        done += 1
        progress(done, len(plan.tasks))
    for superfluous in draw_paths(growing)[len(plan.tasks) :]:  # of the same run begun with more draws
        superfluous.unlink()
    result = _result(plan, growing)
    table = result.table()
    metrics = {**plan.settings, "table": to_record(table) if table else None}
    text = json.dumps(metrics, indent=2, ensure_ascii=False)
    write_atomically(growing / METRICS_FILE, lambda path: path.write_text(text, encoding="utf-8"))
    publish(folder)


def _missing_draws(growing: Path, identities: list[str], force: bool) -> list[int]:
    """Return the numbers of the draws still to be made; draws of another plan are refused, or thrown away."""
    made = [number for number in range(len(identities)) if draw_path(growing, number).is_file()]
    try:
        if any(DrawRecord.read(draw_path(growing, number)).identity != identities[number] for number in made):
            raise WorkspaceError(
                f"{growing} is an unfinished run with other settings, surveys or version: repeat its command to "
                "finish it, use --force to start anew, or --name for another."
            )
    except WorkspaceError:
        if not force:
            raise
        shutil.rmtree(growing)
        made = []
    return [number for number in range(len(identities)) if number not in made]


def _run_and_keep(growing: Path, settings: Mapping[str, Any], work: tuple[int, str, DrawTask]) -> None:
    """Run one draw and write what it found; in a worker process, so that a finished draw survives the main one."""
    number, identity, task = work
    result = run_draw(task)
    if number == 0:
        training, dataset = result.training, task.dataset
        save_run(
            growing,
            SavedRun.from_training(task.config, training, result.scaler, dataset.surveys, dataset.classes, settings),
        )
        write_atomically(growing / PREDICTIONS_FILE, _predictions(task, result).to_parquet)
    drawn = task.drawn[task.dataset.rows_of(task.target)]
    counts = np.bincount(drawn[drawn != UNLABELLED], minlength=len(task.dataset.classes))
    record = DrawRecord(
        identity=identity,
        seed=task.seed,
        classes=task.dataset.classes,
        labels_per_class=dict(zip(task.dataset.classes, counts.tolist(), strict=True)),
        rows=result.outcomes,
        problems=tuple(result.training.failures.values()),
    )
    record.write(draw_path(growing, number))  # last: it says that the draw is finished


def draw_identity(task: DrawTask) -> str:
    """Return a fingerprint of all that decides a draw's numbers."""
    dataset = task.dataset
    names = {name: list(getattr(dataset, name)) for name in ("features", "classes", "surveys", "object_ids")}
    choices = {"members": task.members, "rows": list(task.rows), "seed": task.seed, "device": task.device}
    settings = {"lcdvt": __version__, "scaling": task.scaling, **names, **choices, **to_table(task.config)}
    digest = hashlib.sha256(tomli_w.dumps(settings).encode())
    for array in (dataset.X, dataset.y, dataset.survey, task.drawn):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _result(plan: Plan, folder: Path) -> RunResult:
    draws = read_draws(folder)
    if len(draws) != len(plan.tasks):
        raise WorkspaceError(
            f"{folder} has {len(draws)} of {len(plan.tasks)} draws, some are gone: run the same command again, "
            "with --force if it says that the run exists."
        )
    scored = [draw for draw in draws if draw.is_scored]
    rows = plan.tasks[0].rows if scored else ()
    return RunResult(
        name=folder.name,
        folder=folder,
        dataset=plan.dataset,
        draws=tuple(draws),
        scores=tuple(_row_scores(row, scored, plan) for row in rows),
        circumstances=_circumstances(plan, scored or draws),
        predictions=pd.read_parquet(folder / PREDICTIONS_FILE),
    )


def _row_scores(key: str, draws: list[DrawRecord], plan: Plan) -> DrawScores:
    mode = plan.tasks[0].config.training.mode.capitalize()
    names = {
        DVT_UPPER_BOUND: ("Supervised upper bound", "DVT", True),
        DVT_TOP: (f"{mode} top cycle consistency", "DVT", False),
        DVT_ENSEMBLE: (f"{mode} ensemble", "DVT", False),
    }
    row = ROWS.get(key)
    training, model, is_upper_bound = (row.training, row.model, row.is_upper_bound) if row else names[key]
    if len(plan.surveys) == 1:
        training = ONE_SURVEY_TRAINING.get(key, training)
    return DrawScores(key, training, model, is_upper_bound, tuple(draw.rows[key].score for draw in draws))


def _circumstances(plan: Plan, draws: list[DrawRecord]) -> Circumstances:
    target = plan.surveys[-1].name
    mix = plan.dataset.class_counts().loc[target]
    return Circumstances(
        sources=tuple(each.name for each in plan.surveys[:-1]),
        target=target,
        classes=plan.dataset.classes,
        labels_per_class=tuple(draw.labels_per_class for draw in draws),
        class_mix={str(label): int(count) for label, count in mix.items()},
        seeds=tuple(draw.seed for draw in draws),
        members=plan.tasks[0].members,
        simulated=any(each.is_simulated for each in plan.surveys),
        folds=plan.folds,
        left_out=plan.left_out,
    )


def _predictions(task: DrawTask, result: DrawResult) -> pd.DataFrame:
    truth, probability = task.truth, result.probability
    names = np.array([*task.dataset.classes, None], dtype=object)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nansum(np.where(probability > 0, probability * np.log(probability), 0.0), axis=1)
    return pd.DataFrame(
        {
            OBJECT_ID: task.dataset.object_ids[task.dataset.rows_of(task.target)],
            LABEL: names[truth],
            "in_draw": (truth != UNLABELLED) & ~task.scored,
            "predicted": names[probability.argmax(axis=1)],
            **{f"p_{label}": probability[:, number] for number, label in enumerate(task.dataset.classes)},
            "entropy": entropy,
            "disagreement": result.disagreement,
            "other_score": result.other_score,
        }
    )
