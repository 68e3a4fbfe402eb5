"""F1 against labels asked for: what `lcdvt suggest` chooses against random choice, on a real pair of surveys.

    python benchmarks/active.py --data DIR --json active.json [--quick]

DIR holds one folder per survey with `lightcurves.csv.gz` and `labels.csv` (LCDVT_REAL_DATA/surveys by default). Both
surveys are ingested into `--workspace` once, and every trained ensemble's answer is kept there, so that the command
goes on where it was interrupted.

Half of the target's labelled stars, drawn by class and seed, are never asked for: all F1 are taken on them, so that
nobody's score gains from having asked for the hard ones. From the other half come the labels, always counted as a
share of all. Three ways to choose them are compared, with the same model:

suggest       starts as `stratified` does, then asks in rounds; the model is trained again after each
stratified    what `--labels` draws: the classes in their true proportions and none left out, which nobody can do who
              does not know the labels yet
simple        every star with the same chance, with a class left out when chance wants it so

The rule of `suggest` was developed on asas→eros1 and catalina→asas with seeds from 100 on and FATS' features, so the
stars of eros1 are not new to it, only their draws; what is printed uses seeds from 0 on. "Labels needed" is the least
number from which on the mean curve of `suggest` stays at or above what the other reaches with all its labels.
"""

import argparse
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from lcdvt.dataset.dataset import UNLABELLED, Dataset
from lcdvt.dataset.draws import LabelBudget, draw_labels
from lcdvt.disk.atomic import write_atomically
from lcdvt.dvt.config import DVTConfig, preset
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.ensemble import predict
from lcdvt.dvt.train import train
from lcdvt.evaluate import score
from lcdvt.features.spec import DEFAULT_FEATURES, FEATURE_SETS
from lcdvt.ingestion.ingest import ingest
from lcdvt.protocol.carry_out import draw_identity
from lcdvt.protocol.draw import transfer_problem
from lcdvt.protocol.plan import DrawTask
from lcdvt.protocol.stars import put_together
from lcdvt.protocol.teaching import teach
from lcdvt.results.suggest_rule import Opinions, choose_stars
from lcdvt.workspace.survey import open_survey

FIRST, LAST = 0.01, 0.05
# of all labels: asked for in one round, and between two points of the random curves
ROUND, RANDOM_STEP = 0.005, 0.01
TARGET_SHARE = 0.6
SUGGEST, STRATIFIED, SIMPLE = "suggest", "stratified", "simple"


@dataclass(frozen=True)
class Setting:
    """One seed's stars and model.

    Parameters
    ----------
    dataset
        Source and target, with all known labels.
    config, members, seed
        The model, how many of it, and the seed of everything.
    kept
        The folder of answers.
    """

    dataset: Dataset
    config: DVTConfig
    members: int
    seed: int
    kept: Path

    @property
    def truth(self) -> NDArray[np.int64]:
        """True classes of the target's stars, −1 where the class is unknown or not among those told apart."""
        return self.dataset.y[self.dataset.rows_of(1)]

    @property
    def scored(self) -> NDArray[np.bool_]:
        """The half of the labelled target stars that is never asked for."""
        half = draw_labels(self.truth, LabelBudget(0.5, "share"), 1_000_000 + self.seed)
        return np.isin(np.arange(len(self.truth)), half)

    @property
    def askable(self) -> NDArray[np.int64]:
        """True classes of the stars that may be asked for, −1 for all others."""
        return np.where(self.scored, UNLABELLED, self.truth)

    def labels(self, share: float) -> int:
        """Return a share of the target's labels as a number."""
        return max(round(share * (self.truth != UNLABELLED).sum()), len(self.dataset.classes))


