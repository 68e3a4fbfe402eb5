"""`lcdvt simulate`: a survey with known truth, in its raw file format."""

from pathlib import Path
from typing import Annotated

import typer

from lcdvt.cli.console import err, out, progress_display


def simulate(
    survey: Annotated[str, typer.Argument(help="eros, macho, hits, ogle, ztf, gaia, ps1 or lsst.")],
    directory: Annotated[Path, typer.Argument(help="A new or empty folder.", show_default=False)],
    objects: Annotated[int, typer.Option("--objects", help="How many stars and quasars.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same survey.")] = 0,
    format: Annotated[
        str | None,
        typer.Option(
            "--format", help="macho: mjd, csv, bulk; hits: dat, pack, psf; others have one.", show_default="first"
        ),
    ] = None,
    years: Annotated[
        int | None, typer.Option("--years", help="lsst only: 1 or 10 years of the survey.", show_default="1")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier simulation in the folder.")] = False,
) -> None:
    """Write a simulated survey with the real one's cadence, noise and file format, and the truth in truth.csv."""
    from lcdvt.simulator.simulate import simulate as run_simulation

    finished = 0
    try:
        with progress_display(f"simulate {survey}", "objects") as show:

            def count(done: int, total: int | None, note: str = "") -> None:
                nonlocal finished
                finished = done
                show(done, total, note)

            written = run_simulation(
                survey,
                directory,
                objects=objects,
                seed=seed,
                format=format,
                years=years,
                force=force,
                progress=count,
            )
    except KeyboardInterrupt:
        err.print(
            f"lcdvt: stopped after at least {finished} of {objects} objects; {directory}/truth.csv lists the complete "
            "ones; run again with --force to begin again.",
            markup=False,
        )
        raise typer.Exit(130) from None
    mix = ", ".join(f"{label} {count}" for label, count in written.classes.items())
    out.print(
        f"{written.directory}: {written.objects} simulated {written.survey} objects as {written.format}, "
        f"seed {written.seed} ({mix}); truth in {written.directory}/truth.csv",
        markup=False,
        highlight=False,
    )
