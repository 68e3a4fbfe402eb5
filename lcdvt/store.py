"""A run's folder: `config.toml`, `weights.safetensors`, `scaler.json`, `metrics.json`, `history.parquet`.

Nothing in it is code: weights are plain arrays, everything else is text. Each file is written under a
temporary name and renamed, so that a folder never holds half a file.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import tomli_w
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialise

from lcdvt import __version__
from lcdvt.config import from_table, read_table, to_table, write_toml
from lcdvt.dvt.config import DVTConfig
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.model import DVT
from lcdvt.dvt.train import TrainingResult, TrainingState, train
from lcdvt.limited_text import read_json_object
from lcdvt.progress import Progress, silent
from lcdvt.run_list import CONFIG_FILE, FORMAT, METRICS_FILE, StoreError, check_format
from lcdvt.run_weights import load_model
from lcdvt.scaling import Scaler
from lcdvt.workspace import writable

WEIGHTS_FILE = "weights.safetensors"
SCALER_FILE = "scaler.json"
HISTORY_FILE = "history.parquet"
CHECKPOINT_FILE = "checkpoint.safetensors"


@dataclass(frozen=True)
class RunDescription:
    """What a run was about, as its `config.toml` says in the table [run].

    Parameters
    ----------
    surveys, classes
        Names of survey numbers and class numbers.
    widths
        Features of each survey.
    seeds
        One for each member.
    cycle
        Cycle consistency (0 to 1) of each member.
    """

    surveys: tuple[str, ...]
    classes: tuple[str, ...]
    widths: tuple[int, ...]
    seeds: tuple[int, ...]
    cycle: tuple[float, ...] = ()


@dataclass(frozen=True)
class SavedRun:
    """A trained ensemble with all it needs to classify new objects."""

    config: DVTConfig
    description: RunDescription
    model: DVT
    scaler: Scaler
    metrics: Mapping[str, Any] = field(default_factory=dict)
    history: pd.DataFrame = field(default_factory=pd.DataFrame)

    @classmethod
    def from_training(
        cls,
        config: DVTConfig,
        result: TrainingResult,
        scaler: Scaler,
        surveys: tuple[str, ...],
        classes: tuple[str, ...],
        metrics: Mapping[str, Any] | None = None,
    ) -> "SavedRun":
        """Put a finished training and its names together."""
        description = RunDescription(surveys, classes, result.model.widths, result.seeds, result.cycle)
        return cls(config, description, result.model, scaler, metrics or {}, result.history_table())


def save_run(folder: Path, run: SavedRun) -> None:
    """Write a run to its folder."""
    with writable(folder):
        _write_files(folder, run)


def _write_files(folder: Path, run: SavedRun) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in run.model.state_dict().items()}
    # through memory: the library's own file writing makes files that only their owner can read
    _write_bytes(folder / WEIGHTS_FILE, serialise(weights))
    _write_text(folder / SCALER_FILE, json.dumps(run.scaler.to_json()))
    _write_text(folder / METRICS_FILE, json.dumps(dict(run.metrics), indent=2))
    partial = folder / (HISTORY_FILE + ".partial")
    run.history.to_parquet(partial)
    partial.replace(folder / HISTORY_FILE)
    # last, for it makes the folder a run
    header = {"format": FORMAT, "lcdvt": __version__, "run": to_table(run.description)}
    write_toml(folder / CONFIG_FILE, run.config, header=header)


def load_run(folder: Path) -> SavedRun:
    """Read a run from its folder."""
    if not (folder / CONFIG_FILE).is_file():
        raise StoreError(f"{folder}: not a run (no {CONFIG_FILE}); give the folder of a finished run.")
    table = read_table(folder / CONFIG_FILE)
    check_format(folder, table)
    table.pop("format")
    table.pop("lcdvt", None)
    where = str(folder / CONFIG_FILE)
    description = from_table(RunDescription, table.pop("run", {}), f"{where}: run")
    config = from_table(DVTConfig, table, where)
    members, classes = len(description.seeds), len(description.classes)
    model = load_model(folder / WEIGHTS_FILE, config.model, members, description.widths, classes)
    return SavedRun(
        config=config,
        description=description,
        model=model.eval(),
        scaler=_read_scaler(folder / SCALER_FILE),
        metrics=_read_json(folder / METRICS_FILE),
        history=_read_history(folder / HISTORY_FILE),
    )


def _read_scaler(path: Path) -> Scaler:
    try:
        return Scaler.from_json(_read_json(path))
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path}: not what lcdvt wrote ({error!r}); the run is damaged, train again.") from error


def _read_history(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path) if path.is_file() else pd.DataFrame()
    # a damaged Parquet file is a ValueError to pyarrow; what pandas noted in it may be damaged in many other ways
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise StoreError(f"{path}: cannot be read ({reason}); the run is damaged, train again.") from error


def train_resumable(
    config: DVTConfig, data: TrainingData, seeds: tuple[int, ...], folder: Path, *, progress: Progress = silent
) -> TrainingResult:
    """Train with a checkpoint in `folder`; a run that was killed goes on from its last one.

    The finished run is the same as one that was never killed. The checkpoint is removed at the end.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / CHECKPOINT_FILE
    identity = _fingerprint(config, data, seeds)
    resume = _read_checkpoint(path, identity) if path.is_file() else None
    result = train(
        config,
        data,
        seeds,
        progress=progress,
        on_checkpoint=lambda state: _write_checkpoint(path, state, identity),
        resume=resume,
    )
    path.unlink(missing_ok=True)
    return result


def _fingerprint(config: DVTConfig, data: TrainingData, seeds: tuple[int, ...]) -> str:
    digest = hashlib.sha256(tomli_w.dumps({**to_table(config), "seeds": list(seeds)}).encode())
    digest.update(data.rows.cpu().numpy().tobytes())
    for member in data.labels + data.label_classes:
        for tensor in member:
            digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


def _write_checkpoint(path: Path, state: TrainingState, identity: str) -> None:
    metadata = {
        "format": str(FORMAT),
        "identity": identity,
        "phase": str(state.phase),
        "step": str(state.step),
        "record": json.dumps(state.record),
    }
    _write_bytes(path, serialise(state.tensors, metadata=metadata))


def _read_checkpoint(path: Path, identity: str) -> TrainingState:
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors: dict[str, torch.Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise StoreError(f"{path}: the checkpoint is damaged ({error}); delete it and start again.") from error
    if metadata.get("format") != str(FORMAT) or metadata.get("identity") != identity:
        raise StoreError(
            f"{path}: the checkpoint belongs to a run with other data, settings or seeds; "
            "delete it, or choose another folder."
        )
    return TrainingState(int(metadata["phase"]), int(metadata["step"]), tensors, json.loads(metadata["record"]))


def _write_text(path: Path, text: str) -> None:
    _write_bytes(path, text.encode())


def _write_bytes(path: Path, content: bytes) -> None:
    partial = path.with_name(path.name + ".partial")
    with writable(path.parent):
        partial.write_bytes(content)
        partial.replace(path)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return read_json_object(path)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read ({error}); the run's folder is incomplete, train again.") from error
