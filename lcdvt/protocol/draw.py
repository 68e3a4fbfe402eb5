"""One label draw: train DVT and its rivals on the drawn labels, score them on what is not among them."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from lcdvt.baselines.problem import TransferProblem
from lcdvt.baselines.rows import DVT_ENSEMBLE, DVT_ROWS, DVT_TOP, DVT_UPPER_BOUND, FittedRow, fit_row
from lcdvt.dataset.dataset import UNLABELLED, SurveyRows
from lcdvt.dataset.folds import FOLDS, held_out_folds, labels_without_fold
from lcdvt.dataset.scaling import Scaler
from lcdvt.dvt.config import TeachingConfig
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.ensemble import EnsemblePrediction, predict
from lcdvt.dvt.train import TrainingError, TrainingResult, resolve_device, train
from lcdvt.parallel.progress import Progress, silent
from lcdvt.protocol.confidence import soften
from lcdvt.protocol.doubtful import believed_labels
from lcdvt.protocol.novelty import Novelty, other_score
from lcdvt.protocol.plan import DrawTask
from lcdvt.protocol.teaching import Lesson, first_opinions, teach
from lcdvt.results.draw_record import RowOutcome


@dataclass(frozen=True)
class DrawResult:
    """The trained ensemble, what it says of the target, and how every row did.

    Parameters
    ----------
    outcomes
        How each row did.
    probabilities
        (target objects, classes) of every row.
    disagreement, novelty
        How far the ensemble's members disagree about each target object, and how much it looks like no class.
    training, scaler
        The ensemble, and how its features are scaled.
    doubted
        Which target objects have a drawn label that DVT did not learn from.
    """

    outcomes: dict[str, RowOutcome]
    probabilities: dict[str, NDArray[np.float64]]
    disagreement: NDArray[np.float64]
    novelty: Novelty
    training: TrainingResult
    scaler: Scaler
    doubted: NDArray[np.bool_]

    @property
    def probability(self) -> NDArray[np.float64]:
        """What the ensemble says of the target objects."""
        return self.probabilities[DVT_ENSEMBLE]


def run_draw(task: DrawTask, progress: Progress = silent) -> DrawResult:
    """Train and score everything on one draw of labels.

    Only the drawn labels reach any model that is not an upper bound; the scaler is fitted without labels; scores
    are taken on the target's labelled objects outside the draw.

    Parameters
    ----------
    task
        What to do.
    progress
        Called with the steps of the ensemble's training.
    """
    scaler = task.dataset.fit_scaler(task.scaling)
    surveys = task.dataset.survey_rows(scaler, task.drawn)
    target = surveys[-1]
    problem = transfer_problem(surveys, task.dataset.classes)
    teaching = task.config.teaching
    believed = believed_labels(problem, teaching, task.seed, task.target_answered) if teaching else problem
    opinions = first_opinions(believed, teaching or TeachingConfig(), task.seed)
    lesson = teach(believed, teaching, task.seed, opinions) if teaching and task.target > 0 else None
    data, training = train_ensemble(task, surveys, lesson, progress)
    target_rows = data.rows[-len(target.y) :, : data.widths[-1]]
    opinion = predict(training.model, target_rows, task.target, training.temperature)

    def ask(x: NDArray[np.floating]) -> EnsemblePrediction:
        return predict(training.model, torch.from_numpy(x).to(data.rows.device), task.target, training.temperature)

    fitted = {
        DVT_ENSEMBLE: FittedRow(_array(opinion.probability), lambda x: _array(ask(x).probability)),
        DVT_TOP: FittedRow(
            _array(opinion.members[training.top_member]), lambda x: _array(ask(x).members[training.top_member])
        ),
    }
    outcomes = {}
    if task.scored.any() or task.is_scored_elsewhere:  # with every label in use there is nothing to score rivals on
        if DVT_UPPER_BOUND in task.rows:
            fitted[DVT_UPPER_BOUND] = _dvt_upper_bound(task, replace(target, y=task.truth))
        for name in task.rows:
            if name not in DVT_ROWS:
                fitted[name] = fit_row(name, problem, task.seed, task.truth)
        outcomes = _outcomes(task, fitted, scaler)
    return DrawResult(
        outcomes=outcomes,
        probabilities={name: row.probability for name, row in fitted.items()},
        disagreement=opinion.disagreement.cpu().numpy().astype(float),
        novelty=other_score(problem.without_replicates(), opinions, task.seed),
        training=training,
        scaler=scaler,
        doubted=problem.target_y != believed.target_y,
    )


def train_ensemble(
    task: DrawTask, surveys: list[SurveyRows], lesson: Lesson | None, progress: Progress = silent
) -> tuple[TrainingData, TrainingResult]:
    """Train DVT on the drawn labels, or on what trees say of the target.

    Parameters
    ----------
    task
        The draw.
    surveys
        Its scaled rows with the drawn labels.
    lesson
        What trees say; None for the drawn labels alone.
    progress
        Called with the steps.
    """
    if lesson is not None:
        surveys = [*surveys[:-1], replace(surveys[-1], y=lesson.classes)]
    data = _training_data(task, surveys, task.members)
    training = train(task.config, data, task.member_seeds, progress=progress)
    if task.config.teaching and task.config.teaching.softened and lesson is not None:
        training = soften(training, data, lesson)
    return data, training


def _training_data(task: DrawTask, surveys: list[SurveyRows], members: int) -> TrainingData:
    wanted = task.config.objective.consistency_weight > 0 and task.dataset.replicates is not None
    return TrainingData.from_surveys(
        surveys, task.dataset.classes, members, resolve_device(task.device), replicates=wanted
    )


def _outcomes(task: DrawTask, fitted: dict[str, FittedRow], scaler: Scaler) -> dict[str, RowOutcome]:
    """Compare each row of the table with the labels outside the draw, here and in the rest of the target."""
    classes, scored = task.dataset.classes, task.scored
    found: dict[str, list[RowOutcome]] = {name: [] for name in task.rows}
    if scored.any():
        for name in task.rows:
            found[name].append(RowOutcome.of(task.truth, fitted[name].probability, classes, scored))
    if task.elsewhere is not None and task.is_scored_elsewhere:
        for stars in task.elsewhere.labelled_outside(frozenset(task.target_ids)):
            x, known = scaler.apply(stars.values, task.target), np.ones(len(stars.truth), dtype=bool)
            for name in task.rows:
                found[name].append(RowOutcome.of(stars.truth, fitted[name].predict_proba(x), classes, known))
    return {name: RowOutcome.pooled(parts, classes) for name, parts in found.items()}


def _array(tensor: torch.Tensor) -> NDArray[np.float64]:
    return tensor.detach().cpu().numpy().astype(float)


def transfer_problem(surveys: list[SurveyRows], classes: tuple[str, ...], *, fill_gaps: bool = True) -> TransferProblem:
    """Return what rivals may learn from: scaled rows of the sources and, last, of the target.

    Parameters
    ----------
    surveys, classes
        Scaled rows with the drawn labels, and the names of the classes.
    fill_gaps
        Whether features that a whole source lacks get values; missing, they would tell trees the survey.
    """
    *sources, target = surveys
    if fill_gaps:
        sources = _without_telltale_gaps(sources, target)
    rows = [source.x for source in sources]
    again = [source.replicates for source in sources if source.replicates is not None]
    return TransferProblem(
        source_x=np.concatenate([target.x[:0], *rows]),
        source_y=np.concatenate([target.y[:0], *(survey.y for survey in sources)]),
        target_x=target.x,
        target_y=target.y,
        classes=classes,
        source_replicates=None if target.replicates is None else np.concatenate([target.replicates[:, :0], *again], 1),
        target_replicates=target.replicates,
        target_own=target.own,
    )


def _without_telltale_gaps(sources: list[SurveyRows], target: SurveyRows) -> list[SurveyRows]:
    """Give a source's stars values of random stars of the other surveys where the whole source lacks a feature.

    Trees would learn which survey a star is from by what is missing, and that tells nothing of the target's stars: a
    forest on both surveys lost ten points of macro F1 by it. DVT leaves missing features out of its likelihood.
    """
    rng, rng_of_replicates = np.random.default_rng(0), np.random.default_rng(1)
    filled = []
    for source in sources:
        x = source.x.copy()
        again = None if source.replicates is None else source.replicates.copy()
        made = None if again is None else ~np.isnan(again).all(axis=-1)
        others = np.concatenate([survey.x for survey in (*sources, target) if survey is not source])
        for feature in np.flatnonzero(np.isnan(x).all(axis=0)):
            known = others[:, feature][~np.isnan(others[:, feature])]
            x[:, feature] = rng.choice(known, len(x))
            if again is not None and made is not None:
                again[made, feature] = rng_of_replicates.choice(known, int(made.sum()))
        filled.append(replace(source, x=x, replicates=again))
    return filled


def _dvt_upper_bound(task: DrawTask, rows: SurveyRows) -> FittedRow:
    """Return what DVT trained on all target labels says of each object, always by a member that did not see it.

    It learns from replicates too, where they were made, and answers with the mean of an object and its replicates: as
    much of the light curves as the default's teachers have. Of other objects all members may speak.
    """
    seen, star = with_replicates_as_rows(rows)
    fold = held_out_folds(rows.y, task.seed)[star]
    config = replace(task.config, training=replace(task.config.training, mode="semi-supervised", stop="never"))
    data = _training_data(task, [replace(seen, y=labels_without_fold(seen.y, fold))], FOLDS)
    result = train(config, data, tuple(range(FOLDS)))
    if result.failures:
        # the other folds' members have learned from this fold's objects: they cannot speak for it
        reason = next(iter(result.failures.values()))
        raise TrainingError(f"row {DVT_UPPER_BOUND}: {reason} Or leave the row out with rows=….")
    members = _array(predict(result.model, data.rows, 0).members)
    held_out = np.where(fold == UNLABELLED, 0, fold)
    said = np.zeros((len(rows.x), members.shape[-1]))
    np.add.at(said, star, members[held_out, np.arange(len(held_out))])
    return FittedRow(
        said / np.bincount(star)[:, None],
        lambda x: _array(predict(result.model, torch.from_numpy(x).to(data.rows.device), 0).probability),
    )


def with_replicates_as_rows(rows: SurveyRows) -> tuple[SurveyRows, NDArray[np.intp]]:
    """Return the objects and, below them, their replicates that were made; and which object each row is of."""
    star = np.arange(len(rows.x))
    if rows.replicates is None or not len(rows.replicates):
        return rows, star
    made = [~np.isnan(again).all(axis=1) for again in rows.replicates]
    x = np.concatenate([rows.x, *(again[there] for again, there in zip(rows.replicates, made, strict=True))])
    # an object is a replicate of its replicate
    replicates = np.concatenate([rows.replicates[0], *(rows.x[there] for there in made)])
    star = np.concatenate([star, *(star[there] for there in made)])
    return SurveyRows(rows.name, x, rows.y[star], replicates[None]), star
