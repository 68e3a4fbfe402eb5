"""A run made again with the answers that people gave since: the same surveys, labels and model, their labels on top.

One draw and no rivals, unless more is asked for: somebody is waiting for the next stars to look at. The page of
`lcdvt label` starts this module as a process of its own, which tells how far it is in lines of JSON:

    python -m lcdvt.protocol.retrain RUN --data DIR --name NEXT
"""

import argparse
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from lcdvt.dataset.sampling import TRAINING_STARS
from lcdvt.dvt.config import choose_preset
from lcdvt.errors import LcdvtError, SettingsError
from lcdvt.parallel.executors import IN_THIS_PROCESS
from lcdvt.parallel.progress import Progress, silent
from lcdvt.protocol.carry_out import RunPlace, carry_out
from lcdvt.protocol.plan import TransferOptions
from lcdvt.protocol.transfer import plan_transfer
from lcdvt.results.folder import CONFIG_FILE, find_run, list_runs, read_config, read_metrics, workspace_of_run
from lcdvt.run import Run
from lcdvt.workspace.answers import answers_path

PREVIOUS: Final = "previous"
"""In `metrics.json`: the run that was made again."""
_ROUND: Final = re.compile(r"(?P<base>.+)-round-(?P<number>[0-9]+)")


def retrain(
    run: str | Path,
    labels_from: str | Path | None = None,
    *,
    name: str | None = None,
    repeats: int = 1,
    rows: tuple[str, ...] | None = (),
    data: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Run:
    """Make a transfer again with people's answers among its labels.

    Parameters
    ----------
    run
        The transfer's name, or its folder.
    labels_from
        The file of answers; None takes the workspace's own about the run's target.
    name
        The new run's name; None takes RUN-round-1, RUN-round-2, ….
    repeats, rows
        Draws of labels, and rivals in the table.
    data, force
        The workspace, and whether to overwrite a run of that name.
    progress
        Told how far it is: draws done, and the step of training.
    """
    folder = find_run(run, data)
    data = workspace_of_run(folder, data)
    about, _ = read_config(folder)
    made = read_metrics(folder)
    if made.get("verb") != "transfer" or len(about.surveys) < 2:
        raise SettingsError(f"the run {folder.name} is no transfer: only a transfer is made again with answers.")
    *sources, target = about.surveys
    config = choose_preset(folder / CONFIG_FILE)
    options = TransferOptions(
        mode=config.training.mode,
        preset=config,
        classes=about.classes,
        members=len(about.seeds),
        repeats=repeats,
        seed=int(made["seed"]),
        rows=rows,
        scaling=made["scaling"],
        source_labels=str(made["source_labels"]),
        training_stars=int(made.get("training_stars", TRAINING_STARS)),
        labels_from=Path(labels_from) if labels_from is not None else answers_path(target, data),
    )
    place = RunPlace(name or next_name(folder.absolute().name, data), data, force)
    plan = plan_transfer(sources, target, str(made["labels"]), options, place)
    plan = replace(plan, settings={**plan.settings, "preset": made["preset"], PREVIOUS: folder.absolute().name})
    return carry_out(plan, place, IN_THIS_PROCESS, progress)


def next_name(run: str, data: str | Path | None) -> str:
    """Return the name of the next round: A-round-1 after A, A-round-3 after A-round-2; taken names are passed over."""
    found = _ROUND.fullmatch(run)
    base, number = (found["base"], int(found["number"])) if found else (run, 0)
    taken = set(list_runs(data))
    while (name := f"{base}-round-{number + 1}") in taken:
        number += 1
    return name


def main() -> None:
    """Make a run again and write progress, then the new run's name or what went wrong, as lines of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--labels-from", type=Path)
    parser.add_argument("--name")
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()

    def tell(**what: Any) -> None:
        print(json.dumps(what), flush=True)

    def report(done: int, total: int | None, note: str = "") -> None:
        tell(done=done, total=total, note=note)

    try:
        made = retrain(given.run, given.labels_from, name=given.name, data=given.data, force=True, progress=report)
    except LcdvtError as error:
        tell(error=str(error))
        sys.exit(2)
    tell(run=made.name)


if __name__ == "__main__":
    main()
