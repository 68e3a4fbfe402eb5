"""How the labelling goes: a run and the runs it was made from, their F1 on the same stars, and who agrees with whom."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from lcdvt.errors import LcdvtError
from lcdvt.evaluate import macro_f1
from lcdvt.names import IN_DRAW, LABEL, OBJECT_ID, PREDICTED
from lcdvt.results.folder import PREDICTIONS_FILE, find_run, read_config, read_metrics
from lcdvt.workspace.answers import AnswerLog
from lcdvt.workspace.folder import read_part

MOST_ROUNDS: Final = 100
"""A chain of runs that does not end was written by hand."""
FEWEST_SCORED: Final = 10
"""On fewer stars F1 is a matter of luck."""


def rounds(folder: Path, data: Path | None) -> list[dict[str, Any]]:
    """Return the run and those it was made from, the first one first: name, labels, answers, and F1.

    Macro F1 is taken on the same stars for all of them: those with a label in the workspace that none of the runs has
    learned from. It is none where there are no such stars.
    """
    chain = _chain(folder, data)
    columns = [OBJECT_ID, LABEL, IN_DRAW, PREDICTED]
    tables = [read_part(each / PREDICTIONS_FILE, columns).to_pandas().set_index(OBJECT_ID) for each in chain]
    held_back = pd.concat(
        [table[table[LABEL].notna() & ~table[IN_DRAW]][LABEL] for table in tables], axis=1, join="inner"
    )
    classes = read_config(folder)[0].classes
    known = held_back[held_back.isin(classes).all(axis=1)].index
    found = []
    for each, table in zip(chain, tables, strict=True):
        metrics = read_metrics(each)
        answers = (metrics.get("labels_from") or {}).get("used", {})
        f1 = None
        if len(known) >= FEWEST_SCORED:
            numbers = [
                pd.Categorical(table.loc[known, name], categories=list(classes)).codes for name in (LABEL, PREDICTED)
            ]
            f1 = round(100 * macro_f1(np.asarray(numbers[0]), np.asarray(numbers[1]), len(classes)), 1)
        found.append(
            {
                "run": each.absolute().name,
                "labels": int(table[IN_DRAW].sum()),
                "answers": int(sum(answers.values())),
                "f1": f1,
                "scored": len(known),
            }
        )
    return found


def agreement(log: AnswerLog) -> list[dict[str, Any]]:
    """Return, answer by answer, whether people named the class that the model had predicted."""
    return [
        {"star": answer.star, "label": answer.label, "predicted": answer.model[PREDICTED], "run": answer.run}
        for answer in log.standing()
        if answer.label is not None and answer.model.get(PREDICTED)
    ]


def _chain(folder: Path, data: Path | None) -> list[Path]:
    chain = [folder]
    while len(chain) < MOST_ROUNDS:
        previous = read_metrics(chain[0]).get("previous")
        if not previous or any(each.absolute().name == previous for each in chain):
            break
        try:
            chain.insert(0, find_run(str(previous), data))
        except LcdvtError:  # deleted since
            break
    return chain
