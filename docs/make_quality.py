"""Write the tables of docs/method.md that `benchmarks/quality.py` measured, from the scores of each draw in docs/quality.json.

python benchmarks/quality.py --json docs/quality.json
python docs/make_quality.py
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parent
PAGE, SCORES = DOCS / "method.md", DOCS / "quality.json"
TABLES = {
    "confirmed": ("confirmed", ("catalina→eros1@1%", "catalina→eros1@5%", "asas→eros1@1%", "asas→eros1@5%")),
    "pairs": (
        "all",
        (
            "catalina→eros1@1%",
            "catalina→eros1@5%",
            "eros1→catalina@1%",
            "eros1→catalina@5%",
            "asas→eros1@1%",
            "asas→eros1@5%",
        ),
    ),
    "many-bands": (
        "all",
        (
            "catalina+catalina_agn+sdss_s82→ps1_s82@5%",
            "catalina+catalina_agn+sdss_s82→ps1_s82@10%",
            "sdss_s82→ps1_s82@5%",
            "sdss_s82→ps1_s82@10%",
        ),
    ),
}
"""Each table of the page: on which stars it is scored, and its columns."""
SURVEYS = {
    "catalina+catalina_agn+sdss_s82": "three sources",
    "catalina": "Catalina",
    "eros1": "EROS-1",
    "asas": "ASAS",
    "sdss_s82": "SDSS",
    "ps1_s82": "Pan-STARRS1",
}
UPPER_BOUNDS = ("forest-upper-bound", "dvt-upper-bound")
DEFAULT, TOP = "default", "dvt-top"
ROWS = (
    *UPPER_BOUNDS,
    DEFAULT,
    "boosting-self-trained-replicates",
    "boosting-self-trained",
    "boosting-both",
    "forest-both",
    "forest-source",
    "forest-target",
    "coral-forest",
    "svm-target",
    "label-spreading",
    "gmm-transfer",
)
Draws = Mapping[str, Mapping[str, Sequence[float]]]
"""Row → macro or calibration_error → one number for each draw."""


def heading(cell: str) -> str:
    """Return what a column is called."""
    pair, share = cell.split("@")
    source, target = pair.split("→")
    return f"{SURVEYS[source]} → {SURVEYS[target]} {share[:-1]} %"


def rivals(rows: Draws) -> dict[str, float]:
    """Return the mean of each row that is neither DVT's nor an upper bound."""
    return {
        row: float(np.mean(found["macro"])) for row, found in rows.items() if row in ROWS[len(UPPER_BOUNDS) + 1 :]
    }


def margin(rows: Draws) -> float:
    """Return how far the default is above the best rival."""
    return float(np.mean(rows[DEFAULT]["macro"])) - max(rivals(rows).values())


def spread(values: Sequence[float]) -> str:
    """Return mean and standard deviation."""
    return f"{np.mean(values):.1f} ± {np.std(values):.1f}"


def table(columns: Mapping[str, Draws], unseen: Mapping[str, Draws] | None) -> str:
    """Return one table: the best row of each column that is no upper bound in bold."""
    lines = [f"| row | {' | '.join(heading(cell) for cell in columns)} |", "|---" * (len(columns) + 1) + "|"]
    best = {
        cell: max((row for row in rows if row in ROWS and row not in UPPER_BOUNDS), key=lambda r: np.mean(rows[r]["macro"]))
        for cell, rows in columns.items()
    }
    for row in ROWS:
        cells = []
        for cell, rows in columns.items():
            text = spread(rows[row]["macro"]) if row in rows else "–"
            cells.append(f"**{text}**" if row == best[cell] else text)
        lines.append(f"| {row} | {' | '.join(cells)} |")

    def further(name: str, value: Callable[[str], str]) -> None:
        lines.append(f"| {name} | {' | '.join(value(cell) for cell in columns)} |")

    for row in (DEFAULT, "boosting-both"):
        further(f"calibration error of {row}", lambda c, row=row: f"{np.mean(columns[c][row]['calibration_error']):.3f}")
    further("default minus the best row without DVT", lambda c: f"{margin(columns[c]):+.1f}")
    if unseen is not None:
        further("the same on stars never used in development", lambda c: f"{margin(unseen[c]):+.1f}")
    return "\n".join(lines)


def summary(scores: Mapping[str, Mapping[str, Draws]]) -> str:
    """Return the sentence on the margins of all tables."""
    cells = [*TABLES["pairs"][1], *TABLES["many-bands"][1]]
    every = [margin(scores["all"][cell]) for cell in cells]
    unseen = [margin(scores["unseen"][cell]) for cell in cells]
    confirmed = [margin(scores["confirmed"][cell]) for cell in TABLES["confirmed"][1]]
    return (
        f"Over the {len(cells)} tables the default is {np.mean(every):.2f} points above the best row without DVT, chosen in each table "
        f"afterwards ({min(every):+.2f} to {max(every):+.2f}); on the half of the stars by which nothing was chosen "
        f"{np.mean(unseen):.2f} ({min(unseen):+.2f} to {max(unseen):+.2f}); on confirmed stars of EROS-1, in four tables, "
        f"{np.mean(confirmed):.2f} ({min(confirmed):+.2f} to {max(confirmed):+.2f})."
    )


def parts(scores: Mapping[str, Mapping[str, Draws]]) -> dict[str, str]:
    """Return what stands between the marks of the page, by their name."""
    found = {"margins": summary(scores)}
    for name, (part, cells) in TABLES.items():
        unseen = None if part == "confirmed" else scores["unseen"]
        found[name] = table({cell: scores[part][cell] for cell in cells}, unseen)
    return found


def read_scores(file: Path = SCORES) -> dict[str, dict[str, Draws]]:
    """Read the JSON of the benchmark: part of the stars → cell → row."""
    read = json.loads(file.read_text(encoding="utf-8"))
    other = {"unseen_half", "confirmed", "other_auroc"}
    cells = {cell: rows for cell, rows in read.items() if cell not in other}
    return {"all": cells, "unseen": read["unseen_half"], "confirmed": read["confirmed"]}


def filled(page: str, made: Mapping[str, str]) -> str:
    """Return the page with new text between its marks."""
    for name, text in made.items():
        begin, end = f"<!-- quality: {name} -->", f"<!-- end: {name} -->"
        page, count = re.subn(
            f"{re.escape(begin)}.*?{re.escape(end)}", lambda _, t=f"{begin}\n{text}\n{end}": t, page, flags=re.DOTALL
        )
        if count != 1:
            raise SystemExit(f"{PAGE} has {count} places for the table {name!r}; give it one, between {begin} and {end}.")
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), parts(read_scores())), encoding="utf-8")
