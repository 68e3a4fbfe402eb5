"""`lcdvt suggest`: which stars to label next."""

from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.console import out
from lcdvt.cli.results import write_json


def suggest(
    run: options.Run,
    n: Annotated[int, typer.Option("--n", min=1, help="How many stars.")] = 20,
    per_class: Annotated[bool, typer.Option("--per-class", help="So many of each predicted class.")] = False,
    unlabelled: Annotated[
        bool, typer.Option("--unlabelled", help="Only stars of which the workspace has no label, used or held back.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--out", help="Write the stars, too: .parquet, .csv, .fits or .vot.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the samples that stand for a large survey.")] = 0,
    data: options.Data = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the table.")] = False,
    json_file: options.Json = None,
) -> None:
    """Name the stars whose labels would help most: in doubt, typical of the doubtful, no two alike.

    Never a star whose label the run has learned from, nor one that was answered already. `lcdvt label` shows them in
    the browser; or label them elsewhere, ingest with --catalog, and transfer again.
    """
    from rich.table import Table

    from lcdvt.results.suggest import suggest as choose

    result = choose(
        run, n, per_class=per_class, unlabelled=unlabelled, out=output, seed=seed, data=data, force=force
    )  # fmt: skip
    if json_file:
        write_json(json_file, result.to_record())
    marked = ", simulated" if result.simulated else ""
    table = Table(title=f"{len(result.stars)} of {result.left} stars of {result.survey}{marked}, by {result.run}")
    for name in ("star", "best class", "p", "second", "p", "why"):
        table.add_column(name, justify="right" if name == "p" else "left", overflow="fold")
    for star in result.stars.to_dict(orient="records"):
        best, second = f"{star['probability']:.2f}", f"{star['second_probability']:.2f}"
        texts = (star["object_id"], star["predicted"], best, star["second"], second, star["why"])
        table.add_row(*map(str, texts))
    out.print(table)
    if result.with_label:
        out.print(
            f"{result.with_label} of them have a label in the workspace that the run was not given; "
            "--unlabelled leaves such stars out."
        )
    if result.answered:
        out.print(f"{result.answered} stars were answered already (`lcdvt answers {result.survey}`) and are left out.")
    out.print(f"seed {result.seed}" + (f"; written to {result.path}" if result.path else ""))
