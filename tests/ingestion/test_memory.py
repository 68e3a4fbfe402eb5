"""An ingest takes no more memory where there are more stars."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# From /proc and not from getrusage, whose peak a process inherits from the one that started it.
INGEST = """
import sys, lcdvt
print(lcdvt.ingest(sys.argv[1], data=sys.argv[2], features="none", clean="none", jobs=1).totals["objects"])
print(open("/proc/self/status").read())
"""
EPOCHS = 80
# From 16 times the largest batch on all batches have the same size.
FEW, MANY = 8_200, 32_800
# The file of many stars is 40 MB longer than that of few. Peaks of equal work differ by some megabytes.
LARGEST_GROWTH_MB = 20


def write_stars(path: Path, stars: int) -> None:
    """Write stars as ZTF's bulk files have them: a row each, with lists of epochs."""
    rng = np.random.default_rng(0)
    offsets = np.arange(stars + 1, dtype=np.int32) * EPOCHS
    lists = {
        "hmjd": np.sort(rng.uniform(58000, 60000, (stars, EPOCHS))).ravel(),
        "mag": rng.normal(15, 0.3, stars * EPOCHS).astype(np.float32),
        "magerr": rng.uniform(0.02, 0.03, stars * EPOCHS).astype(np.float32),
        "catflags": np.zeros(stars * EPOCHS, dtype=np.uint16),
    }
    columns: dict[str, object] = {
        "objectid": np.arange(stars) + 202_000_000_000_000,
        "filterid": np.ones(stars, dtype=np.uint8),
        "objra": rng.uniform(0, 360, stars).astype(np.float32),
        "objdec": rng.uniform(-30, 80, stars).astype(np.float32),
    }
    columns |= {name: pa.ListArray.from_arrays(offsets, values) for name, values in lists.items()}
    pq.write_table(pa.table(columns), path, row_group_size=1000)


def peak_megabytes(folder: Path, stars: int) -> float:
    path = folder / f"stars{stars}.parquet"
    write_stars(path, stars)
    command = [sys.executable, "-c", INGEST, str(path), str(folder / f"data{stars}")]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert told.startswith(f"{stars}\n")
    return int(re.search(r"VmHWM:\s+([0-9]+) kB", told)[1]) / 1024


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux alone tells a process' peak memory")
def test_memory_does_not_grow_with_the_number_of_stars(tmp_path):
    few, many = (peak_megabytes(tmp_path, stars) for stars in (FEW, MANY))
    assert many - few < LARGEST_GROWTH_MB, (few, many)
