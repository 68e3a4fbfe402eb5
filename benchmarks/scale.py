"""How cost grows with a survey: simulated HiTS light curves from raw files to classes, at several sizes.

Each stage (simulate, ingest without features, extract, predict) runs in a process of its own, one core each, so that
its time and its peak memory are its own. Cost per object and memory should not depend on the survey's size: then the
figures say what a million or a billion objects cost, and how many cores finish them in a night.

Usage: python benchmarks/scale.py [--objects 10000,30000,100000] [--jobs 1] [--features fats] [--seed 0] [--folder DIR]
                                  [--markdown docs/scale.md] [--json FILE]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import lcdvt

STAGES = ("simulate", "ingest", "extract", "predict")
# The stage's own work is timed, not the imports. Linux counts what the parent had before into a child's ru_maxrss; the
# high-water mark in /proc does not. With workers, the largest of them is added.
STAGE_SCRIPT = """
import json, resource, sys, time
from pathlib import Path
import lcdvt
stage, options = sys.argv[1], json.loads(sys.argv[2])
verb = getattr(lcdvt, stage)
began, cpu = time.perf_counter(), time.process_time()
verb(*options.pop("positional"), **options)
seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
workers = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({
    "seconds": seconds,
    "cpu_seconds": cpu + workers.ru_utime + workers.ru_stime,
    "peak_mb": (int(status["VmHWM"].split()[0]) + workers.ru_maxrss) / 1024,
}))
"""
OBJECTS_TO_WARM_UP = 40
TRAINING_OBJECTS = 300
SECONDS_PER_NIGHT = 10 * 3600
TARGETS = (10**6, 10**9)
MARKS = ("<!-- written by benchmarks/scale.py --markdown -->", "<!-- end -->")


def run_stage(stage: str, *positional: object, **options: object) -> dict[str, float]:
    """Run one verb in a process of its own and return what it cost."""
    text = json.dumps({"positional": [str(each) for each in positional], **options}, default=str)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", STAGE_SCRIPT, stage, text]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return dict(json.loads(answer.stdout.splitlines()[-1]))


def make_run(folder: Path, seed: int) -> Path:
    """Train a small run, which classifies as any other does; how well is not the question here."""
    for name, offset in (("old", 1), ("new", 2)):
        lcdvt.simulate("hits", folder / name, objects=TRAINING_OBJECTS, seed=seed + offset)
        lcdvt.ingest(folder / name, name=name, data=folder / "training", jobs=1)
    quick = {"members": 3, "repeats": 1, "steps": 60, "rows": ["forest-target"]}
    result = lcdvt.transfer("old", "new", "20%", name="scale", data=folder / "training", **quick)
    return Path(result.folder)


def measure(objects: int, run: Path, folder: Path, arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Take a survey of this many objects from raw files to classes, and remove it again."""
    raw, data = folder / "raw", folder / "data"
    jobs = arguments.jobs
    costs = {
        "simulate": run_stage("simulate", "hits", raw, objects=objects, seed=arguments.seed),
        "ingest": run_stage("ingest", raw, features="none", catalog="none", data=data, jobs=jobs),
        "extract": run_stage("extract", "hits", features=arguments.features, data=data, jobs=jobs),
        "predict": run_stage("predict", run, "hits", folder / "stars.parquet", data=data, force=True),
    }
    for path in (raw, data):
        shutil.rmtree(path)
    return costs


def table_lines(objects: list[int], costs: list[dict[str, dict[str, float]]]) -> list[str]:
    """Return milliseconds per object (by the clock, and of CPU time) and peak memory by stage, as Markdown."""
    lines = [
        "| stage | " + " | ".join(f"{count:,} objects" for count in objects) + " |",
        "|---|" + "---|" * len(objects),
    ]
    for stage in STAGES:
        cells = [
            f"{1000 * cost[stage]['seconds'] / count:.2f} ms ({1000 * cost[stage]['cpu_seconds'] / count:.2f} CPU), "
            f"{cost[stage]['peak_mb']:.0f} MB"
            for count, cost in zip(objects, costs, strict=True)
        ]
        lines.append(f"| {stage} | {' | '.join(cells)} |")
    return lines


def outlook(seconds_per_object: float, jobs: int) -> list[str]:
    """Return what larger surveys would cost at this rate."""
    lines = []
    for count in TARGETS:
        core_seconds = count * seconds_per_object * jobs
        cores = -(-core_seconds // SECONDS_PER_NIGHT)
        lines.append(
            f"{count:,} objects: {core_seconds / 3600:,.1f} core-hours, {cores:,.0f} cores for one night of 10 hours"
        )
    return lines


def machine() -> str:
    """Name the machine by what matters here."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB of memory"


def write_between_marks(path: Path, lines: list[str]) -> None:
    """Replace what stands between the marks in a document."""
    before, _, rest = path.read_text(encoding="utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    path.write_text("\n".join([before + MARKS[0], "", *lines, "", MARKS[1] + after]), encoding="utf-8")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", default="10000,30000,100000")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes of ingest and extract")
    parser.add_argument("--features", default="fats")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the surveys are made; default: the temporary folder")
    parser.add_argument("--markdown", type=Path, help="write the table between the marks in this document")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    objects = sorted(int(count) for count in arguments.objects.split(","))
    costs: list[dict[str, dict[str, float]]] = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        run = make_run(folder, arguments.seed)
        measure(OBJECTS_TO_WARM_UP, run, folder, arguments)  # compiles what is not yet compiled
        for count in objects:
            costs.append(measure(count, run, folder, arguments))
            total = sum(cost["seconds"] for cost in costs[-1].values())
            print(f"{count} objects done in {total:.0f} s", flush=True)
    # What a user pays for: simulating stands in for a telescope.
    paid = [[cost[stage] for stage in STAGES[1:]] for cost in costs]
    seconds = [sum(stage["seconds"] for stage in stages) / count for count, stages in zip(objects, paid, strict=True)]
    peaks = [max(stage["peak_mb"] for stage in stages) for stages in paid]
    flatness = max(seconds) / min(seconds)
    settings = f"seed {arguments.seed}, {arguments.jobs} process(es), features {arguments.features}"
    title = f"Simulated HiTS, {settings}; {machine()}:"
    per_object = ", ".join(f"{1000 * each:.2f} ms" for each in seconds)
    verdict = f"Ingest, extract and predict together, per object: {per_object}; largest over smallest {flatness:.2f}."
    lines = [title, "", *table_lines(objects, costs), "", verdict, ""]
    lines += [f"- {line}" for line in outlook(seconds[-1], arguments.jobs)]
    print("\n".join(lines))
    if arguments.markdown:
        command = f"python benchmarks/scale.py --objects {arguments.objects} --jobs {arguments.jobs}"
        write_between_marks(arguments.markdown, [f"`{command}`", "", *lines])
    if arguments.json:
        record: dict[str, Any] = {
            "objects": objects,
            "seconds_per_object": seconds,
            "peak_mb": peaks,
            "flatness": flatness,
            "jobs": arguments.jobs,
            "seed": arguments.seed,
            "stages": {stage: [cost[stage] for cost in costs] for stage in STAGES},
        }
        arguments.json.write_text(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
