"""The moons: data as in the paper, scores, figure, command."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lcdvt.errors import SettingsError
from lcdvt.experiments.moons import MoonsRecipe, best_possible_f1, make_survey, moons_config, moons_figure, run_moons
from lcdvt.figures.style import save_figure

SMALL = MoonsRecipe(majority=600, minority=200)


def test_the_papers_counts() -> None:
    source, target = (make_survey(MoonsRecipe(), target=is_target, seed=0) for is_target in (False, True))
    assert np.bincount(source.test_y).tolist() == [5000, 200]
    assert np.bincount(target.test_y).tolist() == [200, 5000]
    assert np.bincount(source.y[source.y >= 0]).tolist() == [500, 20]
    assert np.bincount(target.y[target.y >= 0]).tolist() == [5, 125]
    assert len(source.x) == len(target.x) == 5200


def test_the_target_is_the_source_turned_and_bent() -> None:
    plain = MoonsRecipe(noise=0.0, majority=40, minority=40)
    source, target = (make_survey(plain, target=is_target, seed=0) for is_target in (False, True))
    back = 10 ** (np.vstack([target.x, target.test_x]) - 1) - 0.5
    angle = np.deg2rad(-30)
    turned = back @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]) + 0.5
    flat = np.vstack([source.x, source.test_x])
    distances = np.linalg.norm(turned[:, None] - flat[None], axis=-1)
    assert distances.min(axis=1).max() < 1e-6


def test_seeds_make_different_data() -> None:
    first, again, other = (make_survey(SMALL, target=True, seed=seed) for seed in (1, 1, 2))
    assert (first.x == again.x).all()
    assert (first.x[0] != other.x[0]).any()


@pytest.mark.parametrize("target", [False, True])
def test_the_best_possible_score_falls_with_noise(target: bool) -> None:
    """Without overlap nothing is confused; with the default noise a numerical integral over the plane gives 98.0."""
    scores = {}
    for noise in (0.05, 0.15, 0.3):
        surveys = [make_survey(MoonsRecipe(noise=noise), target=target, seed=seed) for seed in (100, 101, 102)]
        scores[noise] = np.mean([best_possible_f1(survey, noise) for survey in surveys])
    assert scores[0.05] == 100
    assert scores[0.15] == pytest.approx(98.0, abs=0.8)
    assert scores[0.3] < 90


def test_a_short_run_learns_and_draws_its_figure(tmp_path: Path) -> None:
    result = run_moons(moons_config("paper", 150), (0, 1), recipe=SMALL, device="cpu")
    assert len(result.source_f1) == len(result.target_f1) == len(result.svm_f1) == 2
    assert min(result.source_f1) > 75
    assert all(50 < score <= 100 for score in (*result.svm_f1, *result.source_svm_f1))
    assert min(*result.source_best_f1, *result.target_best_f1) > 90
    figure = moons_figure(result)
    assert [axis.get_title() for axis in figure.axes[:4]] == [
        f"Source, semi-supervised: predictions (macro F1 {result.source_f1[0]:.1f} %)",
        "Source, semi-supervised: entropy",
        f"Target, after transfer: predictions (macro F1 {result.target_f1[0]:.1f} %)",
        "Target, after transfer: entropy",
    ]
    png, svg = save_figure(figure, tmp_path / "moons")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "<svg" in svg.read_text()


def test_the_paper_preset_takes_the_papers_batches() -> None:
    training = moons_config().training
    assert (training.steps, training.unlabelled_batch, training.labelled_batch) == (15000, 100, 0)
    assert training.mode == "transfer"
    with pytest.raises(SettingsError):
        moons_config("fancy")


@pytest.mark.slow
def test_the_command(lcdvt: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    done = lcdvt("experiment", "moons", "--seeds", 2, "--steps", 40, "--json", "f1.json", "--out", "figures")
    assert done.returncode == 0, done.stderr
    assert (
        "97.5" in done.stdout
        and "86.6" in done.stdout
        and "SVM" in done.stdout
        and "best possible" in done.stdout
        and "±" in done.stdout
    )
    scores = json.loads((tmp_path / "f1.json").read_text())
    assert len(scores["source_f1"]) == len(scores["target_f1"]) == 2
    assert (tmp_path / "figures" / "moons.png").is_file()
    assert (tmp_path / "figures" / "moons.svg").is_file()


def test_a_wrong_preset_is_one_sentence(lcdvt: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = lcdvt("experiment", "moons", "--preset", "fancy")
    assert done.returncode == 2
    assert "choose from paper, tied" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_both_surveys_reach_the_papers_level_in_fewer_steps() -> None:
    """The whole experiment has 15000 batches; a tenth of them must already come close to the paper."""
    result = run_moons(moons_config("paper", 1500), (0, 1, 2), device="cpu")
    assert np.mean(result.source_f1) > 95
    assert np.mean(result.target_f1) > 80
