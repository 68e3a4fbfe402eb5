"""The scikit-learn face: Deep Variational Transfer as a classifier with `fit`, `predict` and `predict_proba`.

`sample_domain` follows the convention of domain adaptation with scikit-learn (skada): each row's survey is a whole
number, positive for sources and negative for the target, and −1 in `y` marks a row without a label.
"""

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, assert_all_finite, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from lcdvt.dataset.dataset import UNLABELLED, SurveyRows
from lcdvt.dataset.scaling import ScalingChoice, ScalingMethod, fit_scaler
from lcdvt.disk.toml_config import from_table
from lcdvt.dvt.config import DVTConfig, PresetName, TrainingConfig, TrainingMode
from lcdvt.dvt.config import preset as named_preset
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.ensemble import predict as predict_members
from lcdvt.dvt.train import resolve_device, train
from lcdvt.errors import DatasetError, LcdvtError, whole_number
from lcdvt.protocol.confidence import soften
from lcdvt.protocol.doubtful import believed_labels
from lcdvt.protocol.draw import transfer_problem
from lcdvt.protocol.teaching import teach

LARGEST_SEED: Final = 2**31 - 1
"""Scikit-learn's generators draw below it."""
NO_DOMAIN: Final = 1
"""Of every row where no domain was given."""


class EstimatorError(DatasetError, ValueError):
    """Rows, labels or domains that DVT cannot learn from; a ValueError too, as scikit-learn's users expect."""


class DVTClassifier(ClassifierMixin, BaseEstimator):
    """Classify the rows of a survey with few labels, with the help of surveys that have more.

    Without `sample_domain` it is a semi-supervised classifier of one survey. Missing features may be NaN.

    Parameters
    ----------
    preset
        The numbers of the model: "taught" (trees guess the target's classes first), "tied", "paper", "robust", or a
        `DVTConfig`.
    mode
        How to train: "multi-task" or "transfer" (several domains), "semi-supervised" or "supervised" (one); None takes
        the first of the two that fit.
    steps
        How long to train, if not as long as the preset says.
    members
        Models in the ensemble, trained in one batch; probabilities are their mean.
    scaling
        How features are brought to one scale: "rank", "pooled", "survey" or "none".
    device
        auto, cpu, cuda or mps.
    random_state
        A number makes the training repeatable.

    Attributes
    ----------
    classes_
        The labels, sorted.
    domains_
        The domains, sources first; the target, if there is one, last.
    scaler_, training_
        What was fitted: the features' scale, and the trained members with their history and cycle consistency.
    doubted_
        (rows,): which labels of the target were not learned from, because the sources contradict them
        (`lcdvt.protocol.doubtful`). A `DVTConfig` whose `teaching.doubtful_labels` is "keep" learns from all.
    """

    def __init__(
        self,
        *,
        preset: PresetName | DVTConfig = "taught",
        mode: TrainingMode | None = None,
        steps: int | None = None,
        members: int = 10,
        scaling: ScalingMethod = "rank",
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.preset = preset
        self.mode = mode
        self.steps = steps
        self.members = members
        self.scaling = scaling
        self.device = device
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_domain: ArrayLike | None = None) -> "DVTClassifier":
        """Train on rows with and without labels.

        Parameters
        ----------
        X
            (rows, features), NaN where a feature is missing.
        y
            The class of each row, a number or a string; −1 (among strings also None or NaN) where it is not known. The
            target needs a few labels, unless trees teach it.
        sample_domain
            Each row's survey: a positive number for a source, one negative number for the target. None: all rows are
            of one survey.
        """
        rows: NDArray[np.float64] = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        labels, known = _labels(self, y)
        domain = _domains(sample_domain, rows)
        check_consistent_length(rows, labels, domain)
        sources, targets = np.unique(domain[domain > 0]), np.unique(domain[domain < 0])
        domains = np.concatenate([sources, targets])
        if len(targets) > 1 or (len(domains) > 1 and not len(targets)):
            raise EstimatorError(
                f"sample_domain has the sources {sources.tolist()} and the targets {targets.tolist()}: give positive "
                "numbers to sources and one negative number to the target."
            )
        try:
            self._train(rows, labels, known, domain, domains)
        except LcdvtError as error:
            raise EstimatorError(str(error)) from error
        return self

    def _train(
        self,
        X: NDArray[np.float64],
        labels: NDArray[Any],
        known: NDArray[np.bool_],
        domain: NDArray[np.int64],
        domains: NDArray[np.int64],
    ) -> None:
        members = whole_number("members", self.members)
        if members < 1:
            raise EstimatorError(f"members = {members}: at least one is needed.")
        classes, numbers = np.unique(labels[known], return_inverse=True)
        y = np.full(len(X), UNLABELLED)
        y[known] = numbers
        survey = _places(domain, domains)
        features = tuple(map(str, getattr(self, "feature_names_in_", range(X.shape[1]))))
        scaling = from_table(ScalingChoice, {"method": self.scaling}, "scaling").method
        scaler = fit_scaler(X, survey, features, scaling)
        rows = [
            SurveyRows(f"domain {name}", scaler.apply(X[survey == number], number), y[survey == number])
            for number, name in enumerate(domains)
        ]
        names = tuple(str(name) for name in classes)
        first = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        config = self._config(len(domains), len(classes))
        lesson, doubted = None, np.zeros(len(X), dtype=bool)
        if config.teaching and len(rows) > 1:
            given = transfer_problem(rows, names)
            problem = believed_labels(given, config.teaching, first)
            doubted[survey == len(domains) - 1] = problem.target_y != given.target_y
            lesson = teach(problem, config.teaching, first)
            rows[-1] = replace(rows[-1], y=lesson.classes)
        data = TrainingData.from_surveys(rows, names, members, resolve_device(self.device))
        training = train(config, data, tuple(range(first, first + members)))
        if config.teaching and config.teaching.softened and lesson is not None:
            training = soften(training, data, lesson)
        # in double precision a row's probabilities do not depend on the rows beside it
        training.model.cpu().double()
        self.training_, self.classes_, self.domains_, self.scaler_ = training, classes, domains, scaler
        self.doubted_ = doubted

    def _config(self, domains: int, classes: int) -> DVTConfig:
        config = self.preset if isinstance(self.preset, DVTConfig) else named_preset(self.preset)
        usual = "multi-task" if domains > 1 else "semi-supervised"
        mode = from_table(TrainingConfig, {"mode": self.mode or usual}, "mode").mode
        steps = config.training.steps if self.steps is None else whole_number("steps", self.steps)
        # each class has an axis of the latent space to itself
        model = replace(config.model, latent=max(config.model.latent, classes))
        return replace(config, model=model, training=replace(config.training, mode=mode, steps=steps))

    def predict_proba(self, X: ArrayLike, sample_domain: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the probability of each class, (rows, classes).

        Parameters
        ----------
        X
            (rows, features), NaN where a feature is missing.
        sample_domain
            Each row's survey, as in `fit`; None takes all for rows of the target.
        """
        check_is_fitted(self)
        rows: NDArray[np.float64] = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        domain = np.full(len(rows), self.domains_[-1]) if sample_domain is None else _domains(sample_domain, rows)
        check_consistent_length(rows, domain)
        unknown = np.setdiff1d(domain, self.domains_)
        if len(unknown):
            raise EstimatorError(f"domain {unknown[0]} was not in fit: give one of {self.domains_.tolist()}.")
        probability = np.empty((len(rows), len(self.classes_)))
        for number, name in enumerate(self.domains_):
            of_domain = domain == name
            if of_domain.any():
                scaled = torch.from_numpy(self.scaler_.apply(rows[of_domain], number)).double()
                temperature = self.training_.temperature if number == len(self.domains_) - 1 else 1.0
                told = predict_members(self.training_.model, scaled, number, temperature)
                probability[of_domain] = told.probability.numpy()
        return probability

    def predict(self, X: ArrayLike, sample_domain: ArrayLike | None = None) -> NDArray[Any]:
        """Return the most probable class of each row; parameters as in `predict_proba`."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X, sample_domain).argmax(axis=1)]

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        sample_domain: ArrayLike | None = None,
    ) -> float:
        """Return the accuracy (0 to 1) on the rows that have a label.

        Parameters
        ----------
        X, sample_domain
            As in `predict_proba`.
        y
            True classes; rows with −1 are left out.
        sample_weight
            How much each row counts.
        """
        labels, known = _labels(self, y)
        if not known.any():
            raise EstimatorError("no row of y has a label: there is nothing to score on.")
        check_consistent_length(labels, sample_weight)
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(accuracy_score(labels[known], self.predict(X, sample_domain)[known], sample_weight=weight))