def ingest_surveys(folder: Path, workspace: Path, names: tuple[str, str], features: str) -> None:
    """Ingest the surveys that the workspace does not have yet."""
    for name in names:
        if not (workspace / name / "ingest.json").exists():
            print(f"ingesting {name}", flush=True)
            source = folder / name
            curves, labels = source / "lightcurves.csv.gz", source / "labels.csv"
            ingest(curves, survey=f"{name}-csv", name=name, catalog=labels, data=workspace, features=features)


def ask_model(setting: Setting, asked: NDArray[np.int64]) -> Opinions:
    """Train on the source and on the asked stars' labels; return what the ensemble says of all target stars.

    This is `run_draw` without rivals and without the score for "none of these", which takes longer than the rest.
    """
    dataset, target = setting.dataset, setting.dataset.rows_of(1)
    drawn = dataset.y.copy()
    drawn[target] = UNLABELLED
    places = np.flatnonzero(target)[asked]
    drawn[places] = dataset.y[places]
    task = DrawTask(dataset, drawn, setting.config, setting.members, (), setting.seed)
    labelled = np.isin(np.arange(target.sum()), asked)
    free = (setting.askable != UNLABELLED) & ~labelled
    file = setting.kept / f"{hashlib.sha256(draw_identity(task).encode()).hexdigest()[:32]}.npz"
    if file.exists():
        with np.load(file, allow_pickle=False) as kept:
            return Opinions(kept["probability"], kept["disagreement"], labelled, free)
    surveys = dataset.survey_rows(dataset.fit_scaler(task.scaling), drawn)
    if task.config.teaching:
        # no label is doubted: stars are asked for where the model errs
        taught = teach(transfer_problem(surveys, dataset.classes), task.config.teaching, task.seed).classes
        surveys[-1] = replace(surveys[-1], y=taught)
    data = TrainingData.from_surveys(surveys, dataset.classes, task.members)
    model = train(task.config, data, task.member_seeds).model
    opinion = predict(model, data.rows[-len(labelled) :, : data.widths[-1]], 1)
    probability, disagreement = opinion.probability.numpy().astype(float), opinion.disagreement.numpy().astype(float)

    def write(path: Path) -> None:
        with path.open("wb") as stream:
            np.savez(stream, probability=probability, disagreement=disagreement)

    write_atomically(file, write)
    return Opinions(probability, disagreement, labelled, free)


def ask_suggested(setting: Setting, sizes: list[int]) -> Iterator[tuple[int, Opinions]]:
    """Begin with a stratified draw, then let the rule choose, round by round."""
    scaler = setting.dataset.fit_scaler("rank")
    scaled = scaler.apply(setting.dataset.X[setting.dataset.rows_of(1)], 1)
    asked = draw_labels(setting.askable, LabelBudget(sizes[0], "objects"), setting.seed)
    opinions = ask_model(setting, asked)
    yield sizes[0], opinions
    for size in sizes[1:]:
        queries = choose_stars(opinions, lambda rows: scaled[rows], size - len(asked), seed=setting.seed)
        asked = np.sort(np.append(asked, [query.row for query in queries]))
        opinions = ask_model(setting, asked)
        yield size, opinions


def ask_at_random(setting: Setting, sizes: list[int], way: str) -> Iterator[tuple[int, Opinions]]:
    """Draw labels stratified or plainly at random; a smaller draw lies inside a larger one."""
    order = np.random.default_rng(setting.seed).permutation(np.flatnonzero(setting.askable != UNLABELLED))
    for size in sizes:
        stratified = draw_labels(setting.askable, LabelBudget(size, "objects"), setting.seed)
        yield size, ask_model(setting, stratified if way == STRATIFIED else np.sort(order[:size]))


def macro_f1(setting: Setting, opinions: Opinions) -> float:
    """Return macro F1 in per cent on the stars that nobody may ask for."""
    return 100 * score(setting.truth, opinions.probability, setting.dataset.classes, setting.scored).macro_f1


