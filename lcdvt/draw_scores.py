"""One label draw of a transfer: train DVT and its rivals on the draw, score them on what is not in it."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lcdvt.baselines.problem import TransferProblem
from lcdvt.baselines.registry import predict_target
from lcdvt.dataset import UNLABELLED, Dataset, SurveyRows
from lcdvt.draws import LabelBudget
from lcdvt.dvt.config import DVTConfig
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.ensemble import predict
from lcdvt.dvt.train import TrainingResult, resolve_device, train
from lcdvt.evaluate import Score, score
from lcdvt.scaling import Scaler, ScalingMethod
from lcdvt.tune import assign_folds

DVT_UPPER_BOUND = "dvt-upper-bound"
DVT_TOP = "dvt-top-cycle"
DVT_ENSEMBLE = "dvt-ensemble"
DVT_ROWS = (DVT_UPPER_BOUND, DVT_TOP, DVT_ENSEMBLE)
UPPER_BOUND_FOLDS = 5


@dataclass(frozen=True)
class DrawTask:
    """What one draw needs: the dataset with all known labels, and how many of them may be used."""

    dataset: Dataset
    config: DVTConfig
    source_labels: LabelBudget
    target_labels: LabelBudget
    members: int
    rows: tuple[str, ...]
    seed: int
    scaling: ScalingMethod = "rank"
    device: str = "cpu"

    @property
    def member_seeds(self) -> tuple[int, ...]:
        """A different seed for each member, none shared with another draw."""
        return tuple(1000 * self.seed + member for member in range(self.members))


@dataclass
class DrawResult:
    """Scores of every row, and the trained ensemble with what it says of the target."""

    seed: int
    scores: dict[str, Score]
    labels_per_class: dict[str, int]
    probability: NDArray[np.float64]
    disagreement: NDArray[np.float64]
    scored: NDArray[np.bool_]
    training: TrainingResult
    scaler: Scaler
    problems: list[str] = field(default_factory=list)


def run_draw(task: DrawTask) -> DrawResult:
    """Train and score everything on one draw of labels.

    Only the drawn labels reach any model that is not an upper bound; the scaler is fitted without labels; scores
    are taken on the target's labelled objects outside the draw.
    """
    dataset = task.dataset
    target = len(dataset.surveys) - 1
    budgets = [*[task.source_labels] * target, task.target_labels]
    y = dataset.draw(budgets, task.seed)
    scaler = dataset.fit_scaler(task.scaling)
    surveys = dataset.survey_rows(scaler, y)
    truth = dataset.y[dataset.rows_of(target)]
    drawn = surveys[-1].y
    scored = (truth != UNLABELLED) & (drawn == UNLABELLED)

    data = TrainingData.from_surveys(surveys, dataset.classes, task.members, resolve_device(task.device))
    training = train(task.config, data, task.member_seeds)
    opinion = predict(training.model, data.rows[-len(truth) :, : data.widths[-1]], target)
    probability = opinion.probability.cpu().numpy().astype(float)
    probabilities = {
        DVT_ENSEMBLE: probability,
        DVT_TOP: opinion.members[training.top_member].cpu().numpy().astype(float),
    }
    if scored.any() and DVT_UPPER_BOUND in task.rows:
        probabilities[DVT_UPPER_BOUND] = _dvt_upper_bound(task, SurveyRows(surveys[-1].name, surveys[-1].x, truth))
    problem = TransferProblem(
        source_x=np.concatenate([survey.x for survey in surveys[:-1]]),
        source_y=np.concatenate([survey.y for survey in surveys[:-1]]),
        target_x=surveys[-1].x,
        target_y=drawn,
        classes=dataset.classes,
    )
    scores = {}
    if scored.any():  # with every label in use there is nothing to score rivals on
        for name in task.rows:
            if name not in DVT_ROWS:
                probabilities[name] = predict_target(name, problem, task.seed, truth)
            scores[name] = score(truth, probabilities[name], dataset.classes, scored)
    counts = np.bincount(drawn[drawn != UNLABELLED], minlength=len(dataset.classes))
    return DrawResult(
        seed=task.seed,
        scores=scores,
        labels_per_class=dict(zip(dataset.classes, counts.tolist(), strict=True)),
        probability=probability,
        disagreement=opinion.disagreement.cpu().numpy().astype(float),
        scored=scored,
        training=training,
        scaler=scaler,
        problems=[f"member with seed {seed}: {reason}" for seed, reason in training.failures.items()],
    )


def _dvt_upper_bound(task: DrawTask, rows: SurveyRows) -> NDArray[np.float64]:
    """Return what DVT trained on all target labels says of each object, always by a member that did not see it."""
    # The only object of its class is in every draw and never scored: every fold may learn from it.
    known = rows.y[rows.y != UNLABELLED]
    alone = np.isin(rows.y, np.flatnonzero(np.bincount(known) == 1))
    fold = assign_folds(np.where(alone, UNLABELLED, rows.y), task.seed, UPPER_BOUND_FOLDS)
    y = np.stack([np.where(fold == number, UNLABELLED, rows.y) for number in range(UPPER_BOUND_FOLDS)])
    config = replace(task.config, training=replace(task.config.training, mode="semi-supervised", stop="never"))
    data = TrainingData.from_surveys([SurveyRows(rows.name, rows.x, y)], task.dataset.classes, UPPER_BOUND_FOLDS)
    result = train(config, data, tuple(range(UPPER_BOUND_FOLDS)))
    members = predict(result.model, data.rows, 0).members.cpu().numpy().astype(float)
    held_out = np.where(fold == UNLABELLED, 0, fold)
    return members[held_out, np.arange(len(held_out))]
