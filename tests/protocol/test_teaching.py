"""Trees that teach DVT, the score for unknown classes, and proof that labels outside the draw reach neither."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.baseline_problems import shifted
from helpers.fewer_trees import fewer_trees

from lcdvt.baselines.problem import TransferProblem
from lcdvt.baselines.rows import DVT_ENSEMBLE, DVT_TOP, DVT_UPPER_BOUND, ROWS
from lcdvt.baselines.self_training import SelfTrainedBoosting, confident_classes, product_of_experts
from lcdvt.dataset.dataset import Dataset, SurveyRows
from lcdvt.dvt.config import TeachingConfig, preset
from lcdvt.errors import SettingsError
from lcdvt.protocol.carry_out import draw_identity
from lcdvt.protocol.doubtful import doubtful_labels
from lcdvt.protocol.draw import run_draw, transfer_problem, with_replicates_as_rows
from lcdvt.protocol.novelty import other_score
from lcdvt.protocol.plan import DrawTask, TransferOptions
from lcdvt.protocol.teaching import Lesson, first_opinions, teach

QUICK_TEACHING = TeachingConfig(students=1)


@pytest.fixture(scope="module")
def lesson() -> Lesson:
    """What is taught of the problem that several tests change in some way."""
    problem, _ = shifted()
    return teach(problem, QUICK_TEACHING, seed=3)


def dataset_of(problem, truth) -> Dataset:
    """Return the problem as a dataset that knows every class of the target, and has a replicate of each star."""
    objects = len(problem.source_y) + len(truth)
    x = np.concatenate([problem.source_x, problem.target_x]).astype(float)
    again = x + np.random.default_rng(1).normal(scale=0.1, size=x.shape)
    again[::50] = np.nan  # too few epochs were left
    own = np.random.default_rng(2).normal(size=(len(truth), 2))
    return Dataset(
        X=x,
        y=np.concatenate([problem.source_y, truth]).astype(np.int64),
        survey=np.repeat([0, 1], [len(problem.source_y), len(truth)]),
        object_ids=np.array([f"star{number}" for number in range(objects)], dtype=object),
        features=tuple(f"f{number}" for number in range(problem.source_x.shape[1])),
        classes=problem.classes,
        surveys=("old", "new"),
        replicates=again[None],
        target_own=own,
    )


def taught_task(problem, truth, rows) -> DrawTask:
    config = replace(preset("taught"), teaching=QUICK_TEACHING)
    config = replace(config, training=replace(config.training, steps=30))
    drawn = np.concatenate([problem.source_y, problem.target_y]).astype(np.int64)
    return DrawTask(dataset_of(problem, truth), drawn, config, 2, rows, seed=5)


def consistent(task: DrawTask) -> DrawTask:
    """Return the task with a weight on a star and its replicate being the same to DVT."""
    return replace(task, config=replace(task.config, objective=replace(task.config.objective, consistency_weight=10.0)))


def test_the_confident_share_of_each_class_is_kept_and_drawn_labels_are_not_guessed():
    probability = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4], [0.2, 0.8], [0.4, 0.6]])
    drawn = np.array([-1, -1, -1, -1, -1, 1])
    assert confident_classes(probability, drawn, 0.5).tolist() == [0, 0, -1, -1, 1, -1]


def test_no_expert_can_veto_a_class_alone():
    sure, others = np.array([[0.0, 1.0]]), np.array([[0.9, 0.1]])
    product = product_of_experts([sure, others, others, others, others])
    assert product.argmax() == 0
    assert np.isclose(product.sum(), 1)


def test_an_expert_may_count_more_than_once():
    one, other = np.array([[0.8, 0.2]]), np.array([[0.3, 0.7]])
    thrice = product_of_experts([one, other, other, other])
    np.testing.assert_allclose(product_of_experts([one, other], [1, 3]), thrice, rtol=1e-12)
    assert product_of_experts([one, other]).argmax() == 0
    assert product_of_experts([one, other], [1, 3]).argmax() == 1


def test_the_student_without_the_source_counts_as_often_as_it_is_told():
    problem, _ = shifted(target_objects=60, source_objects=60)
    assert QUICK_TEACHING.target_only_weight == 1.0
    with fewer_trees():
        often, once = (teach(problem, replace(QUICK_TEACHING, target_only_weight=w), seed=3) for w in (3.0, 1.0))
        without = teach(problem, replace(QUICK_TEACHING, target_only_student=False), seed=3)
    assert often.weights == (1, 1, 1, 1, 3)
    assert once.weights == (1, 1, 1, 1, 1)
    assert all(np.array_equal(a, b) for a, b in zip(often.experts, once.experts, strict=True))
    thrice = product_of_experts([*once.experts, once.experts[-1], once.experts[-1]])
    np.testing.assert_allclose(often.posterior, thrice, rtol=1e-9)
    assert without.weights == (1, 1, 1, 1)


def test_drawn_labels_are_taught_as_they_are_even_where_trees_disagree():
    problem, _ = shifted()
    wrong = np.where(problem.target_y == 0, 1, problem.target_y)
    taught = teach(replace(problem, target_y=wrong), QUICK_TEACHING, seed=0).classes
    drawn = wrong != -1
    assert (taught[drawn] == wrong[drawn]).all()
    assert set(np.unique(taught)) <= set(range(4))


def test_teaching_gets_most_stars_right_and_repeats_itself(lesson):
    problem, truth = shifted()
    posterior = teach(problem, QUICK_TEACHING, seed=3).posterior
    assert np.array_equal(posterior, lesson.posterior)
    hidden = problem.target_y == -1
    assert np.mean(posterior.argmax(axis=1)[hidden] == truth[hidden]) > 0.85


def test_the_target_speaks_for_itself_where_it_has_a_label_of_every_class(lesson):
    problem, _ = shifted()
    without = replace(QUICK_TEACHING, target_forest=False)
    assert not np.array_equal(lesson.posterior, teach(problem, without, 3).posterior)
    lacking = replace(problem, target_y=np.where(problem.target_y == 2, -1, problem.target_y))
    with fewer_trees():
        assert np.array_equal(teach(lacking, QUICK_TEACHING, 3).posterior, teach(lacking, without, 3).posterior)


def test_the_first_teachers_can_go_without_a_fold_each():
    problem, truth = shifted()
    boosting, _ = first_opinions(problem, QUICK_TEACHING, seed=3)
    crossed, _ = first_opinions(problem, replace(QUICK_TEACHING, folds=2), seed=3)
    assert not np.array_equal(boosting, crossed)
    hidden = problem.target_y == -1
    assert np.mean(crossed.argmax(axis=1)[hidden] == truth[hidden]) > 0.8


def test_without_rounds_of_self_training_the_first_round_is_taught(lesson):
    problem, _ = shifted()
    none = teach(problem, replace(QUICK_TEACHING, self_training_rounds=0), seed=3).posterior
    assert not np.array_equal(none, lesson.posterior)


@pytest.mark.parametrize(
    "changes",
    [
        {"folds": 0},
        {"students": 0},
        {"confident_share": 0.0},
        {"confident_share": 1.5},
        {"replicates": -1},
        {"target_only_weight": -1.0},
    ],
)
def test_impossible_teaching_is_refused(changes):
    with pytest.raises(SettingsError, match=r"teaching|replicates=-1"):
        TeachingConfig(**changes)


def test_self_trained_boosting_answers_for_every_class():
    problem, truth = shifted()
    model = SelfTrainedBoosting()
    model.fit(problem, seed=1)
    probability = model.predict_proba(problem.target_x)
    assert probability.shape == (len(truth), 4)
    assert np.mean(probability.argmax(axis=1) == truth) > 0.8


def test_stars_of_a_class_nobody_drew_score_higher():
    problem, truth = shifted(target_objects=400, source_objects=400)
    known = problem.source_y != 3  # quasars are in the target, and nobody knows
    unlabelled = np.where(problem.target_y == 3, -1, problem.target_y)
    without = replace(
        problem, source_x=problem.source_x[known], source_y=problem.source_y[known], target_y=unlabelled,
        classes=problem.classes[:3],
    )  # fmt: skip
    score = other_score(without, first_opinions(without, QUICK_TEACHING, seed=0), seed=0).score
    assert ((score >= 0) & (score <= 1)).all()
    quasar = score[truth == 3]
    rest = score[(truth != 3) & (unlabelled == -1)]
    higher = np.mean(quasar[:, None] > rest[None, :])  # the area under the ROC curve
    assert higher > 0.8


@pytest.mark.parametrize("objects", [3, 60])
def test_few_stars_and_missing_features_are_ranked_too(objects):
    generator = np.random.default_rng(0)
    x = generator.normal(size=(objects, 4))
    x[:, 2] = np.nan
    x[1, 0] = np.nan
    drawn = np.r_[0, 1, np.full(objects - 2, -1)]
    problem = TransferProblem(generator.normal(size=(40, 4)), generator.integers(0, 2, 40), x, drawn, ("a", "b"))
    score = other_score(problem, [generator.dirichlet([1, 1], objects)], seed=0).score
    assert np.allclose(np.sort(score), np.linspace(0, 1, objects))


def with_wrong_label():
    """Return a problem one of whose drawn labels is wrong, so that it is doubted, and the truth."""
    problem, truth = shifted(labels_per_class=8, missing=0.0, source_objects=400)
    wrong = problem.target_y.copy()
    wrong[np.flatnonzero(wrong == 3)[2]] = 0
    return replace(problem, target_y=wrong), truth


def test_doubtful_labels_are_left_out_for_dvt_alone():
    problem, truth = with_wrong_label()
    rivals = ("boosting-both", "forest-target", "boosting-self-trained-replicates")
    doubting = taught_task(problem, truth, (*rivals, DVT_ENSEMBLE))
    believing = replace(
        doubting, config=replace(doubting.config, teaching=replace(QUICK_TEACHING, doubtful_labels="keep"))
    )
    left_out, kept = run_draw(doubting), run_draw(believing)
    for rival in rivals:
        assert np.array_equal(left_out.probabilities[rival], kept.probabilities[rival])
    assert not np.array_equal(left_out.probability, kept.probability)


def test_experts_of_the_target_alone_look_at_its_own_features_and_no_other():
    problem, truth = shifted(labels_per_class=8, missing=0.0, source_objects=400)
    telling = replace(problem, target_own=np.eye(len(problem.classes))[truth])
    before, after = teach(problem, QUICK_TEACHING, seed=0), teach(telling, QUICK_TEACHING, seed=0)
    for number in range(2):  # boosting and the forest on both surveys
        assert np.array_equal(before.experts[number], after.experts[number])
    right = [[np.mean(expert.argmax(axis=1) == truth) for expert in lesson.experts] for lesson in (before, after)]
    for number in (2, 4):  # the forest on the drawn labels, the student without the source
        assert right[1][number] > right[0][number]
    assert np.mean(after.classes == truth) > np.mean(before.classes == truth)


def test_the_target_alone_has_its_own_features_and_no_source():
    problem, _ = shifted(labels_per_class=2, missing=0.0)
    again = problem.target_x[None].copy()
    again[0, :3] = np.nan
    own = np.random.default_rng(0).normal(size=(len(problem.target_y), 2))
    wide = replace(
        problem, target_own=own, target_replicates=again, source_replicates=problem.source_x[None]
    ).target_alone()
    np.testing.assert_array_equal(wide.target_x, np.hstack([problem.target_x, own]))
    np.testing.assert_array_equal(wide.target_replicates[0, 3:], wide.target_x[3:])
    assert np.isnan(wide.target_replicates[0, :3]).all(), "a replicate that was not made stays empty"
    assert len(wide.source_y) == len(wide.source_x) == wide.source_replicates.shape[1] == 0
    assert len(wide.labelled_target()[0]) == 2 * (problem.target_y != -1).sum() - (problem.target_y[:3] != -1).sum()
    np.testing.assert_array_equal(problem.target_alone().target_x, problem.target_x)


def test_own_features_reach_dvt_by_its_teachers_alone():
    problem, truth = shifted(labels_per_class=8, missing=0.0, source_objects=400)
    rivals = tuple(name for name, row in ROWS.items() if not row.is_upper_bound)
    plain = taught_task(problem, truth, (*rivals, DVT_ENSEMBLE))
    task = replace(plain, dataset=replace(plain.dataset, target_own=np.eye(len(problem.classes))[truth]))
    without = replace(plain, dataset=replace(plain.dataset, target_own=None))
    with fewer_trees():
        seen, unseen = run_draw(task), run_draw(without)
    assert all(np.array_equal(seen.probabilities[name], unseen.probabilities[name]) for name in rivals)
    assert not np.array_equal(seen.probability, unseen.probability)
    assert seen.training.model.widths == unseen.training.model.widths
    assert draw_identity(task) != draw_identity(without)


def with_agreed_feature(problem, truth):
    """Return the problem with one more feature that means the same in both surveys, so that four are steady."""
    columns = [np.where(y == 1, 2.0, 0.0).astype(np.float32)[:, None] for y in (problem.source_y, truth)]
    x = [np.concatenate(each, axis=1) for each in zip((problem.source_x, problem.target_x), columns, strict=True)]
    return replace(problem, source_x=x[0], target_x=x[1])


def test_labels_outside_the_draw_change_no_probability():
    problem, truth = with_wrong_label()
    problem = with_agreed_feature(problem, truth)
    assert doubtful_labels(problem, seed=5).any(), "a drawn label is doubted, and that is covered too"
    assert len(teach(problem, QUICK_TEACHING, seed=5).experts) == 7, "features are steady, and that is covered too"
    rows = (*(name for name, row in ROWS.items() if not row.is_upper_bound), DVT_TOP, DVT_ENSEMBLE)
    hidden = np.flatnonzero(problem.target_y == -1)
    permuted = truth.copy()
    permuted[hidden] = np.random.default_rng(0).permutation(truth[hidden])
    assert (permuted != truth).any()
    honest = run_draw(consistent(taught_task(problem, truth, rows)))
    other = run_draw(consistent(taught_task(problem, permuted, rows)))
    assert honest.training.history_table()["consistency"].gt(0).all(), "replicates reach DVT, and that is covered too"
    for row in rows:
        assert np.array_equal(honest.probabilities[row], other.probabilities[row]), row
    assert np.array_equal(honest.novelty.score, other.novelty.score)
    assert honest.outcomes[DVT_ENSEMBLE].score.macro_f1 != other.outcomes[DVT_ENSEMBLE].score.macro_f1


def test_replicates_are_for_the_teachers_and_the_rival_that_is_named_after_them():
    problem, truth = shifted()
    rows = ("boosting-both", "forest-target", "boosting-self-trained", "boosting-self-trained-replicates", DVT_ENSEMBLE)
    task = taught_task(problem, truth, rows)
    with fewer_trees():
        plain = run_draw(replace(task, dataset=replace(task.dataset, replicates=None)))
        taught = run_draw(task)
    for rival in ("boosting-both", "forest-target", "boosting-self-trained"):
        assert np.array_equal(plain.probabilities[rival], taught.probabilities[rival])
    assert not np.array_equal(plain.probability, taught.probability)
    twice = taught.probabilities["boosting-self-trained-replicates"]
    assert not np.array_equal(taught.probabilities["boosting-self-trained"], twice)
    assert np.array_equal(
        plain.probabilities["boosting-self-trained"], plain.probabilities["boosting-self-trained-replicates"]
    ), "without replicates the two are the same"


def test_consistency_needs_replicates_and_every_dvt_gets_them():
    problem, truth = shifted(target_objects=60, source_objects=60)
    task = consistent(taught_task(problem, truth, (DVT_UPPER_BOUND, DVT_ENSEMBLE)))
    plain = replace(task, config=replace(task.config, objective=replace(task.config.objective, consistency_weight=0.0)))
    with fewer_trees():
        found, other = run_draw(task), run_draw(plain)
    for row in task.rows:
        assert not np.array_equal(found.probabilities[row], other.probabilities[row])
    assert "consistency" not in other.training.history_table()
    with pytest.raises(SettingsError, match="replicates=0"):
        TransferOptions(preset=task.config, replicates=0).config  # noqa: B018


def test_the_upper_bound_learns_from_replicates_too():
    problem, truth = shifted(target_objects=60, source_objects=60)
    task = taught_task(problem, truth, (DVT_UPPER_BOUND,))
    with fewer_trees():
        plain = run_draw(replace(task, dataset=replace(task.dataset, replicates=None))).probabilities[DVT_UPPER_BOUND]
        found = run_draw(task).probabilities[DVT_UPPER_BOUND]
    assert not np.array_equal(found, plain)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)


def test_replicates_as_rows_have_their_stars_label_and_number():
    x, nan = np.arange(6.0).reshape(3, 2), np.nan
    again = np.array([[[10.0, 11], [nan, nan], [14, nan]], [[nan, nan], [22, 23], [24, 25]]])
    rows, star = with_replicates_as_rows(SurveyRows("new", x, np.array([2, -1, 1]), again))
    assert star.tolist() == [0, 1, 2, 0, 2, 1, 2]
    assert rows.y.tolist() == [2, -1, 1, 2, 1, -1, 1]
    assert rows.x[:3].tolist() == x.tolist()
    assert rows.x[3:, 0].tolist() == [10, 14, 22, 24]
    assert rows.replicates[0, 3:].tolist() == x[star[3:]].tolist()
    alone, star = with_replicates_as_rows(SurveyRows("new", x, np.array([2, -1, 1])))
    assert (alone.x is x, star.tolist()) == (True, [0, 1, 2])


def test_a_star_and_its_replicates_are_learned_from_together_and_what_was_not_made_is_left_out():
    x, y = np.arange(8.0).reshape(4, 2), np.array([0, -1, 1, 0])
    again = np.stack([x + 10, x + 20])
    again[1, 2] = np.nan
    problem = TransferProblem(x, y, x, y, ("a", "b"), again, again)
    rows, classes = problem.labelled_target()
    assert rows[:, 0].tolist() == [0, 4, 6, 10, 14, 16, 20, 26]
    assert classes.tolist() == [0, 1, 0, 0, 1, 0, 0, 0]
    guessed, guesses = problem.guessed_target(np.array([-1, 1, -1, -1]))
    assert guessed[:, 0].tolist() == [2, 12, 22]
    assert guesses.tolist() == [1, 1, 1]
    assert len(problem.without_replicates().labelled_source()[1]) == 3


def test_dvt_learns_from_what_the_trees_teach():
    problem, truth = shifted(labels_per_class=1)
    taught = taught_task(problem, truth, (DVT_ENSEMBLE,))
    untaught = replace(taught, config=replace(taught.config, teaching=None))
    scores = [run_draw(task).outcomes[DVT_ENSEMBLE].score.macro_f1 for task in (taught, untaught)]
    assert scores[0] > scores[1]


def test_what_a_whole_source_lacks_does_not_tell_trees_the_survey():
    rng = np.random.default_rng(3)
    one_band, many_bands, target = (
        SurveyRows(name, rng.normal(size=(50, 3)), np.zeros(50, dtype=int)) for name in "abc"
    )
    one_band.x[:, 1] = np.nan
    many_bands.x[::2, 2] = np.nan
    problem = transfer_problem([one_band, many_bands, target], ("A", "B"))
    given = problem.source_x[:50, 1]
    assert set(given) <= {*many_bands.x[:, 1], *target.x[:, 1]}
    assert len(set(given)) > 20
    np.testing.assert_array_equal(problem.source_x[50:], many_bands.x, "a gap of single stars stays one")
    assert np.isnan(one_band.x[:, 1]).all(), "the survey's own rows are left alone"
    again = transfer_problem([one_band, many_bands, target], ("A", "B"))
    np.testing.assert_array_equal(problem.source_x, again.source_x)
    thinned = one_band.x[None].copy()
    thinned[0, 0] = np.nan
    surveys = [
        replace(one_band, replicates=thinned),
        *(replace(each, replicates=each.x[None]) for each in (many_bands, target)),
    ]
    with_replicates = transfer_problem(surveys, ("A", "B"))
    np.testing.assert_array_equal(with_replicates.source_x, problem.source_x)
    assert not np.isnan(with_replicates.source_replicates[0, 1:50, 1]).any()
    assert np.isnan(with_replicates.source_replicates[0, 0]).all(), "a replicate that was not made stays empty"
