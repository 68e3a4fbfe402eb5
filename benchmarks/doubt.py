"""How well `lcdvt doubt` finds wrong labels: EROS-1, labelled by eye, against OGLE-III.

    python benchmarks/doubt.py --data DIR --json doubt.json

DIR holds one folder per survey with `lightcurves.csv.gz` and `labels.csv` (LCDVT_REAL_DATA/surveys by default). Both
surveys are ingested into `--workspace` once. `ogle_truth.py` says which labels OGLE contradicts and which it confirms.

auroc_transfer      contradicted against confirmed labels, judged by Catalina's stars with no label of EROS-1
auroc_within        the same, judged by EROS-1's own stars in cross-validation
precision_at_100    of the 100 most doubtful labels, as `lcdvt doubt eros1` ranks them, the share that OGLE contradicts.
                    EB without an OGLE match are left out; other stars without one stay, and count as not contradicted

The forest's leaves and the score were chosen on stars whose id has an even CRC-32; `--half even` scores these alone,
and the 50 most doubtful instead of 100.
"""

import argparse
import json
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from ogle_truth import ASSUMED, CONFIRMED, CONTRADICTED, ogle_verdicts
from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_auc_score

from lcdvt.doubts.doubt import doubt
from lcdvt.ingestion.ingest import ingest

SURVEY, SOURCE = "eros1", "catalina"
MOST_DOUBTFUL = 100
RANKINGS: dict[str, dict[str, Any]] = {
    "transfer": {"source": SOURCE, "way": "transfer"},
    "within": {},
    "both": {"source": SOURCE},
}


def score_ranking(
    object_ids: np.ndarray, score: np.ndarray, verdicts: np.ndarray, most_doubtful: int = MOST_DOUBTFUL
) -> dict[str, float]:
    """Return the area under the ROC curve, and the share of contradicted labels among the most doubtful.

    Parameters
    ----------
    object_ids, score
        The stars, and their doubt: higher is more doubtful. Ids decide between equal scores.
    verdicts
        What OGLE says of their labels.
    most_doubtful
        How many count as most doubtful.
    """
    decided = np.isin(verdicts.astype(str), (CONFIRMED, CONTRADICTED))
    best_first = np.lexsort((object_ids.astype(str), -score))
    ranked = verdicts[best_first]
    top = ranked[ranked != ASSUMED][:most_doubtful]
    top_decided = verdicts[best_first][decided[best_first]][:most_doubtful]
    return {
        "auroc": float(roc_auc_score(verdicts[decided] == CONTRADICTED, score[decided])),
        "precision": float(np.mean(top == CONTRADICTED)),
        "precision_decided": float(np.mean(top_decided == CONTRADICTED)),
    }


def is_even(object_id: str) -> bool:
    """Whether a star belongs to the half by which settings were chosen."""
    return zlib.crc32(object_id.encode()) % 2 == 0


def main() -> None:
    """Ingest what is missing, rank, compare with OGLE."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    real_data = os.environ.get("LCDVT_REAL_DATA")
    parser.add_argument("--data", type=Path, default=Path(real_data) / "surveys" if real_data else None)
    parser.add_argument("--workspace", type=Path, default=Path("lcdvt-quality/all"))
    parser.add_argument("--half", choices=("all", "even", "odd"), default="all", help="which stars are scored")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("give --data DIR (one folder per survey), or set LCDVT_REAL_DATA.")
    for name in (SURVEY, SOURCE):
        folder = arguments.data / name
        ingest(
            folder / "lightcurves.csv.gz", survey=f"{name}-csv", name=name, catalog=folder / "labels.csv",
            data=arguments.workspace,
        )  # fmt: skip
    most_doubtful = MOST_DOUBTFUL if arguments.half == "all" else MOST_DOUBTFUL // 2
    table = Table(title=f"{SURVEY}: labels that OGLE-III contradicts, {arguments.half} stars, seed {arguments.seed}")
    for heading in ("judged by", "contradicted", "confirmed", "AUROC", f"of the first {most_doubtful}", "of decided"):
        table.add_column(heading, justify="left" if heading == "judged by" else "right")
    found = {}
    for name, options in RANKINGS.items():
        stars = doubt(SURVEY, None, seed=arguments.seed, data=arguments.workspace, **options).stars
        if arguments.half != "all":
            stars = stars[stars["object_id"].map(is_even) == (arguments.half == "even")]
        object_ids = stars["object_id"].to_numpy(dtype=object)
        verdicts = ogle_verdicts(arguments.data / SURVEY / "labels.csv", object_ids)
        found[name] = score_ranking(object_ids, stars["score"].to_numpy(), verdicts, most_doubtful)
        counts = (str((verdicts == each).sum()) for each in (CONTRADICTED, CONFIRMED))
        shares = (f"{found[name][key]:.2f}" for key in ("precision", "precision_decided"))
        table.add_row(name, *counts, f"{found[name]['auroc']:.3f}", *shares)
    Console().print(table)
    record = {
        SURVEY: {
            "auroc_transfer": found["transfer"]["auroc"],
            "auroc_within": found["within"]["auroc"],
            "precision_at_100": found["within"]["precision"],
        }
    }
    print(json.dumps(record))
    if arguments.json:
        arguments.json.write_text(json.dumps(record, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
