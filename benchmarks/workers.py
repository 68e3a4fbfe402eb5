"""How much quicker two Dask workers extract features than one, both started as a user starts them.

Two clusters are kept up, one with one `dask worker` process and one with two; the same simulated survey is extracted on
both, turn by turn, so that whatever else the machine does falls on both alike.

Usage: python benchmarks/workers.py [--objects 2000] [--repeat 3] [--seed 0] [--json FILE]
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import lcdvt

TESTS = Path(__file__).resolve().parents[1] / "tests"
GOAL = 1.6


def seconds_of_extract(address: str, data: Path) -> float:
    """Time one extraction on a cluster; connecting to it counts, starting it does not."""
    began = time.perf_counter()
    lcdvt.extract("hits", data=data, dask=address)
    return time.perf_counter() - began


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    sys.path.insert(0, str(TESTS))
    from helpers.clusters import running_cluster

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lcdvt.simulate("hits", folder / "raw", objects=arguments.objects, seed=arguments.seed)
        lcdvt.ingest(folder / "raw", data=folder / "data", features="none", jobs=1)
        with running_cluster(folder / "one", 1) as one, running_cluster(folder / "two", 2) as two:
            for cluster in (one, two):  # compiles and loads the kernels in each worker
                seconds_of_extract(cluster.address, folder / "data")
            turns = [
                tuple(seconds_of_extract(cluster.address, folder / "data") for cluster in (one, two))
                for _ in range(arguments.repeat)
            ]
    speedup = statistics.median(alone / together for alone, together in turns)
    load = os.getloadavg()[0]
    print(
        f"{arguments.objects} simulated HiTS objects, seed {arguments.seed}, {os.cpu_count()} cores, load {load:.1f}:"
    )
    for alone, together in turns:
        print(f"  one worker {alone:7.2f} s   two workers {together:7.2f} s   {alone / together:.2f} x")
    print(f"  median {speedup:.2f} x (at least {GOAL} on an idle machine of two cores is the goal)")
    if arguments.json:
        arguments.json.write_text(json.dumps({"speedup_two_workers": speedup, "turns": turns, "load": load}, indent=2))


if __name__ == "__main__":
    main()
