"""Learn the light-curve shapes that sparse stars are compared with, and write them where the package reads them.

    python benchmarks/templates.py --data DIR

DIR is LCDVT_REAL_DATA by default: surveys/sdss_s82 (RR Lyrae of Sesar et al. 2010, ApJ 708, 717), surveys/catalina
(eclipsing binaries of Drake et al. 2017, MNRAS 469, 3688) and surveys/eros1 (Cepheids whose period OGLE-III confirms).
Only stars whose id has an even CRC-32 are used, so that the other half can be scored. Each star is folded with its
catalogue period; a Fourier series is fitted to its bands together, one shape and one amplitude per band; stars of a
group are turned to the same phase and averaged. RRab are divided by how steep they rise. A template is the mean shape
(first magnitudes, faint is up, range one), how its amplitude goes with wavelength, and the periods and amplitudes of
its stars. Mean shapes, no star, are kept.
"""

import argparse
import json
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lcdvt.catalogs.registry import find_survey

PHASES = 64
HARMONICS = {"RRab": 8, "RRc": 4, "EW": 8, "EA": 12, "CEP": 6}
OUT = Path(__file__).parents[1] / "lcdvt" / "features" / "period" / "templates.json"
MOST_STARS = 150
USED_RANGE = (430.0, 1000.0)
# Photographic plates stretch the blue amplitudes of EROS-1; Cepheids' V and I amplitudes give this (Klagyivik &
# Szabados 2009, A&A 504, 959).
STEEPEST_SLOPE = -1.3


def load(folder: Path, survey: str, wanted: dict[str, str]) -> list[tuple[str, float, pd.DataFrame]]:
    """Return group, catalogue period and epochs of the stars to learn from."""
    labels = pd.read_csv(folder / survey / "labels.csv", dtype={"id": str})
    labels = labels[[zlib.crc32(each.encode()) % 2 == 0 for each in labels["id"]]]
    labels["group"] = (labels["label"] + " " + labels["subclass"].fillna("")).map(wanted)
    labels = labels[labels["group"].notna() & (labels["period"] > 0.0)]
    if "period_confirmed" in labels:
        labels = labels[labels["period_confirmed"]]
    labels = labels.groupby("group").head(MOST_STARS)
    epochs = pd.read_csv(folder / survey / "lightcurves.csv.gz", dtype={"id": str})
    curves = dict(iter(epochs[epochs["id"].isin(labels["id"])].groupby("id")))
    return [(row.group, row.period, curves[row.id]) for row in labels.itertuples() if row.id in curves]


def shape_of(period: float, curve: pd.DataFrame, wavelength: dict[str, float], harmonics: int) -> Any:
    """Return a star's shape at PHASES phases, range one, with its amplitude per wavelength; None where it is poor."""
    curve = curve[curve["band"].map(wavelength).between(*USED_RANGE) & (curve["err"] < 0.2)]
    parts = []
    for band, part in curve.groupby("band"):
        mag = part["mag"].to_numpy()
        spread = 1.4826 * np.median(np.abs(mag - np.median(mag)))
        keep = np.abs(mag - np.median(mag)) < 6.0 * spread
        if keep.sum() >= 3 * harmonics:
            parts.append((wavelength[band], part["time"].to_numpy()[keep], mag[keep], part["err"].to_numpy()[keep]))
    if not parts:
        return None
    amplitudes = np.ones(len(parts))
    k = np.arange(1, harmonics + 1)
    for _ in range(6):  # shape with the amplitudes fixed, then amplitudes with the shape fixed
        rows, values = [], []
        for number, ((_, t, mag, err), amplitude) in enumerate(zip(parts, amplitudes, strict=True)):
            angle = 2.0 * np.pi * np.outer(t / period, k)
            offset = np.zeros((t.size, len(parts)))
            offset[:, number] = 1.0
            weight = 1.0 / np.hypot(err, 0.02)
            design = np.hstack((offset, amplitude * np.cos(angle), amplitude * np.sin(angle)))
            rows.append(design * weight[:, None])
            values.append(mag * weight)
        # A weak preference for smoothness keeps gaps in phase from swinging.
        smooth = np.diag(np.concatenate((np.zeros(len(parts)), k**2, k**2)) * 0.5)
        solution = np.linalg.lstsq(
            np.vstack((*rows, smooth)), np.concatenate((*values, np.zeros(len(smooth)))), rcond=None
        )[0]
        cosine, sine = solution[len(parts) :][:harmonics], solution[len(parts) :][harmonics:]
        for number, (_, t, mag, _) in enumerate(parts):
            angle = 2.0 * np.pi * np.outer(t / period, k)
            model = np.cos(angle) @ cosine + np.sin(angle) @ sine
            amplitudes[number] = np.polyfit(model, mag, 1)[0]
        amplitudes = np.maximum(amplitudes / np.mean(amplitudes), 0.05)
    angle = 2.0 * np.pi * np.outer(np.arange(PHASES) / PHASES, k)
    shape = np.cos(angle) @ cosine + np.sin(angle) @ sine
    size = np.ptp(shape)
    if not size > 0.05:
        return None
    return shape / size, size, {w: size * a for (w, *_), a in zip(parts, amplitudes, strict=True)}


