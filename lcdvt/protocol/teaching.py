"""Trees teach DVT: a class for every unlabelled star of the target, before DVT is trained.

With a handful of target labels, trees on both surveys separate the classes better than a network does, because
thresholds on periods and shapes survive a change of survey; and the target's own unlabelled stars tell where the
classes lie there. So the target is classified in two rounds, and DVT then learns from the result as if all of it were
labelled:

1. boosting and a forest on both surveys' labels, and a forest on the target's few labels alone: where the surveys are
   very unlike, what the source says is the weaker advice;
2. boosting on the labels and on the stars the first round was surest of, once with the source and once without it.

Then both rounds are gone through once more by teachers that look at nothing but steady features, of which the source
tells what is true of the target, too (`lcdvt.protocol.steady`), and their two students are asked as well.

Experts that learn from the target alone look at its own features, too: its colour, and its magnitudes where all stars
are equally far, by which no source can be compared (`lcdvt.dataset.alignment.own_features`).

The classes taught are those of the product of all these experts. What DVT learns from them is one smooth model that
needs no trees to classify a new star, and whose probabilities are calibrated far better than the experts' are.

No label outside the draw is seen: `TransferProblem` does not hold any.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.baselines.forests import ForestOnOneSurvey
from lcdvt.baselines.one_thread import one_thread
from lcdvt.baselines.problem import TransferProblem
from lcdvt.baselines.self_training import confident_classes, fit_students, product_of_experts
from lcdvt.baselines.weighted import WeightedBothSurveys, WeightedConfig
from lcdvt.dataset.dataset import UNLABELLED
from lcdvt.dataset.folds import stratified_folds
from lcdvt.dvt.config import TeachingConfig
from lcdvt.protocol.steady import steady_features

FEWEST_STEADY: Final = 4
"""From fewer features no class is told: of the 28 that SDSS and Pan-STARRS1 share two are steady."""


@dataclass(frozen=True)
class Lesson:
    """What trees say of the target.

    Parameters
    ----------
    drawn
        The labels that are known, −1 for everything else.
    experts
        (target objects, classes) of each expert.
    weights
        How often each of them counts in the product.
    alone
        What the expert says that learned from the target's labels alone; None where they lack a class.
    """

    drawn: NDArray[np.integer]
    experts: tuple[NDArray[np.float64], ...]
    weights: tuple[float, ...]
    alone: NDArray[np.float64] | None = None

    @property
    def posterior(self) -> NDArray[np.float64]:
        """The product of all experts' probabilities, (target objects, classes): far too sure, but seldom wrong."""
        return product_of_experts(self.experts, self.weights)

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean of all experts' probabilities, (target objects, classes): less sure where they disagree."""
        return np.mean(self.experts, axis=0)

    @property
    def classes(self) -> NDArray[np.int64]:
        """A class for every target object: the drawn label, or the product's."""
        return np.where(self.drawn != UNLABELLED, self.drawn, self.posterior.argmax(axis=1)).astype(np.int64)


def teach(
    problem: TransferProblem,
    config: TeachingConfig,
    seed: int,
    opinions: Sequence[NDArray[np.float64]] | None = None,
) -> Lesson:
    """Ask all experts about the target.

    Parameters
    ----------
    problem
        The label draw.
    config
        How many experts, and which of them.
    seed
        The random seed of all experts.
    opinions
        What `first_opinions` said, where it was asked already.
    """
    first = first_opinions(problem, config, seed) if opinions is None else list(opinions)
    alone = None
    if config.target_forest and _has_label_of_every_class(problem):
        target, forest = problem.target_alone(), ForestOnOneSurvey("target")
        forest.fit(target, seed)
        alone = forest.predict_proba(target.target_x)
        first = [*first, alone]
    lesson = Lesson(problem.target_y, tuple(first), (1.0,) * len(first), alone)
    for _ in range(config.self_training_rounds):
        second = _students(problem, problem, lesson.posterior, config, seed)
        weights = (1.0,) * (len(first) + 1) + (config.target_only_weight,) * (len(second) - 1)
        lesson = Lesson(problem.target_y, (*first, *second), weights, alone)
    if config.self_training_rounds > 0 and config.steady_share > 0:
        return _with_steady_students(problem, lesson, config, seed)
    return lesson


def _has_label_of_every_class(problem: TransferProblem) -> bool:
    """Say whether the target's own labels can speak of all classes; otherwise they would outvote those they lack."""
    return set(range(len(problem.classes))) <= set(problem.target_y.tolist())


def first_opinions(problem: TransferProblem, config: TeachingConfig, seed: int) -> list[NDArray[np.float64]]:
    """Classify the target by boosting and by a forest, on the labels of both surveys."""
    chosen = WeightedBothSurveys("boosting")
    weight = chosen.choose_weight(problem, seed)
    settings = replace(WeightedConfig(), target_weights=(weight,))
    parts = [problem] if config.folds == 1 else _without_each_fold(problem, config.folds, seed)
    opinions = []
    for number, part in enumerate(parts):
        model = WeightedBothSurveys("boosting", settings)
        model.fit(part, seed + number)
        opinions.append(model.predict_proba(problem.target_x))
    experts = [np.mean(opinions, axis=0)]
    if config.forest:
        forest = WeightedBothSurveys("forest")
        forest.fit(problem, seed)
        experts.append(forest.predict_proba(problem.target_x))
    return experts


def _without_each_fold(problem: TransferProblem, folds: int, seed: int) -> list[TransferProblem]:
    source_fold = stratified_folds(problem.source_y, folds, seed)
    target_fold = stratified_folds(problem.target_y, folds, seed)
    return [
        replace(
            problem,
            source_y=np.where(source_fold == number, UNLABELLED, problem.source_y),
            target_y=np.where(target_fold == number, UNLABELLED, problem.target_y),
        )
        for number in range(folds)
    ]


def _students(
    problem: TransferProblem,
    compared: TransferProblem,
    posterior: NDArray[np.float64],
    config: TeachingConfig,
    seed: int,
) -> list[NDArray[np.float64]]:
    """Classify the target by boosting that learns from the surer guesses too, with the source and without it.

    Parameters
    ----------
    problem
        The label draw.
    compared
        The same with the features that the source may be learned from by.
    posterior
        (target objects, classes) that the guesses come from.
    config, seed
        As for `teach`.
    """
    guessed = confident_classes(posterior, problem.target_y, config.confident_share)
    experts = []
    for with_source in (True, False) if config.target_only_student else (True,):
        seen = compared if with_source else problem.target_alone()
        models = fit_students(seen, guessed, range(seed, seed + config.students), with_source=with_source)
        with one_thread():
            experts.append(np.mean([model(seen.target_x) for model in models], axis=0))
    return experts


def _with_steady_students(problem: TransferProblem, lesson: Lesson, config: TeachingConfig, seed: int) -> Lesson:
    """Ask students, too, whose teachers looked at steady features alone."""
    guessed = confident_classes(lesson.posterior, problem.target_y, config.confident_share)
    steady = steady_features(problem, guessed, config.steady_share, seed)
    if steady.sum() < FEWEST_STEADY:
        return lesson
    compared = problem.with_features(steady)
    teachers = first_opinions(compared, config, seed)
    posterior = product_of_experts(teachers if lesson.alone is None else [*teachers, lesson.alone])
    students = _students(problem, compared, posterior, config, seed)
    return replace(lesson, experts=(*lesson.experts, *students), weights=(*lesson.weights, *[1.0] * len(students)))
