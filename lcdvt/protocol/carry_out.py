"""A run from its plan: draws one after the other or side by side, each kept as it is finished, then the table.

`transfer`, `ensemble`, `train` and `experiment stars` differ in their plans only. A run that was stopped goes on with
the draws that are missing, because the same command gives the same tasks; the table is made from the kept files.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import tomli_w
import torch
from numpy.typing import NDArray

from lcdvt import __version__
from lcdvt.baselines.rows import DVT_ENSEMBLE, DVT_TOP, DVT_UPPER_BOUND, ROWS
from lcdvt.dataset.dataset import UNLABELLED
from lcdvt.disk.atomic import write_atomically, write_text
from lcdvt.disk.star_table import write_stars
from lcdvt.disk.toml_config import to_table
from lcdvt.dvt.ensemble import predict
from lcdvt.errors import WorkspaceError
from lcdvt.evaluate import RowScores, entropy
from lcdvt.names import (
    DISAGREEMENT,
    ENTROPY,
    IN_DRAW,
    LABEL,
    OBJECT_ID,
    OTHER_SCORE,
    PREDICTED,
    probability_column,
)
from lcdvt.parallel.executors import Workers, run_batches
from lcdvt.parallel.progress import Progress, silent
from lcdvt.protocol.draw import DrawResult, run_draw
from lcdvt.protocol.elsewhere import StarsElsewhere
from lcdvt.protocol.plan import ONE_SURVEY_TRAINING, DrawTask, Plan
from lcdvt.results.draw_record import DrawRecord, draw_path, draw_paths, read_draws
from lcdvt.results.folder import (
    METRICS_FILE,
    PREDICTIONS_FILE,
    check_free,
    growing_folder,
    held,
    publish,
    run_folder,
)
from lcdvt.results.saved import SavedRun, save_run
from lcdvt.run import Run, open_run
from lcdvt.tables.record import to_record
from lcdvt.tables.table import Circumstances, ResultTable, build_table


@dataclass(frozen=True)
class RunPlace:
    """Where a run goes, and what may happen to a run that is there already.

    Parameters
    ----------
    name, data
        The run's name, and the workspace.
    force
        Replace a finished run, and throw away draws of an unfinished one that belong to another plan.
    reuse
        Take a finished run of the very same plan as it is.
    """

    name: str
    data: str | Path | None = None
    force: bool = False
    reuse: bool = False

    @property
    def folder(self) -> Path:
        """The folder of the finished run; it grows beside that place."""
        return run_folder(self.name, self.data)

    def check_free(self) -> None:
        """Refuse a run that is there already, before any work is done."""
        check_free(self.folder, self.force or self.reuse)


def carry_out(plan: Plan, place: RunPlace, workers: Workers, progress: Progress = silent) -> Run:
    """Make the draws that are missing, keep each as it is finished, and put the run into its folder.

    Parameters
    ----------
    plan
        What to do.
    place
        Where the run goes.
    workers
        Draws are spread over them.
    progress
        Called with the number of draws done, and with the step of training where a draw is made in this process.
    """
    folder = place.folder
    identities = [draw_identity(task) for task in plan.tasks]
    if place.reuse and [draw.identity for draw in read_draws(folder)] == identities:
        return open_run(folder, place.data)
    with held(folder):
        check_free(folder, place.force)
        growing = growing_folder(folder.absolute())
        missing = _missing_draws(growing, identities, place.force)
        done = len(plan.tasks) - len(missing)
        progress(done, len(plan.tasks))
        # As many workers as the whole plan has use for: the last draw of a resumed run is computed like the others.
        workers = workers.at_most(len(plan.tasks))
        keep = partial(_run_and_keep, growing, plan.settings)
        if workers.is_this_process:  # other processes tell of whole draws only

            def tell(step: int, steps: int | None, note: str = "") -> None:
                progress(done, len(plan.tasks), note or f"step {step} of {steps}")

            keep = partial(keep, progress=tell)
        work = [(number, identities[number], plan.tasks[number]) for number in missing]
        for _ in run_batches(keep, work, workers):
            done += 1
            progress(done, len(plan.tasks))
        for superfluous in draw_paths(growing)[len(plan.tasks) :]:  # of the same run begun with more draws
            superfluous.unlink()
        table = _table(plan, growing)
        metrics = {**plan.settings, "table": to_record(table) if table else None}
        write_text(growing / METRICS_FILE, json.dumps(metrics, indent=2, ensure_ascii=False))
        publish(folder)
    return open_run(folder, place.data)


def _missing_draws(growing: Path, identities: list[str], force: bool) -> list[int]:
    """Return the numbers of the draws still to be made; draws of another plan are refused, or thrown away."""
    made = [number for number in range(len(identities)) if draw_path(growing, number).is_file()]
    try:
        if any(DrawRecord.read(draw_path(growing, number)).identity != identities[number] for number in made):
            raise WorkspaceError(
                f"{growing} is an unfinished run with other settings, surveys or version: do the same as then to "
                "finish it, use force=True to begin again, or name=… for another."
            )
    except WorkspaceError:
        if not force:
            raise
        shutil.rmtree(growing)
        made = []
    return [number for number in range(len(identities)) if number not in made]


def _run_and_keep(
    growing: Path, settings: Mapping[str, Any], work: tuple[int, str, DrawTask], progress: Progress = silent
) -> None:
    """Run one draw and write what it found; in a worker process, so that a finished draw survives the main one."""
    number, identity, task = work
    task = task.alone()
    result = run_draw(task, progress)
    if number == 0:
        names = (task.dataset.surveys, task.dataset.classes)
        save_run(growing, SavedRun.from_training(task.config, result.training, result.scaler, *names, settings))
        result.novelty.forest.write(growing)
        predictions = _predictions(task, result)
        if task.elsewhere is None:
            write_atomically(growing / PREDICTIONS_FILE, predictions.to_parquet)
        else:
            frames = _with_stars_elsewhere(predictions, task.elsewhere, task, result, progress)
            write_atomically(growing / PREDICTIONS_FILE, lambda path: write_stars(frames, path, ".parquet"))
    drawn = task.drawn[task.dataset.rows_of(task.target)]
    counts = np.bincount(drawn[drawn != UNLABELLED], minlength=len(task.dataset.classes))
    record = DrawRecord(
        identity=identity,
        seed=task.seed,
        classes=task.dataset.classes,
        labels_per_class=dict(zip(task.dataset.classes, counts.tolist(), strict=True)),
        rows=result.outcomes,
        problems=tuple(result.training.failures.values()),
        doubted=tuple(task.target_ids[result.doubted].tolist()),
    )
    record.write(draw_path(growing, number))  # last: it says that the draw is finished


def draw_identity(task: DrawTask) -> str:
    """Return a fingerprint of all that decides a draw's numbers."""
    task = task.alone()
    dataset = task.dataset
    names = {name: list(getattr(dataset, name)) for name in ("features", "classes", "surveys", "object_ids")}
    choices = {"members": task.members, "rows": list(task.rows), "seed": task.seed, "device": task.device}
    settings = {"lcdvt": __version__, "scaling": task.scaling, **names, **choices, **to_table(task.config)}
    digest = hashlib.sha256(tomli_w.dumps(settings).encode())
    beside = [each for each in (dataset.replicates, dataset.target_own, task.answered) if each is not None]
    for array in (dataset.X, dataset.y, dataset.survey, task.drawn, *beside):
        digest.update(np.ascontiguousarray(array).tobytes())
    if task.elsewhere is not None:
        digest.update(task.elsewhere.fingerprint.encode())
    return digest.hexdigest()


