"""`lcdvt doubt`: which labels the light curves contradict."""

from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.completion import survey_and_run_names, survey_names
from lcdvt.cli.console import out, progress_display
from lcdvt.cli.results import write_json


def doubt(
    what: Annotated[
        str,
        typer.Argument(
            metavar="SURVEY|RUN",
            help="An ingested survey, or a run (name or folder) to judge its target's labels.",
            autocompletion=survey_and_run_names,
        ),
    ],
    n: Annotated[int, typer.Option("--n", min=1, help="How many stars, the most doubtful first.")] = 20,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            help="Another survey with labels that judges by transfer; may be given several times.",
            autocompletion=survey_names,
        ),
    ] = None,
    way: Annotated[
        str | None,
        typer.Option(
            help="within (the survey's own stars judge), transfer (source or run judges) or both; "
            "default: all there are."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--out", "--csv", help="Write the stars, too: .csv, .parquet, .fits or .vot.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page with their folded light curves, too.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of folds and models.")] = 0,
    data: options.Data = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite table and page.")] = False,
    json_file: options.Json = None,
) -> None:
    """Rank the labels of a survey by how much the light curves contradict them.

    No star is judged by a model that has learned from its own label. Look at the light curves, mend the catalogue, and
    ingest with --catalog.
    """
    from rich.table import Table

    from lcdvt.doubts.doubt import doubt as rank
    from lcdvt.doubts.neighbours import counted_labels

    with progress_display("doubt", "forests") as progress:
        result = rank(
            what, n, source=source or (), way=way, out=output, html=html, seed=seed, data=data, force=force,  # type: ignore[arg-type]
            progress=progress,
        )  # fmt: skip
    if json_file:
        write_json(json_file, result.to_record())
    marked = ", simulated" if result.simulated else ""
    table = Table(title=f"{len(result.stars)} of {result.judged} labels of {result.survey}{marked}")
    for name in ("star", "label", "p", "suggested", "p", "score", "nearest"):
        table.add_column(name, justify="right" if name in ("p", "score") else "left", overflow="fold")
    for star in result.stars.to_dict(orient="records"):
        given, suggested = f"{star['label_probability']:.2f}", f"{star['suggested_probability']:.2f}"
        nearest = counted_labels(star["neighbour_labels"])
        texts = (star["object_id"], star["label"], given, star["suggested"], suggested, f"{star['score']:.2f}", nearest)
        table.add_row(*map(str, texts))
    out.print(table)
    judges = ", ".join(result.sources) or result.run
    by_whom = {"within": f"cross-validation within {result.survey}", "transfer": f"transfer from {judges}"}
    out.print(
        f"The light curves contradict {result.contradicted} of {result.judged} labels; judged by "
        f"{' and '.join(by_whom[each] for each in result.ways)}."
    )
    if result.left_out:
        out.print(f"Not judged: {', '.join(result.left_out)} (too few labels, or unknown to those who judge).")
    written = [str(path) for path in (result.path, result.page) if path]
    out.print(f"seed {result.seed}" + (f"; written to {' and '.join(written)}" if written else ""))
