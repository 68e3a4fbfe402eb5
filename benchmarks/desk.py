"""How quickly the pages of `lcdvt label` and `lcdvt browse` appear, and how much memory a million rows take.

    python benchmarks/desk.py [--rows 1000000] [--scratch DIR] [--json desk.json]

Stars and surveys are simulated, and Chromium runs without a window. Printed are

- a star with 2,000 epochs in each of 3 bands: from the page's navigation to the light curve on the screen, nothing in
  the browser's cache (first paint), and from a key to the next star on the screen (next star)
- a survey of a million rows: from starting `lcdvt browse` to its address, from navigation to the table on the screen,
  and the server's memory before and after it was sorted by 20 columns and 200 pages of it were looked at
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from helpers.headless_browser import Browser, headless_browser

import lcdvt
from lcdvt.workspace.folder import part_name, write_part
from lcdvt.workspace.objects import objects_schema
from lcdvt.workspace.survey import open_survey

EPOCHS: Final = 2000
BANDS: Final = ("g", "r", "i")
STARS: Final = 12
ROWS_IN_A_PART: Final = 20_000
PAGES: Final = 200


def write_dense_survey(folder: Path) -> Path:
    """Write light curves of 2,000 epochs in each of three bands, as one CSV file, and their classes."""
    rng = np.random.default_rng(1)
    frames, labels = [], []
    for star in range(STARS):
        period = rng.uniform(0.4, 0.7)
        time_ = np.sort(rng.uniform(0, 1500, EPOCHS))
        for place, band in enumerate(BANDS):
            phase = 2 * np.pi * time_ / period
            mag = 16 + 0.3 * place + 0.4 / (1 + place) * np.sin(phase) + rng.normal(0, 0.02, EPOCHS)
            frames.append(pd.DataFrame({"id": f"star{star:02d}", "band": band, "mjd": time_, "mag": mag, "err": 0.02}))
        labels.append({"id": f"star{star:02d}", "class": ["RRLYR", "CEP"][star % 2]})
    folder.mkdir(parents=True, exist_ok=True)
    pd.concat(frames).to_csv(folder / "curves.csv", index=False)
    pd.DataFrame(labels).to_csv(folder / "labels.csv", index=False)
    return folder / "curves.csv"


def write_large_survey(data: Path, rows: int) -> None:
    """Write objects and features of a survey, as an ingest would have left them; its light curves are left out."""
    small = data / "small"
    if not small.exists():
        lcdvt.simulate("hits", data / "raw", objects=20, seed=1)
        lcdvt.ingest(data / "raw", name="small", data=data, jobs=1)
    stored = open_survey("small", data)
    columns = [name for name in stored.features().columns if name != "object_id"]
    large = data / "large"
    shutil.rmtree(large, ignore_errors=True)
    shutil.copytree(small, large, ignore=shutil.ignore_patterns("part-*.parquet", "objects.parquet", ".ingest"))
    (large / "features").mkdir(exist_ok=True)
    schema = objects_schema(stored.survey)
    rng = np.random.default_rng(2)
    with pq.ParquetWriter(large / "objects.parquet", schema, compression="zstd") as writer:
        for part, first in enumerate(range(0, rows, ROWS_IN_A_PART)):
            count = min(ROWS_IN_A_PART, rows - first)
            ids = [f"star_{number:09d}" for number in range(first, first + count)]
            values = rng.normal(size=(count, len(columns))).astype(np.float64).round(4)
            table = pa.table({"object_id": ids, **{name: values[:, k] for k, name in enumerate(columns)}})
            write_part(table, large / "features" / part_name(part))
            objects: dict[str, Any] = {name: [None] * count for name in schema.names}
            objects |= {
                "object_id": ids,
                "label": rng.choice(["CEP", "EB", "RRLYR"], count).tolist(),
                "ra": rng.uniform(0, 360, count),
                "dec": rng.uniform(-90, 90, count),
                "part": [part] * count,
            }
            objects |= {name: [30] * count for name in schema.names if name.startswith("n_epochs")}
            writer.write_table(pa.table(objects, schema=schema))


@contextmanager
def serving(*arguments: object) -> Iterator[tuple[int, str, float]]:
    """Start a command; yield its process, the address it prints, and the seconds until then."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "lcdvt.cli.main", *map(str, arguments), "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip().partition("#")[0]
        yield process.pid, address, time.monotonic() - began
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def memory(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def measures(browser: Browser, name: str) -> list[dict[str, float]]:
    """Return what the page has measured under a name: milliseconds."""
    return browser.evaluate(
        f"performance.getEntriesByName('{name}').map(each => ({{start: each.startTime, length: each.duration}}))"
    )


def time_stars(browser: Browser, data: Path) -> dict[str, Any]:
    """Open a star's page anew some times, then walk through the stars of the table."""
    first = []
    shown = "performance.getEntriesByName('star shown').length"
    with serving("browse", "dense", "--data", data) as (_, address, _):
        for _ in range(6):
            browser.call("Network.clearBrowserCache")
            browser.open("about:blank")
            browser.open(f"{address}#star=star00")
            browser.wait_until(f"{shown} === 1")
            (painted,) = measures(browser, "star shown")
            first.append(painted["start"] + painted["length"])
        browser.open("about:blank")
        browser.open(f"{address}#table")
        browser.wait_until("document.querySelector('tbody a') !== null")
        browser.evaluate("document.querySelector('tbody a').click()")
        for number in range(1, STARS):
            browser.wait_until(f"{shown} === {number}")
            time.sleep(2)  # a person looks at the star
            browser.press("ArrowRight")
        browser.wait_until(f"{shown} === {STARS}")
        following = [each["length"] for each in measures(browser, "star shown")[1:]]
    return {"first_paint_ms": first, "next_star_ms": following}


def time_rows(browser: Browser, data: Path, rows: int) -> dict[str, Any]:
    """Browse the large survey: until it is shown, by many columns, through many pages."""

    def total(**query: Any) -> int:
        asked = f"fetch('api/rows?' + new URLSearchParams({json.dumps(query)}))"
        return browser.evaluate(f"{asked}.then(response => response.json()).then(page => page.total)")

    with serving("browse", "large", "--data", data) as (pid, address, until_served):
        browser.open(address)
        browser.wait_until("performance.getEntriesByName('table shown').length > 0")
        until_shown = measures(browser, "table shown")[0]["length"]
        columns = browser.evaluate("fetch('api/columns').then(response => response.json())")["features"][:20]
        sorting, before = [], 0.0
        for number, column in enumerate(columns):
            began = time.monotonic()
            assert total(sort=column) == rows
            sorting.append(time.monotonic() - began)
            if number == 4:
                before = memory(pid)
        between = memory(pid)
        for page in range(PAGES):
            assert total(sort=columns[-1], start=page * 4999 % rows) == rows
        after = memory(pid)
    return {
        "served_s": until_served,
        "shown_s": until_shown / 1000,
        "sorted_s": sorting,
        "memory_after_5_columns_mib": before,
        "memory_after_20_columns_mib": between,
        "memory_after_200_pages_mib": after,
    }


def main() -> None:
    """Make the surveys where they are missing, look at them, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "lcdvt-desk")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    data = arguments.scratch / "data"
    if not (data / "dense").exists():
        curves = write_dense_survey(arguments.scratch / "dense")
        described = lcdvt.new_survey("dense", curves, arguments.scratch / "dense.toml", force=True).survey
        lcdvt.ingest(curves, survey=described, name="dense", catalog=curves.parent / "labels.csv", data=data, jobs=1)
    if not (data / "large" / "objects.parquet").exists():
        write_large_survey(data, arguments.rows)
    with headless_browser(arguments.scratch / f"profile-{os.getpid()}") as browser:
        rows = time_rows(browser, data, arguments.rows)
        stars = time_stars(browser, data)
    print(f"simulated, {arguments.rows:,} rows, `lcdvt browse`: address after {rows['served_s']:.1f} s,")
    print(f"  table on the screen {rows['shown_s']:.2f} s after navigation,")
    print(f"  sorted by a column in {statistics.median(rows['sorted_s']):.2f} s (median of {len(rows['sorted_s'])}),")
    print(f"  memory {rows['memory_after_5_columns_mib']:.0f} MiB after 5 columns,")
    print(f"  {rows['memory_after_20_columns_mib']:.0f} MiB after 20 columns,")
    print(f"  {rows['memory_after_200_pages_mib']:.0f} MiB after {PAGES} pages more")
    print(f"simulated star, {EPOCHS} epochs in each of {len(BANDS)} bands:")
    for name, text in (("first_paint_ms", "first paint"), ("next_star_ms", "next star")):
        each = stars[name]
        print(f"  {text}: median {statistics.median(each):.0f} ms, longest {max(each):.0f} ms of {len(each)}")
    if arguments.json:
        arguments.json.write_text(json.dumps({**rows, **stars}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
