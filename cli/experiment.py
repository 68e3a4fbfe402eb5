"""`lcdvt experiment`: the paper's experiments, with its figures beside ours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lcdvt.cli import options
from lcdvt.cli.console import err, out, progress_display
from lcdvt.cli.expanded import takes
from lcdvt.cli.results import print_run, run_record, write_json
from lcdvt.cli.run_options import PAPERS_OPTIONS, draw_workers

if TYPE_CHECKING:
    from lcdvt.parallel.executors import Workers
    from lcdvt.protocol.plan import TransferOptions

app = typer.Typer(name="experiment", help="Repeat the paper's experiments.", no_args_is_help=True)


@app.callback()
def _experiments() -> None:
    pass


@app.command()
def moons(
    preset: Annotated[str, typer.Option(help="paper, tied or robust.")] = "paper",
    seeds: Annotated[int, typer.Option(min=1, help="How many times, each with data and weights of its own.")] = 5,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Batches for the source and again for the target; the paper has 15000.")
    ] = None,
    noise: Annotated[float, typer.Option(min=0.0, help="Scatter of the moons; the paper does not give it.")] = 0.15,
    folder: Annotated[Path, typer.Option("--out", help="Where the figure goes.")] = Path("moons"),
    json_file: options.Json = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
) -> None:
    """Two moons: train on the source, transfer to the target with five minority labels."""
    import numpy as np
    from rich.table import Table

    from lcdvt.experiments.moons import PAPER_F1, MoonsRecipe, moons_config, moons_figure, run_moons
    from lcdvt.figures.style import save_figure

    config = moons_config(preset, steps)
    with progress_display("moons", "steps") as progress:
        result = run_moons(config, range(seeds), recipe=MoonsRecipe(noise=noise), device=device, progress=progress)
    steps_said = f"{config.training.steps} + {config.training.steps} batches"
    table = Table(title=f"Moons, preset {preset}, {steps_said}, noise {noise:g}, seeds 0 to {seeds - 1}")
    for column in ("macro F1 (%)", f"ours, {len(result.source_f1)} seeds", "published"):
        table.add_column(column, justify="right" if column != "macro F1 (%)" else "left")
    rows = (
        ("source, semi-supervised DVT", result.source_f1, f"{PAPER_F1['source']:.1f}"),
        ("source, SVM on its labels alone", result.source_svm_f1, "–"),
        ("source, best possible", result.source_best_f1, "–"),
        ("target, transferred DVT", result.target_f1, f"{PAPER_F1['target']:.1f}"),
        ("target, SVM on its labels alone", result.svm_f1, "–"),
        ("target, best possible", result.target_best_f1, "–"),
    )
    for name, scores, published in rows:
        table.add_row(name, f"{np.mean(scores):.1f} ± {np.std(scores):.1f}", published)
    out.print(table)
    for message in result.training.failures.values():
        out.print(message, markup=False)
    for file in save_figure(moons_figure(result), folder / "moons"):
        out.print(f"figure: {file}", markup=False)
    if json_file:
        write_json(json_file, {"source_f1": result.source_f1, "target_f1": result.target_f1, "svm_f1": result.svm_f1})


@app.command()
def digits(
    data: Annotated[Path, typer.Option(help="The folder with mnist/*.gz and usps/usps.h5.")],
    target: Annotated[Literal["mnist", "usps", "all"], typer.Option(help="Which digits to classify.")] = "all",
    mode: Annotated[
        Literal["supervised", "semi-supervised", "transfer", "multi-task", "all"], typer.Option(help="How to train.")
    ] = "all",
    labels: Annotated[str, typer.Option(help="Labels of each domain: 100, 1% or 10/class.")] = "100",
    seeds: Annotated[int, typer.Option(min=1, help="How many times, each with labels and weights of its own.")] = 3,
    augment: Annotated[Literal["none", "shift"], typer.Option(help="Shift training images at random.")] = "shift",
    preset: Annotated[str, typer.Option(help="digits, or the paper's numbers: paper.")] = "digits",
    steps: Annotated[int | None, typer.Option(min=1, help="Batches of each phase; default: the preset's.")] = None,
    likelihood: Annotated[
        Literal["bernoulli", "gaussian"], typer.Option(help="Distribution of a pixel.")
    ] = "bernoulli",
    noise: Annotated[
        float | None, typer.Option(min=0.0, help="Noise on the pixels encoders see; default: 0.3 without shifts.")
    ] = None,
    score: Annotated[
        Literal["test", "validation"],
        typer.Option(help="Score on test images, or, to choose settings, on training images kept out of training."),
    ] = "test",
    folder: Annotated[
        Path, typer.Option("--out", help="Finished runs and figures; the same command goes on there.")
    ] = (Path("digits")),
    json_file: options.Json = None,
    jobs: Annotated[int | None, typer.Option(help="Runs at once, each on a core; default: all cores.")] = None,
    device: options.Device = "auto",
) -> None:
    """MNIST and USPS: the paper's tables of accuracy with 100 labels, DVT and CNN."""
    from lcdvt.experiments.digits.experiment import run_digits, save_pictures
    from lcdvt.experiments.digits.runs import Circumstances, DigitsResult
    from lcdvt.experiments.digits.table import accuracies_json, confusion_table, digits_table
    from lcdvt.tables.formats import to_rich

    circumstances = Circumstances(data, folder, labels, augment, preset, steps, score, likelihood, noise, device)

    def say(result: DigitsResult) -> None:
        at_least = "more than " if result.is_resumed else ""
        err.print(f"{result.run.name}: {result.accuracy:.2f} %, trained in {at_least}{result.seconds:.0f} s")

    results = run_digits(circumstances, target=target, mode=mode, seeds=seeds, jobs=jobs, on_result=say)
    for name in dict.fromkeys(result.run.target for result in results):
        out.print(to_rich(digits_table(results, name, circumstances)))
        out.print(confusion_table(results, name))
    seconds = sum(result.seconds for result in results)
    out.print(f"{len(results)} runs, {seconds / len(results):.0f} s each, {seconds / 60:.0f} min of one core in all")
    for file in save_pictures(results, circumstances):
        out.print(f"figure: {file}")
    if json_file:
        write_json(json_file, accuracies_json(results))


@app.command()
@takes(how=PAPERS_OPTIONS, workers=draw_workers)
def stars(
    how: "TransferOptions",
    workers: "Workers",
    labels: options.TargetLabels = "1%",
    name: Annotated[str, typer.Option(help="Runs are called NAME-SOURCE-TARGET.")] = "stars",
    data: options.Data = None,
    force: Annotated[bool, typer.Option("--force", help="Make runs again that are there.")] = False,
    json_file: options.Json = None,
) -> None:
    """Carry labels over between EROS, MACHO and HiTS: the paper's three pairs, on what is ingested by these names.

    Interrupt it whenever you like: the same command goes on with the draws that are missing.
    """
    from lcdvt.experiments.stars import run_stars

    with progress_display("stars", "label draws") as progress:
        result = run_stars(labels, options=how, workers=workers, name=name, data=data, force=force, progress=progress)
    for run in result.runs:
        print_run(run)
    for pair, lacking in result.left_out.items():
        out.print(f"left out: {' → '.join(pair)} ({' and '.join(lacking)} not ingested)")
    if json_file:
        left_out = {"-".join(pair): list(lacking) for pair, lacking in result.left_out.items()}
        write_json(json_file, {"runs": [run_record(run) for run in result.runs], "left_out": left_out})
