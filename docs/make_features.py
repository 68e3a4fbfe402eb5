"""Write the pages of features, one for each family: a part of `make docs`.

What the values look like is measured on simulated stars with a fixed random seed: those of MACHO, and of the first year
of LSST for what all bands tell together. That says how a feature tells classes apart, and nothing about real stars.
"""

import tempfile
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd

import lcdvt
from lcdvt.features.feets.defects import REFUSED
from lcdvt.features.table import ALL_BANDS, FEATURES, SINGLE_BAND, FeatureSpec

SEED = 1
# Survey and number of stars by family; a family not named is shown by the first.
MACHO = ("macho", 900)
SHOWN = {"all_bands": ("lsst", 200)}
SHOWN_BAND = "R"
BANDS_NEEDED = {0: "all, one value", 1: "one", 2: "two"}
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9")
"""Okabe and Ito's, which colour-blind readers tell apart."""
LOG_RATIO = 100
"""Values that are all positive and differ by more than this are drawn on a logarithmic axis."""

FAMILIES = {
    "moments": "Moments of the magnitudes",
    "percentiles": "Percentiles of the magnitudes",
    "indices": "Variability indices",
    "autocorrelation": "Autocorrelation",
    "structure_function": "Structure function",
    "car": "Continuous autoregression",
    "periodic": "FATS' periodogram and harmonics",
    "two_band": "Two bands",
    "period": "The period",
    "period_fourier": "Fourier parameters at the period",
    "all_bands": "All bands together",
}
NOTATION = (
    "m are the magnitudes of a band, m̄ their mean, err their errors, t the times, N the number of epochs, Δ the "
    "difference of neighbouring epochs, P75 the 75th percentile."
)


def simulated(cache: Path, survey: str, objects: int) -> pd.DataFrame:
    """Return the features and classes of simulated stars; the file keeps them for the next build."""
    cache = cache.with_stem(f"{cache.stem}-{survey}")
    if not cache.is_file():
        with tempfile.TemporaryDirectory() as scratch:
            lcdvt.simulate(survey, Path(scratch) / "raw", objects=objects, seed=SEED)
            lcdvt.ingest(Path(scratch) / "raw", data=Path(scratch) / "data")
            stored = lcdvt.open_survey(survey, Path(scratch) / "data")
            labels = stored.objects().set_index("object_id")["label"]
            stars = stored.features().set_index("object_id").join(labels)
        cache.parent.mkdir(parents=True, exist_ok=True)
        stars.to_parquet(cache)
    return pd.read_parquet(cache)


def column_of(spec: FeatureSpec) -> str:
    """Return the column of the feature that is shown."""
    return f"{spec.name}_{SHOWN_BAND}" if spec.bands_needed == SINGLE_BAND else spec.name


def draw(values: Sequence[pd.Series], classes: Sequence[str], name: str, picture: Path) -> None:
    """Draw a box for each class: the middle half, the median, and whiskers from the 5th to the 95th percentile."""
    import matplotlib.pyplot as plt

    together = pd.concat(values)
    low, high = together.quantile(0.05), together.quantile(0.95)
    figure, axes = plt.subplots(figsize=(6.4, 0.42 * len(classes) + 0.85), layout="constrained")
    boxes = axes.boxplot(
        [series.to_numpy() for series in values],
        orientation="horizontal",
        tick_labels=list(classes),
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        widths=0.62,
        medianprops={"color": "black", "linewidth": 1.4},
    )
    for box, colour in zip(boxes["boxes"], COLOURS, strict=False):
        box.set(facecolor=colour, alpha=0.75)
    if together.min() > 0 and high / low > LOG_RATIO:
        axes.set_xscale("log")
    axes.invert_yaxis()
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    axes.set(xlabel=f"{name}, simulated")
    figure.savefig(picture, dpi=110)
    plt.close(figure)


def number(value: float) -> str:
    """Return a number of three digits."""
    if np.isnan(value):
        return "–"
    return (f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}").replace("-", "−")


def section(spec: FeatureSpec, stars: pd.DataFrame, folder: Path) -> str:
    """Return what one feature is and what its values look like."""
    facts: dict[str, Any] = {
        "tells": spec.meaning,
        "formula": spec.definition.replace("|", "&#124;"),
        "from": spec.reference,
        "bands": BANDS_NEEDED[spec.bands_needed],
        "epochs": f"at least {spec.minimum_epochs}",
    }
    if spec.bands_needed != ALL_BANDS:
        facts["engine `feets`"] = f"refused: {REFUSED[spec.name]}" if spec.name in REFUSED else "gives it"
    column = column_of(spec)
    classes = sorted(stars["label"].dropna().unique())
    values = [stars.loc[stars["label"] == label, column].dropna() for label in classes]
    lines = [f"## {spec.name}", "", "| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in facts.items())]
    draw(values, classes, column, folder / f"{spec.name}.png")
    lines += ["", f"```{{image}} {spec.name}.png"]
    lines += [f":alt: Box plots of {column} by class, simulated", ":width: 600px", "```", ""]
    head = " | ".join(f"{label} ({len(series)})" for label, series in zip(classes, values, strict=True))
    lines += [f"| simulated | {head} |", "|---" * (len(classes) + 1) + "|"]
    for name, share in (("lower quarter", 0.25), ("median", 0.5), ("upper quarter", 0.75)):
        lines.append(f"| {name} | " + " | ".join(number(series.quantile(share)) for series in values) + " |")
    return "\n".join([*lines, ""])


def origin(survey: str, objects: int, stars: int) -> str:
    """Return where the values of a page are from, and how to read its pictures."""
    return (
        f"The values below are those of {stars} simulated {survey.upper()} stars (`lcdvt.simulate({survey!r}, ..., "
        f"objects={objects}, seed={SEED})`, then `lcdvt.ingest`; in the table the number of stars stands behind each "
        f"class), made when this page was built. Features of one band are shown for {SHOWN_BAND}. A box is the middle "
        "half of the stars, its line the median, the whiskers reach from the 5th to the 95th percentile. "
        "**Simulated**: they show how a feature tells classes apart, and nothing about real stars."
    )


def write(folder: Path, cache: Path) -> None:
    """Write a page for each family into the folder, with a picture for each feature."""
    target = folder / "features"
    target.mkdir(parents=True, exist_ok=True)
    by_family = {name: list(specs) for name, specs in groupby(FEATURES.values(), key=lambda spec: spec.family)}
    missing = set(by_family) - set(FAMILIES)
    if missing:
        raise SystemExit(f"docs/make_features.py: give the families {sorted(missing)} a title in FAMILIES.")
    with mpl.rc_context({"font.size": 9}):
        mpl.use("Agg")
        for name, title in FAMILIES.items():
            specs = by_family.get(name, [])
            survey, objects = SHOWN.get(name, MACHO)
            stars = simulated(cache, survey, objects)
            about = origin(survey, objects, len(stars))
            text = [f"# {title}", "", NOTATION, "", about, "", *(section(spec, stars, target) for spec in specs)]
            (target / f"{name}.md").write_text("\n".join(text), encoding="utf-8")
    rows = ["| feature | family | what it tells |", "|---|---|---|"]
    for spec in FEATURES.values():
        link = f"[{spec.name}](generated/features/{spec.family}.md#{spec.name.lower()})"
        rows.append(f"| {link} | {FAMILIES[spec.family]} | {spec.meaning} |")
    (folder / "features.md").write_text("\n".join(rows) + "\n", encoding="utf-8")
