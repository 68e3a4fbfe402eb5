"""Write down what lcdvt computes, value for value, so that a change of the code's shape can be shown to change nothing.

    python benchmarks/same_numbers.py --write before.json      # before the change
    python benchmarks/same_numbers.py --compare before.json    # after it

Simulated EROS, MACHO and HiTS (300 stars, seed 1) are ingested, labels carried from EROS to MACHO (5 %, one draw of
five members, every row of the table), and the run that tests/data keeps is applied to the stars kept beside it. Of
every column that comes out, the SHA-256 of its values is kept: two files are equal only if every value is. The same
machine and the same versions of the libraries are needed: another processor may round differently.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lcdvt

SURVEYS = ("eros", "macho", "hits")
RUN_FIXTURE = Path(__file__).parents[1] / "tests" / "data" / "run-0.1"


def digest(values: pd.Series) -> str:
    """Return the SHA-256 of a column: text as UTF-8, numbers as they lie in memory; every NaN counts as the same."""
    if values.dtype.kind in "fiub":
        numbers = values.to_numpy()
        # zero has two signs and missing values have many forms, all of them the same value
        content = np.where(np.isnan(numbers), np.nan, numbers) + 0.0 if values.dtype.kind == "f" else numbers
        return hashlib.sha256(np.ascontiguousarray(content).tobytes()).hexdigest()
    return hashlib.sha256("\0".join("" if pd.isna(value) else str(value) for value in values).encode()).hexdigest()


def digests(table: pd.DataFrame) -> dict[str, str]:
    """Return the digest of every column, and the number of rows."""
    return {"rows": str(len(table)), **{str(name): digest(table[name]) for name in table.columns}}


def survey_numbers(folder: Path, data: Path, survey: str) -> dict[str, Any]:
    """Simulate and ingest one survey; return what its epochs, objects and features are."""
    raw = folder / "raw" / survey
    lcdvt.simulate(survey, raw, objects=300, seed=1)
    lcdvt.ingest(raw, data=data)
    stored = lcdvt.open_survey(survey, data)
    objects = stored.objects().drop(columns="source")  # a temporary folder's name
    epochs = pd.concat(stored.iter_epochs(), ignore_index=True)
    return {"epochs": digests(epochs), "objects": digests(objects), "features": digests(stored.features())}


def transfer_numbers(data: Path) -> dict[str, Any]:
    """Carry labels over once; return the predictions, every draw's scores and the table."""
    result = lcdvt.transfer("eros", "macho", "5%", members=5, repeats=1, seed=1, device="cpu", data=data)
    table = result.table()
    assert table is not None
    scores = {
        row.name: [(score.f1, score.macro_f1, score.calibration_error) for score in row.draws] for row in table.scores
    }
    table = result.table()
    assert table is not None
    return {
        "predictions": digests(pd.read_parquet(result.folder / "predictions.parquet")),
        "scores": json.loads(json.dumps(scores)),
        "history": digests(pd.read_parquet(result.folder / "history.parquet")),
    }


def fixture_numbers(folder: Path) -> dict[str, Any]:
    """Classify, with the run that lcdvt 0.1 saved, the simulated stars; return what it says."""
    out = folder / "fixture.parquet"
    lcdvt.predict(RUN_FIXTURE, "macho", out, data=folder / "data")
    return {"predictions": digests(pd.read_parquet(out))}


def compute() -> dict[str, Any]:
    """Return all numbers."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "data"
        numbers: dict[str, Any] = {survey: survey_numbers(folder, data, survey) for survey in SURVEYS}
        numbers["transfer"] = transfer_numbers(data)
        numbers["run-0.1"] = fixture_numbers(folder)
    return numbers


def differences(before: Any, after: Any, where: str = "") -> list[str]:
    """Return the places at which two sets of numbers differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        names = sorted({*before, *after})
        return [found for name in names for found in differences(before.get(name), after.get(name), f"{where}/{name}")]
    return [] if before == after else [where]


def main() -> int:
    """Write the numbers, or compare them with those written before."""
    parser = argparse.ArgumentParser(description="What lcdvt computes on simulated surveys, value for value.")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", type=Path, metavar="FILE")
    action.add_argument("--compare", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    numbers = compute()
    if chosen.write:
        chosen.write.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
        return 0
    changed = differences(json.loads(chosen.compare.read_text(encoding="utf-8")), numbers)
    columns = sum(len(table) for part in numbers.values() for table in part.values())
    print(f"{columns} columns and scores compared (simulated, seed 1), {len(changed)} differ", *changed, sep="\n")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