def turned(shape: np.ndarray, towards: np.ndarray) -> np.ndarray:
    """Turn a shape to the phase where it is closest to another."""
    spectrum = np.fft.rfft(shape).conj() * np.fft.rfft(towards)
    return np.roll(shape, int(np.argmax(np.fft.irfft(spectrum, PHASES))))


def mean_shape(shapes: list[np.ndarray]) -> np.ndarray:
    """Return the median of shapes turned to each other, from mean zero and range one."""
    mean = shapes[0]
    for _ in range(8):
        mean = np.median([turned(shape - shape.mean(), mean) for shape in shapes], axis=0)
    mean = mean - mean.mean()
    return np.roll(mean / np.ptp(mean), -int(np.argmin(mean)))


def template(name: str, stars: list[Any], origin: str) -> dict[str, Any]:
    """Average the stars of a group."""
    slopes = []
    for _, (_, _, by_wavelength) in stars:
        if len(by_wavelength) > 1:
            slopes.append(np.polyfit(np.log(list(by_wavelength)), np.log(list(by_wavelength.values())), 1)[0])
    periods = np.log10([period for period, _ in stars])
    sizes = np.log10([size for _, (_, size, _) in stars])
    return {
        "name": name,
        "origin": f"{len(stars)} stars of {origin}",
        "shape": [round(float(value), 4) for value in mean_shape([shape for _, (shape, _, _) in stars])],
        "amplitude_slope": round(max(float(np.median(slopes)), STEEPEST_SLOPE), 3) if slopes else 0.0,
        "log_period": [round(float(np.mean(periods)), 3), round(float(np.std(periods)), 3)],
        "log_amplitude": [round(float(np.mean(sizes)), 3), round(float(np.std(sizes)), 3)],
    }


def main() -> None:
    """Learn all templates and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("LCDVT_REAL_DATA"))
    folder = Path(parser.parse_args().data) / "surveys"
    found: dict[str, list[Any]] = {}
    sources = {
        "sdss_s82": {"RRLYR RRab": "RRab", "RRLYR RRc": "RRc"},
        "catalina": {"EB EclBin(EW/EB)": "EW", "EB EA": "EA"},
        "eros1": {"CEP CEP": "CEP"},
    }
    origin: dict[str, str] = {}
    for survey, wanted in sources.items():
        known = find_survey(f"{survey}-csv")
        wavelength = dict(zip(known.bands, known.wavelengths, strict=True))
        for group, period, curve in load(folder, survey, wanted):
            shape = shape_of(period, curve, wavelength, HARMONICS[group])
            if shape is not None:
                found.setdefault(group, []).append((period, shape))
                origin[group] = survey
    templates = []
    for group, stars in found.items():
        if group == "RRab":
            rise = [_rise(shape) for _, (shape, _, _) in stars]
            for number, places in enumerate(np.array_split(np.argsort(rise), 3), 1):
                templates.append(template(f"RRab {number}", [stars[i] for i in places], origin[group]))
        else:
            templates.append(template(group, stars, origin[group]))
    OUT.write_text(json.dumps(templates, indent=1) + "\n", encoding="utf-8")
    for each in templates:
        print({key: value for key, value in each.items() if key != "shape"})


def _rise(shape: np.ndarray) -> float:
    """Return the share of the period between the faintest phase and the brightest that follows."""
    return float((np.argmin(shape) - np.argmax(shape)) % PHASES) / PHASES


if __name__ == "__main__":
    main()