def _labels(estimator: DVTClassifier, y: ArrayLike) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return one label for each row, and which of them are known."""
    if y is None:
        raise EstimatorError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: give −1 for rows without."
        )
    given = column_or_1d(y, warn=True)
    if given.dtype.kind in "OUS":
        texts = pd.Series(given, dtype=object)
        known = (texts.notna() & ~texts.isin([UNLABELLED, str(UNLABELLED)])).to_numpy()
        found = texts[known].tolist()
        # an array of objects sorts only if all are of one kind: names, or numbers
        kind: Any = str if any(isinstance(each, str) for each in found) else None
        filled = np.array(found, dtype=kind)
        labels = np.zeros(len(given), dtype=filled.dtype)
        labels[known] = filled
    else:
        assert_all_finite(given, input_name="y")
        labels, known = given, given != UNLABELLED
    if known.any():
        check_classification_targets(labels[known])
    return labels, known


def _domains(sample_domain: ArrayLike | None, X: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return each row's domain, a whole number other than 0."""
    if sample_domain is None:
        return np.full(len(X), NO_DOMAIN)
    domain = column_or_1d(sample_domain)
    if domain.dtype.kind not in "iu" or (domain == 0).any():
        raise EstimatorError(
            "sample_domain: give each row a whole number, positive for a source, negative for the target."
        )
    return domain.astype(np.int64)


def _places(domain: NDArray[np.int64], domains: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each row's domain among all domains."""
    return (domain[:, None] == domains).argmax(axis=1)
