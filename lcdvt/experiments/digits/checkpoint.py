"""Training with a checkpoint: a run that was killed goes on from its last one."""

import hashlib
import json
from pathlib import Path

import tomli_w
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialise

from lcdvt.disk.atomic import write_atomically
from lcdvt.disk.toml_config import to_table
from lcdvt.dvt.config import DVTConfig
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.train import TrainingResult, TrainingState, train
from lcdvt.errors import WorkspaceError
from lcdvt.parallel.progress import Progress, silent
from lcdvt.results.folder import FORMAT

CHECKPOINT_FILE = "checkpoint.safetensors"


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
    content = serialise(state.tensors, metadata=metadata)
    write_atomically(path, lambda unfinished: unfinished.write_bytes(content))


def _read_checkpoint(path: Path, identity: str) -> TrainingState:
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors: dict[str, torch.Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise WorkspaceError(f"{path}: the checkpoint is damaged ({error}); delete it and start again.") from error
    if metadata.get("format") != str(FORMAT) or metadata.get("identity") != identity:
        raise WorkspaceError(
            f"{path}: the checkpoint belongs to a run with other data, settings or seeds; "
            "delete it, or choose another folder."
        )
    return TrainingState(int(metadata["phase"]), int(metadata["step"]), tensors, json.loads(metadata["record"]))
