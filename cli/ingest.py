"""`lcdvt ingest`: files of a survey to Parquet."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.console import out, progress_display
from lcdvt.cli.results import print_incomplete, print_problems, write_json

if TYPE_CHECKING:
    from lcdvt.ingestion.ingest import IngestResult


def ingest(
    paths: Annotated[
        list[Path], typer.Argument(help="Folders, files or archives of one survey's light curves.", metavar="PATH...")
    ],
    survey: Annotated[
        str | None, typer.Option(help="A survey's name (`lcdvt surveys`) or its TOML file; default: look at the files.")
    ] = None,
    catalog: Annotated[
        str | None,
        typer.Option(
            help="Labels: CSV, Parquet, FITS or VOTable; default: labels.* or catalogue.* in the folder; or none."
        ),
    ] = None,
    match_radius: Annotated[
        str | None,
        typer.Option(help="Match the catalogue by RA/Dec within this angle, for example 1arcsec, instead of by id."),
    ] = None,
    join_radius: Annotated[
        str | None,
        typer.Option(
            help="Make one star of light curves within this angle of each other, for example 1arcsec (ZTF's oids)."
        ),
    ] = None,
    join_ids: Annotated[
        Path | None,
        typer.Option(help="Make stars of light curves by name: a CSV of the columns id (light curve) and star."),
    ] = None,
    clean: Annotated[
        str | None, typer.Option(help="Cleaning rule: fats, hits or none; default: the survey's own.")
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(help="all, fats, none, or names separated by commas; default: as before, all for a new survey."),
    ] = None,
    jobs: options.Jobs = None,
    dask: options.Dask = None,
    name: Annotated[str | None, typer.Option(help="Name in the workspace; default: the survey's.")] = None,
    data: options.Data = None,
    force: Annotated[
        bool, typer.Option("--force", help="Throw away what was ingested under this name and begin again.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Rebuild the parts that were damaged on disk from the same input.")
    ] = False,
    update: Annotated[
        bool,
        typer.Option("--update", help="Add epochs of new dates to stars that other files gave before (a new release)."),
    ] = False,
    json_file: options.Json = None,
) -> None:
    """Read light curves into clean, typed Parquet; run it again to resume or to add what is new."""
    from lcdvt.ingestion.ingest import ingest as run

    with progress_display("ingest") as progress:
        result = run(
            *paths, survey=survey, catalog=catalog, match_radius=match_radius, join_radius=join_radius,
            join_ids=join_ids, clean=clean, jobs=jobs, dask=dask, name=name, data=data, force=force, repair=repair,
            update=update, features=features.split(",") if features and "," in features else features,
            progress=progress,
        )  # fmt: skip
    print_problems(result.problems, f"see {result.folder / 'ingest.json'}")
    if repair:
        out.print(f"rebuilt: {', '.join(result.repaired)}" if result.repaired else "no part is damaged", markup=False)
    if result.nothing_new:
        out.print(f"{result.name}: nothing to do, every file is ingested already ({result.totals['objects']} objects).")
    _print_summary(result)
    print_incomplete(result.incomplete)
    if json_file:
        write_json(json_file, {**asdict(result), "folder": str(result.folder)})


def _print_summary(result: "IngestResult") -> None:
    from rich.table import Table

    totals, labels = result.totals, result.labels
    table = Table(title=f"{result.name} in {result.folder}", title_justify="left", show_header=False, box=None)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_row("files read", str(totals["files"] - totals["files_skipped"]))
    table.add_row("files skipped", str(totals["files_skipped"]))
    if result.joined:
        for what, count in _joined_rows(result.joined).items():
            table.add_row(what, str(count))
    table.add_row("objects", str(totals["objects"]))
    for reason, count in totals["dropped_objects"].items():
        table.add_row(f"  dropped: {reason}", str(count))
    table.add_row("epochs read", str(totals["epochs_read"]))
    for reason, count in totals["dropped_epochs"].items():
        table.add_row(f"  dropped: {reason}", str(count))
    table.add_row("epochs kept", str(totals["epochs"]))
    if totals["limits"]:
        table.add_row("upper limits kept apart", str(totals["limits"]))
    for reason, count in totals["feature_gaps"].items():
        table.add_row(f"  no features in {reason}", str(count))
    for note, count in totals["notes"].items():
        table.add_row(f"  {note}", str(count))
    labelled = sum(labels["classes"].values())
    table.add_row("objects labelled", str(labelled))
    for label, count in labels["classes"].items():
        note = " (the survey's own name)" if label in labels["unmapped"] else ""
        table.add_row(f"  {label}{note}", str(count))
    out.print(table)
    if result.simulated:
        out.print("simulated: these light curves were made by lcdvt simulate.")
    if labels["catalogue"]:
        matched = f"labels of {labels['labelled_by_catalogue']} objects"
        what = matched if labels["catalogue_has_classes"] else "positions only: it has no class column"
        out.print(f"catalogue: {labels['catalogue']} ({what})", markup=False)
    if labels["no_such_ids"]:
        theirs, ours = labels["no_such_ids"]
        out.print(f"  none of its ids is that of a star here: it has {theirs}, {result.name} has {ours}", markup=False)
    if labels["conflicts"]:
        out.print(f"  {labels['conflicts']} ids have several classes there; the first row counts", markup=False)
    if labels["ambiguous"]:
        out.print(f"  {labels['ambiguous']} stars have rows of several classes within the radius; the nearest counts")
    contradicted = labels["contradicted_stars"] + (result.joined or {}).get("contradicting_labels", 0)
    if contradicted:
        out.print(f"{contradicted} stars have light curves with contradicting labels; none of them counts")
    if result.neighbours:
        out.print(
            f"{result.neighbours} light curves lie within 1 arcsec of another: "
            "--join-radius 1arcsec makes one star of them."
        )


def _joined_rows(joined: dict[str, int]) -> dict[str, int]:
    """Return what the summary says of the joining, without what did not happen."""
    told = {
        "  joined to one star with another": joined["joined_light_curves"],
        "  shifted to the star's longest light curve": joined["offsets"],
        "  pairs kept apart, because their brightness differs": joined["kept_apart"],
        "  without a position to join them by": joined["without_position"],
    }
    return {"light curves": joined["light_curves"]} | {what: count for what, count in told.items() if count}
