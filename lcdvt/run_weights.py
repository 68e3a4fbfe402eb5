"""A run's weights into its model, every number checked against the configuration before memory is taken.

What the configuration asks for is built without memory first. Only a file that holds exactly these arrays is then
read, so that neither a configuration of a million layers nor a header of a gigabyte can fill the memory.
"""

from pathlib import Path
from typing import Final

import torch
from safetensors import SafetensorError, safe_open

from lcdvt.dvt.config import ModelConfig
from lcdvt.dvt.model import DVT
from lcdvt.run_list import StoreError

HEADER_LIMIT: Final = 1 << 20
MOST_LAYERS: Final = 100
MOST_MEMBERS: Final = 10_000
_DTYPES: Final = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "BOOL": torch.bool}


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
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise StoreError(f"{path}: the weights do not fit the run ({reason}); train again.") from error
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
