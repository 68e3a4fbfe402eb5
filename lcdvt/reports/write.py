"""The verb behind `lcdvt report`: runs to one HTML file."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lcdvt import __version__
from lcdvt.disk.atomic import write_text
from lcdvt.errors import SettingsError, WorkspaceError, whole_number
from lcdvt.parallel.progress import Progress, silent
from lcdvt.reports import scores
from lcdvt.reports.gallery import PER_CLASS, gallery
from lcdvt.reports.label_curves import label_fractions
from lcdvt.reports.material import RunMaterial, read_material
from lcdvt.reports.page import Part, facts, missing, page, paragraph, scrolling, section, text_block
from lcdvt.reports.predictions import read_predictions
from lcdvt.reports.stars import latent_space, period_amplitude
from lcdvt.results.latent import MOST_STARS
from lcdvt.tables.escapes import html
from lcdvt.tables.record import to_record

SUFFIXES: Final = (".html", ".htm")
METHOD: Final = "Belhaj, Protopapas & Pan 2018, Deep Variational Transfer, arXiv:1812.03123"
FEATURES: Final = "Nun et al. 2015, FATS: Feature Analysis for Time Series, arXiv:1506.00010"


@dataclass(frozen=True)
class ReportResult:
    """Where the report is, and the numbers of its tables.

    Parameters
    ----------
    path
        The HTML file.
    runs
        Names of the runs in it.
    simulated
        Whether any number in it is from simulated surveys.
    tables
        Each run's table by row and class; none where nothing was scored.
    """

    path: Path
    runs: tuple[str, ...]
    simulated: bool
    tables: dict[str, Any]


def report(
    runs: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    data: str | Path | None = None,
    seed: int = 0,
    force: bool = False,
    progress: Progress = silent,
) -> ReportResult:
    """Write what runs found into one HTML file that needs nothing else: tables, maps, light curves, settings.

    Parameters
    ----------
    runs
        One or more runs: names in the workspace, or folders.
    out
        The file to write; RUN.html, or report.html for several runs, by default.
    data
        The workspace.
    seed
        The random seed of the samples that scatter plots show.
    force
        Whether to overwrite `out`.
    progress
        Called with the number of runs done.
    """
    if whole_number("seed", seed) < 0:
        raise SettingsError(f"seed={seed}: give 0 or more.")
    named = [runs] if isinstance(runs, str | os.PathLike) else list(runs)
    if not named:
        raise WorkspaceError("no run was given: name at least one; `lcdvt runs` lists them.")
    path = Path(out) if out is not None else Path(f"{Path(named[0]).name}.html" if len(named) == 1 else "report.html")
    if path.suffix.lower() not in SUFFIXES:
        raise WorkspaceError(f"{path}: write to a file ending in {' or '.join(SUFFIXES)}.")
    if path.exists() and not force:
        raise WorkspaceError(f"{path} exists: use force=True to overwrite it.")
    materials = [read_material(run, data) for run in named]
    parts = []
    if len(materials) > 1:
        parts.append(Part("labels", "F1 against the share of labels", label_fractions(materials, "l")))
    progress(0, len(materials))
    for number, run in enumerate(materials, 1):
        parts.append(Part(f"run-{number}", _run_title(run), _run_part(run, f"r{number}-", seed)))
        progress(number, len(materials))
    parts.append(Part("citations", "What to cite", _citations(materials)))
    title = " · ".join(dict.fromkeys(run.title for run in materials))
    text = page(f"lcdvt report: {title}", _introduction(materials), parts)
    write_text(path, text)
    return ReportResult(
        path=path,
        runs=tuple(run.name for run in materials),
        simulated=any(run.simulated for run in materials),
        tables={run.name: to_record(run.table) if run.table else None for run in materials},
    )


def _run_title(run: RunMaterial) -> str:
    return f"{run.name} (simulated)" if run.simulated else run.name


def _run_part(run: RunMaterial, prefix: str, seed: int) -> str:
    predicted = None
    if run.predictions is not None:
        predicted = read_predictions(
            run.predictions, run.classes, most_stars=MOST_STARS, per_class=PER_CLASS, seed=seed
        )
    return "\n".join(
        [
            scores.headline(run),
            section("Results", scores.result_table(run)),
            section("Who is taken for whom", scores.confusion(run)),
            section("Can the probabilities be trusted?", scores.calibration(run, f"{prefix}c-")),
            section("Latent space", latent_space(run, f"{prefix}z-", seed=seed)),
            section("Periods and amplitudes", period_amplitude(run, predicted, f"{prefix}p-", seed=seed)),
            section("Light curves", gallery(run, predicted, f"{prefix}g")),
            section("How it was made", _provenance(run)),
        ]
    )


def _introduction(runs: Sequence[RunMaterial]) -> str:
    rows = []
    for run in runs:
        ours, rival = scores.row_of(run, scores.DVT_ENSEMBLE), scores.best_rival(run)
        cells = [
            run.name,
            run.title,
            str(run.saved.metrics.get("labels", "–")),
            scores.percent(scores.spread(ours.column())) if ours else "–",
            f"{scores.percent(scores.spread(rival.column()))} {scores.row_name(rival)}" if rival else "–",
            "simulated" if run.simulated else "observed",
        ]
        rows.append(f"<tr>{''.join(f'<td>{html(cell)}</td>' for cell in cells)}</tr>")
    head = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("Run", "Surveys", "Labels", "DVT ensemble, macro F1 (%)", "Best rival, macro F1 (%)", "Data")
    )
    table = f'<table class="glance"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    note = ""
    if any(run.simulated for run in runs):
        note = '<p class="warning">Runs marked <strong class="simulated">simulated</strong> rest on light curves that '
        note += "lcdvt made itself. Their numbers say nothing about real stars.</p>"
    return note + scrolling(table, "The runs at a glance")


def _provenance(run: RunMaterial) -> str:
    description = run.saved.description
    settings = [
        (name.replace("_", " "), str(value))
        for name, value in run.saved.metrics.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    ]
    rows = [
        ("surveys", run.title),
        ("data", "simulated" if run.simulated else "observed"),
        ("classes", ", ".join(run.classes)),
        *settings,
        ("training", f"{run.saved.config.training.mode}, {run.saved.config.training.steps} steps"),
        ("features", f"{len(run.saved.scaler.features)}, scaled by {run.saved.scaler.method}"),
        ("seeds of the draws", ", ".join(map(str, run.table.circumstances.seeds)) if run.table else "–"),
        ("seeds of the members (first draw)", ", ".join(map(str, description.seeds))),
        ("report", f"lcdvt {__version__}"),
    ]
    problems = "".join(missing(problem) for draw in run.draws for problem in draw.problems)
    return problems + facts(rows) + text_block(run.config_text, f"config.toml of {run.name}")


def _citations(runs: Sequence[RunMaterial]) -> str:
    names = dict.fromkeys(name for run in runs for name in run.saved.description.surveys)
    known = {name: text for run in runs for name, text in run.citations.items() if text}
    rows = [(name, known.get(name, "no citation is known: the survey is not in the workspace")) for name in names]
    return paragraph("Please cite the surveys, the method and the features.") + facts(
        [*rows, ("method", METHOD), ("features", FEATURES)]
    )
