"""Label in the loop: F1 against labels asked, `lcdvt label`'s suggestions against random stars, by its own pages.

    python benchmarks/loop.py --data WORKSPACE [--pair catalina:eros1] [--oracle ogle] [--seeds 5] [--json loop.json]

WORKSPACE has the surveys ingested (it is only read; each seed works on copies in `--scratch`, where the thinned light
curves that the default's teachers learn from are made once for all seeds). An oracle who knows the catalogue takes the
person's place: it starts `lcdvt label`, asks for each star's page, sends the class, has the run made again and goes on
with the next suggestions, all by the HTTP interface that the browser uses.

Half of the target's labelled stars, drawn by class and seed, are never asked for: in the copies they count as of
another class, so that they are neither drawn nor suggested nor scored by the run, and all F1 are taken on them by this
script.
Both ways begin with the same stratified draw of 1 % of the labels. Then

suggest    answers what `lcdvt label` asks for, in rounds of 0.5 %, up to 2.5 %
random     answers stars that each had the same chance, 2.5 % and 5 % altogether

The question is whether `suggest` reaches with 2.5 % what `random` reaches with 5 %. Real stars. The model is the
default of `lcdvt transfer`, with fewer members for time's sake. Finished steps are kept in `--scratch`, so that the
same command goes on where it was interrupted.

EROS-1's labels were given by eye. With LCDVT_REAL_DATA set the first table has F1 on those held-out stars of EROS-1
whose label OGLE-III confirms (`ogle_truth.py`). An oracle who knows the catalogue alone repeats its mistakes, and they
are many among the stars in doubt. `--oracle ogle` answers with OGLE-III's class where it has one, for either way alike,
as a person may who looks at the light curve; the labels that both ways begin with stay the catalogue's.
"""

import argparse
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import numpy as np
import pandas as pd
from ogle_truth import is_confirmed, ogle_classes, ogle_verdicts
from rich.console import Console
from rich.table import Table

import lcdvt
from lcdvt.dataset.draws import LabelBudget, draw_labels
from lcdvt.dvt.config import choose_preset
from lcdvt.evaluate import macro_f1
from lcdvt.ingestion.replicates import replicate_features
from lcdvt.run import Run
from lcdvt.workspace.survey import open_survey

START: Final = 0.01
SUGGESTED: Final = (0.015, 0.02, 0.025)
RANDOM: Final = (0.025, 0.05)
HELD_OUT: Final = "HELD_OUT"
"""The class that stars have in the copies which are only scored on: none that a run tells apart."""
POLL: Final = 0.5
WAYS: Final = ("suggest", "random")
LABELLED_BY_EYE: Final = "eros1"
ORACLES: Final = ("catalogue", "ogle")
ALL, CONFIRMED = "held-out stars", "held-out stars that OGLE-III confirms"


class Page:
    """What the browser's page does, without the browser."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        self.origin, self.root = f"{parts.scheme}://{parts.netloc}", parts.path

    def get(self, path: str) -> Any:
        """Ask for something."""
        return self._call("GET", path)

    def post(self, path: str, **body: Any) -> Any:
        """Send something."""
        return self._call("POST", path, json.dumps(body))

    def _call(self, method: str, path: str, body: str | None = None) -> Any:
        self.connection.request(method, f"{self.root}api/{path}", body, {"Origin": self.origin})
        response = self.connection.getresponse()
        found = json.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f"{path}: {found}")
        return found

    def answer(self, star: str, label: str) -> None:
        """Look at a star, and say what it is."""
        self.get(f"star?id={quote(star)}")
        self.post("answer", key=str(uuid.uuid4()), star=star, label=label)

    def retrain(self) -> str:
        """Have the run made again, and return the new one's name."""
        self.post("retrain")
        while (told := self.get("retraining"))["state"] == "running":
            time.sleep(POLL)
        if told["state"] != "done":
            raise RuntimeError(told["error"])
        return str(told["run"])


