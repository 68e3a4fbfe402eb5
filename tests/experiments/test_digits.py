"""The digits experiment: settings, runs that resume, tables, pictures, and what a short training reaches."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.digit_images import small_digits, usps_or_small_digits

from lcdvt.dvt.batch_stream import BatchStream
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.model import DVT
from lcdvt.dvt.objective import objective_terms
from lcdvt.dvt.train import TrainingState
from lcdvt.errors import InputFileError, SettingsError
from lcdvt.experiments.digits import checkpoint, runs
from lcdvt.experiments.digits.experiment import run_digits, save_pictures
from lcdvt.experiments.digits.files import CLASSES
from lcdvt.experiments.digits.pictures import pictures_figure
from lcdvt.experiments.digits.presets import digits_config
from lcdvt.experiments.digits.runs import Circumstances, DigitsResult, DigitsRun, complete_run, planned_runs, train_run
from lcdvt.experiments.digits.table import PUBLISHED, accuracies_json, confusion_table, digits_table
from lcdvt.tables.formats import to_markdown


@pytest.fixture
def circumstances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Circumstances:
    """A few steps on small digits in place of both domains."""
    monkeypatch.setattr(runs, "read_digits", lambda name, folder: small_digits(name))
    return Circumstances(data=tmp_path, out=tmp_path / "out", steps=4)


def test_validation_images_are_taken_from_the_training_images() -> None:
    digits = small_digits("usps")
    split = digits.for_validation()
    assert len(split.train_x) + len(split.test_x) == len(digits.train_x)
    rows = {image.tobytes() for image in digits.train_x}
    assert {image.tobytes() for image in split.test_x} <= rows
    assert (split.test_x == digits.for_validation().test_x).all()


def test_the_cnn_is_trained_as_long_on_as_many_images() -> None:
    ours, theirs = (digits_config("multi-task", model, "shift").training for model in ("DVT", "CNN"))
    assert (ours.steps, ours.shift_pixels) == (theirs.steps, theirs.shift_pixels)
    assert ours.labelled_batch + ours.unlabelled_batch == theirs.labelled_batch
    still = [digits_config("transfer", model, "none").training for model in ("DVT", "CNN")]
    assert [training.shift_pixels for training in still] == [0, 0]
    assert still[0].input_noise == still[1].input_noise > ours.input_noise == 0
    assert digits_config("transfer", augment="none", noise=0.5).training.input_noise == 0.5
    with pytest.raises(SettingsError, match="choose from digits, paper"):
        digits_config("transfer", preset="fancy")


def test_the_papers_numbers_are_a_preset() -> None:
    objective, training = (
        getattr(digits_config("transfer", preset="paper"), part) for part in ("objective", "training")
    )
    assert (objective.unlabelled_weight, objective.classification_weight) == (0.1, 1e4)
    assert (training.learning_rate, training.betas, training.epsilon) == (0.005, (0.5, 0.5), 1e-3)


def test_transfer_of_the_cnn_trains_its_last_three_layers_again() -> None:
    model = DVT(digits_config("transfer", "CNN").model, 1, (64, 64), 10)
    model.freeze_shared()
    free = {name for name, parameter in model.named_parameters() if parameter.requires_grad and "norms" not in name}
    encoder = {name.rsplit(".", 1)[0] for name in free if "decoder" not in name}
    assert encoder == {"networks.encoder.3", "networks.encoder_ends.0", "networks.encoder_ends.1", "classifier"}


def test_the_cnn_sees_labels_alone_and_does_not_sample() -> None:
    config = digits_config("multi-task", "CNN", "none")
    small = small_digits("a")
    y = np.where(np.arange(len(small.train_y)) < 100, small.train_y, -1)
    data = TrainingData.from_surveys([runs.SurveyRows(name, small.train_x, y) for name in "ab"], CLASSES, 1)
    batch = BatchStream(data, config, (0,), 0, slice(0, 2)).batch(0)
    assert batch.x.shape[2] == batch.y.shape[2] == 100
    model = DVT(config.model, 1, data.widths, 10)
    model.initialise([torch.Generator().manual_seed(0)])
    terms, q = objective_terms(model, batch, config.objective, slice(0, 2))
    again, _ = objective_terms(
        model, replace(batch, latent_noise=10 + batch.latent_noise), config.objective, slice(0, 2)
    )
    assert q.shape[-1] == 0
    assert (terms.classification > 0).all()
    # batch normalisation uses the batch's own statistics: the same batch gives the same numbers
    assert torch.equal(terms.classification, again.classification)
    terms.total(config.objective).sum().backward()
    assert all(parameter.grad is None for parameter in model.networks.decoder.parameters())
    assert all(value.eq(0).all() for name, value in terms.as_columns().items() if name != "classification")


def test_the_plan_is_the_papers_tables() -> None:
    plan = planned_runs(("mnist", "usps"), ("supervised", "semi-supervised", "transfer", "multi-task"), 2)
    for target, rows in PUBLISHED.items():
        planned = {(run.mode, run.model) for run in plan if run.target == target}
        assert planned == set(rows)
    assert len(plan) == 2 * 2 * 7
    assert DigitsRun("usps", "transfer", "DVT", 0).domains == ("mnist", "usps")
    assert DigitsRun("usps", "semi-supervised", "DVT", 0).domains == ("usps",)


def test_a_finished_run_is_kept(circumstances: Circumstances, monkeypatch: pytest.MonkeyPatch) -> None:
    run = DigitsRun("usps", "semi-supervised", "DVT", 0)
    first = complete_run(run, circumstances)
    assert 0 <= first.accuracy <= 100
    assert first.confusion.sum() == len(small_digits("usps").test_y)

    def trained_again(*_: object) -> None:
        raise AssertionError("a finished run was trained again")

    monkeypatch.setattr(runs, "train_run", trained_again)
    again = complete_run(run, circumstances)
    assert again.accuracy == first.accuracy
    assert (again.confusion == first.confusion).all()
    with pytest.raises(InputFileError, match="other settings"):
        complete_run(run, replace(circumstances, labels="200"))
    (circumstances.out / "shift" / f"{run.name}.json").write_text("{")
    with pytest.raises(InputFileError, match="damaged"):
        complete_run(run, circumstances)


def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, digits = DigitsRun("usps", "transfer", "DVT", 0), [small_digits(name) for name in ("mnist", "usps")]
    config = digits_config("transfer", steps=4)
    config = replace(config, training=replace(config.training, check_every=3))
    whole = train_run(run, config, digits, "100", tmp_path / "whole", "cpu")
    write = checkpoint._write_checkpoint

    def write_and_stop(path: Path, state: TrainingState, identity: str) -> None:
        write(path, state, identity)
        if state.phase == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "_write_checkpoint", write_and_stop)
    with pytest.raises(KeyboardInterrupt):
        train_run(run, config, digits, "100", tmp_path / "cut", "cpu")
    monkeypatch.setattr(checkpoint, "_write_checkpoint", write)
    resumed = train_run(run, config, digits, "100", tmp_path / "cut", "cpu")
    assert (whole.is_resumed, resumed.is_resumed) == (False, True)
    for name, tensor in whole.model.state_dict().items():
        torch.testing.assert_close(resumed.model.state_dict()[name], tensor, rtol=0, atol=0)
    assert not (tmp_path / "cut").exists()


def test_the_gaussian_likelihood_trains_too(circumstances: Circumstances) -> None:
    result = complete_run(DigitsRun("usps", "semi-supervised", "DVT", 0), replace(circumstances, likelihood="gaussian"))
    assert result.settings["model"]["likelihood"] == "gaussian"


def test_every_way_of_training_through_to_tables_and_figures(
    circumstances: Circumstances, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lcdvt.experiments.digits.experiment.read_digits", lambda name, folder: small_digits(name))
    told: list[DigitsResult] = []
    results = run_digits(circumstances, target="usps", seeds=1, jobs=1, on_result=told.append)
    assert told == results
    record = accuracies_json(results)
    assert set(record["usps"]) == {"supervised", "semi-supervised", "transfer", "multi-task"}
    assert set(record["cnn"]["usps"]) == {"supervised", "transfer", "multi-task"}
    assert json.loads(json.dumps(record)) == record
    files = save_pictures(results, circumstances)
    assert [file.name for file in files] == ["usps-shift.png", "usps-shift.svg"]
    pictures = runs.read_pictures(results[3].run, circumstances)
    titles = [axis.get_title() for axis in pictures_figure(pictures, "digits").axes]
    assert titles == [
        "mnist: test images and their reconstructions",
        "usps: test images and their reconstructions",
        "mnist: generated, a column for each component",
        "usps: generated, a column for each component",
    ]
    assert pictures.generated["usps"].shape == (4, 10, 64)
    for unknown in ({"target": "svhn"}, {"mode": "unsupervised"}):
        with pytest.raises(InputFileError, match="choose from"):
            run_digits(circumstances, **unknown)  # type: ignore[arg-type]


def result_of(target: str, mode: str, model: str, accuracy: float, seed: int) -> DigitsResult:
    return DigitsResult(
        DigitsRun(target, mode, model, seed),  # type: ignore[arg-type]
        accuracy,
        np.full((10, 10), 1) + seed * np.eye(10, dtype=np.int64),
        1.0,
        False,
        {},
    )


def test_the_table_has_the_papers_form_with_its_figures_beside(tmp_path: Path) -> None:
    results = [
        result_of("usps", *row, accuracy, seed)
        for seed, shift in enumerate((0.0, 1.0))
        for row, accuracy in zip(PUBLISHED["usps"], (99 + shift, 98, 93, 94.5 + shift, 92, 88, 75), strict=True)
    ]
    table = digits_table(results, "usps", Circumstances(tmp_path, tmp_path))
    assert [(row.training, row.model) for row in table.rows][:3] == [
        ("Supervised", "DVT"),
        ("Supervised", "CNN"),
        ("Semi-supervised", "DVT"),
    ]
    best = [row.name for row in table.rows if row.cells[0].is_best]
    assert best == ["DVT transfer"]
    text = to_markdown(table)
    assert "95.00 ± 0.71" in text
    assert "94.37 ± 0.19" in text
    shown = confusion_table(results, "usps")
    assert shown.row_count == 10
    assert next(iter(shown.columns[1].cells)) == "3"


@pytest.mark.slow
def test_a_short_semi_supervised_training_reaches_useful_accuracy(tmp_path: Path) -> None:
    """On real USPS where its folder is given, on scikit-learn's digits otherwise; well under a minute."""
    digits = usps_or_small_digits()
    config = digits_config("semi-supervised", steps=300)
    trained = train_run(DigitsRun("usps", "semi-supervised", "DVT", 0), config, [digits], "100", tmp_path, "cpu")
    accuracy, counts = trained.score()
    assert counts.sum() == len(digits.test_y)
    assert accuracy > 85
