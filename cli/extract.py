"""`lcdvt extract`: features of stored epochs."""

from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.console import out, progress_display
from lcdvt.cli.results import write_json
from lcdvt.features.spec import DEFAULT_FEATURES


def extract(
    survey: Annotated[str, typer.Argument(help="An ingested survey's name.")],
    features: Annotated[
        str, typer.Option(help="all, fats, or feature names separated by commas (`lcdvt features` lists them).")
    ] = DEFAULT_FEATURES,
    engine: Annotated[str, typer.Option(help="fast (ours), or feets (the installed feets).")] = "fast",
    jobs: options.Jobs = None,
    dask: options.Dask = None,
    data: options.Data = None,
    json_file: options.Json = None,
) -> None:
    """Compute features of stored epochs, without touching the raw files."""
    from lcdvt.ingestion.extract import extract_survey

    chosen = features.split(",") if "," in features else features
    with progress_display("extract") as progress:
        result = extract_survey(
            survey,
            features=chosen,
            engine=engine,  # type: ignore[arg-type]
            jobs=jobs,
            dask=dask,
            data=data,
            progress=progress,
        )
    out.print(f"{result.name}: {result.columns} features of {result.objects} objects in {result.folder}", markup=False)
    for reason, count in result.gaps.curves.items():
        out.print(f"  no features for {count} light curves, {reason}", markup=False)
    if json_file:
        record = {"name": result.name, "folder": str(result.folder), "objects": result.objects}
        write_json(json_file, record | {"features": result.columns, "without_features": dict(result.gaps.curves)})
