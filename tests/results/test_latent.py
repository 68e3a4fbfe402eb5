"""The plane on which the latent space is shown, and the stars on it."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

import lcdvt
from lcdvt.dataset.dataset import SurveyData
from lcdvt.errors import LcdvtError
from lcdvt.results.latent import latent_means, latent_points, plane, plot_latent, sample_survey
from lcdvt.results.saved import load_run

pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.fixture(scope="module")
def result(two_surveys, tmp_path_factory) -> "lcdvt.Run":
    data = shutil.copytree(two_surveys, tmp_path_factory.mktemp("latent") / "data")
    return lcdvt.transfer("old", "new", "20%", data=data, members=2, repeats=1, steps=300, rows=["svm-target"], jobs=1)


def stars_of(result, survey: str, most_stars: int = 10_000) -> SurveyData:
    return sample_survey(load_run(result.folder), lcdvt.open_survey(survey, result.data), most_stars=most_stars)


@pytest.mark.parametrize("classes", range(2, 9))
def test_the_plane_is_an_orthogonal_projection_with_the_components_on_a_polygon(classes):
    projection = plane(classes, 10)
    np.testing.assert_allclose(projection.T @ projection, np.eye(2), atol=1e-12)
    corners = projection[:classes]
    np.testing.assert_allclose(np.linalg.norm(corners, axis=1), np.linalg.norm(corners[0]))
    assert not projection[classes:].any()
    apart = np.linalg.norm(corners[:, None] - corners[None], axis=-1)[~np.eye(classes, dtype=bool)]
    assert apart.min() > 0.3 * np.linalg.norm(corners[0])
    if classes > 2:
        neighbours = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
        np.testing.assert_allclose(neighbours, neighbours[0])


def nearest_component(saved, stars: SurveyData) -> np.ndarray:
    """Return the class of the component that is nearest in the latent itself, not on the plane."""
    number = saved.description.surveys.index(stars.name)
    scaled, _ = saved.scaled(stars.features, number)
    classes = np.array(saved.description.classes, dtype=object)
    return classes[latent_means(saved, scaled, number)[:, : len(classes)].argmax(axis=1)]


def test_labelled_source_stars_of_every_class_lie_nearest_to_their_own_component(result):
    saved, stars = load_run(result.folder), stars_of(result, "old")
    nearest, labels = nearest_component(saved, stars), stars.labels.reindex(stars.features["object_id"]).to_numpy()
    for name in saved.description.classes:
        assert (nearest[labels == name] == name).mean() > 0.8, name


def test_a_target_stars_class_is_that_of_the_nearest_component(result):
    predicted = result.predictions()["predicted"].to_numpy()
    assert (nearest_component(load_run(result.folder), stars_of(result, "new")) == predicted).mean() > 0.95


def test_stars_lie_at_the_components_not_beyond_them(result):
    """By the distance from the component that is nearest, which sampled stars would have at √J σ."""
    saved, stars = load_run(result.folder), stars_of(result, "old")
    model = saved.config.model
    means = latent_means(saved, saved.scaled(stars.features, 0)[0], 0)
    corners = model.component_distance * np.eye(len(saved.description.classes), model.latent)
    distance = np.linalg.norm(means[:, None] - corners, axis=-1).min(axis=1)
    assert np.median(distance) < np.sqrt(model.latent) * model.component_sigma


def test_target_stars_have_the_class_the_run_predicted(result):
    points = latent_points(load_run(result.folder), stars_of(result, "new"))
    assert points.class_names.tolist() == result.predictions()["predicted"].tolist()


def test_a_sample_from_the_workspace_lies_where_the_dataset_does(result):
    saved = load_run(result.folder)
    stored = lcdvt.open_survey("new", result.data)
    sample = sample_survey(saved, stored, most_stars=20, seed=3)
    assert len(sample.features) == 20
    assert sample_survey(saved, stored, most_stars=20, seed=3).features.equals(sample.features)
    assert not sample_survey(saved, stored, most_stars=20, seed=4).features.equals(sample.features)
    whole = stars_of(result, "new")
    rows = whole.features["object_id"].isin(sample.features["object_id"])
    same = SurveyData("new", whole.features[rows], whole.labels)
    np.testing.assert_allclose(latent_points(saved, sample).places, latent_points(saved, same).places, atol=1e-5)


def test_the_figure_draws_a_bounded_number_of_stars_of_each_survey(result):
    saved = load_run(result.folder)
    figure = plot_latent(saved, [stars_of(result, name, 50) for name in ("old", "new")])
    drawn = [len(collection.get_offsets()) for collection in figure.axes[0].collections]
    assert drawn == [50, 50]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names[-2:] == ["old", "new"]
    assert list(saved.description.classes) == names[: len(saved.description.classes)]


def test_names_are_drawn_as_they_are(result, tmp_path):
    saved = load_run(result.folder)
    odd = ("_hidden", "$x", "a$b_c$", "☃", "e")[: len(saved.description.classes)]
    renamed = replace(saved, description=replace(saved.description, classes=odd))
    plot_latent(renamed, [stars_of(result, name, 20) for name in ("old", "new")]).savefig(tmp_path / "odd.svg")
    assert (tmp_path / "odd.svg").stat().st_size > 0


def test_a_survey_of_another_run_is_refused(result):
    other = replace(stars_of(result, "old"), name="mars")
    with pytest.raises(LcdvtError, match="the run knows old, new, not mars"):
        latent_points(load_run(result.folder), other)


def test_a_result_draws_its_own_map_and_shows_its_table(result):
    figure = result.plot_latent(most_stars=30)
    assert [len(collection.get_offsets()) for collection in figure.axes[0].collections] == [30, 30]
    assert len(repr(result)) < 200, "a console is not flooded with arrays"
    page = result._repr_html_()
    assert "<table" in page
    assert "simulated" in page
