"""What ingest costs: against pyarrow's CSV reader for the same numbers, and in memory as a survey grows.

Two figures, measured side by side in one run:

- the cost of a whole `lcdvt.ingest` of EROS-2 files to Parquet (no features, one process: listing, detection, sorting,
  cleaning, journal, objects table) over what pyarrow's CSV reader needs for the same bytes as one concatenated,
  comma-separated file (one thread too, because ingest runs on one). It is the larger of two ratios: that of the times
  by the clock (median of the turns), and that of the CPU time of the whole process, all threads (least of the turns,
  because a busy machine adds to it);
- the peak memory of `lcdvt ingest` on 1,000 and on 20,000 simulated objects.

With `--formats`, instead, the throughput of each format of today's surveys (benchmarks/formats.py). With `--large`, the
peak memory and the time of one CSV of many stars (ZTF's columns) of 200 MB and of 2 GB, and of one Parquet with lists
(ZTF's bulk files) of 100,000 and of 1,000,000 rows of 30 epochs: memory should not grow with the file.

Usage: python benchmarks/ingest.py [--files N] [--repeat N] [--objects 1000,20000] [--json FILE]
       python benchmarks/ingest.py --formats|--large [--json FILE]
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

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

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
    print(f"  ratio {by_clock:.2f} by the clock, {by_cpu:.2f} of CPU; the larger counts, at most 2 is the goal")
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


def large_csv(path: Path, megabytes: int) -> None:
    """Write one CSV of many stars, 200 rows each, in the columns of IRSA's service."""
    header = (
        b"oid,expid,hjd,mjd,mag,magerr,catflags,filtercode,ra,dec,chi,sharp,filefracday,field,ccdid,qid,limitmag,magzp,"
        b"magzprms,clrcoeff,clrcounc,exptime,airmass,programid\n"
    )
    rest = b",0,zr,%s,1.01,0.02,20180101123456,657,5,2,20.4,26.1,0.02,0.08,7e-06,30.0,1.2,1\n"
    rows = [
        b",%d,%.7f,%.7f,%.4f,0.02" % (night, 2458000.5 + 3 * night, 58000 + 3 * night, 15 + night % 7 / 10) + rest
        for night in range(200)
    ]
    star_size = sum(map(len, rows)) + 15 * len(rows)
    with path.open("wb") as file:
        file.write(header)
        for star in range(megabytes * 1_000_000 // star_size):
            oid, place = b"%015d" % (100_000_000_000_000 + star), b"%.6f,%.6f" % (star * 0.001 % 360, star * 0.0001)
            file.write((oid + oid.join(rows)).replace(b"%s", place))


def large_parquet(path: Path, rows: int) -> None:
    """Write one Parquet file of many stars, a row each, with lists of 30 epochs."""
    epochs, at_once = 30, 10_000
    fields = {"objectid": pa.int64(), "filterid": pa.uint8(), "objra": pa.float32(), "objdec": pa.float32()}
    fields |= {name: pa.list_(pa.float32()) for name in ("mag", "magerr")}
    fields |= {"hmjd": pa.list_(pa.float64()), "catflags": pa.list_(pa.uint16())}
    offsets = pa.array(np.arange(at_once + 1, dtype=np.int32) * epochs)
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(path, pa.schema(fields)) as writer:
        for first in range(0, rows, at_once):
            lists = {
                "mag": (15 + rng.normal(0, 0.3, at_once * epochs)).astype(np.float32),
                "magerr": np.full(at_once * epochs, 0.02, dtype=np.float32),
                "hmjd": np.tile(np.sort(rng.uniform(58000, 60000, epochs)), at_once),
                "catflags": np.zeros(at_once * epochs, dtype=np.uint16),
            }
            columns = {
                "objectid": np.arange(first, first + at_once) + 202_000_000_000_000,
                "filterid": np.ones(at_once, dtype=np.uint8),
                "objra": rng.uniform(0, 360, at_once).astype(np.float32),
                "objdec": rng.uniform(-30, 80, at_once).astype(np.float32),
            }
            columns |= {name: pa.ListArray.from_arrays(offsets, pa.array(values)) for name, values in lists.items()}
            writer.write_table(pa.table({name: columns[name] for name in fields}, schema=pa.schema(fields)))


def large_files(sizes: dict[str, list[int]]) -> dict[str, dict[str, float]]:
    """Ingest each large file in a process of its own; return seconds and peak memory."""
    found: dict[str, dict[str, float]] = {}
    for kind, write in (("csv", large_csv), ("parquet", large_parquet)):
        for size in sizes[kind]:
            with tempfile.TemporaryDirectory() as folder:
                raw, work = Path(folder, f"large.{kind}"), Path(folder, "work")
                write(raw, size)
                began = time.perf_counter()
                command = [sys.executable, "-c", PEAK_SCRIPT.format(features="none"), str(raw), str(work)]
                answer = subprocess.run(command, check=True, capture_output=True, text=True)
                seconds, megabytes = time.perf_counter() - began, raw.stat().st_size / 1e6
                name = f"{kind}, {size} {'MB' if kind == 'csv' else 'rows'}"
                found[name] = {"mb": megabytes, "seconds": seconds, "peak_mb": float(answer.stdout.split()[-1])}
                print(f"{name}: {megabytes:.0f} MB, {seconds:.0f} s, peak memory {found[name]['peak_mb']:.0f} MB")
    return found


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=2000, help="EROS-2 files to read")
    parser.add_argument("--repeat", type=int, default=7, help="turns of the throughput measurement")
    parser.add_argument("--objects", default="1000,20000", help="sizes of the simulated HiTS survey")
    parser.add_argument(
        "--features", default="none", help="features to extract in the memory measurement (none or fats)"
    )
    parser.add_argument("--formats", action="store_true", help="throughput of each format of today's surveys, instead")
    parser.add_argument("--large", action="store_true", help="peak memory of large files, instead")
    parser.add_argument("--csv-mb", default="200,2000", help="sizes of the large CSV in MB")
    parser.add_argument("--parquet-rows", default="100000,1000000", help="sizes of the large Parquet in rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.formats or arguments.large:
        import formats

        sizes = {"csv": arguments.csv_mb, "parquet": arguments.parquet_rows}
        figures = (
            formats.throughput(stars=100, epochs=1000, repeat=arguments.repeat)
            if arguments.formats
            else large_files({kind: [int(size) for size in given.split(",") if size] for kind, given in sizes.items()})
        )
        if arguments.json:
            arguments.json.write_text(json.dumps(figures, indent=2))
        return
    ratio = throughput(arguments.files, arguments.repeat, arguments.seed)
    peaks = {}
    for objects in map(int, arguments.objects.split(",")):
        peaks[str(objects)] = peak_memory(objects, arguments.seed, arguments.features)
        print(f"peak memory, {objects} simulated HiTS objects, seed {arguments.seed}: {peaks[str(objects)]:.0f} MB")
    if arguments.json:
        arguments.json.write_text(json.dumps({"ratio_vs_pyarrow_csv": ratio, "peak_mb": peaks}, indent=2))


if __name__ == "__main__":
    main()
