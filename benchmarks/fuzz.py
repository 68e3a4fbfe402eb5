"""Feed spoilt files to everything that reads files, for as long as one likes: the nightly run of tests/test_fuzz.py.

Each target (a reader, the label catalogues, survey descriptions, archives, run folders, a survey's own folder) runs in
a process of its own, so that even a crash of the interpreter is counted and not suffered. Good are: no crash, no
input that takes more than two seconds of CPU time, less than 1 GiB of memory on top of what the imports need.

Usage: python benchmarks/fuzz.py [--inputs 100000] [--seed 0] [--target NAME] [--json FILE]
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1] / "tests"
SLOWEST_ALLOWED_SECONDS = 2.0
MEMORY_ALLOWED_MB = 1024.0
SECONDS_UNTIL_GIVEN_UP = 60.0
CRASHES_SHOWN = 5


def peak_mb() -> float:
    """Return this process' peak memory so far; ru_maxrss would count what its parent had, too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def feed_target(name: str, inputs: int, seed: int, report: Path) -> None:
    """Feed one target in this process and write what happened; the input under way is noted before each step."""
    sys.path.insert(0, str(TESTS))
    from helpers.fuzz_mutations import random_mutations, spoil
    from helpers.fuzz_targets import targets

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        target = next(target for target in targets(Path(folder)) if target.name == name)
        for content in target.examples:
            target.read(content)
        before = peak_mb()
        result: dict[str, Any] = {"inputs": 0, "crashes": [], "slowest": 0.0, "slowest_input": -1, "peak_mb": 0.0}
        with report.open("w") as notes:
            for number in range(inputs):
                draw = random.Random(f"{seed}/{name}/{number}")
                content = spoil(draw.choice(target.examples), random_mutations(draw))
                notes.seek(0)
                notes.write(f"{number:12d}")
                notes.flush()
                began = time.process_time()
                try:
                    target.feed(content)
                except Exception:
                    result["crashes"].append([number, traceback.format_exc(limit=-3)])
                spent = time.process_time() - began
                if spent > result["slowest"]:
                    result["slowest"], result["slowest_input"] = spent, number
                result["inputs"] += 1
        result["peak_mb"] = peak_mb() - before
    report.write_text(json.dumps(result))


def run_target(name: str, inputs: int, seed: int, folder: Path) -> dict[str, Any]:
    """Feed one target in a process of its own; a process that dies or hangs is a crash at the input it was at."""
    report = folder / "report"
    command = [sys.executable, __file__, "--one", name, "--inputs", str(inputs), "--seed", str(seed)]
    process = subprocess.Popen([*command, "--report", str(report)], stderr=subprocess.PIPE, text=True)
    noted, since = "", time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        now = report.read_text()[:12] if report.exists() else ""
        if now != noted:
            noted, since = now, time.monotonic()
        elif noted and time.monotonic() - since > SECONDS_UNTIL_GIVEN_UP:
            process.kill()
    said = process.communicate()[1]
    if process.returncode == 0:
        return dict(json.loads(report.read_text()))
    reached = int(noted) if noted.strip().isdigit() else 0
    crash = [reached, f"the process ended with code {process.returncode}: {said[-500:]}"]
    return {"inputs": reached + 1, "crashes": [crash], "slowest": 0.0, "slowest_input": -1, "peak_mb": 0.0}


def target_names() -> list[str]:
    """Return the names of all targets."""
    sys.path.insert(0, str(TESTS))
    from helpers.fuzz_targets import targets

    with tempfile.TemporaryDirectory() as folder:
        return [target.name for target in targets(Path(folder))]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000, help="in all, shared by the targets")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", help="only the targets whose name contains this")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--report", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        feed_target(arguments.one, arguments.inputs, arguments.seed, arguments.report)
        return
    names = [name for name in target_names() if arguments.target is None or arguments.target in name]
    share = -(-arguments.inputs // len(names))
    results: dict[str, dict[str, Any]] = {}
    print(f"{'target':36s} {'inputs':>8s} {'crashes':>8s} {'slowest/s':>10s} {'memory/MB':>10s}")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            found = results[name] = run_target(name, share, arguments.seed, Path(folder))
        crashes, slowest, memory = len(found["crashes"]), found["slowest"], found["peak_mb"]
        print(f"{name:36s} {found['inputs']:8d} {crashes:8d} {slowest:10.3f} {memory:10.0f}", flush=True)
        for number, text in found["crashes"][:CRASHES_SHOWN]:
            print(f"  input {number}: {text}", flush=True)
    totals = {
        "seed": arguments.seed,
        "inputs": sum(found["inputs"] for found in results.values()),
        "crashes": sum(len(found["crashes"]) for found in results.values()),
        "slowest_seconds": max(found["slowest"] for found in results.values()),
        "peak_mb": max(found["peak_mb"] for found in results.values()),
    }
    print(
        f"in all {totals['inputs']} inputs, {totals['crashes']} crashes, the slowest {totals['slowest_seconds']:.3f} s "
        f"of CPU time, at most {totals['peak_mb']:.0f} MB on top of the imports"
    )
    if arguments.json:
        arguments.json.write_text(json.dumps({**totals, "targets": results}, indent=2))
    is_good = (
        totals["crashes"] == 0
        and totals["slowest_seconds"] < SLOWEST_ALLOWED_SECONDS
        and totals["peak_mb"] < MEMORY_ALLOWED_MB
    )
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
