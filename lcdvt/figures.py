"""Figures, written as PNG and SVG."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lcdvt.dataset import UNLABELLED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lcdvt.experiments.moons import MoonsResult

FORMATS = ("png", "svg")
RED, BLUE, VIOLET, GREEN = "#d1495b", "#3d7ea6", "#6a2c91", "#1f8a3b"


def save_figure(figure: "Figure", path: Path) -> list[Path]:
    """Write the figure beside `path` in every format; return the files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files = [path.with_suffix(f".{extension}") for extension in FORMATS]
    for file in files:
        # no date in the file: the same figure is the same bytes
        metadata = {"Date": None} if file.suffix == ".svg" else None
        figure.savefig(file, dpi=150, metadata=metadata)
    return files


def moons_figure(result: "MoonsResult") -> "Figure":
    """Predictions and their entropy on source and target, as in the paper's figure of the moons."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 8), layout="constrained")
    axes: Any = figure.subplots(2, 2)
    scores = (result.source_f1[0], result.target_f1[0])
    titles = ("Source, semi-supervised", "Target, after transfer")
    for row, (survey, probability) in enumerate(zip(result.surveys, result.probabilities, strict=True)):
        predictions, entropies = axes[row]
        x, predicted = survey.test_x, probability.argmax(-1)
        for number, colour, name in ((0, RED, "predicted red"), (1, BLUE, "predicted blue")):
            chosen = predicted == number
            predictions.scatter(*x[chosen].T, s=5, color=colour, alpha=0.4, linewidths=0, label=name)
        for number, colour, name in ((0, VIOLET, "labelled red"), (1, GREEN, "labelled blue")):
            known = survey.x[survey.y == number]
            # many labels would hide the predictions they led to
            size = 22 if len(known) < 200 else 8
            predictions.scatter(*known.T, s=size, color=colour, edgecolors="white", linewidths=0.5, label=name)
        predictions.set_title(f"{titles[row]}: predictions (macro F1 {scores[row]:.1f} %)", fontsize=10)
        entropy = _entropy_in_bits(probability)
        order = np.argsort(entropy)
        dots = entropies.scatter(*x[order].T, s=6, c=entropy[order], cmap="inferno", vmin=0, vmax=1, linewidths=0)
        entropies.set_facecolor("0.25")
        entropies.set_title(f"{titles[row]}: entropy", fontsize=10)
        figure.colorbar(dots, ax=entropies, label="binary entropy (bits)")
        entropies.set(xlim=predictions.get_xlim(), ylim=predictions.get_ylim())
        for axis in (predictions, entropies):
            axis.set(xlabel="x₁", ylabel="x₂")
        labels = int((survey.y != UNLABELLED).sum())
        legend = predictions.legend(loc="best", fontsize=8, markerscale=1.5, title=f"{labels} labels")
        for handle in legend.legend_handles:
            handle.set_alpha(1)
    return figure


def _entropy_in_bits(probability: NDArray[np.floating]) -> NDArray[np.float64]:
    p = np.clip(probability.astype(np.float64), 1e-12, 1)
    return -(p * np.log2(p)).sum(axis=-1)
