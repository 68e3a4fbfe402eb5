"""How a finished run is shown: its table, where it is, and its numbers in a file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lcdvt.cli.console import err, out
from lcdvt.cli.wording import in_options

if TYPE_CHECKING:
    from lcdvt.run import Run

PROBLEMS_SHOWN = 10
"""A screen's worth; the file lists all."""


def print_run(result: "Run", json_file: Path | None = None) -> None:
    """Print a run's table and what to do with the run; write the table's numbers where a file is wanted."""
    from lcdvt.tables.formats import to_rich
    from lcdvt.tables.table import sample_sentence

    for problem in result.problems():
        err.print(f"lcdvt: {problem}", style="yellow")
    table = result.table()
    if table is None:
        out.print("Every label is in use: there is nothing left to score on.")
        if sizes := result.settings().get("sample_sizes"):
            out.print(sample_sentence(sizes, result.target, result.settings()["seed"]))  # type: ignore[arg-type]
    else:
        out.print(to_rich(table))
    if json_file:
        write_json(json_file, run_record(result))
    out.print(f"run: {result.folder}")
    out.print(f"classify new light curves: lcdvt predict {result.name} PATH --out stars.parquet")


def run_record(result: "Run") -> dict[str, Any]:
    """Return a run's numbers by row and class; no rows where nothing could be scored."""
    from lcdvt.tables.record import to_record

    table = result.table()
    return {"run": result.name, "folder": str(result.folder), **(to_record(table) if table else {"rows": []})}


def print_problems(problems: list[str], all_of_them: str = "`lcdvt ingest` lists all in its ingest.json") -> None:
    """Name the first files that could not be read, and say where the others are listed."""
    for problem in problems[:PROBLEMS_SHOWN]:
        err.print(f"skipped: {in_options(problem)}", style="yellow")
    if len(problems) > PROBLEMS_SHOWN:
        err.print(f"… and {len(problems) - PROBLEMS_SHOWN} more: {all_of_them}")


def print_incomplete(incomplete: dict[str, dict[str, str]]) -> None:
    """Name the first stars that are stored without a file that could not be read."""
    if not incomplete:
        return
    out.print(f"incomplete: {len(incomplete)} stars lack a file that could not be read; mend it and ingest again.")
    for object_id, files in list(incomplete.items())[:PROBLEMS_SHOWN]:
        out.print(f"  {object_id}: {'; '.join(in_options(why) for why in files.values())}", markup=False)
    if len(incomplete) > PROBLEMS_SHOWN:
        out.print(f"  … and {len(incomplete) - PROBLEMS_SHOWN} more: the survey's ingest.json lists all")


def write_json(path: Path, record: Any) -> None:
    """Write a result for scripts; an older file of that name is replaced in one piece."""
    from lcdvt.disk.atomic import write_text

    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(path, text)


def split_names(listed: str | None) -> tuple[str, ...] | None:
    """Return the names of a list separated by commas; none where none is given."""
    return tuple(name.strip() for name in listed.split(",")) if listed else None
