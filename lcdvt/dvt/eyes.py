"""The encoder's eyes: each feature as ramps at the values where trees would cut it.

A network sees a number and needs many steps to learn that something changes abruptly at a period of one day; a tree
asks just that. So before the first layer each feature becomes a few piecewise-linear ramps, from −1 well below a
threshold to 1 well above it. (Piecewise-linear embeddings with target-aware bins: Gorishniy, Rubachev & Babenko 2022,
Advances in Neural Information Processing Systems 35. Ramps that are narrow instead of reaching to the next threshold
are ours.) And a tree looks at the features that tell most first: a feature's ramps are as high as what its
thresholds tell of the class, compared with the best feature.

The likelihood still explains the features themselves: eyes are for the encoder only.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lcdvt.dvt.config import EyesConfig
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.kernels import ramps
from lcdvt.dvt.thresholds import find_thresholds


class Eyes(nn.Module):
    """Ramps of all members, (members, thresholds, features); they are set once and not trained."""

    def __init__(self, config: EyesConfig, members: int, features: int) -> None:
        super().__init__()
        self.config = config
        self.outputs = config.thresholds * features
        self.threshold: Tensor
        self.height: Tensor
        shape = (members, config.thresholds, features)
        self.register_buffer("threshold", torch.zeros(shape))
        self.register_buffer("height", torch.zeros(shape))

    def forward(self, x: Tensor, shown: Tensor | None = None) -> Tensor:
        """Return the ramps, (members, surveys, rows, thresholds × features).

        Parameters
        ----------
        x
            (members, surveys, rows, features).
        shown
            Like `x`: 0 for features that are hidden from the encoder, 1 for the others; None shows all.
        """
        members, surveys, rows, features = x.shape
        # the kernel is compiled for single precision; a model that answers in double precision takes the plain way
        if x.device.type == "cpu" and x.dtype == torch.float32:
            # and for arrays without gaps in memory, which rows shared by all members have
            flat = x.reshape(members, surveys * rows, features).contiguous()
            mask = x.new_empty(0, 0, 0) if shown is None else shown.reshape(flat.shape).contiguous()
            made = ramps(
                flat.numpy(), self.threshold.numpy(), self.height.numpy(), self.config.half_width, mask.numpy()
            )
            return torch.from_numpy(made).view(members, surveys, rows, self.outputs)
        threshold, height = (part[:, None, None] for part in (self.threshold, self.height))
        values = ((x.unsqueeze(-2) - threshold) / self.config.half_width).clamp(-1, 1) * height
        return (values if shown is None else values * shown.unsqueeze(-2)).flatten(-2)

    def look_at(self, data: TrainingData) -> None:
        """Set each member's ramps by its labelled objects of all surveys; surveys and their classes weigh the same."""
        found: dict[bytes, tuple[Tensor, Tensor]] = {}
        rows = data.rows.cpu().numpy()
        for member in range(data.members):
            places = torch.cat(data.labels[member]).numpy()
            y = torch.cat(data.label_classes[member]).numpy()
            key = places.tobytes() + y.tobytes()
            if key not in found:
                weights = np.concatenate([_balanced(part.numpy()) for part in data.label_classes[member]])
                found[key] = self._ramps(rows[places], y, weights, data.classes)
            self.threshold[member], self.height[member] = found[key]

    def _ramps(
        self, x: NDArray[np.float32], y: NDArray[np.int64], weights: NDArray[np.float64], classes: int
    ) -> tuple[Tensor, Tensor]:
        config = self.config
        thresholds, information = find_thresholds(
            x, y, weights, classes, most=config.thresholds, smallest_leaf=config.smallest_leaf
        )
        exists = np.isfinite(thresholds)
        strength = information / max(float(information.max()), float(np.finfo(np.float32).tiny))
        height = np.where(exists, strength, 0).astype(np.float32)
        return torch.from_numpy(np.where(exists, thresholds, 0)), torch.from_numpy(height)


def _balanced(y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return weights that add up to one, the same for each class."""
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    return 1 / (len(counts) * counts[place])
