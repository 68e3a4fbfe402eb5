"""What each idea of the default transfer is worth: left out, or alone, on the real pairs.

    python benchmarks/ablation.py --data DIR --json ablation.json [--draws 3] [--only ps1] [--changed replicates,eyes]
    python benchmarks/ablation.py --cells 'eros1→catalina@1%,sdss_s82→ps1_s82@5%' --draws 3 --members 3

Macro F1, mean and standard deviation over the draws; for what is changed, the same of the difference from the default.
Where EROS-1 is the target, once more on the stars whose label OGLE-III confirms (`ogle_truth.py`).

These are the draws (seeds 100, 101, …) and the stars (ids with an even CRC-32) on which the default was developed, so
the differences count here, not the heights: `benchmarks/quality.py` has the scores on other draws, and on the other
stars. Each finished draw is a file in `--workspace`; an interrupted command goes on where it was. What trees say of a
draw is kept there, too: changes that leave the teachers as they are share it.
"""

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from ogle_truth import is_confirmed, ogle_verdicts
from quality import (
    LABELLED_BY_EYE,
    LABELS,
    MANY_BANDS,
    MANY_BANDS_LABELS,
    OPEN_CLASS,
    PAIRS,
    cell_name,
    ingest_surveys,
    is_unseen,
)
from rich.console import Console
from rich.table import Table

from lcdvt.baselines.rows import DVT_ENSEMBLE
from lcdvt.dataset.dataset import SurveyRows
from lcdvt.dataset.draws import LabelBudget
from lcdvt.dataset.scaling import ScalingMethod
from lcdvt.disk.atomic import write_atomically, write_text
from lcdvt.dvt.config import DVTConfig, EyesConfig, TeachingConfig, preset
from lcdvt.dvt.ensemble import predict
from lcdvt.evaluate import score
from lcdvt.features.spec import DEFAULT_FEATURES, FEATURE_SETS
from lcdvt.parallel.executors import EVERY_CORE, Workers, run_batches
from lcdvt.protocol.carry_out import draw_identity
from lcdvt.protocol.doubtful import believed_labels
from lcdvt.protocol.draw import train_ensemble, transfer_problem
from lcdvt.protocol.plan import DrawTask
from lcdvt.protocol.stars import put_together, thin_light_curves
from lcdvt.protocol.teaching import Lesson, teach
from lcdvt.workspace.survey import open_survey

FIRST_SEED = 100
TAUGHT, TIED, ROBUST = preset("taught"), preset("tied"), preset("robust")


@dataclass(frozen=True)
class Variant:
    """The default with one thing changed."""

    config: DVTConfig
    scaling: ScalingMethod = "rank"
    with_own: bool = True
    """Whether the target's own features, which no source has, are looked at."""

    @property
    def replicates(self) -> int:
        """How many thinned light curves of each star there are to learn from."""
        return self.config.replicates


def _teaching(**changes: object) -> Variant:
    return Variant(replace(TAUGHT, teaching=replace(TeachingConfig(), **changes)))  # type: ignore[arg-type]


def _training(base: DVTConfig, **changes: object) -> Variant:
    return Variant(replace(base, training=replace(base.training, **changes)))  # type: ignore[arg-type]


def _model(base: DVTConfig, **changes: object) -> Variant:
    return Variant(replace(base, model=replace(base.model, **changes)))  # type: ignore[arg-type]


def _objective(base: DVTConfig, **changes: object) -> Variant:
    return Variant(replace(base, objective=replace(base.objective, **changes)))  # type: ignore[arg-type]


