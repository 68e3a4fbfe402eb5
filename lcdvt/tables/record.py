"""A table's numbers by row, class and draw as JSON, and back."""

import json
from collections.abc import Mapping
from typing import Any, Final

from lcdvt.errors import LcdvtError
from lcdvt.evaluate import RowScores, Score, Spread
from lcdvt.tables.table import Circumstances, ResultTable, TableRow, build_table

VERSION: Final = 1
"""Raised when the record's form changes, so that an old lcdvt refuses it."""


def to_json(table: ResultTable) -> str:
    """Return the table as JSON text; F1 and calibration error are shares of one, not percent."""
    return json.dumps(to_record(table), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_record(table: ResultTable) -> dict[str, Any]:
    """Return what `to_json` writes, as dictionaries and lists."""
    circumstances = table.circumstances
    by_name = {row.name: row for row in table.rows if not row.is_published}
    return {
        "version": VERSION,
        "title": table.title,
        "simulated": circumstances.simulated,
        "folds": circumstances.folds,
        "left_out": list(circumstances.left_out),
        "answers": dict(circumstances.answers),
        "sample_sizes": {name: list(sizes) for name, sizes in circumstances.sample_sizes.items()},
        "doubted": list(circumstances.doubted),
        "sources": list(circumstances.sources),
        "target": circumstances.target,
        "classes": list(circumstances.classes),
        "seeds": list(circumstances.seeds),
        "members": circumstances.members,
        "labels_per_class": [dict(draw) for draw in circumstances.labels_per_class],
        "class_mix": dict(circumstances.class_mix),
        "rows": [
            {
                "name": row.name,
                "training": row.training,
                "model": row.model,
                "is_upper_bound": row.is_upper_bound,
                **_numbers(by_name[row.name], table.columns),
                "draws": [
                    {"f1": dict(draw.f1), "macro_f1": draw.macro_f1, "calibration_error": draw.calibration_error}
                    for draw in row.draws
                ],
            }
            for row in table.scores
        ],
        "published": [
            {
                "data": row.data,
                "training": row.training,
                "model": row.model,
                "is_upper_bound": row.is_upper_bound,
                **_numbers(row, table.columns),
            }
            for row in table.rows
            if row.is_published
        ],
        "notes": list(table.notes),
    }


def from_json(text: str, where: str) -> ResultTable:
    """Read what `to_json` wrote.

    Parameters
    ----------
    text
        The JSON.
    where
        File name, for messages.
    """
    try:
        return from_record(json.loads(text), where)
    except ValueError as error:
        raise LcdvtError(f"{where} is not a table that lcdvt wrote ({error}): make it again.") from error


def from_record(record: Mapping[str, Any], where: str) -> ResultTable:
    """Read what `to_record` returned; `where` names its file in messages."""
    try:
        if record["version"] != VERSION:
            raise LcdvtError(f"{where} is of version {record['version']}, this lcdvt reads {VERSION}; update lcdvt.")
        scores = [
            RowScores(
                row["name"],
                row["training"],
                row["model"],
                row["is_upper_bound"],
                tuple(Score(draw["f1"], draw["macro_f1"], draw["calibration_error"]) for draw in row["draws"]),
            )
            for row in record["rows"]
        ]
        circumstances = Circumstances(
            sources=tuple(record["sources"]),
            target=record["target"],
            classes=tuple(record["classes"]),
            labels_per_class=tuple(record["labels_per_class"]),
            class_mix=record["class_mix"],
            seeds=tuple(record["seeds"]),
            members=record["members"],
            simulated=record["simulated"],
            # the first tables of version 1 do not say, and had none
            folds=record.get("folds", False),
            left_out=tuple(record.get("left_out", ())),
            answers=record.get("answers", {}),
            sample_sizes={name: (first, of) for name, (first, of) in record.get("sample_sizes", {}).items()},
            doubted=tuple(record.get("doubted", ())),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LcdvtError(f"{where} is not a table that lcdvt wrote ({error}): make it again.") from error
    return build_table(scores, circumstances)


def _numbers(row: TableRow, columns: tuple[str, ...]) -> dict[str, Any]:
    """Return mean and deviation by class; null where there is none."""
    values: dict[str, Spread | None] = {
        name: cell.value for name, cell in zip(columns[:-1], row.cells[:-1], strict=True)
    }
    macro = row.cells[-1].value
    return {
        "f1": {name: None if value is None else _pair(value) for name, value in values.items()},
        "macro_f1": None if macro is None else _pair(macro),
    }


def _pair(value: Spread) -> dict[str, float | None]:
    return {"mean": value.mean, "deviation": value.deviation}
