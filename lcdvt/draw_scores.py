"""One label draw: train DVT and its rivals on the drawn labels, score them on what is not among them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lcdvt.baselines.problem import TransferProblem
from lcdvt.baselines.registry import predict_target
from lcdvt.dataset import UNLABELLED, Dataset, SurveyRows
from lcdvt.draw_record import RowOutcome
from lcdvt.dvt.config import DVTConfig, TeachingConfig
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.ensemble import predict
from lcdvt.dvt.train import TrainingError, TrainingResult, resolve_device, train
from lcdvt.novelty import other_score
from lcdvt.scaling import Scaler, ScalingMethod
from lcdvt.teaching import first_opinions, taught_classes
from lcdvt.tune import assign_folds

DVT_UPPER_BOUND = "dvt-upper-bound"
DVT_TOP = "dvt-top-cycle"
DVT_ENSEMBLE = "dvt-ensemble"
DVT_ROWS = (DVT_UPPER_BOUND, DVT_TOP, DVT_ENSEMBLE)
UPPER_BOUND_FOLDS = 5


@dataclass(frozen=True)
class DrawTask:
    """What one draw needs.

    Parameters
    ----------
    dataset
        With all known labels: those outside the draw are for scoring (and for upper bounds) only.
    drawn
        The labels that may be learned from, −1 everywhere else; one for each row of the dataset.
    config, members, scaling, device
        The model, how many of it, how features are brought to one scale, where to compute.
    rows
        Rows of the table.
    seed
        Of everything random in the draw.
    """

    dataset: Dataset
    drawn: NDArray[np.int64]
    config: DVTConfig
    members: int
    rows: tuple[str, ...]
    seed: int
    scaling: ScalingMethod = "rank"
    device: str = "cpu"

    @property
    def member_seeds(self) -> tuple[int, ...]:
        """A different seed for each member, none shared with another draw."""
        return tuple(1000 * self.seed + member for member in range(self.members))

    @property
    def target(self) -> int:
        """The number of the survey that is classified: the last."""
        return len(self.dataset.surveys) - 1

    @property
    def truth(self) -> NDArray[np.int64]:
        """True classes of the target's objects, −1 where nobody knows."""
        return self.dataset.y[self.dataset.rows_of(self.target)]

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which target objects can be scored: those whose class is known but was not drawn."""
        return (self.truth != UNLABELLED) & (self.drawn[self.dataset.rows_of(self.target)] == UNLABELLED)


@dataclass(frozen=True)
class DrawResult:
    """The trained ensemble, what it says of the target, and how every row did.

    Parameters
    ----------
    outcomes
        Of every row.
    probabilities
        (target objects, classes) of every row.
    disagreement, other_score
        Of the ensemble's members about each target object; and how much it looks like none of the classes.
    training, scaler
        The ensemble, and how its features are scaled.
    """

    outcomes: dict[str, RowOutcome]
    probabilities: dict[str, NDArray[np.float64]]
    disagreement: NDArray[np.float64]
    other_score: NDArray[np.float64]
    training: TrainingResult
    scaler: Scaler

    @property
    def probability(self) -> NDArray[np.float64]:
        """What the ensemble says of the target objects."""
        return self.probabilities[DVT_ENSEMBLE]


def run_draw(task: DrawTask) -> DrawResult:
    """Train and score everything on one draw of labels.

    Only the drawn labels reach any model that is not an upper bound; the scaler is fitted without labels; scores
    are taken on the target's labelled objects outside the draw.
    """
    scaler = task.dataset.fit_scaler(task.scaling)
    surveys = task.dataset.survey_rows(scaler, task.drawn)
    target = surveys[-1]
    problem = transfer_problem(surveys, task.dataset.classes)
    opinions = first_opinions(problem, task.config.teaching or TeachingConfig(), task.seed)
    if task.config.teaching and task.target > 0:
        taught = taught_classes(problem, task.config.teaching, task.seed, opinions)
        surveys = [*surveys[:-1], replace(target, y=taught)]
    data = TrainingData.from_surveys(surveys, task.dataset.classes, task.members, resolve_device(task.device))
    training = train(task.config, data, task.member_seeds)
    opinion = predict(training.model, data.rows[-len(target.y) :, : data.widths[-1]], task.target)
    probabilities = {
        DVT_ENSEMBLE: opinion.probability.cpu().numpy().astype(float),
        DVT_TOP: opinion.members[training.top_member].cpu().numpy().astype(float),
    }
    scored = task.scored
    outcomes = {}
    if scored.any():  # with every label in use there is nothing to score rivals on
        if DVT_UPPER_BOUND in task.rows:
            probabilities[DVT_UPPER_BOUND] = _dvt_upper_bound(task, replace(target, y=task.truth))
        for name in task.rows:
            if name not in DVT_ROWS:
                probabilities[name] = predict_target(name, problem, task.seed, task.truth)
            outcomes[name] = RowOutcome.of(task.truth, probabilities[name], task.dataset.classes, scored)
    return DrawResult(
        outcomes=outcomes,
        probabilities=probabilities,
        disagreement=opinion.disagreement.cpu().numpy().astype(float),
        other_score=other_score(problem, opinions, task.seed),
        training=training,
        scaler=scaler,
    )


def transfer_problem(surveys: list[SurveyRows], classes: tuple[str, ...]) -> TransferProblem:
    """Return what trees may learn from: scaled rows of the sources and, last, of the target."""
    *sources, target = surveys
    return TransferProblem(
        source_x=np.concatenate([target.x[:0], *(survey.x for survey in sources)]),
        source_y=np.concatenate([target.y[:0], *(survey.y for survey in sources)]),
        target_x=target.x,
        target_y=target.y,
        classes=classes,
    )


def _dvt_upper_bound(task: DrawTask, rows: SurveyRows) -> NDArray[np.float64]:
    """Return what DVT trained on all target labels says of each object, always by a member that did not see it."""
    fold = folds_of(rows.y, task.seed)
    y = np.stack([np.where(fold == number, UNLABELLED, rows.y) for number in range(UPPER_BOUND_FOLDS)])
    config = replace(task.config, training=replace(task.config.training, mode="semi-supervised", stop="never"))
    data = TrainingData.from_surveys(
        [SurveyRows(rows.name, rows.x, y)], task.dataset.classes, UPPER_BOUND_FOLDS, resolve_device(task.device)
    )
    result = train(config, data, tuple(range(UPPER_BOUND_FOLDS)))
    if result.failures:
        # the other folds' members have learned from this fold's objects: they cannot speak for it
        reason = next(iter(result.failures.values()))
        raise TrainingError(f"row {DVT_UPPER_BOUND}: {reason} Or leave the row out with --rows.")
    members = predict(result.model, data.rows, 0).members.cpu().numpy().astype(float)
    held_out = np.where(fold == UNLABELLED, 0, fold)
    return members[held_out, np.arange(len(held_out))]


def folds_of(y: NDArray[np.integer], seed: int, folds: int = UPPER_BOUND_FOLDS) -> NDArray[np.int64]:
    """Return each labelled object's fold, −1 for objects without a label and for the only one of its class.

    An object that is alone in its class cannot be learned from and scored at once: every fold may learn from it.
    """
    alone = np.isin(y, np.flatnonzero(np.bincount(y[y != UNLABELLED]) == 1))
    return assign_folds(np.where(alone, UNLABELLED, y), seed, folds)