def _table(plan: Plan, folder: Path) -> ResultTable | None:
    """Make the table from the draws that a folder keeps; none where there was nothing to score on."""
    draws = read_draws(folder)
    if len(draws) != len(plan.tasks):
        raise WorkspaceError(
            f"{folder} has {len(draws)} of {len(plan.tasks)} draws, some are gone: do the same again, "
            "with force=True if it says that the run exists."
        )
    scored = [draw for draw in draws if draw.is_scored]
    if not scored:
        return None
    rows = [_row_scores(row, scored, plan) for row in plan.tasks[0].rows]
    return build_table(rows, _circumstances(plan, scored))


def _row_scores(key: str, draws: list[DrawRecord], plan: Plan) -> RowScores:
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
    return RowScores(key, training, model, is_upper_bound, tuple(draw.rows[key].score for draw in draws))


def _circumstances(plan: Plan, draws: list[DrawRecord]) -> Circumstances:
    return Circumstances(
        sources=tuple(each.name for each in plan.surveys[:-1]),
        target=plan.surveys[-1].name,
        classes=plan.dataset.classes,
        labels_per_class=tuple(draw.labels_per_class for draw in draws),
        class_mix=plan.class_mix,
        seeds=tuple(draw.seed for draw in draws),
        members=plan.tasks[0].members,
        simulated=any(each.is_simulated for each in plan.surveys),
        folds=plan.folds,
        left_out=plan.left_out,
        answers=plan.answers,
        sample_sizes=plan.sample_sizes,
        doubted=tuple(len(draw.doubted) for draw in draws),
    )