def labels_needed(curve: dict[int, list[float]], wanted: float) -> int | None:
    """Return the smallest number of labels from which on the mean curve is never below `wanted`."""
    needed = None
    for size in sorted(curve, reverse=True):
        if np.mean(curve[size]) < wanted:
            break
        needed = size
    return needed


def print_curves(console: Console, title: str, curves: dict[str, dict[int, list[float]]]) -> None:
    """Print mean ± standard deviation of macro F1 by number of labels."""
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


def compare(curves: dict[str, dict[int, list[float]]], console: Console) -> dict[str, Any]:
    """Say with how many labels `suggest` reaches what random choice reaches with all."""
    last = max(curves[STRATIFIED])
    found: dict[str, Any] = {}
    for way in (STRATIFIED, SIMPLE):
        wanted = float(np.mean(curves[way][last]))
        needed = labels_needed(curves[SUGGEST], wanted)
        found[way] = {"f1": wanted, "labels": last, "needed_by_suggest": needed, "share": needed and needed / last}
        said = f"with {needed} labels, {needed / last:.0%} of them" if needed else "not with as many"
        console.print(f"{way} reaches {wanted:.1f} with {last} labels; suggest {said} (goal: {TARGET_SHARE:.0%})")
    return found


def main() -> None:
    """Ingest what is missing, ask, print the curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    real_data = os.environ.get("LCDVT_REAL_DATA")
    parser.add_argument("--data", type=Path, default=Path(real_data) / "surveys" if real_data else None)
    parser.add_argument("--workspace", type=Path, default=Path("lcdvt-quality"))
    parser.add_argument("--features", default=DEFAULT_FEATURES, choices=FEATURE_SETS)
    parser.add_argument("--source", default="catalina")
    parser.add_argument("--target", default="eros1")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--preset", default="tied")
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="two seeds, two members, larger rounds")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    pair = (arguments.source, arguments.target)
    workspace = arguments.workspace / arguments.features
    if arguments.data is None and not all((workspace / name / "ingest.json").exists() for name in pair):
        parser.error("give --data DIR (one folder per survey), or set LCDVT_REAL_DATA.")
    ingest_surveys(arguments.data, workspace, pair, arguments.features)
    dataset, _ = put_together([open_survey(name, workspace) for name in pair], None)
    kept = workspace / "active"
    kept.mkdir(exist_ok=True)
    seeds = range(arguments.first_seed, arguments.first_seed + (2 if arguments.quick else arguments.seeds))
    members, step = (2, RANDOM_STEP) if arguments.quick else (arguments.members, ROUND)
    curves: dict[str, dict[int, list[float]]] = {SUGGEST: {}, STRATIFIED: {}, SIMPLE: {}}
    for seed in seeds:
        setting = Setting(dataset, preset(arguments.preset), members, seed, kept)
        suggested, drawn = (
            [setting.labels(share) for share in np.arange(FIRST, LAST + width / 2, width)]
            for width in (step, RANDOM_STEP)
        )
        ways = {
            SUGGEST: ask_suggested(setting, suggested),
            STRATIFIED: ask_at_random(setting, drawn, STRATIFIED),
            SIMPLE: ask_at_random(setting, drawn, SIMPLE),
        }
        for way, rounds in ways.items():
            for size, opinions in rounds:
                curves[way].setdefault(size, []).append(macro_f1(setting, opinions))
                print(f"seed {seed}, {way}, {size} labels: {curves[way][size][-1]:.1f}", flush=True)
    console = Console()
    name = f"{arguments.source}→{arguments.target}"
    settings = (
        f"seeds {seeds[0]} to {seeds[-1]}, {members} members, preset {arguments.preset}, features {arguments.features}"
    )
    print_curves(console, f"{name}: macro F1 (%), mean ± std, real stars", curves)
    found = compare(curves, console)
    console.print(settings)
    if arguments.json:
        record = {"pair": name, "settings": settings, "seeds": list(seeds), "curves": curves, "compared": found}
        arguments.json.write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
