"""`lcdvt reobserve`: the stars of one survey as another one would have observed them."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli import options
from lcdvt.cli.completion import survey_names
from lcdvt.cli.console import err, out, progress_display
from lcdvt.cli.results import write_json
from lcdvt.cli.wording import EXIT_INTERRUPTED


def reobserve(
    source: Annotated[
        str, typer.Argument(help="An ingested survey, whose stars are written.", autocompletion=survey_names)
    ],
    target: Annotated[
        str, typer.Argument(help="The ingested survey that would have observed them.", autocompletion=survey_names)
    ],
    directory: Annotated[Path, typer.Argument(help="A new or empty folder.", show_default=False)],
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same epochs.")] = 0,
    data: options.Data = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what this verb wrote there before.")] = False,
    json_file: options.Json = None,
) -> None:
    """Write a survey's stars with another survey's dates, bands and noise, to transfer from with few labels or none."""
    from lcdvt.simulator.reobserve import reobserve as write

    try:
        with progress_display(f"reobserve {source}", "objects") as progress:
            written = write(source, target, directory, seed=seed, data=data, force=force, progress=progress)
    except KeyboardInterrupt:
        err.print(f"lcdvt: stopped; {directory} is not complete: run again with --force to begin again.", markup=False)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    mix = ", ".join(f"{label} {count}" for label, count in written.classes.items())
    out.print(
        f"{written.directory}: {written.objects} objects of {source} as {target} would have observed them, "
        f"{written.by_phase} of them folded on their period, seed {seed} (labels: {mix or 'none'})\n"
        f"next: lcdvt ingest {written.light_curves} --survey {written.description}",
        markup=False,
        highlight=False,
    )
    if json_file:
        write_json(json_file, {**asdict(written), "directory": str(written.directory)})
