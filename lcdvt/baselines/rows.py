"""The rows of a table by name: the baselines, and what they are compared with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.baselines.coral import CoralForest
from lcdvt.baselines.forests import ForestOnOneSurvey, ForestUpperBound
from lcdvt.baselines.label_spreading import LabelSpreading
from lcdvt.baselines.mixture_transfer import MixtureTransfer
from lcdvt.baselines.problem import Baseline, TransferProblem, UpperBound
from lcdvt.baselines.self_training import SelfTrainedBoosting
from lcdvt.baselines.support_vectors import SVMOnTarget
from lcdvt.baselines.weighted import WeightedBothSurveys
from lcdvt.errors import DatasetError

DVT_UPPER_BOUND: Final = "dvt-upper-bound"
DVT_TOP: Final = "dvt-top-cycle"
DVT_ENSEMBLE: Final = "dvt-ensemble"
DVT_ROWS: Final = (DVT_UPPER_BOUND, DVT_TOP, DVT_ENSEMBLE)


@dataclass(frozen=True)
class Row:
    """A baseline as the table shows it.

    Parameters
    ----------
    training
        What it learned from.
    model
        What learned.
    is_upper_bound
        Whether it needs the target's true classes, and so is no rival.
    factory
        Makes an unfitted one.
    uses_replicates
        Whether it learns from thinned light curves, too, as DVT's teachers do; the others see each object once.
    """

    training: str
    model: str
    is_upper_bound: bool
    factory: Callable[[], Baseline] | Callable[[], UpperBound]
    uses_replicates: bool = False


ROWS: dict[str, Row] = {
    "forest-upper-bound": Row("Supervised upper bound", "Random forest", True, ForestUpperBound),
    "gmm-transfer": Row("Transfer, no target labels", "GMM based", False, MixtureTransfer),
    "forest-target": Row("Target labels", "Random forest", False, lambda: ForestOnOneSurvey("target")),
    "forest-source": Row("Source", "Random forest", False, lambda: ForestOnOneSurvey("source")),
    "boosting-both": Row(
        "Source + weighted target labels", "Gradient boosting", False, lambda: WeightedBothSurveys("boosting")
    ),
    "boosting-self-trained": Row(
        "Source + target labels, self-trained", "Gradient boosting", False, SelfTrainedBoosting
    ),
    "boosting-self-trained-replicates": Row(
        "Source + target labels, self-trained, replicates", "Gradient boosting", False, SelfTrainedBoosting, True
    ),
    "forest-both": Row(
        "Source + weighted target labels", "Random forest", False, lambda: WeightedBothSurveys("forest")
    ),
    "svm-target": Row("Target labels", "SVM", False, SVMOnTarget),
    "label-spreading": Row("Semi-supervised, target only", "Label spreading", False, LabelSpreading),
    "coral-forest": Row("Source, no target labels", "CORAL + random forest", False, CoralForest),
}


@dataclass(frozen=True)
class FittedRow:
    """What a row says of the target's objects, and how to ask it about others.

    Parameters
    ----------
    probability
        (target objects, classes).
    predict_proba
        The same of further rows of the target, which it has not learned from.
    """

    probability: NDArray[np.float64]
    predict_proba: Callable[[NDArray[np.floating]], NDArray[np.float64]]


def fit_row(name: str, problem: TransferProblem, seed: int, target_truth: NDArray[np.integer]) -> FittedRow:
    """Fit a named row to one draw of labels.

    Parameters
    ----------
    name
        A key of `ROWS`.
    problem
        The label draw, with replicates if there are any; a row that does not use them is not given them.
    seed
        The random seed of the baseline.
    target_truth
        Class numbers of all target objects, −1 where not known; only an upper bound is given them.
    """
    if name not in ROWS:
        raise DatasetError(f"there is no row {name}: choose from {', '.join(ROWS)}.")
    if not ROWS[name].uses_replicates:
        problem = problem.without_replicates()
    model = ROWS[name].factory()
    if ROWS[name].is_upper_bound:
        held_out = model.cross_validated_proba(problem, target_truth, seed)  # type: ignore[union-attr]
        return FittedRow(held_out, model.predict_proba)
    model.fit(problem, seed)  # type: ignore[union-attr]
    return FittedRow(model.predict_proba(problem.target_x), model.predict_proba)


def predict_target(
    name: str, problem: TransferProblem, seed: int, target_truth: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return (target objects, classes) of a row that is fitted as `fit_row` does it."""
    return fit_row(name, problem, seed, target_truth).probability
