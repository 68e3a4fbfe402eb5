"""Does it help or hurt to know which survey a star is from? What a survey lacks is missing, and that could tell.

    python benchmarks/missingness.py --data DIR --json missingness.json [--labels 5%] [--draws 3]

The tables with many bands, where the sources lack most of the target's features, on development draws (seeds 100, 101,
…) and the development half of the stars. Each row learns from the features as `transfer` gives them to it (what a whole
source lacks is filled in for trees with values of random stars, and left out of DVT's likelihood); with the survey told
as one more feature; and from the features alone that all surveys have. The rows of trees learn once more with the gaps
left as they are, which tell the survey.
"""

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from quality import DEFAULT, MANY_BANDS, MANY_BANDS_LABELS, OPEN_CLASS, cell_name, ingest_surveys, is_unseen
from rich.console import Console
from rich.table import Table

from lcdvt.baselines.rows import DVT_ENSEMBLE, predict_target
from lcdvt.dataset.dataset import Dataset
from lcdvt.dataset.draws import LabelBudget
from lcdvt.dvt.config import preset
from lcdvt.evaluate import score
from lcdvt.features.spec import DEFAULT_FEATURES
from lcdvt.parallel.executors import Workers, run_batches
from lcdvt.protocol.draw import run_draw, transfer_problem
from lcdvt.protocol.plan import DrawTask
from lcdvt.protocol.stars import put_together
from lcdvt.workspace.survey import open_survey

FIRST_SEED = 100
GAPS_LEFT = "gaps left"
ROWS = ("boosting-both", "boosting-self-trained", "forest-both", DVT_ENSEMBLE)


def survey_told(dataset: Dataset) -> Dataset:
    """Add a feature that says which survey a star is from."""
    # A number of its own for every star: a constant could not be scaled.
    rng = np.random.default_rng(0)
    number = dataset.survey + rng.uniform(-0.1, 0.1, len(dataset.survey))
    return replace(dataset, X=np.column_stack((dataset.X, number)), features=(*dataset.features, "survey_number"))


def lacking(dataset: Dataset) -> np.ndarray:
    """Return (surveys, features): what no star of a survey has."""
    return np.array([dataset.missing[dataset.rows_of(number)].all(axis=0) for number in range(len(dataset.surveys))])


def common(dataset: Dataset) -> Dataset:
    """Keep the features that every survey has."""
    kept = np.flatnonzero(~lacking(dataset).any(axis=0))
    return replace(dataset, X=dataset.X[:, kept], features=tuple(dataset.features[place] for place in kept))


VARIANTS: dict[str, Callable[[Dataset], Dataset]] = {
    "as it is": lambda dataset: dataset,
    "survey told": survey_told,
    "common features": common,
}


def score_rows(members: int, work: tuple[str, Dataset, np.ndarray, int]) -> dict[str, dict[str, float]]:
    """Return row → variant → macro F1 of one draw on the development half."""
    _, dataset, drawn, seed = work
    found: dict[str, dict[str, float]] = {row: {} for row in ROWS}
    for name, change in VARIANTS.items():
        task = DrawTask(change(dataset), drawn, preset("taught"), members, ROWS, seed)
        result = run_draw(task)
        ids = dataset.object_ids[dataset.rows_of(task.target)]
        seen = task.scored & ~np.array([is_unseen(each) for each in ids])
        for row in ROWS:
            found[row][name] = 100 * score(task.truth, result.probabilities[row], dataset.classes, seen).macro_f1
    rows = dataset.survey_rows(dataset.fit_scaler(), drawn)
    gaps_left = transfer_problem(rows, dataset.classes, fill_gaps=False)
    for row in set(ROWS) - {DVT_ENSEMBLE}:
        probability = predict_target(row, gaps_left, seed, task.truth)
        found[row][GAPS_LEFT] = 100 * score(task.truth, probability, dataset.classes, seen).macro_f1
    found[DVT_ENSEMBLE][GAPS_LEFT] = float("nan")
    return found


def main() -> None:
    """Ingest what is missing, run all draws, print one table per cell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    real_data = os.environ.get("LCDVT_REAL_DATA")
    parser.add_argument("--data", type=Path, default=Path(real_data) / "surveys" if real_data else None)
    parser.add_argument("--workspace", type=Path, default=Path("lcdvt-quality"))
    parser.add_argument("--labels", default=",".join(MANY_BANDS_LABELS), help="shares of labels, with commas")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("give --data DIR (one folder per survey), or set LCDVT_REAL_DATA.")
    workspace = arguments.workspace / DEFAULT_FEATURES
    ingest_surveys(arguments.data, workspace, DEFAULT_FEATURES, "ps1_s82")
    work = []
    for sources, target in MANY_BANDS:
        surveys = [open_survey(each, workspace) for each in (*sources, target)]
        known = [set(survey.objects()["label"].dropna()) - {OPEN_CLASS} for survey in surveys]
        dataset, _ = put_together(surveys, sorted(set.union(*known[:-1]) & known[-1]))
        for share in arguments.labels.split(","):
            for seed in range(FIRST_SEED, FIRST_SEED + arguments.draws):
                budgets = [*[LabelBudget.parse("all")] * len(sources), LabelBudget.parse(share)]
                cell = f"{cell_name(sources, target)}@{share}"
                work.append((cell, dataset, dataset.draw(budgets, seed), seed))
    results: dict[str, list[dict[str, dict[str, float]]]] = {}
    runs = run_batches(partial(score_rows, arguments.members), work, Workers(arguments.jobs))
    for done, (each, result) in enumerate(zip(work, runs, strict=True), start=1):
        results.setdefault(each[0], []).append(result)
        print(f"{done} of {len(work)} draws", flush=True)
    seeds = f"seeds {FIRST_SEED} to {FIRST_SEED + arguments.draws - 1}"
    summary: dict[str, dict[str, dict[str, list[float]]]] = {}
    for cell, draws in results.items():
        table = Table(title=f"{cell}: macro F1 (%), development half of real stars, mean ± std, {seeds}")
        for column in ("row", *VARIANTS, GAPS_LEFT):
            table.add_column(column, justify="left" if column == "row" else "right")
        for row in ROWS:
            name = DEFAULT if row == DVT_ENSEMBLE else row
            numbers = {variant: [draw[row][variant] for draw in draws] for variant in (*VARIANTS, GAPS_LEFT)}
            summary.setdefault(cell, {})[name] = numbers
            table.add_row(name, *(f"{np.mean(each):.1f} ± {np.std(each):.1f}" for each in numbers.values()))
        Console(width=160).print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(summary, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
