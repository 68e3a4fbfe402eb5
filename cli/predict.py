"""`lcdvt predict`: a saved run on new light curves."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.console import out, progress_display
from lcdvt.cli.results import print_problems, write_json


def predict(
    run: options.Run,
    what: Annotated[
        str, typer.Argument(help="An ingested survey, or raw light curves (name/ is a folder).", metavar="SURVEY|PATH")
    ],
    output: Annotated[Path, typer.Option("--out", help="The table to write: .parquet, .csv, .fits or .vot.")],
    like: Annotated[str | None, typer.Option(help="Use this survey's layers; default: same name, else target.")] = None,
    survey: Annotated[str | None, typer.Option(help="For raw files: a survey's name or TOML file.")] = None,
    jobs: options.Jobs = None,
    dask: options.Dask = None,
    data: options.Data = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the table.")] = False,
    json_file: options.Json = None,
) -> None:
    """Classify light curves: probability per class, best class, entropy, disagreement of the members, other_score."""
    from lcdvt.results.predict import predict as classify

    with progress_display("predict") as progress:
        result = classify(
            run, what, output, like=like, survey=survey, jobs=jobs, dask=dask, data=data, force=force,
            progress=progress,
        )  # fmt: skip
    if json_file:
        write_json(json_file, {**asdict(result), "path": str(result.path)})
    print_problems(result.problems)
    marked = " (simulated)" if result.simulated else ""
    out.print(f"{result.objects} objects of {result.survey} classified by {result.run}{marked}: {result.path}")
    for label, count in result.classes.items():
        out.print(f"  {label} {count}", markup=False)
    if result.ranked_among:
        what = "other_score (how little a star looks like any class)"
        out.print(f"  {what} ranks among {result.ranked_among}", markup=False)
    else:
        out.print("  no other_score: the run was made by a version that kept none for new stars; train it again")
    if result.not_extracted:
        out.print(
            f"  {len(result.not_extracted)} of the features that the run looks at were not computed of {result.survey} "
            f"and count as missing: `lcdvt extract {result.survey}`, then predict again",
            markup=False,
        )
    if result.without_features:
        out.print(f"  not classified {result.without_features} (the column `reason` says why)", markup=False)
