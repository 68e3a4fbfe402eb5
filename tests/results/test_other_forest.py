"""`other_score` of new stars: the stored forest is the fitted one, and a touched file is refused."""

import shutil

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load, save
from sklearn.ensemble import RandomForestRegressor

import lcdvt
from lcdvt.errors import WorkspaceError
from lcdvt.results.other_forest import OTHER_FILE, OtherForest, read_other_forest

pytestmark = pytest.mark.usefixtures("few_trees")

FEATURES = 5


@pytest.fixture(scope="module")
def forest():
    generator = np.random.default_rng(4)
    x = generator.normal(size=(300, FEATURES)).astype(np.float32)
    x[generator.random(x.shape) < 0.1] = np.nan
    y = np.nan_to_num(x[:, 0]) + np.isnan(x[:, 1]) * 2.0
    fitted = RandomForestRegressor(20, min_samples_leaf=5, random_state=0).fit(x, y)
    return x, fitted, OtherForest.from_sklearn(fitted, fitted.predict(x))


def test_the_stored_trees_answer_as_the_fitted_ones_missing_values_included(forest, tmp_path):
    x, fitted, stored = forest
    stored.write(tmp_path)
    again = read_other_forest(tmp_path, FEATURES)
    np.testing.assert_allclose(again.expected(x), fitted.predict(x), rtol=1e-12)
    assert again.score(x).min() == 0.0
    assert again.score(np.array([x[np.argmax(fitted.predict(x))]]))[0] > 0.98


def test_a_run_without_a_forest_has_none(tmp_path):
    assert read_other_forest(tmp_path, FEATURES) is None


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("left", lambda array: np.zeros_like(array)),
        ("right", lambda array: array + len(array)),
        ("feature", lambda array: array + FEATURES),
        ("feature", lambda array: np.where(array == 0, -7, array)),
        ("value", lambda array: array * np.nan),
        ("threshold", lambda array: array[:-1]),
        ("roots", lambda array: array + 10**9),
        ("reference", lambda array: array[:0]),
    ],
)
def test_trees_that_lead_in_circles_or_out_of_themselves_are_refused(forest, tmp_path, name, change):
    forest[2].write(tmp_path)
    arrays = load((tmp_path / OTHER_FILE).read_bytes())
    (tmp_path / OTHER_FILE).write_bytes(save(arrays | {name: np.ascontiguousarray(change(arrays[name]))}))
    with pytest.raises(WorkspaceError, match=r"other\.safetensors: not what lcdvt wrote"):
        read_other_forest(tmp_path, FEATURES)


def test_predict_gives_the_score_for_new_stars_raw_or_ingested(two_surveys, tmp_path, lcdvt_here):
    data = shutil.copytree(two_surveys, tmp_path / "data")
    options = {
        "data": data,
        "labels": "20%",
        "members": 1,
        "repeats": 1,
        "steps": 20,
        "rows": ["dvt-ensemble"],
        "jobs": 1,
    }
    run = lcdvt.transfer("old", "new", name="scored", **options)
    own = run.predictions().set_index("object_id")
    for what in ("new", "old"):
        answer = lcdvt.predict("scored", what, data=data)
        stars = answer.stars().set_index("object_id")
        assert answer.ranked_among == f"the {len(own)} stars of new in the run"
        assert stars["other_score"].between(0, 1).all()
    new = lcdvt.predict("scored", "new", data=data).stars().set_index("object_id").loc[own.index]
    correlation = pd.concat([own["other_score"], new["other_score"]], axis=1).corr("spearman").iloc[0, 1]
    assert correlation > 0.7, "the same stars are ranked alike, although these trees have seen them"
    said = lcdvt_here("predict", "scored", "new", "--out", tmp_path / "new.csv", "--data", data).stdout
    assert "ranks among the" in said
