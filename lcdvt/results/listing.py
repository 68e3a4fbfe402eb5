"""The verb `runs`: what was trained, as a table."""

from pathlib import Path

import pandas as pd

from lcdvt.results.folder import describe_runs, unfinished_runs


def runs(data: str | Path | None = None) -> pd.DataFrame:
    """Return every run of the workspace: surveys, classes, labels, members, draws, seed and macro F1 (percent).

    A run that was interrupted is listed with `finished` False: the call that began it goes on with it.

    Parameters
    ----------
    data
        The workspace; None takes LCDVT_DATA or ./lcdvt-data.
    """
    columns = "surveys classes labels members draws seed macro_f1 deviation finished".split()
    rows: dict[str, tuple[object, ...]] = {}
    for run in describe_runs(data):
        mean, deviation = run.macro_f1 or (None, None)
        rows[run.name] = (
            run.title, " ".join(run.classes), run.labels, run.members, run.draws, run.seed,
            None if mean is None else 100 * mean, None if deviation is None else 100 * deviation, True,
        )  # fmt: skip
    for name, draws in unfinished_runs(data).items():
        rows.setdefault(name, ("", "", "", None, draws, "", None, None, False))
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("run")
