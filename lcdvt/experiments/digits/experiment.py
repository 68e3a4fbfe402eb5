"""The whole table: which runs, on how many processes, and what is left in the output folder."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from lcdvt.disk.atomic import writable
from lcdvt.dvt.config import TrainingMode
from lcdvt.errors import InputFileError
from lcdvt.experiments.digits.files import NAMES, read_digits
from lcdvt.experiments.digits.pictures import pictures_figure
from lcdvt.experiments.digits.runs import MODES, Circumstances, DigitsResult, complete_run, planned_runs, read_pictures
from lcdvt.figures.style import save_figure
from lcdvt.parallel.executors import Workers, run_batches

ALL = "all"
# The figure is of the network that knows both domains best.
PICTURED: tuple[TrainingMode, ...] = ("multi-task", "transfer", "semi-supervised", "supervised")


def run_digits(
    circumstances: Circumstances,
    *,
    target: str = ALL,
    mode: str = ALL,
    seeds: int = 3,
    jobs: int | None = None,
    on_result: Callable[[DigitsResult], None] = lambda _: None,
) -> list[DigitsResult]:
    """Make, or read back, every run of the table.

    Parameters
    ----------
    circumstances
        Data, settings and the folder that keeps finished runs.
    target, mode
        One of the paper's, or `all`.
    seeds
        How many times.
    jobs
        Runs side by side, each on one core; None takes every core.
    on_result
        Told each result, in the order of the table.
    """
    targets = NAMES if target == ALL else (target,)
    modes = MODES["DVT"] if mode == ALL else (mode,)
    for given, known, option in ((targets, NAMES, "target"), (modes, MODES["DVT"], "mode")):
        if unknown := [name for name in given if name not in known]:
            raise InputFileError(f"{option}={unknown[0]}: choose from {', '.join(known)}, {ALL}.")
    # here, so that a missing file is said before any work is sent to other processes
    for name in NAMES if set(modes) & {"transfer", "multi-task"} else targets:
        read_digits(name, circumstances.data)
    with writable(circumstances.out):
        circumstances.out.mkdir(parents=True, exist_ok=True)
    results = []
    work = partial(complete_run, circumstances=circumstances)
    for result in run_batches(work, planned_runs(targets, modes, seeds), Workers(jobs)):
        on_result(result)
        results.append(result)
    return results


def save_pictures(results: Sequence[DigitsResult], circumstances: Circumstances) -> list[Path]:
    """Draw, for each target, what the first seed's network reconstructs and generates; return the files."""
    files = []
    for target in dict.fromkeys(result.run.target for result in results):
        runs = {result.run.mode: result.run for result in reversed(results) if _is_pictured(result, target)}
        run = next(runs[mode] for mode in PICTURED if mode in runs)
        title = f"DVT, {run.mode}, target {target}, augmentation {circumstances.augment}, seed {run.seed}"
        figure = pictures_figure(read_pictures(run, circumstances), title)
        files += save_figure(figure, circumstances.out / f"{target}-{circumstances.augment}")
    return files


def _is_pictured(result: DigitsResult, target: str) -> bool:
    return result.run.target == target and result.run.model == "DVT"
