"""Run folders: saved, loaded, refused, and gone on with after a kill."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from helpers.dvt_problems import CLASSES, quick_config, survey_rows, two_surveys

from lcdvt.dataset.scaling import fit_scaler
from lcdvt.dvt.ensemble import predict
from lcdvt.dvt.train import train
from lcdvt.errors import SettingsError, WorkspaceError
from lcdvt.experiments.digits.checkpoint import CHECKPOINT_FILE, train_resumable
from lcdvt.results.predict import classify_frame
from lcdvt.results.saved import SavedRun, load_run, save_run

FEATURES = ("Amplitude", "PeriodLS", "Skew", "Std")
OLD_RUN = Path(__file__).parents[1] / "data" / "run-0.1"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SavedRun]:
    x = survey_rows("old", shift=0.0, seed=1)[0].x
    scaler = fit_scaler(x, np.zeros(len(x), dtype=int), FEATURES, "rank")
    config = quick_config("tied", steps=20)
    result = train(config, two_surveys(3), (4, 5, 6))
    run = SavedRun.from_training(config, result, scaler, ("old", "new"), CLASSES, {"macro_f1": 81.5})
    folder = tmp_path_factory.mktemp("runs") / "mine"
    save_run(folder, run)
    return folder, run


def copy_of(folder: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def test_a_loaded_run_says_the_same(saved: tuple[Path, SavedRun]) -> None:
    folder, run = saved
    loaded = load_run(folder)
    x = torch.from_numpy(run.scaler.apply(survey_rows("new", shift=0.7, seed=8)[0].x))
    for survey in (0, 1):
        assert torch.equal(predict(run.model, x, survey).members, predict(loaded.model, x, survey).members)
    assert loaded.config == run.config
    assert loaded.description == run.description
    assert loaded.metrics == {"macro_f1": 81.5}
    pd.testing.assert_frame_equal(loaded.history, run.history)


def test_the_temperature_is_kept_and_softens_what_is_said_of_the_target_alone(
    saved: tuple[Path, SavedRun], tmp_path: Path
) -> None:
    run = saved[1]
    folder = tmp_path / "soft"
    save_run(folder, replace(run, description=replace(run.description, temperature=2.5)))
    stars = pd.DataFrame(survey_rows("new", shift=0.7, seed=8)[0].x, columns=list(FEATURES))
    stars.insert(0, "object_id", [f"star{number}" for number in range(len(stars))])
    soft, plain = load_run(folder), load_run(saved[0])
    columns = [f"p_{name}" for name in CLASSES]
    source, target = (
        [classify_frame(each, stars, head)[["predicted", *columns]] for each in (plain, soft)] for head in (0, 1)
    )
    pd.testing.assert_frame_equal(*source)
    before, after = target
    assert (before["predicted"] == after["predicted"]).all()
    roots = before[columns].to_numpy() ** (1 / 2.5)
    np.testing.assert_allclose(after[columns], roots / roots.sum(axis=1, keepdims=True), atol=1e-5)


@pytest.mark.parametrize("temperature", ["0.0", "-1.0", "inf", "nan"])
def test_an_impossible_temperature_is_refused(saved: tuple[Path, SavedRun], tmp_path: Path, temperature: str) -> None:
    folder = copy_of(saved[0], tmp_path)
    text = (folder / "config.toml").read_text()
    (folder / "config.toml").write_text(text.replace("temperature = 1.0", f"temperature = {temperature}", 1))
    with pytest.raises(SettingsError, match=r"run\.temperature"):
        load_run(folder)


@pytest.mark.parametrize(("name", "value"), [("classes", "[]"), ("surveys", "[]"), ("seeds", "[]"), ("widths", "[2]")])
def test_a_run_without_classes_surveys_or_members_is_refused(
    saved: tuple[Path, SavedRun], tmp_path: Path, name: str, value: str
) -> None:
    folder = copy_of(saved[0], tmp_path)
    text = (folder / "config.toml").read_text()
    changed = re.sub(rf"(?ms)^{name} = \[.*?\]$", f"{name} = {value}", text, count=1)
    assert changed != text
    (folder / "config.toml").write_text(changed)
    with pytest.raises(SettingsError, match=rf"run\.{name}"):
        load_run(folder)


def test_the_folder_is_text_and_plain_arrays(saved: tuple[Path, SavedRun]) -> None:
    names = {file.name for file in saved[0].iterdir()}
    assert names == {"config.toml", "weights.safetensors", "scaler.json", "metrics.json", "history.parquet"}
    text = (saved[0] / "config.toml").read_text()
    for setting in ("learning_rate = 0.003", "tie_penalty = 10.0", "component_distance = 5.0", "seeds = ["):
        assert setting in text


def test_the_run_of_version_0_1_loads_and_says_what_it_said() -> None:
    run = load_run(OLD_RUN)
    expected = pd.read_csv(OLD_RUN / "expected.csv")
    x = torch.from_numpy(run.scaler.apply(expected[list(run.scaler.features)].to_numpy(), 1))
    probability = predict(run.model, x, 1).probability.numpy()
    np.testing.assert_allclose(probability, expected[list(run.description.classes)].to_numpy(), atol=1e-5)


def test_unknown_formats_are_refused(saved: tuple[Path, SavedRun], tmp_path: Path) -> None:
    folder = copy_of(saved[0], tmp_path)
    config = folder / "config.toml"
    config.write_text(config.read_text().replace("format = 1", "format = 99"))
    with pytest.raises(WorkspaceError, match=r"format 99.*reads format 1"):
        load_run(folder)


def test_settings_of_a_later_version_are_refused_by_name(saved: tuple[Path, SavedRun], tmp_path: Path) -> None:
    folder = copy_of(saved[0], tmp_path)
    config = folder / "config.toml"
    config.write_text(config.read_text().replace("[training]", "[training]\nwarm_up = 3"))
    with pytest.raises(SettingsError, match="no setting named 'warm_up'"):
        load_run(folder)


@pytest.mark.parametrize("damage", ["cut", "missing", "other shape"])
def test_damaged_weights_are_refused(saved: tuple[Path, SavedRun], tmp_path: Path, damage: str) -> None:
    folder = copy_of(saved[0], tmp_path)
    weights = folder / "weights.safetensors"
    if damage == "cut":
        weights.write_bytes(weights.read_bytes()[:100])
    elif damage == "missing":
        weights.unlink()
    else:
        config = folder / "config.toml"
        config.write_text(config.read_text().replace("latent = 4", "latent = 5"))
    with pytest.raises(WorkspaceError, match=r"weights\.safetensors"):
        load_run(folder)


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="not a run"):
        load_run(tmp_path)


RESUMED = """
import sys
from pathlib import Path
from helpers.dvt_problems import quick_config, two_surveys
from lcdvt.experiments.digits.checkpoint import train_resumable
config = quick_config("paper", mode="transfer", steps=int(sys.argv[2]), check_every=10, stop="cycle", patience=10**6)
result = train_resumable(config, two_surveys(2), (1, 2), Path(sys.argv[1]))
"""


def test_a_killed_run_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    steps = 150
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-c", RESUMED, str(tmp_path), str(steps)], env=environment)
    checkpoint = tmp_path / CHECKPOINT_FILE
    # the first checkpoint says that training is under way; it has many more to come
    while not checkpoint.is_file():
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert checkpoint.is_file()

    config = quick_config("paper", mode="transfer", steps=steps, check_every=10, stop="cycle", patience=10**6)
    reported: list[int] = []

    def progress(done: int, total: int | None, note: str = "") -> None:
        reported.append(done)

    resumed = train_resumable(config, two_surveys(2), (1, 2), tmp_path, progress=progress)
    whole = train(config, two_surveys(2), (1, 2))
    assert reported[0] > 10, "the run began again instead of going on"
    for key, tensor in whole.model.state_dict().items():
        torch.testing.assert_close(resumed.model.state_dict()[key], tensor, rtol=1e-6, atol=1e-6)
    assert len(resumed.history) == len(whole.history)
    assert not checkpoint.is_file()


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    class StopHereError(Exception):
        pass

    def stop(done: int, total: int | None, note: str = "") -> None:
        raise StopHereError

    with pytest.raises(StopHereError):
        train_resumable(quick_config(), two_surveys(1), (1,), tmp_path, progress=stop)
    with pytest.raises(WorkspaceError, match="other data, settings or seeds"):
        train_resumable(quick_config(), two_surveys(1), (2,), tmp_path)
    (tmp_path / CHECKPOINT_FILE).write_bytes(b"not a checkpoint")
    with pytest.raises(WorkspaceError, match="damaged"):
        train_resumable(quick_config(), two_surveys(1), (1,), tmp_path)


def test_metrics_are_json(saved: tuple[Path, SavedRun]) -> None:
    assert json.loads((saved[0] / "metrics.json").read_text()) == {"macro_f1": 81.5}


def test_a_history_with_other_notes_than_pandas_is_one_sentence(saved: tuple[Path, SavedRun], tmp_path: Path) -> None:
    folder = copy_of(saved[0], tmp_path)
    notes = {b"pandas": b'{"columns": [{"name": "x"}], "index_columns": []}'}
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata(notes), folder / "history.parquet")
    with pytest.raises(WorkspaceError, match=r"history\.parquet: cannot be read"):
        load_run(folder)
