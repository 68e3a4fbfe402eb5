"""Datasets from tables: good ones, and each kind of bad one with its sentence."""

import numpy as np
import pandas as pd
import pytest

from lcdvt.dataset.dataset import Dataset, SurveyData, SurveyRows, build_dataset
from lcdvt.dataset.draws import LabelBudget
from lcdvt.dvt.data import TrainingData
from lcdvt.errors import DatasetError


def survey(name: str, labels: list[str | None], features: tuple[str, ...] = ("PeriodLS", "Amplitude")) -> SurveyData:
    generator = np.random.default_rng(len(labels))
    ids = [f"{name}-{number:03d}" for number in range(len(labels))]
    table = pd.DataFrame(generator.normal(size=(len(labels), len(features))), columns=list(features))
    table.insert(0, "object_id", ids)
    return SurveyData(name, table, pd.Series(labels, index=ids, dtype=object))


OLD = ["CEP", "EB", "EB", None, "RRLYR", "RRLYR"]
NEW = ["EB", None, "RRLYR", "CEP"]


def both(**changes: object) -> Dataset:
    return build_dataset([survey("old", OLD), survey("new", NEW)], **changes)  # type: ignore[arg-type]


def test_rows_keep_their_order_names_and_labels() -> None:
    dataset = both()
    assert dataset.classes == ("CEP", "EB", "RRLYR")
    assert dataset.y.tolist() == [0, 1, 1, -1, 2, 2, 1, -1, 2, 0]
    assert dataset.survey.tolist() == [0] * 6 + [1] * 4
    assert dataset.object_ids[6] == "new-000"
    assert dataset.class_counts().loc["old"].tolist() == [1, 2, 2]


def test_labels_are_matched_by_object_id() -> None:
    old = survey("old", OLD)
    shuffled = SurveyData("old", old.features, old.labels.iloc[::-1])
    assert build_dataset([shuffled]).y.tolist() == [0, 1, 1, -1, 2, 2]


def test_chosen_classes_leave_the_others_unlabelled() -> None:
    assert both(classes=("EB", "RRLYR")).y.tolist() == [-1, 0, 0, -1, 1, 1, 0, -1, 1, -1]


def test_different_feature_names_are_refused_by_name() -> None:
    surveys = [survey("old", OLD, ("PeriodLS", "Amplitude")), survey("new", NEW, ("PeriodLS", "Std"))]
    with pytest.raises(DatasetError, match=r"new and old have different features \(Amplitude, Std\).*common"):
        build_dataset(surveys)
    assert build_dataset(surveys, features="common").features == ("PeriodLS",)
    everything = build_dataset(surveys, features="all")
    assert everything.features == ("PeriodLS", "Amplitude", "Std")
    assert everything.missing[:6, 2].all() and everything.missing[6:, 1].all() and not everything.missing[:, 0].any()


def test_features_in_another_order_are_the_same_features() -> None:
    new = survey("new", NEW, ("Amplitude", "PeriodLS"))
    dataset = build_dataset([survey("old", OLD), new])
    np.testing.assert_array_equal(dataset.X[6:, 0], new.features["PeriodLS"])


def test_no_common_feature() -> None:
    with pytest.raises(DatasetError, match="no feature in common"):
        build_dataset([survey("old", OLD), survey("new", NEW, ("Std",))], features="common")


def test_nan_is_missing_and_infinity_is_refused() -> None:
    old = survey("old", OLD)
    old.features.loc[2, "Amplitude"] = np.nan
    assert build_dataset([old]).missing.sum() == 1
    old.features.loc[4, "PeriodLS"] = np.inf
    with pytest.raises(DatasetError, match="feature PeriodLS of object old-004 is infinite"):
        build_dataset([old])


def test_an_empty_class_is_refused() -> None:
    with pytest.raises(DatasetError, match="class QSO has no labelled object"):
        both(classes=("EB", "QSO"))


@pytest.mark.parametrize(("labels", "message"), [(["EB", "EB", None], "only EB"), ([None, None], "there is none")])
def test_one_class_or_none_is_refused(labels: list[str | None], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        build_dataset([survey("old", labels)])


def test_a_class_that_one_survey_lacks_is_kept() -> None:
    """Source without it, target without it: both train, and both surveys can be given every class."""
    for labels in ((["EB", "EB", "CEP"], ["EB", "LPV", "CEP"]), (["EB", "LPV", "CEP"], ["EB", "EB", "CEP"])):
        dataset = build_dataset([survey("old", list(labels[0])), survey("new", list(labels[1]))])
        assert dataset.classes == ("CEP", "EB", "LPV")
        data = TrainingData.from_surveys(dataset.survey_rows(dataset.fit_scaler()), dataset.classes, 1)
        assert data.label_counts().sum().item() == 6


def test_doubled_objects_and_empty_tables_are_refused() -> None:
    old = survey("old", OLD)
    doubled = SurveyData("old", pd.concat([old.features, old.features.iloc[:1]]), old.labels)
    with pytest.raises(DatasetError, match="old-000 has two rows"):
        build_dataset([doubled])
    with pytest.raises(DatasetError, match="empty"):
        build_dataset([SurveyData("old", old.features.iloc[:0], old.labels)])
    with pytest.raises(DatasetError, match="no column object_id"):
        build_dataset([SurveyData("old", old.features.drop(columns="object_id"), old.labels)])
    with pytest.raises(DatasetError, match="no survey"):
        build_dataset([])


def test_text_in_a_feature_is_refused() -> None:
    old = survey("old", OLD)
    old.features["Amplitude"] = "bright"
    with pytest.raises(DatasetError, match="not a number"):
        build_dataset([old])


def test_draws_keep_one_label_of_each_class_of_each_survey() -> None:
    dataset = both()
    y = dataset.draw([LabelBudget.parse("all"), LabelBudget.parse("1/class")], seed=3)
    assert (y[:6] == dataset.y[:6]).all()
    assert sorted(y[6:].tolist()) == [-1, 0, 1, 2]
    with pytest.raises(DatasetError, match="one for each"):
        dataset.draw([LabelBudget.parse("all")], seed=3)


ROWS = SurveyRows("new", np.zeros((4, 2)), np.array([0, 1, -1, -1]))


@pytest.mark.parametrize(
    ("rows", "classes", "message"),
    [
        (SurveyRows("new", np.full((4, 2), np.inf), ROWS.y), ("a", "b"), "8 features are infinite"),
        (SurveyRows("new", ROWS.x, np.full(4, -1)), ("a", "b"), "no object is labelled"),
        (SurveyRows("new", ROWS.x, np.array([0, 5, -1, -1])), ("a", "b"), "class numbers 0 to 1"),
        (SurveyRows("new", ROWS.x[:3], ROWS.y), ("a", "b"), "3 objects have features and 4 have labels"),
        (SurveyRows("new", ROWS.x[None], ROWS.y), ("a", "b"), "features of 1 members for 2"),
        (ROWS, ("a",), "at least two classes"),
        (ROWS, ("a", "b", "c"), "class c has no labelled object"),
    ],
)
def test_the_engine_refuses_what_it_cannot_learn_from(rows: SurveyRows, classes: tuple[str, ...], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        TrainingData.from_surveys([rows], classes, members=2)
