"""What ingest costs: against pyarrow's CSV reader for the same numbers, and in memory as a survey grows.

Two figures, measured side by side in one run:

- the cost of a whole `lcdvt.ingest` of EROS-2 files to Parquet (no features, one process: listing, detection, sorting,
  cleaning, journal, objects table) over what pyarrow's CSV reader needs for the same bytes as one concatenated,
  comma-separated file (one thread too, because ingest runs on one). It is the larger of two ratios: that of the times
  by the clock (median of the turns), and that of the CPU time of the whole process, all threads (least of the turns,
  because a busy machine adds to it);
- the peak memory of `lcdvt ingest` on 1,000 and on 20,000 simulated objects.

Usage: python benchmarks/ingest.py [--files N] [--repeat N] [--objects 1000,20000] [--json FILE]
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow.csv as pc

import lcdvt

# From /proc and not from getrusage, whose peak a process inherits from the one that started it.
PEAK_SCRIPT = """
import re, sys, lcdvt
lcdvt.ingest(sys.argv[1], data=sys.argv[2], features={features!r}, jobs=1)
print(int(re.search(r"VmHWM:\\s+([0-9]+) kB", open("/proc/self/status").read())[1]) / 1024)
"""


def concatenated_csv(folder: Path) -> bytes:
    """Return all data lines of the EROS-2 files as one CSV file of the same bytes.

    The blank after each number becomes a comma and the padding stays, which pyarrow's number reader skips as ours does.
    """
    lines = []
    for path in sorted(folder.rglob("*.time")):
        for line in path.read_bytes().splitlines():
            if not line.startswith(b"#") and line.strip():
                lines.append(re.sub(rb"(?<=[0-9]) ", b",", line.rstrip()))
    return b"\n".join(lines) + b"\n"


class Cost(NamedTuple):
    """What one run took."""

    seconds: float
    cpu_seconds: float
    """Of all threads of this process, those of pyarrow included."""


def cost_of(work: Callable[[], object]) -> Cost:
    """Run the work once and measure it."""
    began, cpu_began = time.perf_counter(), time.process_time()
    work()
    return Cost(time.perf_counter() - began, time.process_time() - cpu_began)


def cost_of_ingest(folder: Path) -> Cost:
    """Measure one ingest without features in this process, into a workspace of its own."""
    with tempfile.TemporaryDirectory() as workspace:
        return cost_of(
            lambda: lcdvt.ingest(folder, survey="eros", catalog="none", data=workspace, features="none", jobs=1)
        )


def cost_of_pyarrow(path: Path) -> Cost:
    """Measure pyarrow's CSV reader on the concatenated file."""
    options = pc.ReadOptions(use_threads=False, column_names=["date", "mag_r", "err_r", "mag_b", "err_b"])
    return cost_of(lambda: pc.read_csv(path, read_options=options))


def throughput(files: int, repeat: int, seed: int) -> float:
    """Measure both readers turn by turn; return the ratio of their times."""
    with tempfile.TemporaryDirectory() as folder:
        raw, joined = Path(folder, "eros"), Path(folder, "all.csv")
        lcdvt.simulate("eros", raw, objects=files, seed=seed)
        joined.write_bytes(concatenated_csv(raw))
        size = sum(path.stat().st_size for path in raw.rglob("*.time"))
        cost_of_ingest(raw)  # compiles, and warms the disk's cache
        turns = [(cost_of_ingest(raw), cost_of_pyarrow(joined)) for _ in range(repeat)]
    of_ingest, of_pyarrow = (list(costs) for costs in zip(*turns, strict=True))
    print(f"EROS-2 to Parquet, {files} simulated files, {size / 1e6:.1f} MB, seed {seed}, {repeat} turns:")
    print("                 median     MB/s   least CPU")
    for name, costs in (("lcdvt ingest", of_ingest), ("pyarrow CSV", of_pyarrow)):
        seconds = statistics.median(cost.seconds for cost in costs)
        print(f"  {name:12s} {seconds:7.3f} s  {size / seconds / 1e6:6.1f}   {least_cpu(costs):7.3f} s")
    by_clock = statistics.median(ours.seconds / theirs.seconds for ours, theirs in turns)
    by_cpu = least_cpu(of_ingest) / least_cpu(of_pyarrow)
    print(f"  ratio {by_clock:.2f} by the clock, {by_cpu:.2f} of CPU; the larger counts, at most 3 is the goal")
    return max(by_clock, by_cpu)


def least_cpu(costs: list[Cost]) -> float:
    """Return the CPU time of the least disturbed turn: other programs can only add to it."""
    return min(cost.cpu_seconds for cost in costs)


def peak_memory(objects: int, seed: int, features: str) -> float:
    """Return the peak memory of one ingest in a process of its own, in MB."""
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder, "hits")
        lcdvt.simulate("hits", raw, objects=objects, seed=seed, format="dat")
        command = [sys.executable, "-c", PEAK_SCRIPT.format(features=features), str(raw), str(Path(folder, "work"))]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(answer.stdout.split()[-1])


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=2000, help="EROS-2 files to read")
    parser.add_argument("--repeat", type=int, default=7, help="turns of the throughput measurement")
    parser.add_argument("--objects", default="1000,20000", help="sizes of the simulated HiTS survey")
    parser.add_argument(
        "--features", default="none", help="features to extract in the memory measurement (none or fats)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    ratio = throughput(arguments.files, arguments.repeat, arguments.seed)
    peaks = {}
    for objects in map(int, arguments.objects.split(",")):
        peaks[str(objects)] = peak_memory(objects, arguments.seed, arguments.features)
        print(f"peak memory, {objects} simulated HiTS objects, seed {arguments.seed}: {peaks[str(objects)]:.0f} MB")
    if arguments.json:
        arguments.json.write_text(json.dumps({"ratio_vs_pyarrow_csv": ratio, "peak_mb": peaks}, indent=2))


if __name__ == "__main__":
    main()
