"""`lcdvt answers`: what people have said of stars."""

from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.completion import survey_names
from lcdvt.cli.console import out
from lcdvt.cli.results import write_json


def answers(
    survey: Annotated[str, typer.Argument(help="An ingested survey.", autocompletion=survey_names)],
    merge: Annotated[
        list[Path] | None,
        typer.Option("--merge", help="Add another person's file of answers; may be given several times."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--out", help="Write a table of labels for `ingest --catalog`: .csv, .parquet, .fits or .vot."),
    ] = None,
    only_answers: Annotated[
        bool, typer.Option("--only-answers", help="Write the answers alone, without the workspace's other labels.")
    ] = False,
    data: options.Data = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the table.")] = False,
    json_file: options.Json = None,
) -> None:
    """List what people have said of a survey's stars, merge their files, and write a table of labels.

    Everybody's last answer is a voice. The class that more than half of the voices name counts; a star without such a
    class is nobody's label.
    """
    from rich.table import Table

    from lcdvt.desk.verbs import answers as collect

    result = collect(survey, merge=merge or (), out=output, only_answers=only_answers, data=data, force=force)
    if json_file:
        write_json(json_file, result.to_record())
    if result.stars.empty:
        out.print(f"nobody has answered about a star of {survey} yet: `lcdvt label` or `lcdvt browse` asks.")
    else:
        counts = result.stars["label"].fillna("undecided").value_counts()
        listed = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        out.print(f"{len(result.stars)} stars of {survey}: {listed} ({result.path})")
    if merge:
        out.print(f"{result.merged} records of {len(merge)} files were new.")
    if len(result.disputed):
        table = Table(title=f"{len(result.disputed)} disputed")
        for name in ("star", "who said what", "counts as"):
            table.add_column(name, overflow="fold")
        # Beside names of classes pandas makes NaN of no label, which is true: `or` would print it.
        disputed = result.disputed.fillna({"label": "nobody's label"})
        for star in disputed.to_dict(orient="records"):
            table.add_row(str(star["object_id"]), str(star["voices"]), str(star["label"]))
        out.print(table)
    if result.catalogue:
        out.print(f"written to {result.catalogue}; give it back with `lcdvt ingest … --catalog {result.catalogue}`")
