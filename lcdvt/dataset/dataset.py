"""Features and labels of several surveys as one dataset: X, y, survey, and label draws on top.

Missing features stay NaN all the way: the model's likelihood leaves them out, so no star is dropped for
them. Classes are those of all surveys together. A class that only one survey has is allowed: its component
is then learned from that survey's labels alone, and the other survey can still be given it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lcdvt.dataset.draws import LabelBudget, draw_labels
from lcdvt.dataset.scaling import Scaler, ScalingMethod, fit_scaler
from lcdvt.errors import DatasetError
from lcdvt.names import OBJECT_ID

UNLABELLED = -1
"""Scikit-learn's number for a row without a label."""

FeatureChoice = Literal["same", "common", "all"]


@dataclass(frozen=True)
class SurveyData:
    """One survey's tables.

    Parameters
    ----------
    name
        The survey.
    features
        A column `object_id` and one float column per feature.
    labels
        The class of each object, indexed by object id; null, or no entry, for an unlabelled object.
    """

    name: str
    features: pd.DataFrame
    labels: pd.Series


@dataclass(frozen=True)
class SurveyRows:
    """Scaled features and labels of one survey.

    Parameters
    ----------
    name
        The survey, for messages.
    x
        (objects, features), or (members, objects, features); NaN where a feature is missing.
    y
        Class numbers, −1 for unlabelled; (objects,), or (members, objects).
    replicates
        (replicates, objects, features) of the same objects with fewer epochs, scaled like `x`; None where there are
        none. A row without any value is a replicate that was not made.
    own
        (objects, features) that compare these objects with each other and with no other survey's, not scaled; None
        where there are none.
    """

    name: str
    x: NDArray[np.floating]
    y: NDArray[np.integer]
    replicates: NDArray[np.floating] | None = None
    own: NDArray[np.floating] | None = None


@dataclass(frozen=True)
class Dataset:
    """Rows of all surveys, one below the other; the first survey is the source, the last the target.

    Parameters
    ----------
    X
        (objects, features), NaN where missing.
    y
        Class numbers, −1 for unlabelled.
    survey
        Survey numbers.
    object_ids
        One for each row.
    features, classes, surveys
        Names of the columns, of the class numbers and of the survey numbers.
    replicates
        (replicates, objects, features) of the same objects with fewer epochs; None where none were made.
    target_own
        (objects of the last survey, features) by which they are compared with each other and with no other survey's;
        None where there are none.
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    survey: NDArray[np.int64]
    object_ids: NDArray[np.object_]
    features: tuple[str, ...]
    classes: tuple[str, ...]
    surveys: tuple[str, ...]
    replicates: NDArray[np.float64] | None = None
    target_own: NDArray[np.float64] | None = None

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Where a feature is missing."""
        return np.isnan(self.X)

    def rows_of(self, survey: int) -> NDArray[np.bool_]:
        """Return which rows belong to a survey."""
        return self.survey == survey

    def only(self, rows: NDArray[np.bool_]) -> "Dataset":
        """Return the dataset with some of its rows alone."""
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            survey=self.survey[rows],
            object_ids=self.object_ids[rows],
            replicates=None if self.replicates is None else self.replicates[:, rows],
            target_own=None if self.target_own is None else self.target_own[rows[self.rows_of(self.last)]],
        )

    @property
    def last(self) -> int:
        """The number of the survey that is classified."""
        return len(self.surveys) - 1

    def class_counts(self) -> pd.DataFrame:
        """Return the number of labelled objects per survey and class."""
        counts = [
            np.bincount(self.y[self.rows_of(number) & (self.y >= 0)], minlength=len(self.classes))
            for number in range(len(self.surveys))
        ]
        return pd.DataFrame(counts, index=list(self.surveys), columns=list(self.classes))

    def class_mix(self) -> dict[str, int]:
        """Return the number of labelled objects of each class in the last survey, which is classified."""
        return dict(zip(self.classes, self.class_counts().to_numpy()[-1].tolist(), strict=True))

    def fit_scaler(self, method: ScalingMethod = "rank") -> Scaler:
        """Fit a scaler on all objects, labelled or not."""
        return fit_scaler(self.X, self.survey, self.features, method)

    def draw(self, budgets: Sequence[LabelBudget | None], seed: int) -> NDArray[np.int64]:
        """Return labels of which each survey keeps its budget (None: nothing), the others set to −1.

        A class that a survey has is kept with at least one label there, if the survey has a budget.
        """
        if len(budgets) != len(self.surveys):
            raise DatasetError(f"{len(budgets)} label budgets for {len(self.surveys)} surveys: give one for each.")
        drawn = np.full(len(self.y), UNLABELLED, dtype=np.int64)
        for number, budget in enumerate(budgets):
            if budget is None:
                continue
            places = np.flatnonzero(self.rows_of(number))
            kept = places[draw_labels(self.y[places], budget, seed, self.classes)]
            drawn[kept] = self.y[kept]
        return drawn

    def survey_rows(self, scaler: Scaler, y: NDArray[np.integer] | None = None) -> list[SurveyRows]:
        """Return scaled rows as the training engine takes them.

        Parameters
        ----------
        scaler
            Fitted on this dataset, or a stored one.
        y
            Labels to train on, (objects,) or (members, objects); all known ones by default.
        """
        y = self.y if y is None else y
        found = []
        for number, name in enumerate(self.surveys):
            rows = self.rows_of(number)
            again = None if self.replicates is None else scaler.apply(self.replicates[:, rows], number)
            own = self.target_own if number == self.last else None
            found.append(SurveyRows(name, scaler.apply(self.X[rows], number), y[..., rows], again, own))
        return found