DEFAULT = "default (taught)"
VARIANTS = {
    DEFAULT: Variant(TAUGHT),
    "no replicates": _teaching(replicates=0),
    "doubtful labels kept": _teaching(doubtful_labels="keep"),
    "no own features": Variant(TAUGHT, with_own=False),
    "no own features, doubtful labels kept": replace(_teaching(doubtful_labels="keep"), with_own=False),
    "two replicates": _teaching(replicates=2),
    "as sure as it is, no temperature": _teaching(softened=False),
    "taught, no eyes": _model(TAUGHT, eyes=None),
    "taught, no hidden features": _training(TAUGHT, hidden_features=0.0),
    "taught, learning rate stays": _training(TAUGHT, final_learning_rate=1.0, schedule="linear"),
    "taught, no label smoothing": _objective(TAUGHT, label_smoothing=0.0),
    "taught, classifier starts at random": _model(TAUGHT, classifier_start="random"),
    "taught, star and replicate alike (weight 10)": _objective(TAUGHT, consistency_weight=10.0),
    "taught, star and replicate alike (weight 100)": _objective(TAUGHT, consistency_weight=100.0),
    "taught, star and replicate alike (weight 1000)": _objective(TAUGHT, consistency_weight=1000.0),
    "taught, each class weighs the same": _objective(TAUGHT, balance=1.0),
    "taught, classification weight 100": _objective(TAUGHT, classification_weight=100.0),
    "no teaching (tied)": Variant(TIED),
    "no teaching, no eyes": _model(TIED, eyes=None),
    "no teaching, independent heads": _model(TIED, heads="independent"),
    "no teaching, replicates alike (weight 100)": _objective(TIED, consistency_weight=100.0),
    "no teaching, estimated class prior": Variant(
        replace(TIED, objective=replace(TIED.objective, class_prior="estimated"))
    ),
    "no teaching, straight-through y": Variant(
        replace(TIED, objective=replace(TIED.objective, label_sampling="straight-through"))
    ),
    "no teaching, tie penalty 1": Variant(replace(TIED, objective=replace(TIED.objective, tie_penalty=1.0))),
    "no teaching, each survey scaled by itself": Variant(TIED, "survey"),
    "no self-training": _teaching(self_training_rounds=0),
    "two rounds of self-training": _teaching(self_training_rounds=2),
    "four first teachers, each without a fold": _teaching(folds=4),
    "no forest among the teachers": _teaching(forest=False),
    "no forest on the target alone": _teaching(target_forest=False),
    "no student without the source": _teaching(target_only_student=False),
    "no steady features": _teaching(steady_share=0.0),
    "student without the source counts three times": _teaching(target_only_weight=3.0),
    "80 % of the guesses learned from": _teaching(confident_share=0.8),
    "taught, independent heads": _model(TAUGHT, heads="independent"),
    "taught, 300 steps": Variant(replace(TAUGHT, training=replace(TAUGHT.training, steps=300))),
    "taught, 1000 steps": Variant(replace(TAUGHT, training=replace(TAUGHT.training, steps=1000))),
    "no idea (robust)": Variant(ROBUST),
    "tied heads alone": _model(ROBUST, heads="tied"),
    "eyes alone": _model(_training(ROBUST, input_noise=0.0).config, eyes=EyesConfig()),
    "classifier's start alone": _model(ROBUST, classifier_start="components"),
    # a label weighs 100 there, a tenth of what it weighs in the default
    "star and replicate alike alone (weight 10)": _objective(ROBUST, consistency_weight=10.0),
    "teaching alone, no replicates": Variant(replace(ROBUST, teaching=TeachingConfig(replicates=0))),
    "teaching alone": Variant(replace(ROBUST, teaching=TeachingConfig())),
}


def score_draw(folder: Path, data: Path, work: tuple[str, str, DrawTask]) -> dict[str, float | str]:
    """Return macro F1 and calibration error on the stars of the development half, from the file if it is there.

    Where the target is EROS-1, also the macro F1 of stars whose label OGLE-III confirms.
    """
    name, cell, task = work
    file = folder / f"{draw_identity(task)[:24]}.json"
    is_by_eye = task.dataset.surveys[task.target] == LABELLED_BY_EYE
    if not file.exists() or (is_by_eye and "confirmed" not in json.loads(file.read_text(encoding="utf-8"))):
        probability = _ensemble_says(task, folder / "lessons")
        ids = task.dataset.object_ids[task.dataset.rows_of(task.target)]
        seen = task.scored & ~np.array([is_unseen(each) for each in ids])
        found = score(task.truth, probability, task.dataset.classes, seen)
        record = {"macro": 100 * found.macro_f1, "calibration_error": found.calibration_error}
        if is_by_eye:
            confirmed = seen & is_confirmed(ogle_verdicts(data / LABELLED_BY_EYE / "labels.csv", ids))
            record["confirmed"] = 100 * score(task.truth, probability, task.dataset.classes, confirmed).macro_f1
        text = json.dumps(record)
        write_text(file, text)
    return {"variant": name, "cell": cell, **json.loads(file.read_text(encoding="utf-8"))}


