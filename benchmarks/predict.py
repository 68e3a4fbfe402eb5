"""How much memory `lcdvt predict` takes at its peak, against the number of light curves.

Simulated HiTS light curves as raw files, some cut too short to be classified, are given to `lcdvt predict` in a process
of its own; its peak is what the operating system says of that process. One process reads and classifies (--jobs 1), so
that nothing is hidden in workers. Each light curve must come out as one row, with a reason where there is no class.

    python benchmarks/predict.py [--objects 2000,20000] [--json FILE]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

import lcdvt

TRAINING_OBJECTS, TRAINING_STEPS, MEMBERS = 200, 20, 10
SHORT_EVERY, SHORT_LINES = 50, 8
TARGET_GROWTH = 1.15
MEGABYTE = 1e6


def make_run(folder: Path) -> Path:
    """Return a run that knows HiTS; how well it classifies does not matter here."""
    lcdvt.simulate("hits", folder / "training", objects=TRAINING_OBJECTS, seed=1)
    lcdvt.ingest(folder / "training", data=folder / "data", jobs=1)
    options = {"members": MEMBERS, "steps": TRAINING_STEPS, "repeats": 1, "rows": []}
    return lcdvt.train("hits", "50%", data=folder / "data", **options).folder


def make_light_curves(folder: Path, objects: int) -> int:
    """Simulate raw files, cut some of them, and return how many were cut."""
    lcdvt.simulate("hits", folder, objects=objects, seed=2)
    cut = sorted(folder.rglob("*.dat"))[::SHORT_EVERY]
    for path in cut:
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:SHORT_LINES]))
    return len(cut)


def peak_of_predict(run: Path, curves: Path, out: Path) -> float:
    """Classify in a process of its own and return its peak in bytes."""
    command = [sys.executable, "-m", "lcdvt.cli.main", "predict", run, curves, "--out", out, "--jobs", "1"]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"lcdvt predict ended with code {process.returncode}")
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure(run: Path, folder: Path, objects: int) -> dict[str, float]:
    """Return the peak in megabytes, and what the table says of its rows."""
    curves, out = folder / f"curves-{objects}", folder / f"stars-{objects}.parquet"
    cut = make_light_curves(curves, objects)
    peak = peak_of_predict(run, curves, out)
    table = pd.read_parquet(out, columns=["object_id", "predicted", "reason"])
    without_class = table["predicted"].isna()
    return {
        "objects": objects,
        "peak_megabytes": peak / MEGABYTE,
        "rows": len(table),
        "distinct_ids": table["object_id"].nunique(),
        "cut_short": cut,
        "without_class": int(without_class.sum()),
        "with_reason": int(table["reason"].notna().sum()),
        "with_class_or_reason": int((without_class == table["reason"].notna()).sum()),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", default="2000,20000", help="numbers of light curves, separated by commas")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        run = make_run(folder)
        found = [measure(run, folder, int(number)) for number in arguments.objects.split(",")]
    for each in found:
        print(
            f"{each['objects']:8,} simulated light curves: peak {each['peak_megabytes']:7.1f} MB, {each['rows']:,} "
            f"rows, {each['without_class']:,} without a class, {each['with_reason']:,} reasons"
        )
    growth = max(each["peak_megabytes"] for each in found) / min(each["peak_megabytes"] for each in found)
    print(f"largest over smallest peak {growth:.3f}   target {TARGET_GROWTH}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"growth": growth, "measured": found}, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
