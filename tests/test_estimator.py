"""DVT as a scikit-learn classifier: scikit-learn's own checks, surveys as domains, labels that are missing."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from lcdvt import DVTClassifier
from lcdvt.dvt.config import preset
from lcdvt.errors import LcdvtError

QUICK = {"preset": "tied", "members": 2, "steps": 40, "random_state": 0}
EXPECTED_FAILURES = {
    "check_classifiers_classes": "it uses −1 as the name of a class; here −1 means that a label is missing",
}


def expected_failures(estimator: DVTClassifier) -> dict[str, str]:
    return EXPECTED_FAILURES


# So many steps that a check which wants to see something learned does, although the learning rate falls to zero.
@parametrize_with_checks([DVTClassifier(members=1, steps=80)], expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def two_surveys(seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.object_], NDArray[np.int64]]:
    """Return features, classes and domains: the target's are the source's, shifted."""
    rng = np.random.default_rng(seed)
    classes = np.array(["CEP", "EB", "RRLYR"], dtype=object)
    number = rng.integers(0, 3, 400)
    centres = np.array([[0.0, 0, 0, 0], [3, 0, 3, 0], [0, 3, 0, 3]])
    X = centres[number] + rng.normal(size=(400, 4))
    domain = np.where(np.arange(400) < 200, 1, -2)
    X[domain < 0] += 0.8
    return X, classes[number], domain


def few_target_labels(y: NDArray[np.object_], domain: NDArray[np.int64], per_class: int = 3) -> NDArray[np.object_]:
    """Return the labels, of which the target keeps a few of each class."""
    few = y.copy()
    for name in np.unique(y.astype(str)):
        few[np.flatnonzero((domain < 0) & (y == name))[per_class:]] = -1
    return few


def test_labels_of_one_survey_classify_the_other():
    X, y, domain = two_surveys()
    few = few_target_labels(y, domain)
    model = DVTClassifier(**QUICK).fit(X, few, domain)
    hidden = (domain < 0) & (few == -1)
    assert model.doubted_.shape == y.shape and not model.doubted_.any(), "without teachers nothing is doubted"
    assert model.classes_.tolist() == ["CEP", "EB", "RRLYR"]
    assert model.domains_.tolist() == [1, -2]
    assert model.score(X[hidden], y[hidden]) > 0.8
    assert model.score(X[domain > 0], y[domain > 0], sample_domain=domain[domain > 0]) > 0.9


def test_a_label_that_the_source_contradicts_is_named_and_not_learned_from():
    X, y, domain = two_surveys()
    X += 3 * np.stack([y == "EB", y == "RRLYR"] * 2, axis=1)  # so far apart that the source is sure of itself
    few = few_target_labels(y, domain, per_class=8)
    wrong = np.flatnonzero((domain < 0) & (few == "RRLYR"))[2]
    few[wrong] = "CEP"
    model = DVTClassifier(**{**QUICK, "preset": "taught"}).fit(X, few, domain)
    assert np.flatnonzero(model.doubted_).tolist() == [wrong]
    assert model.predict(X[[wrong]]).tolist() == ["RRLYR"]


@pytest.mark.parametrize("per_class", [3, pytest.param(0, marks=pytest.mark.slow)])
def test_trees_teach_also_where_the_target_has_no_label(per_class):
    X, y, domain = two_surveys()
    few = few_target_labels(y, domain, per_class)
    model = DVTClassifier(**QUICK | {"preset": "taught"}).fit(X, few, domain)
    hidden = (domain < 0) & (few == -1)
    assert model.score(X[hidden], y[hidden]) > 0.75
    again = DVTClassifier(**QUICK | {"preset": "taught"}).fit(X, few, domain)
    np.testing.assert_array_equal(model.predict_proba(X, domain), again.predict_proba(X, domain))


def test_rows_are_classified_as_their_own_survey():
    X, y, domain = two_surveys()
    model = DVTClassifier(**QUICK).fit(X, few_target_labels(y, domain), domain)
    mixed = model.predict_proba(X, domain)
    np.testing.assert_allclose(mixed[domain < 0], model.predict_proba(X[domain < 0]))
    as_source = model.predict_proba(X[domain > 0], np.ones((domain > 0).sum(), dtype=int))
    np.testing.assert_allclose(mixed[domain > 0], as_source)
    assert not np.allclose(model.predict_proba(X[domain > 0]), as_source)


def test_unlabelled_rows_help_and_missing_features_are_allowed():
    X, y, _ = two_surveys()
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    few = y.copy()
    few[60:] = -1
    model = DVTClassifier(**QUICK).fit(X, few)
    assert model.training_.model.config.heads == preset("tied").model.heads
    assert model.score(X[60:], y[60:]) > 0.7
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert (model.classes_[probability.argmax(axis=1)] == model.predict(X)).all()


@pytest.mark.parametrize("missing", [-1, "-1", None, np.nan])
def test_every_way_to_say_that_a_label_is_missing_means_the_same(missing):
    X, y, _ = two_surveys()
    expected = few_target_labels(y, np.full(len(y), -1), 20)
    written = pd.Series([missing if label == -1 else label for label in expected], dtype=object)
    models = [DVTClassifier(**QUICK).fit(X, labels) for labels in (expected, written)]
    assert models[1].classes_.tolist() == ["CEP", "EB", "RRLYR"]
    np.testing.assert_array_equal(*(model.predict_proba(X) for model in models))


def test_integer_classes_come_back_as_integers():
    X, y, _ = two_surveys()
    numbers = np.where(y == "CEP", 10, np.where(y == "EB", 20, -1))
    model = DVTClassifier(**QUICK).fit(X, numbers)
    assert model.classes_.tolist() == [10, 20]
    assert model.predict(X).dtype.kind == "i"
    assert model.score(X, numbers) > 0.9, "rows without a label do not count"


def test_a_random_state_decides_everything():
    X, y, _ = two_surveys()
    first, again = (DVTClassifier(**QUICK).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, DVTClassifier(**QUICK | {"random_state": 1}).fit(X, y).predict_proba(X))


def test_parameters_are_kept_and_a_clone_is_untrained():
    model = DVTClassifier(preset=preset("paper"), members=3, steps=7, mode="supervised")
    copy = clone(model.set_params(members=2))
    assert copy.get_params()["members"] == 2
    assert copy.preset == preset("paper")
    assert not hasattr(copy, "classes_")


def test_more_classes_than_the_preset_has_room_for():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 12
    X = rng.normal(size=(240, 5)) + 3 * y[:, None]
    model = DVTClassifier(**QUICK).fit(X, y)
    assert model.predict_proba(X).shape == (240, 12)


def test_domains_travel_through_pipelines_and_cross_validation():
    X, y, domain = two_surveys()
    few = few_target_labels(y, domain, 20)
    with sklearn.config_context(enable_metadata_routing=True):
        model = DVTClassifier(**QUICK)
        model.set_fit_request(sample_domain=True).set_score_request(sample_domain=True)
        pipeline = make_pipeline(StandardScaler(), model)
        folds = StratifiedKFold(2, shuffle=True, random_state=0)
        answer = cross_validate(pipeline, X, few.astype(str), cv=folds, params={"sample_domain": domain})
    assert (answer["test_score"] > 0.7).all()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"domain": np.array([1, 2] * 200)}, "one negative number to the target"),
        ({"domain": np.array([1, -2, -3, -2] * 100)}, "one negative number to the target"),
        ({"domain": np.array([0, -1] * 200)}, "a whole number, positive for a source"),
        ({"domain": np.array([1.5, -1] * 200)}, "a whole number, positive for a source"),
        ({"unlabelled": slice(200, None)}, "domain -2: no object is labelled"),
        ({"unlabelled": slice(None)}, "0 class is not enough"),
        ({"infinite": True}, "infinity"),
        ({"options": {"members": 0}}, "at least one is needed"),
        ({"options": {"members": 1.5}}, "members=1.5: give a whole number"),
        ({"options": {"steps": "40"}}, "steps='40': give a whole number"),
        ({"options": {"preset": None}}, "no preset named None"),
        ({"options": {"scaling": "magic"}}, "magic"),
        ({"options": {"preset": "magic"}}, "no preset named 'magic'"),
        ({"options": {"mode": "magic"}}, "magic"),
        ({"options": {"mode": "supervised"}}, "one survey, not 2"),
        ({"options": {"device": "abacus"}}, "choose from auto"),
    ],
)
def test_what_cannot_be_learned_from_is_one_sentence(changed, said):
    X, y, domain = two_surveys()
    y[changed.get("unlabelled", slice(0, 0))] = -1
    if changed.get("infinite"):
        X[0, 0] = np.inf
    with pytest.raises(ValueError, match=said):
        DVTClassifier(**QUICK | changed.get("options", {})).fit(X, y, changed.get("domain", domain))


def test_a_domain_that_was_not_in_training_is_refused():
    X, y, domain = two_surveys()
    model = DVTClassifier(**QUICK).fit(X, y, domain)
    with pytest.raises(LcdvtError, match=r"domain 7 was not in fit: give one of \[1, -2\]"):
        model.predict(X[:2], [1, 7])
    with pytest.raises(LcdvtError, match="nothing to score on"):
        model.score(X[:2], [-1, -1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(X[:2], [0, 1], sample_weight=[1.0])