def _ensemble_says(task: DrawTask, lessons: Path) -> NDArray[np.float64]:
    """Return what a run's ensemble says of the target; what its teachers said may be there already."""
    surveys = task.dataset.survey_rows(task.dataset.fit_scaler(task.scaling), task.drawn)
    data, training = train_ensemble(task, surveys, _lesson(task, surveys, lessons))
    target = data.rows[-len(task.truth) :, : data.widths[-1]]
    return predict(training.model, target, task.target, training.temperature).probability.numpy().astype(float)


def _lesson(task: DrawTask, surveys: list[SurveyRows], folder: Path) -> Lesson | None:
    """Ask the teachers of a draw, or read what they said for another change of the network."""
    teaching = task.config.teaching
    if teaching is None:
        return None
    alike = replace(task, config=DVTConfig(teaching=replace(teaching, softened=True)), members=1)
    file = folder / f"{draw_identity(alike)[:24]}.npz"
    problem = believed_labels(transfer_problem(surveys, task.dataset.classes), teaching, task.seed)
    if file.exists():
        said = np.load(file)
        experts, weights = tuple(said["experts"]), tuple(said["weights"].tolist())
        return Lesson(problem.target_y, experts, weights, said.get("alone"))
    lesson = teach(problem, teaching, task.seed)
    arrays = {"experts": np.stack(lesson.experts), "weights": np.array(lesson.weights)}
    if lesson.alone is not None:
        arrays["alone"] = lesson.alone

    def write(path: Path) -> None:
        with path.open("wb") as stream:
            np.savez(stream, **arrays)

    write_atomically(file, write)
    return lesson


def plan(
    workspace: Path, arguments: argparse.Namespace, variants: dict[str, Variant]
) -> Iterator[tuple[str, str, DrawTask]]:
    """Yield every draw with the name of what is changed and of its table."""
    for sources, target in (*PAIRS, *MANY_BANDS):
        usual = MANY_BANDS_LABELS if (sources, target) in MANY_BANDS else LABELS
        shares = _shares(cell_name(sources, target), usual, arguments)
        if not shares:
            continue
        surveys = [open_survey(name, workspace) for name in (*sources, target)]
        known = [set(survey.objects()["label"].dropna()) - {OPEN_CLASS} for survey in surveys]
        classes = sorted(set.union(*known[:-1]) & known[-1])
        plain, _ = put_together(surveys, classes)
        datasets = {
            number: thin_light_curves(plain, surveys, number, EVERY_CORE)
            for number in {variant.replicates for variant in variants.values()}
        }
        for share in shares:
            for seed in range(FIRST_SEED, FIRST_SEED + arguments.draws):
                drawn = plain.draw([*[LabelBudget.parse("all")] * len(sources), LabelBudget.parse(share)], seed)
                for name, variant in variants.items():
                    dataset, rows = datasets[variant.replicates], (DVT_ENSEMBLE,)
                    if not variant.with_own:
                        dataset = replace(dataset, target_own=None)
                    task = DrawTask(dataset, drawn, variant.config, arguments.members, rows, seed, variant.scaling)
                    yield name, f"{cell_name(sources, target)}@{share}", task


