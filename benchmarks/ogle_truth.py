"""Which labels of EROS-1 OGLE-III confirms: the rule, once, for every benchmark that scores EROS-1.

EROS-1's labels were given by eye. Where the OGLE-III catalogue of variable stars has the same star, `ogle3_type` in
the survey's `labels.csv` is a second opinion from far better light curves. It is read here, by benchmarks only:
`lcdvt ingest` takes the column `label`, so that no model ever sees it.
"""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

CLASS_OF_OGLE_TYPE = {"RRLyr": "RRLYR", "Cep": "CEP", "T2Cep": "CEP", "aCep": "CEP", "LPV": "LPV"}
"""OGLE-III's eclipsing binaries are not among the matches; DPV and DSCT are none of our classes and decide nothing."""
CONFIRMED, CONTRADICTED, UNDECIDED, ASSUMED = "confirmed", "contradicted", "undecided", "assumed"


def ogle_verdicts(labels_file: Path, object_ids: NDArray[np.object_]) -> NDArray[np.object_]:
    """Return what OGLE-III says of each star's label.

    `confirmed`: OGLE's type is the label's class. `contradicted`: it is another one of our classes. `assumed`: an EB
    without a match, which is all that an EB can be, because no OGLE-III binaries were matched; scores of classifiers
    count it as confirmed, scores of doubt leave it out. `undecided`: everything else.

    Parameters
    ----------
    labels_file
        EROS-1's `labels.csv` with the columns id, label and ogle3_type.
    object_ids
        The stars.
    """
    rows = _labels_and_types(labels_file)
    return np.array([_verdict(*rows[each]) for each in object_ids], dtype=object)


def ogle_classes(labels_file: Path) -> dict[str, str]:
    """Return the class of each star whose OGLE-III type is one of our classes."""
    types = {star: ogle_type for star, (_, ogle_type) in _labels_and_types(labels_file).items()}
    return {star: CLASS_OF_OGLE_TYPE[each] for star, each in types.items() if each in CLASS_OF_OGLE_TYPE}


def _labels_and_types(labels_file: Path) -> dict[str, tuple[str, str]]:
    with labels_file.open(encoding="utf-8", newline="") as file:
        return {row["id"]: (row["label"], row["ogle3_type"]) for row in csv.DictReader(file)}


def is_confirmed(verdicts: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Return which stars' labels may be taken for the truth when a classifier is scored."""
    return np.isin(verdicts.astype(str), (CONFIRMED, ASSUMED))


def _verdict(label: str, ogle_type: str) -> str:
    if ogle_type in CLASS_OF_OGLE_TYPE:
        return CONFIRMED if CLASS_OF_OGLE_TYPE[ogle_type] == label else CONTRADICTED
    return ASSUMED if label == "EB" and not ogle_type else UNDECIDED