@contextmanager
def labelling(run: str, data: Path, stars: int) -> Iterator[Page]:
    """Start `lcdvt label`, as a person does."""
    command = [sys.executable, "-m", "lcdvt.cli.main", "label", run, "--n", str(stars), "--who", "oracle"]
    process = subprocess.Popen(
        [*command, "--no-browser", "--data", str(data)], stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        yield Page(process.stdout.readline().strip())
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def copy_whole(source: Path, target: Path) -> None:
    """Copy a folder unless it is there; an interrupted copy is not taken for a whole one."""
    if target.exists():
        return
    unfinished = target.with_name(f".{target.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(source, unfinished)
    unfinished.rename(target)


def copy_surveys(source_data: Path, names: tuple[str, ...], preset: str, folder: Path) -> None:
    """Copy the surveys once, and make what the model's teachers learn from beside the light curves as they are."""
    teaching = choose_preset(preset).teaching
    for name in names:
        copy_whole(source_data / name, folder / name)
        for number in range(1, 1 + (teaching.replicates if teaching else 0)):
            replicate_features(open_survey(name, folder), number)


def prepare(source_data: Path, pair: tuple[tuple[str, ...], str], seed: int, folder: Path) -> pd.Series:
    """Copy the surveys, hide the labels of half of the target's stars, and return the true labels of that half."""
    sources, target = pair
    for name in (*sources, target):
        copy_whole(source_data / name, folder / name)
    objects = pd.read_parquet(source_data / target / "objects.parquet")
    known: set[str] = set()
    for name in sources:
        known |= set(pd.read_parquet(source_data / name / "objects.parquet", columns=["label"])["label"].dropna())
    classes = sorted((known & set(objects["label"].dropna())) - {"OTHER"})
    numbers = objects["label"].map({name: number for number, name in enumerate(classes)}).fillna(-1).astype(int)
    half = draw_labels(numbers.to_numpy(), LabelBudget(0.5, "share"), 1_000_000 + seed)
    truth = objects.iloc[half].set_index("object_id")["label"]
    objects.loc[objects.index[half], "label"] = HELD_OUT
    objects.to_parquet(folder / target / "objects.parquet")
    return truth


def confirmed(truth: pd.Series, target: str) -> pd.Series | None:
    """Return those of the labels that OGLE-III confirms; None where nothing is known of it."""
    if target != LABELLED_BY_EYE or not os.environ.get("LCDVT_REAL_DATA"):
        return None
    return truth[is_confirmed(ogle_verdicts(labels_by_eye(), truth.index.to_numpy(dtype=object)))]


def labels_by_eye() -> Path:
    """Return the file with EROS-1's labels and OGLE-III's types."""
    return Path(os.environ["LCDVT_REAL_DATA"]) / "surveys" / LABELLED_BY_EYE / "labels.csv"


def answers_of(oracle: str, askable: pd.DataFrame, target: str) -> dict[str, str]:
    """Return what the oracle says of each star."""
    answers = dict(zip(askable["object_id"], askable["label"], strict=True))
    if oracle == "ogle" and target == LABELLED_BY_EYE:
        answers |= {star: each for star, each in ogle_classes(labels_by_eye()).items() if star in answers}
    return answers


def held_out_f1(run: Run, truth: pd.Series) -> float:
    """Return macro F1 in per cent on the stars that nobody may ask for."""
    predicted = run.predictions().set_index("object_id")["predicted"].reindex(truth.index)
    categories = list(run.classes)
    codes = [np.asarray(pd.Categorical(values, categories=categories).codes) for values in (truth, predicted)]
    return 100 * macro_f1(codes[0], codes[1], len(categories))


def go_through(
    way: str,
    data: Path,
    base: str,
    sizes: list[int],
    choose: Callable[[Page, int], list[str]],
    truth: dict[str, str],
) -> Iterator[tuple[int, Run]]:
    """Ask in rounds until each size is reached, and yield the run made again."""
    run, labels = base, int(lcdvt.open_run(base, data).predictions()["in_draw"].sum())
    for size in sizes:
        name = f"{base}-round-{sizes.index(size) + 1}"
        if (data / "runs" / name).exists():  # of an earlier call
            run, labels = name, size
            yield size, lcdvt.open_run(run, data)
            continue
        with labelling(run, data, size - labels) as page:
            for star in choose(page, size - labels):
                page.answer(star, truth[star])
            run, labels = page.retrain(), size
        print(f"  {way}: {size} labels, run {run}", flush=True)
        yield size, lcdvt.open_run(run, data)


def one_seed(
    arguments: argparse.Namespace, pair: tuple[tuple[str, ...], str], seed: int
) -> dict[str, dict[str, dict[int, float]]]:
    """Return F1 by what it is scored on, way and number of labels."""
    sources, target = pair
    oracle = "" if arguments.oracle == ORACLES[0] else f"-{arguments.oracle}"
    folder = arguments.scratch / f"{'+'.join(sources)}-{target}{oracle}" / f"seed-{seed}"
    surveys = arguments.scratch / "surveys"
    copy_surveys(arguments.data, (*sources, target), arguments.preset, surveys)
    truth = prepare(surveys, pair, seed, folder / "suggest")
    objects = pd.read_parquet(folder / "suggest" / target / "objects.parquet")
    askable = objects[objects["label"].notna() & (objects["label"] != HELD_OUT) & (objects["label"] != "OTHER")]
    answers = answers_of(arguments.oracle, askable, target)
    total = len(truth) + len(askable)
    first = max(round(START * total), len(set(truth)))
    if not (folder / "suggest" / "runs" / "base").exists():
        lcdvt.transfer(
            sources, target, str(first), preset=arguments.preset, members=arguments.members, repeats=1, rows=[],
            seed=seed, jobs=1, data=folder / "suggest", name="base", classes=sorted(set(truth)),
        )  # fmt: skip
    copy_whole(folder / "suggest", folder / "random")
    start = lcdvt.open_run("base", folder / "suggest")
    sure = confirmed(truth, target)
    scored = {ALL: truth} if sure is None else {CONFIRMED: sure, ALL: truth}
    found: dict[str, dict[str, dict[int, float]]] = {
        name: {way: {first: held_out_f1(start, labels)} for way in WAYS} for name, labels in scored.items()
    }
    learned = set(start.predictions().query("in_draw")["object_id"])
    order = np.random.default_rng(seed).permutation(sorted(set(answers) - learned)).tolist()

    def at_random(page: Page, number: int) -> list[str]:
        done = page.get("desk")["answers"]
        return order[done : done + number]

    def asked_for(page: Page, number: int) -> list[str]:
        return [star["id"] for star in page.get("desk")["queue"]]

    chosen_by = {"suggest": (asked_for, SUGGESTED), "random": (at_random, RANDOM)}
    for way in WAYS:
        choose, shares = chosen_by[way]
        sizes = [round(share * total) for share in shares]
        for size, run in go_through(way, folder / way, "base", sizes, choose, answers):
            for name, curves in found.items():
                curves[way][size] = held_out_f1(run, scored[name])
    return found


def print_curves(console: Console, title: str, curves: dict[str, dict[int, list[float]]]) -> dict[str, Any]:
    """Print F1 by number of labels, and say with how many `suggest` reaches what `random` reaches with all."""
    table = Table(title=title)
    for name in ("labels", *curves):
        table.add_column(name, justify="right")
    for size in sorted({size for curve in curves.values() for size in curve}):
        cells = [
            f"{np.mean(curve[size]):.1f} ± {np.std(curve[size]):.1f}" if size in curve else ""
            for curve in curves.values()
        ]
        table.add_row(str(size), *cells)
    console.print(table)
    most = max(curves["random"])
    wanted = float(np.mean(curves["random"][most]))
    enough = [size for size in sorted(curves["suggest"]) if np.mean(curves["suggest"][size]) >= wanted]
    said = f"with {enough[0]} ({enough[0] / most:.0%} of them)" if enough else "not with half as many"
    last = max(curves["suggest"])
    console.print(
        f"random reaches {wanted:.2f} with {most} labels; suggest {said} (goal: at most 50%); with {last} it has "
        f"{np.mean(curves['suggest'][last]):.2f}"
    )
    return {"curves": curves, "wanted": wanted, "labels": most, "needed": enough[0] if enough else None}


def main() -> None:
    """Go through all pairs and seeds, and print the curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a workspace with the surveys; it is only read")
    parser.add_argument("--pair", action="append", help="SOURCE[+SOURCE]:TARGET; may be given several times")
    parser.add_argument("--scratch", type=Path, default=Path("lcdvt-loop"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--preset", default="taught")
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--oracle", choices=ORACLES, default=ORACLES[0], help="whose classes the answers are")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    console = Console()
    record: dict[str, Any] = {}
    for text in arguments.pair or ["catalina:eros1", "catalina+sdss_s82:ps1_s82"]:
        names, target = text.split(":")
        pair = (tuple(names.split("+")), target)
        tables: dict[str, dict[str, dict[int, list[float]]]] = {}
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            for scored, found in one_seed(arguments, pair, seed).items():
                curves = tables.setdefault(scored, {way: {} for way in WAYS})
                for way, curve in found.items():
                    for size, f1 in curve.items():
                        curves[way].setdefault(size, []).append(f1)
                told = {way: {size: round(f1, 1) for size, f1 in curve.items()} for way, curve in found.items()}
                print(f"{text} seed {seed}, {scored}: {told}", flush=True)
        for scored, curves in tables.items():
            title = f"{names} → {target}: macro F1 (%) on {scored}, mean ± std, real stars"
            record.setdefault(text, {})[scored] = print_curves(console, title, curves)
    console.print(
        f"seeds {arguments.first_seed} to {arguments.first_seed + arguments.seeds - 1}, {arguments.members} members, "
        f"preset {arguments.preset}; answers from {arguments.oracle}, by the HTTP interface of `lcdvt label`"
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
