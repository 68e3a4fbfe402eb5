"""Write the tables of docs/method.md that `benchmarks/quality.py` measured, from the draws in docs/quality.json.

python benchmarks/quality.py --json docs/quality.json
python docs/make_quality.py
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
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
DEFAULT = "default"
RIVALS = (
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


def mean_f1(rows: Draws, row: str) -> float:
    """Return a row's macro F1."""
    return float(np.mean(rows[row]["macro"]))


def best_of(rows: Draws, names: Sequence[str]) -> str:
    """Return which of some rows has the highest macro F1; those that were not run have none."""
    return max((name for name in names if name in rows), key=lambda name: mean_f1(rows, name))


def margin(rows: Draws) -> float:
    """Return how far the default is above the best rival."""
    return mean_f1(rows, DEFAULT) - mean_f1(rows, best_of(rows, RIVALS))


def signed(value: float, digits: int = 1) -> str:
    """Return a number with its sign, as it is typeset."""
    return f"{value:+.{digits}f}".replace("-", "−")


def table(columns: Mapping[str, Draws], unseen: Mapping[str, Draws] | None) -> str:
    """Return one table: the best row of each column that is no upper bound in bold."""
    lines = [f"| row | {' | '.join(heading(cell) for cell in columns)} |", "|---" * (len(columns) + 1) + "|"]

    def add(name: str, value: Callable[[str], str]) -> None:
        lines.append(f"| {name} | {' | '.join(value(cell) for cell in columns)} |")

    def f1(row: str, cell: str) -> str:
        rows = columns[cell]
        if row not in rows:
            return "–"
        text = f"{mean_f1(rows, row):.1f} ± {np.std(rows[row]['macro']):.1f}"
        return f"**{text}**" if row == best_of(rows, (DEFAULT, *RIVALS)) else text

    def calibration_error(row: str, cell: str) -> str:
        return f"{np.mean(columns[cell][row]['calibration_error']):.3f}"

    for row in (*UPPER_BOUNDS, DEFAULT, *RIVALS):
        add(row, partial(f1, row))
    for row in (DEFAULT, "boosting-both"):
        add(f"calibration error of {row}", partial(calibration_error, row))
    add("default minus the best row without DVT", lambda cell: signed(margin(columns[cell])))
    if unseen is not None:
        add("the same on stars never used in development", lambda cell: signed(margin(unseen[cell])))
    return "\n".join(lines)


def summary(scores: Mapping[str, Mapping[str, Draws]]) -> str:
    """Return the sentence on the margins of all tables."""

    def over(part: str, cells: Sequence[str]) -> str:
        margins = [margin(scores[part][cell]) for cell in cells]
        return f"{np.mean(margins):.2f} ({signed(min(margins), 2)} to {signed(max(margins), 2)})"

    cells, confirmed = [*TABLES["pairs"][1], *TABLES["many-bands"][1]], TABLES["confirmed"][1]
    return (
        f"Over the {len(cells)} tables the default is {over('all', cells)} points above the best row without DVT,\n"
        "which is chosen in each table afterwards; on the half of the stars by which nothing was chosen\n"
        f"{over('unseen', cells)}; on confirmed stars of EROS-1 "
        f"({len(confirmed)} tables) {over('confirmed', confirmed)}."
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
        before, found, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise SystemExit(f"{PAGE} has no place for {name!r}: write {begin} and {end} where it belongs.")
        page = f"{before}{begin}\n{text}\n{end}{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), parts(read_scores())), encoding="utf-8")
