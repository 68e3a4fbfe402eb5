"""The rule by which stars are chosen, on points whose right answer one can see."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcdvt.results.suggest_rule import Opinions, choose_stars


def opinions(probability, *, disagreement=None, labelled=(), free=None) -> Opinions:
    probability = np.array(probability, dtype=float)
    stars = len(probability)
    mask = np.isin(np.arange(stars), labelled)
    return Opinions(
        probability=probability,
        disagreement=np.zeros(stars) if disagreement is None else np.array(disagreement, dtype=float),
        labelled=mask,
        free=~mask if free is None else np.isin(np.arange(stars), free),
    )


def chosen_rows(said: Opinions, features: np.ndarray, number: int, **options) -> list[int]:
    return [query.row for query in choose_stars(said, lambda rows: features[rows], number, **options)]


def clump(centre: tuple[float, float], stars: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(centre, 0.3, (stars, 2))


DOUBTFUL, CERTAIN = [0.55, 0.45], [0.99, 0.01]


def test_doubt_grows_as_the_margin_shrinks_and_as_members_disagree():
    said = opinions([[1, 0], [0.7, 0.3], [0.5, 0.5], [0.7, 0.3]], disagreement=[0, 0, 0.5, 0.25])
    certain, unanimous, torn, divided = said.doubt
    assert certain == 0
    assert torn == 1
    assert certain < unanimous < divided < torn


def test_a_doubtful_crowd_is_asked_before_a_doubtful_outlier_and_before_the_certain():
    features = np.concatenate([clump((0, 0), 30, 1), clump((5, 0), 30, 2), [[0.0, 40.0]]])
    said = opinions([DOUBTFUL] * 30 + [CERTAIN] * 30 + [[0.5, 0.5]])
    first, *_ = chosen_rows(said, features, 3)
    assert first < 30, "the outlier is the most doubtful star, and nobody is like it"


def test_a_batch_is_spread_over_the_clumps_of_doubt():
    centres = [(0, 0), (6, 0), (0, 6), (6, 6)]
    features = np.concatenate([clump(centre, 20, seed) for seed, centre in enumerate(centres)])
    rows = chosen_rows(opinions([DOUBTFUL] * 80), features, 4)
    assert {row // 20 for row in rows} == {0, 1, 2, 3}


def test_a_clump_that_has_a_label_waits():
    features = np.concatenate([clump((0, 0), 20, 1), clump((6, 0), 20, 2)])
    middle = int(np.linalg.norm(features[:20], axis=1).argmin())
    (row,) = chosen_rows(opinions([DOUBTFUL] * 40, labelled=[middle]), features, 1)
    assert row >= 20


def test_a_rare_class_is_asked_for_as_early_as_a_common_one():
    features = np.concatenate([clump((0, 0), 200, 1), clump((6, 0), 8, 2)])
    rows = chosen_rows(opinions([DOUBTFUL] * 200 + [DOUBTFUL[::-1]] * 8), features, 2)
    assert sorted(row >= 200 for row in rows) == [False, True]


def test_per_class_gives_the_same_number_of_each_predicted_class():
    features = np.concatenate([clump((0, 0), 60, 1), clump((1, 0), 6, 2)])
    rows = chosen_rows(opinions([DOUBTFUL] * 60 + [[0.1, 0.9]] * 6), features, 5, per_class=True)
    assert [sum(row < 60 for row in rows), sum(row >= 60 for row in rows)] == [5, 5]


def test_alike_counts_the_others_nearby():
    features = np.concatenate([clump((0, 0), 25, 1) * 1e-3, clump((9, 0), 25, 2)])
    (query,) = choose_stars(opinions([DOUBTFUL] * 25 + [CERTAIN] * 25), lambda rows: features[rows], 1)
    assert query.row < 25
    assert query.alike == 24


def test_a_star_without_any_feature_is_not_asked_for():
    features = clump((0, 0), 10, 1)
    features[3:] = np.nan
    rows = chosen_rows(opinions([DOUBTFUL] * 10), features, 5)
    assert sorted(rows) == [0, 1, 2], "fewer than wanted, rather than stars that nothing is known of"


def test_a_survey_larger_than_what_is_looked_at_is_sampled_by_the_seed(monkeypatch):
    monkeypatch.setattr("lcdvt.results.suggest_rule.STARS_PER_SET", 40)
    generator = np.random.default_rng(5)
    features = generator.normal(size=(500, 3))
    said = opinions(generator.dirichlet([1, 1, 1], 500), labelled=range(60))
    read = []

    def features_of(rows: np.ndarray) -> np.ndarray:
        read.append(len(rows))
        return features[rows]

    first, again, other = (choose_stars(said, features_of, 10, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert max(read) <= 3 * 40


@given(data=st.data(), stars=st.integers(1, 40), classes=st.integers(2, 4))
def test_every_choice_is_free_and_different_whatever_the_survey(data, stars, classes):
    generator = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    free = data.draw(st.lists(st.integers(0, stars - 1), min_size=1, unique=True))
    labelled = sorted(set(range(stars)) - set(free))[: data.draw(st.integers(0, stars))]
    features = np.round(generator.normal(size=(stars, data.draw(st.integers(1, 12)))))  # ties on purpose
    said = opinions(generator.dirichlet(np.ones(classes), stars), labelled=labelled, free=free)
    number = data.draw(st.integers(1, len(free)))
    rows = chosen_rows(said, features, number)
    assert len(rows) == len(set(rows)) == number
    assert set(rows) <= set(free)


@pytest.mark.parametrize("number", [1, 7])
def test_the_labels_themselves_are_never_looked_at(number):
    """All that the rule is given is who has a label: the type has no place for a class."""
    generator = np.random.default_rng(0)
    features, probability = generator.normal(size=(50, 4)), generator.dirichlet([1, 1], 50)
    before = chosen_rows(opinions(probability, labelled=[1, 2]), features, number)
    probability[[1, 2]] = probability[[1, 2]][:, ::-1]  # what the run says of labelled stars does not matter either
    assert chosen_rows(opinions(probability, labelled=[1, 2]), features, number) == before
