"""`lcdvt tune`: hyper-parameters by random search on one survey."""

from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.completion import survey_names
from lcdvt.cli.console import out, progress_display
from lcdvt.cli.results import write_json

SHOWN_TRIALS = 10
"""A screen's worth; the file lists all."""
# The paper's letters keep the table narrow.
COLUMNS = {
    "component_distance": "μ",
    "component_sigma": "σ",
    "classification_weight": "ρ",
    "unlabelled_weight": "γ",
    "learning_rate": "rate",
}


def tune(
    survey: Annotated[str, typer.Option(help="The survey to tune on: the source.", autocompletion=survey_names)],
    labels: Annotated[str, typer.Option(help="How many labels to use: 1%, 0.01, 25, 3/class or all.")] = "10%",
    target: Annotated[
        str | None,
        typer.Option(
            help="Use only features that this survey has, too, as a transfer to it will.", autocompletion=survey_names
        ),
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="How many draws; those already made are kept.")] = 30,
    preset: Annotated[
        str, typer.Option(help="What the search does not draw: paper, tied, taught, robust, or a TOML file.")
    ] = "paper",
    steps: Annotated[int | None, typer.Option(min=1, help="Batches per trial; by default the preset's.")] = None,
    scaling: Annotated[str, typer.Option(help="survey, pooled, rank or none.")] = "rank",
    seed: Annotated[int, typer.Option(help="Random seed of the label draw, the trials and the folds.")] = 0,
    results: Annotated[
        Path | None, typer.Option("--out", help="The results file (JSON lines); default: tune-SURVEY.jsonl.")
    ] = None,
    data: options.Data = None,
    json_file: options.Json = None,
) -> None:
    """Search hyper-parameters by 5-fold macro F1 of semi-supervised training; stop and go on at will.

    The best numbers are written as TOML beside the results: `lcdvt transfer --preset FILE` uses them.
    """
    from rich.table import Table

    from lcdvt.protocol.tune import tune as search

    with progress_display("tune", "trials") as progress:
        found = search(
            survey, labels, target=target, trials=trials, preset=preset, steps=steps, scaling=scaling,  # type: ignore[arg-type]
            seed=seed, out=results, data=data, progress=progress,
        )  # fmt: skip
    table = Table(title=f"{survey}: best of {trials} trials, macro F1 (%) over 5 folds, seed {seed}")
    for column in found.trials.columns:
        table.add_column(COLUMNS.get(column, column), justify="right")
    for row in found.trials.head(SHOWN_TRIALS).itertuples(index=False):
        table.add_row(*(f"{value:.4g}" for value in row))
    out.print(table)
    out.print(f"all trials: {found.results}", markup=False)
    out.print(f"the best, for `lcdvt transfer --preset`: {found.best_path}", markup=False)
    if json_file:
        # a trial that broke has no score
        rows = found.trials.astype(object).where(found.trials.notna(), None).to_dict(orient="records")
        record = {"survey": survey, "labels": found.labels, "seed": seed, "best": str(found.best_path)}
        write_json(json_file, {**record, "trials": rows})
