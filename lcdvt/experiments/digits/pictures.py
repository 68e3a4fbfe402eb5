"""What a trained network makes of digits: reconstructions, and new ones from each component of the mixture."""

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from lcdvt.dvt.model import DVT
from lcdvt.errors import InputFileError
from lcdvt.experiments.digits.files import CLASSES, Digits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Images = NDArray[np.float32]

# New digits of each component; of the same z in every domain, so that one sees what the domains share.
SAMPLES_PER_COMPONENT = 4


@dataclass(frozen=True)
class Pictures:
    """Images by domain, each (rows, digits, pixels).

    Parameters
    ----------
    pairs
        Test images, one of each digit, above their reconstructions.
    generated
        Samples of each component, one below the other.
    """

    pairs: Mapping[str, Images]
    generated: Mapping[str, Images]

    def write(self, path: Path) -> None:
        """Write the arrays to one file."""
        arrays = {
            f"{kind}.{name}": images for kind in ("pairs", "generated") for name, images in self._of(kind).items()
        }
        with path.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    @classmethod
    def read(cls, path: Path) -> "Pictures":
        """Read what `write` wrote."""
        kinds: dict[str, dict[str, Images]] = {"pairs": {}, "generated": {}}
        try:
            with np.load(path, allow_pickle=False) as arrays:
                for key in arrays.files:
                    kind, name = key.split(".", 1)
                    kinds[kind][name] = arrays[key]
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise InputFileError(f"{path} is missing or damaged ({error}): delete the run's files there.") from error
        return cls(kinds["pairs"], kinds["generated"])

    def _of(self, kind: str) -> Mapping[str, Images]:
        return self.pairs if kind == "pairs" else self.generated


@torch.no_grad()
def draw_pictures(model: DVT, domains: list[Digits], seed: int) -> Pictures:
    """Let the first member reconstruct test images and generate new ones."""
    model = model.select([0]).eval()
    device = model.class_prior.device
    generator = torch.Generator().manual_seed(seed)
    centres = model.config.component_distance * torch.eye(len(CLASSES), model.config.latent)
    noise = torch.randn(SAMPLES_PER_COMPONENT, len(CLASSES), model.config.latent, generator=generator)
    z_new = (centres + model.config.component_sigma * noise).to(device).flatten(0, 1)
    pairs, generated = {}, {}
    for survey, digits in enumerate(domains):
        pixels = digits.train_x.shape[1]
        first = [int(np.flatnonzero(digits.test_y == digit)[0]) for digit in range(len(CLASSES))]
        shown = torch.from_numpy(digits.test_x[first])
        padded = torch.nn.functional.pad(shown, (0, max(model.widths) - pixels)).to(device)
        mean, _ = model.encode(padded[None, None], slice(survey, survey + 1))
        again = model.decoded_mean(mean, slice(survey, survey + 1))[0, 0, :, :pixels].cpu()
        pairs[digits.name] = torch.stack([shown, again]).numpy()
        new = model.decoded_mean(z_new[None, None], slice(survey, survey + 1))[0, 0, :, :pixels].cpu()
        generated[digits.name] = new.view(SAMPLES_PER_COMPONENT, len(CLASSES), pixels).numpy()
    return Pictures(pairs, generated)


def pictures_figure(pictures: Pictures, title: str) -> "Figure":
    """Draw reconstructions and generated digits, a column for each digit and a block for each domain."""
    from matplotlib.figure import Figure

    blocks = [(f"{name}: test images and their reconstructions", images) for name, images in pictures.pairs.items()]
    blocks += [
        (f"{name}: generated, a column for each component", images) for name, images in pictures.generated.items()
    ]
    figure = Figure(
        figsize=(6, 0.62 * sum(len(images) for _, images in blocks) + 0.5 * len(blocks)), layout="constrained"
    )
    axes: Any = figure.subplots(len(blocks), 1, height_ratios=[len(images) for _, images in blocks], squeeze=False)
    figure.suptitle(title, fontsize=10)
    for axis, (name, images) in zip(axes[:, 0], blocks, strict=True):
        axis.imshow(_mosaic(images), cmap="gray_r", vmin=0, vmax=1)
        axis.set_title(name, fontsize=9)
        axis.set_axis_off()
    return figure


def _mosaic(images: Images) -> Images:
    rows, columns, pixels = images.shape
    side = round(pixels**0.5)
    tiles = images.reshape(rows, columns, side, side)
    return tiles.transpose(0, 2, 1, 3).reshape(rows * side, columns * side)
