"""What does the first ingest cost, while kernels compile? Processor time of a child process, whatever else runs.

    python benchmarks/start.py [--json FILE] [--functions]

Twenty simulated EROS stars (seed 0) are ingested in one process, with all features and the period, with an empty folder
for compiled functions, and with what was left there: the least of three rounds of each, in turn, because one slow
moment of the machine must not stand for either. `--functions` prints what each compiled function cost, and which of
them compile more than once. `lcdvt --help` is timed as well: it must not load the compiler.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import lcdvt

STARS = 20
ROUNDS = 3
INGEST = """
import sys, time
from collections import Counter
from numba.core import event

spent, times, running = Counter(), Counter(), []


class Costs(event.Listener):
    def on_start(self, started):
        running.append([time.process_time(), 0.0])

    def on_end(self, ended):
        begin, of_others = running.pop()
        taken = time.process_time() - begin
        function = ended.data["dispatcher"].py_func
        spent[f"{function.__module__}.{function.__name__}"] += taken - of_others
        times[f"{function.__module__}.{function.__name__}"] += 1
        if running:
            running[-1][1] += taken


if sys.argv[3] == "functions":
    event.register("numba:compile", Costs())
import lcdvt

lcdvt.ingest(sys.argv[1], data=sys.argv[2], jobs=1)
for name, seconds in spent.most_common():
    print(f"{seconds:7.2f} s {times[name]:3d} x {name}")
if spent:
    print(f"{sum(spent.values()):7.2f} s {sum(times.values()):3d} in all")
"""
HELP = """
import contextlib, os, sys
from lcdvt.cli.start import start

sys.argv = ["lcdvt", "--help"]
with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
    start()
"""


def cpu_seconds(command: list[str], cache: Path) -> float:
    """Run a command with a folder for compiled functions; return its processor time, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1"}
    environment.pop("LCDVT_CACHE", None)
    subprocess.run(command, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(show_functions: bool) -> dict[str, float]:
    """Return the JSON file's content."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        lcdvt.simulate("eros", folder / "raw", objects=STARS)

        def ingest(number: int, is_cold: bool) -> float:
            mode = "functions" if show_functions and is_cold and number == 0 else "quiet"
            workspace = folder / f"workspace-{number}-{'cold' if is_cold else 'warm'}"
            command = [sys.executable, "-c", INGEST, str(folder / "raw"), str(workspace), mode]
            return cpu_seconds(command, folder / f"cache-{number}")

        rounds = [(ingest(number, is_cold=True), ingest(number, is_cold=False)) for number in range(ROUNDS)]
        cold, warm = (min(taken) for taken in zip(*rounds, strict=True))
        helping = min(cpu_seconds([sys.executable, "-c", HELP], folder / "cache-0") for _ in range(ROUNDS))
    return {"cold_over_warm": cold / warm, "cold_cpu_s": cold, "warm_cpu_s": warm, "help_cpu_s": helping}


def main() -> None:
    """Parse the options and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--functions", action="store_true", help="print what each compiled function costs")
    options = parser.parse_args()
    found = measure(options.functions)
    for name, value in found.items():
        print(f"{name}: {value:.2f}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
