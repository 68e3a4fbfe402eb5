"""`lcdvt tune`: hyper-parameters by random search on one survey."""

from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.console import out, progress_display
from lcdvt.cli.results import write_json

SHOWN_TRIALS = 10
# The paper's letters keep the table narrow.
COLUMNS = {
    "component_distance": "μ",
    "component_sigma": "σ",
    "classification_weight": "ρ",
    "unlabelled_weight": "γ",
    "learning_rate": "rate",
}


def tune(
    survey: Annotated[str, typer.Option(help="The survey to tune on: the source.")],
    labels: Annotated[str, typer.Option(help="How many labels to use: 1%, 0.01, 25, 3/class or all.")] = "10%",
    trials: Annotated[int, typer.Option(min=1, help="How many draws; those already made are kept.")] = 30,
    preset: Annotated[str, typer.Option(help="What the search does not draw: paper, tied or robust.")] = "paper",
    steps: Annotated[int | None, typer.Option(min=1, help="Batches per trial; by default the preset's.")] = None,
    scaling: Annotated[str, typer.Option(help="survey, pooled, rank or none.")] = "rank",
    seed: Annotated[int, typer.Option(help="Of the label draw, the trials and the folds.")] = 0,
    results: Annotated[Path | None, typer.Option("--out", help="The results file (JSON lines).")] = None,
    data: options.Data = None,
    json_file: options.Json = None,
) -> None:
    """Search hyper-parameters by 5-fold macro F1 of semi-supervised training; stop and go on at will."""
    from dataclasses import replace

    from rich.table import Table

    from lcdvt.config import from_table
    from lcdvt.dataset import SurveyData, build_dataset
    from lcdvt.draws import LabelBudget
    from lcdvt.dvt.config import preset as named_preset
    from lcdvt.names import LABEL, OBJECT_ID
    from lcdvt.scaling import ScalingChoice
    from lcdvt.tune import tune as search
    from lcdvt.workspace import open_survey

    method = from_table(ScalingChoice, {"method": scaling}, "--scaling").method
    budget = LabelBudget.parse(labels)
    base = named_preset(preset)
    if steps is not None:
        base = replace(base, training=replace(base.training, steps=steps))
    opened = open_survey(survey, data)
    tables = SurveyData(survey, opened.features(), opened.objects().set_index(OBJECT_ID)[LABEL])
    dataset = build_dataset([tables])
    (rows,) = dataset.survey_rows(dataset.fit_scaler(method), dataset.draw([budget], seed))
    path = results or Path(f"tune-{survey}.jsonl")
    with progress_display("tune", "trials") as progress:
        found = search(rows, dataset.classes, base, trials=trials, results=path, seed=seed, progress=progress)
    table = Table(title=f"{survey}: best of {trials} trials, macro F1 (%) over 5 folds")
    for column in found.columns:
        table.add_column(COLUMNS.get(column, column), justify="right")
    for row in found.head(SHOWN_TRIALS).itertuples(index=False):
        table.add_row(*(f"{value:.4g}" for value in row))
    out.print(table)
    out.print(f"all trials: {path}", markup=False)
    if json_file:
        # a trial that broke has no score
        trials_found = found.astype(object).where(found.notna(), None).to_dict(orient="records")
        write_json(json_file, {"survey": survey, "labels": str(budget), "seed": seed, "trials": trials_found})