def _predictions(task: DrawTask, result: DrawResult) -> pd.DataFrame:
    opinion = _Opinion(result.probability, result.disagreement, result.novelty.score)
    return _prediction_table(task.dataset.classes, task.target_ids, task.truth, ~task.scored, opinion)


@dataclass(frozen=True)
class _Opinion:
    """What the ensemble says of some stars: probabilities, how far members disagree, how little like any class."""

    probability: NDArray[np.float64]
    disagreement: NDArray[np.float64]
    other_score: NDArray[np.float64]


def _prediction_table(
    classes: tuple[str, ...],
    object_ids: NDArray[np.object_],
    truth: NDArray[np.int64],
    is_used: NDArray[np.bool_],
    opinion: _Opinion,
) -> pd.DataFrame:
    names = np.array([*classes, None], dtype=object)
    return pd.DataFrame(
        {
            OBJECT_ID: object_ids,
            LABEL: names[truth],
            IN_DRAW: (truth != UNLABELLED) & is_used,
            PREDICTED: names[opinion.probability.argmax(axis=1)],
            **{probability_column(name): opinion.probability[:, k] for k, name in enumerate(classes)},
            ENTROPY: entropy(opinion.probability),
            DISAGREEMENT: opinion.disagreement,
            OTHER_SCORE: opinion.other_score,
        }
    )


def _with_stars_elsewhere(
    predictions: pd.DataFrame, elsewhere: StarsElsewhere, task: DrawTask, result: DrawResult, progress: Progress
) -> Iterator[pd.DataFrame]:
    """Yield what is said of all stars of the target, some thousands at a time, in the order of its parts.

    Parameters
    ----------
    predictions
        What is said of the stars that were learned from; it stands as it is.
    elsewhere
        Where all stars are.
    task, result
        The draw.
    progress
        Told how many stars are classified.
    """
    row_of = {star: row for row, star in enumerate(task.target_ids)}
    done = 0
    for stars in elsewhere.everything():
        row = np.array([row_of.get(star, -1) for star in stars.object_ids])
        known, new = np.flatnonzero(row >= 0), np.flatnonzero(row < 0)
        table = predictions.iloc[row[known]]
        if len(new):
            opinion = _opinion_of(result, stars.values[new], task.target)
            none_used = np.zeros(len(new), dtype=bool)
            ids, truth = stars.object_ids[new], stars.truth[new]
            told = _prediction_table(task.dataset.classes, ids, truth, none_used, opinion)
            table = pd.concat([table, told]).iloc[np.argsort(np.concatenate([known, new]))]
        done += len(row)
        progress(done, elsewhere.stars, f"classified {done:,} of {elsewhere.stars:,} stars")
        yield table


def _opinion_of(result: DrawResult, values: NDArray[np.float64], target: int) -> _Opinion:
    """Return what the ensemble says of stars that it did not learn from."""
    x = result.scaler.apply(values, target)
    device = next(result.training.model.parameters()).device
    told = predict(result.training.model, torch.from_numpy(x).to(device), target, result.training.temperature)
    probability, disagreement = (
        part.detach().cpu().numpy().astype(float) for part in (told.probability, told.disagreement)
    )
    return _Opinion(probability, disagreement, result.novelty.forest.score(x))