def build_dataset(
    surveys: Sequence[SurveyData], *, features: FeatureChoice = "same", classes: Sequence[str] | None = None
) -> Dataset:
    """Put the surveys' tables together.

    Parameters
    ----------
    surveys
        Source first, target last.
    features
        What to do when the surveys' feature names differ: `same` refuses, `common` keeps those all surveys
        have, `all` keeps every one and treats what a survey lacks as missing.
    classes
        Keep only these classes (others become unlabelled); by default every class that has a label.
    """
    if not surveys:
        raise DatasetError("no survey was given: name at least one.")
    names = _feature_names(surveys, features)
    labels = [_labels_in_order(survey) for survey in surveys]
    known = sorted({label for column in labels for label in column if label is not None})
    chosen = tuple(known if classes is None else classes)
    _check_classes(chosen, known)
    numbers = {name: number for number, name in enumerate(chosen)}
    X, y, survey_numbers, object_ids = [], [], [], []
    for number, (survey, column) in enumerate(zip(surveys, labels, strict=True)):
        X.append(_values(survey, names))
        y.append([UNLABELLED if label is None else numbers.get(label, UNLABELLED) for label in column])
        survey_numbers.append(np.full(len(column), number))
        object_ids.append(survey.features[OBJECT_ID].astype(str).to_numpy(dtype=object))
    return Dataset(
        X=np.concatenate(X),
        y=np.concatenate(y).astype(np.int64),
        survey=np.concatenate(survey_numbers).astype(np.int64),
        object_ids=np.concatenate(object_ids),
        features=names,
        classes=chosen,
        surveys=tuple(survey.name for survey in surveys),
    )


def _feature_names(surveys: Sequence[SurveyData], choice: FeatureChoice) -> tuple[str, ...]:
    columns = []
    for survey in surveys:
        if OBJECT_ID not in survey.features:
            raise DatasetError(f"{survey.name}: the features table has no column {OBJECT_ID}; it names the objects.")
        columns.append([str(name) for name in survey.features.columns if name != OBJECT_ID])
    first = columns[0]
    if choice == "all":
        names = list(dict.fromkeys(name for part in columns for name in part))
    elif choice == "common":
        names = [name for name in first if all(name in part for part in columns)]
    else:
        names = first
        for survey, part in zip(surveys, columns, strict=True):
            odd = sorted(set(part) ^ set(first))
            if odd:
                raise DatasetError(
                    f"{survey.name} and {surveys[0].name} have different features ({', '.join(odd[:3])}"
                    f"{' …' if len(odd) > 3 else ''}): choose features='common' to keep those both have, "
                    "or features='all' to treat the others as missing."
                )
    if not names:
        raise DatasetError(f"{' and '.join(survey.name for survey in surveys)} have no feature in common.")
    return tuple(names)


def _labels_in_order(survey: SurveyData) -> list[str | None]:
    ids = survey.features[OBJECT_ID]
    if ids.duplicated().any():
        raise DatasetError(f"{survey.name}: object {ids[ids.duplicated()].iloc[0]} has two rows of features; keep one.")
    if len(ids) == 0:
        raise DatasetError(f"{survey.name}: the features table is empty; ingest light curves first.")
    labels = survey.labels[~survey.labels.index.duplicated()].reindex(ids)
    return [None if pd.isna(label) else str(label) for label in labels]


def _values(survey: SurveyData, names: tuple[str, ...]) -> NDArray[np.float64]:
    table = survey.features.reindex(columns=list(names))
    try:
        values = table.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise DatasetError(f"{survey.name}: a feature is not a number ({error}); keep numeric columns only.") from error
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        raise DatasetError(
            f"{survey.name}: feature {names[column]} of object {survey.features[OBJECT_ID].iloc[row]} is infinite; "
            "make it NaN (missing) or mend the feature."
        )
    return values


def _check_classes(chosen: tuple[str, ...], known: list[str]) -> None:
    empty = [name for name in chosen if name not in known]
    if empty:
        raise DatasetError(f"class {empty[0]} has no labelled object in any survey: leave it out or label some.")
    if len(chosen) < 2:
        have = f"only {chosen[0]}" if chosen else "none"
        raise DatasetError(f"at least two classes with labels are needed, and there is {have}: label more objects.")
