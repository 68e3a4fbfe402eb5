"""Presets, TOML and back, and every wrong setting by name."""

from pathlib import Path

import pytest

from lcdvt.disk.toml_config import from_table, read_toml, to_table, write_toml
from lcdvt.dvt.config import ConvolutionConfig, DVTConfig, ModelConfig, ObjectiveConfig, TrainingConfig, preset
from lcdvt.errors import SettingsError


@pytest.mark.parametrize("name", ["paper", "tied", "robust"])
def test_presets_survive_toml(name: str, tmp_path: Path) -> None:
    write_toml(tmp_path / "config.toml", preset(name))
    assert read_toml(tmp_path / "config.toml", DVTConfig) == preset(name)


def test_the_paper_preset_is_the_papers_table() -> None:
    config = preset("paper")
    assert (config.objective.unlabelled_weight, config.objective.classification_weight) == (0.1, 1e4)
    assert (config.model.component_distance, config.model.component_sigma) == (10, 0.1)
    training = config.training
    assert (training.learning_rate, *training.betas, training.epsilon) == (0.005, 0.5, 0.5, 0.001)
    assert config.objective.label_sampling == "straight-through"


def test_an_absent_table_stays_absent() -> None:
    assert "convolution" not in to_table(ModelConfig())
    with_images = ModelConfig(convolution=ConvolutionConfig((8, 8, 8), 8))
    assert from_table(ModelConfig, to_table(with_images)) == with_images


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"modl": {}}, "no setting named 'modl'; choose from model, objective, training"),
        ({"model": {"latent": "ten"}}, "model.latent = 'ten': a value of type int"),
        ({"model": {"latent": True}}, "type int"),
        ({"model": {"heads": "loose"}}, "choose from independent, tied"),
        ({"model": 3}, "table of settings"),
        ({"model": {"shared": 3}}, "a list is needed"),
        ({"model": {"logvar_x": [1.0]}}, "exactly 2 values"),
        ({"model": {"shared": []}}, "nothing is transferred"),
        ({"model": {"latent": 0}}, "width of at least 1"),
        ({"model": {"component_sigma": 0.0}}, "above 0"),
        ({"objective": {"unlabelled_weight": 1.5}}, "between 0 and 1"),
        ({"objective": {"temperature": 0}}, "above 0"),
        ({"training": {"steps": 0}}, "training.steps = 0"),
        ({"training": {"held_out": -1}}, "0 or more"),
        ({"training": {"stop": "bound"}}, "set training.held_out"),
    ],
)
def test_wrong_settings_are_named(table: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        from_table(DVTConfig, table)


def test_wrong_files_and_presets(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such file"):
        read_toml(tmp_path / "absent.toml", DVTConfig)
    (tmp_path / "bad.toml").write_text("model = [")
    with pytest.raises(SettingsError, match="not a TOML file"):
        read_toml(tmp_path / "bad.toml", DVTConfig)
    with pytest.raises(SettingsError, match="paper, tied, taught, robust"):
        preset("quick")


def test_whole_numbers_are_floats_where_a_float_is_meant() -> None:
    config = from_table(DVTConfig, {"objective": {"classification_weight": 100}, "training": {"betas": [0, 1]}})
    assert isinstance(config.objective.classification_weight, float)
    assert config.objective == ObjectiveConfig(classification_weight=100.0)
    assert config.training == TrainingConfig(betas=(0.0, 1.0))
