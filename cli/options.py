"""Options that several verbs have in common, each explained once."""

from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli.completion import run_names, survey_names

Data = Annotated[Path | None, typer.Option(help="Workspace folder; default: $LCDVT_DATA or ./lcdvt-data.")]
Json = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", dir_okay=False, help="Write the numbers to this file, for scripts."),
]

Run = Annotated[str, typer.Argument(help="A run's name (`lcdvt runs`) or folder.", autocompletion=run_names)]
Runs = Annotated[
    list[str], typer.Argument(help="Runs' names or folders.", metavar="RUN RUN...", autocompletion=run_names)
]

# of a run that is to be trained
Sources = Annotated[
    list[str],
    typer.Option(
        "--source", help="An ingested survey with labels; may be given several times.", autocompletion=survey_names
    ),
]
Target = Annotated[str, typer.Option(help="The ingested survey to classify.", autocompletion=survey_names)]
TargetLabels = Annotated[
    str, typer.Option(help="Labels of the target to use: 1%, 0.01, 25, 3/class, all, or 0 for none.")
]
Classes = Annotated[
    str | None, typer.Option(help="Classes to tell apart, separated by commas; default: all with labels on both sides.")
]
Preset = Annotated[
    str,
    typer.Option(help="The model's numbers: taught, tied, paper, robust, or a TOML file (`lcdvt tune` writes one)."),
]
Steps = Annotated[int | None, typer.Option(min=1, help="Training steps; default: the preset's.")]
Members = Annotated[int, typer.Option(help="Models in the ensemble.")]
Repeats = Annotated[int, typer.Option(help="Draws of labels.")]
Seed = Annotated[int, typer.Option(help="Random seed of the first draw; the others count on from it.")]
Rows = Annotated[str | None, typer.Option(help="Rows of the table, separated by commas; default: all.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
Jobs = Annotated[int | None, typer.Option(help="Worker processes; default: all cores.")]
Dask = Annotated[str | None, typer.Option(help="Send the batches to this Dask scheduler (tcp://…), or 'local'.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a run of the same name.")]
