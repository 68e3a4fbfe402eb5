"""A run's model on disk: `config.toml`, `weights.safetensors`, `scaler.json`, `metrics.json`, `history.parquet`.

Nothing in it is code: weights are plain arrays, everything else is text. Each file is written under a temporary name
and renamed, so that a folder never holds half a file. What a configuration asks for is built without memory first, and
only a file of weights that holds exactly these arrays is then read: neither a configuration of a million layers nor a
header of a gigabyte can fill the memory.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialise

from lcdvt import __version__
from lcdvt.dataset.alignment import align_features, band_places, places_of
from lcdvt.dataset.scaling import Scaler
from lcdvt.disk.atomic import write_atomically, write_text
from lcdvt.disk.limited_text import read_json_object
from lcdvt.disk.toml_config import from_table, to_table, write_toml
from lcdvt.dvt.config import DVTConfig, ModelConfig
from lcdvt.dvt.model import DVT
from lcdvt.dvt.train import TrainingResult
from lcdvt.errors import WorkspaceError, first_line
from lcdvt.names import OBJECT_ID
from lcdvt.results.folder import CONFIG_FILE, FORMAT, HISTORY_FILE, METRICS_FILE, RunDescription, read_config

WEIGHTS_FILE = "weights.safetensors"
SCALER_FILE = "scaler.json"
HEADER_LIMIT: Final = 1 << 20
"""Our models' headers have some kilobytes; the format allows a hundred times more."""
MOST_LAYERS: Final = 100
"""Far above any model of ours, far below what fills the memory."""
MOST_MEMBERS: Final = 10_000
"""The same for the members of an ensemble."""
_DTYPES: Final = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "BOOL": torch.bool}


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
        description = RunDescription(
            surveys, classes, result.model.widths, result.seeds, result.cycle, result.temperature
        )
        return cls(config, description, result.model, scaler, metrics or {}, result.history_table())

    def temperature(self, survey: int) -> float:
        """Return the temperature of what the ensemble says with a survey's layers: it was found for the last one."""
        return self.description.temperature if survey == len(self.description.surveys) - 1 else 1.0

    def aligned(
        self, features: pd.DataFrame, bands: tuple[str, ...], wavelengths: Sequence[float] = ()
    ) -> pd.DataFrame:
        """Return a survey's features under the run's names; what the run does not know falls out.

        Parameters
        ----------
        features
            Column `object_id` and one column per feature and band.
        bands, wavelengths
            The survey's bands, and their nanometres where they are known.
        """
        names = places_of(self.scaler.features)
        places = band_places(bands, wavelengths or [math.nan] * len(bands), names)
        found = align_features(features, bands, places, names[:2])
        return found.reindex(columns=[OBJECT_ID, *self.scaler.features])

    def scaled(self, aligned: pd.DataFrame, survey: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return features as the model takes them, and which objects have any feature at all.

        Parameters
        ----------
        aligned
            What `aligned` returned, or some of its rows.
        survey
            The number of the survey whose layers will be used.
        """
        values = aligned[list(self.scaler.features)].to_numpy(dtype=float)
        finite = np.isfinite(values)
        return self.scaler.apply(np.where(finite, values, np.nan), survey), finite.any(axis=1)


def save_run(folder: Path, run: SavedRun) -> None:
    """Write a run to its folder."""
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in run.model.state_dict().items()}
    content = serialise(weights)
    write_atomically(folder / WEIGHTS_FILE, lambda path: path.write_bytes(content))
    write_text(folder / SCALER_FILE, json.dumps(run.scaler.to_json()))
    write_text(folder / METRICS_FILE, json.dumps(dict(run.metrics), indent=2))
    write_atomically(folder / HISTORY_FILE, run.history.to_parquet)
    # last, because it makes the folder a run
    header = {"format": FORMAT, "lcdvt": __version__, "run": to_table(run.description)}
    write_toml(folder / CONFIG_FILE, run.config, header=header)


def load_run(folder: Path) -> SavedRun:
    """Read a run from its folder."""
    description, table = read_config(folder)
    config = from_table(DVTConfig, table, str(folder / CONFIG_FILE))
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
        raise WorkspaceError(f"{path}: not what lcdvt wrote ({error!r}); the run is damaged, train again.") from error


def _read_history(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path) if path.is_file() else pd.DataFrame()
    # a damaged Parquet file is a ValueError to pyarrow; what pandas noted in it may be damaged in many other ways
    except (OSError, ValueError, KeyError, TypeError, AttributeError, NotImplementedError) as error:
        reason = first_line(error)
        raise WorkspaceError(f"{path}: cannot be read ({reason}); the run is damaged, train again.") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return read_json_object(path)
    except (OSError, ValueError) as error:
        raise WorkspaceError(
            f"{path}: cannot be read ({error}); the run's folder is incomplete, train again."
        ) from error


def load_model(path: Path, config: ModelConfig, members: int, widths: tuple[int, ...], classes: int) -> DVT:
    """Return the model with its weights; a file that does not fit it is refused."""
    try:
        model = _without_memory(config, members, widths, classes)
        _check_header(path)
        with safe_open(path, framework="pt") as file:
            names = set(file.keys())
            expected = model.state_dict()
            if names != set(expected):
                raise ValueError(f"other arrays than the model's: {', '.join(sorted(names ^ set(expected))[:3])}")
            for name, wanted in expected.items():
                found = file.get_slice(name)
                shape, dtype = tuple(found.get_shape()), _DTYPES.get(found.get_dtype())
                if (shape, dtype) != (tuple(wanted.shape), wanted.dtype):
                    raise ValueError(f"{name} is {found.get_dtype()} {shape}, not {wanted.dtype} {tuple(wanted.shape)}")
            model.load_state_dict({name: file.get_tensor(name) for name in names}, assign=True)
    except (OSError, SafetensorError, RuntimeError, ValueError, TypeError, OverflowError) as error:
        reason = first_line(error)
        raise WorkspaceError(f"{path}: the weights do not fit the run ({reason}); train again.") from error
    return model


def _without_memory(config: ModelConfig, members: int, widths: tuple[int, ...], classes: int) -> DVT:
    layers = len(config.shared) + len(config.specific)
    if layers > MOST_LAYERS or members > MOST_MEMBERS or len(widths) > MOST_LAYERS:
        raise ValueError(f"{members} members of {layers} layers for {len(widths)} surveys are no run of ours")
    with torch.device("meta"):
        return DVT(config, members, widths, classes)


def _check_header(path: Path) -> None:
    """Refuse a header that no model of ours needs; safetensors itself allows a hundred times as much."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
    if length > HEADER_LIMIT:
        raise ValueError(f"its header of {length} bytes is larger than {HEADER_LIMIT >> 20} MiB")
