"""`lcdvt experiment`: the paper's experiments, with its figures beside ours."""

import json
from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli.console import out, progress_display

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
    noise: Annotated[float, typer.Option(min=0.0, help="Scatter of the moons; the paper does not give it.")] = 0.12,
    folder: Annotated[Path, typer.Option("--out", help="Where the figure goes.")] = Path("moons"),
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the F1 of each seed here.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
) -> None:
    """Two moons: train on the source, transfer to the target with five minority labels."""
    import numpy as np
    from rich.table import Table

    from lcdvt.experiments.moons import PAPER_F1, MoonsRecipe, moons_config, run_moons
    from lcdvt.figures import moons_figure, save_figure

    config = moons_config(preset, steps)
    with progress_display("moons", "steps") as progress:
        result = run_moons(config, range(seeds), recipe=MoonsRecipe(noise=noise), device=device, progress=progress)
    steps_said = f"{config.training.steps} + {config.training.steps} batches"
    table = Table(title=f"Moons, preset {preset}, {steps_said}, noise {noise:g}, seeds 0 to {seeds - 1}")
    for column in ("macro F1 (%)", f"ours, {len(result.source_f1)} seeds", "published"):
        table.add_column(column, justify="right" if column != "macro F1 (%)" else "left")
    rows = (
        ("source, semi-supervised DVT", result.source_f1, f"{PAPER_F1['source']:.1f}"),
        ("target, transferred DVT", result.target_f1, f"{PAPER_F1['target']:.1f}"),
        ("target, SVM on its labels alone", result.svm_f1, "–"),
    )
    for name, scores, published in rows:
        table.add_row(name, f"{np.mean(scores):.1f} ± {np.std(scores):.1f}", published)
    out.print(table)
    for message in result.training.failures.values():
        out.print(message, markup=False)
    for file in save_figure(moons_figure(result), folder / "moons"):
        out.print(f"figure: {file}", markup=False)
    if json_file is not None:
        by_name = {"source_f1": result.source_f1, "target_f1": result.target_f1, "svm_f1": result.svm_f1}
        json_file.write_text(json.dumps({name: list(values) for name, values in by_name.items()}), encoding="utf-8")
