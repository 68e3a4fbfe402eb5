"""What every row of the registry must do, whatever it learns from."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.baseline_problems import shifted

from lcdvt.baselines import ROWS, TransferProblem, predict_target
from lcdvt.errors import DatasetError
from lcdvt.evaluate import macro_f1, score

RIVALS = [name for name, row in ROWS.items() if not row.is_upper_bound]


def check_probabilities(proba: np.ndarray, problem: TransferProblem) -> None:
    assert proba.shape == (len(problem.target_x), len(problem.classes))
    assert np.isfinite(proba).all() and (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)


def relabelled(problem: TransferProblem, *, source: int | None = None, target: int | None = None) -> TransferProblem:
    """Take one class' labels away from a survey."""
    return replace(
        problem,
        source_y=np.where(problem.source_y == source, -1, problem.source_y),
        target_y=np.where(problem.target_y == target, -1, problem.target_y),
    )


def test_every_row_has_labels_of_its_own() -> None:
    assert len({(row.training, row.model) for row in ROWS.values()}) == len(ROWS)


def check_beats_chance(proba: np.ndarray, problem: TransferProblem, truth: np.ndarray) -> None:
    check_probabilities(proba, problem)
    # always the largest class gives 0.4 / 4 / 0.7 = 0.14, guessing by the mix 0.25
    assert score(truth, proba, problem.classes, problem.target_y < 0).macro_f1 > 0.6


@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_beats_chance_repeats_itself_and_never_sees_the_truth(name: str) -> None:
    problem, truth = shifted()
    proba = predict_target(name, problem, 3, truth)
    check_beats_chance(proba, problem, truth)
    np.testing.assert_array_equal(proba, predict_target(name, problem, 3, np.zeros_like(truth)))


def test_the_upper_bound_beats_chance_and_repeats_itself() -> None:
    problem, truth = shifted()
    proba = predict_target("forest-upper-bound", problem, 3, truth)
    check_beats_chance(proba, problem, truth)
    np.testing.assert_array_equal(proba, predict_target("forest-upper-bound", problem, 3, truth))


@pytest.mark.parametrize("name", ROWS)
def test_one_label_per_class_and_two_classes(name: str) -> None:
    problem, truth = shifted(classes=2, labels_per_class=1)
    proba = predict_target(name, problem, 0, truth)
    check_probabilities(proba, problem)
    assert macro_f1(truth, proba.argmax(axis=1), 2) > 0.5


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("survey", ["source", "target"])
def test_a_class_without_labels_in_one_survey_keeps_its_column(name: str, survey: str) -> None:
    problem, truth = shifted()
    lacking = relabelled(problem, **{survey: 1})
    check_probabilities(predict_target(name, lacking, 0, truth), lacking)


@pytest.mark.parametrize("name", ROWS)
def test_a_class_that_nobody_has_gets_zero(name: str) -> None:
    problem, truth = shifted(classes=3)
    wider = replace(problem, classes=("CEP", "EB", "LPV", "QSO"))
    proba = predict_target(name, wider, 0, truth)
    check_probabilities(proba, wider)
    assert (proba[:, 3] == 0).all()


@pytest.mark.parametrize("name", ROWS)
def test_a_single_source_object_of_a_class_and_an_empty_feature(name: str) -> None:
    problem, truth = shifted()
    kept_one = problem.source_y.copy()
    kept_one[np.flatnonzero(kept_one == 2)[1:]] = -1
    source_x, target_x = problem.source_x.copy(), problem.target_x.copy()
    source_x[:, 5] = np.nan
    target_x[:, 6] = np.nan
    source_x[:, 7] = target_x[:, 7] = np.nan
    odd = replace(problem, source_y=kept_one, source_x=source_x, target_x=target_x)
    check_probabilities(predict_target(name, odd, 0, truth), odd)


@pytest.mark.parametrize("name", ["forest-target", "svm-target", "label-spreading"])
def test_rows_on_target_labels_do_not_use_source_labels(name: str) -> None:
    problem, truth = shifted()
    without = replace(problem, source_y=np.full_like(problem.source_y, -1))
    np.testing.assert_array_equal(predict_target(name, problem, 0, truth), predict_target(name, without, 0, truth))


@pytest.mark.parametrize("name", ["forest-source", "gmm-transfer", "coral-forest"])
def test_rows_without_target_labels_do_not_use_them(name: str) -> None:
    problem, truth = shifted()
    without = replace(problem, target_y=np.full_like(problem.target_y, -1))
    np.testing.assert_array_equal(predict_target(name, problem, 0, truth), predict_target(name, without, 0, truth))


@pytest.mark.parametrize("name", RIVALS)
def test_nothing_to_learn_from_is_said(name: str) -> None:
    problem, truth = shifted(target_objects=80, source_objects=100)
    empty = replace(problem, source_y=np.full_like(problem.source_y, -1), target_y=np.full_like(problem.target_y, -1))
    with pytest.raises(DatasetError, match="leave"):
        predict_target(name, empty, 0, truth)


@pytest.mark.parametrize("name", RIVALS)
def test_only_one_class_labelled_is_answered_by_that_class(name: str) -> None:
    problem, truth = shifted(target_objects=80, source_objects=100)
    only = replace(
        problem,
        source_y=np.where(problem.source_y == 1, 1, -1),
        target_y=np.where(problem.target_y == 1, 1, -1),
    )
    np.testing.assert_allclose(predict_target(name, only, 0, truth)[:, 1], 1)


def test_an_unknown_row_lists_the_known() -> None:
    problem, truth = shifted()
    with pytest.raises(DatasetError, match="no row forest: choose from forest-upper-bound, gmm-transfer"):
        predict_target("forest", problem, 0, truth)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"source_y": np.zeros(3, dtype=int)}, "source: features .* one label for each row"),
        ({"classes": ("CEP",)}, "class numbers must lie in"),
        ({"target_x": np.zeros((160, 2))}, "source has 8 features and the target 2"),
    ],
)
def test_a_problem_that_does_not_fit_together_is_refused(changes: dict[str, object], sentence: str) -> None:
    problem, _ = shifted()
    with pytest.raises(DatasetError, match=sentence):
        replace(problem, **changes)  # type: ignore[arg-type]