def _shares(table: str, usual: Sequence[str], arguments: argparse.Namespace) -> list[str]:
    """Return with which shares of labels a table is wanted; none if it is not."""
    if arguments.cells:
        named = [cell.rpartition("@") for cell in arguments.cells.split(",")]
        return [share for name, _, share in named if name == table]
    wanted = arguments.labels.split(",") if arguments.labels else [*usual]
    return wanted if arguments.only in table else []


def _cell(values: Sequence[float], before: Sequence[float] | None) -> str:
    """Return mean ± standard deviation over the draws, of the values or of their differences from the default's."""
    if before is None:
        return f"{np.mean(values):.1f} ± {np.std(values):.1f}"
    change = np.asarray(values) - np.asarray(before)
    return f"{np.mean(change):+.1f} ± {np.std(change):.1f}"


def main() -> None:
    """Run what is missing and print one line per idea."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    real_data = os.environ.get("LCDVT_REAL_DATA")
    parser.add_argument("--data", type=Path, default=Path(real_data) / "surveys" if real_data else None)
    parser.add_argument("--workspace", type=Path, default=Path("lcdvt-quality"))
    parser.add_argument("--features", default=DEFAULT_FEATURES, choices=FEATURE_SETS)
    parser.add_argument("--labels", help="shares of labels, with commas; those of quality.py by default")
    parser.add_argument("--only", default="", help="only tables whose name has this in it")
    parser.add_argument(
        "--cells", help="only these tables and shares of labels, like 'eros1→catalina@1%%', with commas"
    )
    parser.add_argument("--changed", default="", help="only changes whose name has one of these, with commas")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("give --data DIR (one folder per survey), or set LCDVT_REAL_DATA.")
    workspace = arguments.workspace / arguments.features
    ingest_surveys(arguments.data, workspace, arguments.features, arguments.only)
    folder = workspace / "ablation"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = arguments.changed.split(",")
    variants = {
        name: each for name, each in VARIANTS.items() if name == DEFAULT or any(part in name for part in wanted)
    }
    # the first draw of every table first: what is there of an unfinished run then tells something of each
    work = sorted(plan(workspace, arguments, variants), key=lambda each: each[2].seed)
    results = []
    scored = run_batches(partial(score_draw, folder, arguments.data), work, Workers(arguments.jobs))
    for done, result in enumerate(scored, start=1):
        results.append(result)
        said = f"{result['cell']}, {result['variant']}: {result['macro']:.2f}, {result['calibration_error']:.3f}"
        said += f", confirmed {result['confirmed']:.2f}" if "confirmed" in result else ""
        print(f"{done} of {len(work)} draws: {said}", flush=True)
    cells = list(dict.fromkeys(cell for _, cell, _ in work))
    seeds = f"seeds {FIRST_SEED} to {FIRST_SEED + arguments.draws - 1}"
    settings = f"{seeds}, {arguments.members} members, features {arguments.features}"
    table = Table(title=f"macro F1 (%), development half of real stars, {settings}")
    by_eye = [cell for cell in cells if f"→{LABELLED_BY_EYE}@" in cell]
    columns = [*cells, "mean", *(f"{cell}, confirmed" for cell in by_eye)]
    for column in ("changed", *columns, "calibration error"):
        table.add_column(column, justify="left" if column == "changed" else "right")

    def scores_of(name: str, cell: str, part: str) -> list[float]:
        return [each[part] for each in results if (each["variant"], each["cell"]) == (name, cell)]

    summary: dict[str, dict[str, list[float]]] = {}
    for name in variants:  # the default first, with which the others are compared
        macro = [scores_of(name, cell, "macro") for cell in cells]
        confirmed = [scores_of(name, cell, "confirmed") for cell in by_eye]
        shown = dict(zip(columns, [*macro, np.mean(macro, axis=0).tolist(), *confirmed], strict=True))
        error = [result["calibration_error"] for result in results if result["variant"] == name]
        summary[name] = {**shown, "calibration_error": error}
        before = {} if name == DEFAULT else summary[DEFAULT]
        found = [_cell(shown[column], before.get(column)) for column in columns]
        table.add_row(name, *found, f"{np.mean(error):.3f}")
    Console(width=200).print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(summary, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
