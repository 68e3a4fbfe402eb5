"""Boosting that learns from its own confident guesses: what self-training gives without DVT."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.baselines.fitting import ClassProbabilities
from lcdvt.baselines.one_thread import one_thread
from lcdvt.baselines.problem import TransferProblem
from lcdvt.baselines.weighted import WeightedBothSurveys, WeightedConfig, boosting, fit_groups
from lcdvt.dataset.dataset import UNLABELLED

LEAST_PROBABILITY: Final = 1e-3
"""One expert's zero must not silence the others in the product."""
# Enough to learn a survey's ways from; one with millions of objects shall not take hours.
MOST_GUESSED: Final = 50_000


@dataclass(frozen=True)
class SelfTrainingConfig:
    """How boosting teaches itself.

    Parameters
    ----------
    confident_share
        Share of the unlabelled objects given each class, the most confident first, that are learned from.
    models
        Boosting models, with seeds of their own, whose mean is the answer.
    """

    confident_share: float = 0.5
    models: int = 2


class SelfTrainedBoosting:
    """Boosting on both surveys, and once more with the target objects it was surest of."""

    def __init__(self, config: SelfTrainingConfig | None = None) -> None:
        self.config = config or SelfTrainingConfig()
        self._models: list[ClassProbabilities]

    def fit(self, problem: TransferProblem, seed: int) -> None:
        """Fit, guess, and fit again on the guesses."""
        teacher = WeightedBothSurveys("boosting")
        teacher.fit(problem, seed)
        guessed = confident_classes(
            teacher.predict_proba(problem.target_x), problem.target_y, self.config.confident_share
        )
        self._models = fit_students(problem, guessed, range(seed, seed + self.config.models))

    def predict_proba(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the mean of the models."""
        with one_thread():
            return np.mean([model(x) for model in self._models], axis=0)


def confident_classes(probability: NDArray[np.float64], drawn: NDArray[np.integer], share: float) -> NDArray[np.int64]:
    """Return a class for the most confident unlabelled objects of each predicted class, −1 for all others.

    A share of each class is taken, not all objects above a limit: otherwise the easy classes would crowd out the
    difficult ones.

    Parameters
    ----------
    probability
        (objects, classes).
    drawn
        The labels known already; their objects get −1.
    share
        Which share of each predicted class is taken, the surest first.
    """
    predicted, confidence = probability.argmax(axis=1), probability.max(axis=1)
    guessed = np.full(len(drawn), UNLABELLED, dtype=np.int64)
    for number in range(probability.shape[1]):
        places = np.flatnonzero((predicted == number) & (drawn == UNLABELLED))
        best_first = places[np.argsort(-confidence[places], kind="stable")]
        kept = best_first[: max(1, int(share * len(places)))]
        guessed[kept] = number
    return guessed


def fit_students(
    problem: TransferProblem, guessed: NDArray[np.integer], seeds: Sequence[int], *, with_source: bool = True
) -> list[ClassProbabilities]:
    """Fit boosting on the labels and on guessed classes of the target, all groups weighing the same.

    Parameters
    ----------
    problem
        The label draw.
    guessed
        Classes of target objects that were guessed, −1 for the others.
    seeds
        One for each model.
    with_source
        Whether the source's labels are learned from too; without them nothing of the source's own ways is kept.
    """
    is_guessed = np.flatnonzero(guessed != UNLABELLED)
    if len(is_guessed) > MOST_GUESSED:
        is_guessed = np.random.default_rng(seeds[0]).choice(is_guessed, MOST_GUESSED, replace=False)
    learned = np.full(len(guessed), UNLABELLED, dtype=np.int64)
    learned[is_guessed] = guessed[is_guessed]
    groups = [
        (*problem.guessed_target(learned), 1.0),
        (*problem.labelled_target(), 1.0),
        *([(*problem.labelled_source(), 1.0)] if with_source else []),
    ]
    with one_thread():
        return [fit_groups(boosting(WeightedConfig(), seed), groups, len(problem.classes)) for seed in seeds]


def product_of_experts(
    opinions: Sequence[NDArray[np.float64]], weights: Sequence[float] | None = None
) -> NDArray[np.float64]:
    """Return the normalised product of several classifiers' probabilities; none may veto a class altogether.

    Parameters
    ----------
    opinions
        (objects, classes) of each.
    weights
        How often each opinion counts; once by default.
    """
    counted = zip(weights or [1.0] * len(opinions), opinions, strict=True)
    logs = np.sum([weight * np.log(np.maximum(opinion, LEAST_PROBABILITY)) for weight, opinion in counted], axis=0)
    product = np.exp(logs - logs.max(axis=1, keepdims=True))
    return product / product.sum(axis=1, keepdims=True)
