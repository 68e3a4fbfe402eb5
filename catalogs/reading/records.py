"""JSON and Avro: a record per object, or per alert, with its light curve nested in it, as an Arrow table."""

import io
import itertools
import json
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from lcdvt.catalogs.reading.nested import DOT
from lcdvt.errors import InputFileError

AVRO_EXTRA: Final = "reading Avro needs the package fastavro: install lcdvt[avro]"
_NO_CURVE: Final = (bytes, bytearray)
Record = dict[str, Any]


def record_names(kind: str, content: bytes) -> list[str]:
    """Return the names of what records hold, fields of a record within with a dot, as of a nested table."""
    names: dict[str, None] = {}
    for record in _records(kind, content):
        for key, value in record.items():
            inner = _fields_within(value)
            names |= dict.fromkeys([f"{key}{DOT}{field}" for field in inner] or [key])
    return list(names)


def curve_names(kind: str, content: bytes) -> list[str]:
    """Return the names that can be one light curve: those in the longest list of records, and single values beside it.

    Where there is no list of records, lists of plain values that are as long as the longest are the columns.
    """
    lengths: dict[bool, dict[str, int]] = {True: {}, False: {}}
    for record in _records(kind, content):
        for key, value in record.items():
            if isinstance(value, list) and value:
                of_kind = lengths[isinstance(value[0], dict)]
                of_kind[key] = of_kind.get(key, 0) + len(value)
    lists = lengths[True] or lengths[False]
    longest = [key for key, length in lists.items() if length == max(lists.values())]
    taken = longest[:1] if lengths[True] else longest
    names: dict[str, None] = {}
    for record in _records(kind, content):
        for key, value in record.items():
            if isinstance(value, dict):
                names |= dict.fromkeys(f"{key}{DOT}{field}" for field, each in value.items() if _is_single(each))
            elif key in taken or _is_single(value):
                names |= dict.fromkeys([f"{key}{DOT}{field}" for field in _fields_within(value)] or [key])
    return list(names)


def record_table(kind: str, content: bytes, wanted: list[str], newest: str = "") -> pa.Table:
    """Return what is wanted of the records of a JSON or Avro file, one row each.

    Parameters
    ----------
    kind, content
        `json` or `avro`, and the file.
    wanted
        The names, fields of a record within with a dot.
    newest
        A record within that is one more of those in a list.
    """
    inside: dict[str, set[str]] = {}
    for name in wanted:
        outer, _, field = name.partition(DOT)
        inside.setdefault(outer, set()).add(field)
    records = _records(kind, content)
    if newest:
        records = [_with_newest(record, inside, newest) for record in records]
    rows = [
        {key: _side_by_side(value, inside[key]) for key, value in record.items() if key in inside} for record in records
    ]
    return pa.Table.from_pylist(rows)


def _with_newest(record: Record, inside: dict[str, set[str]], newest: str) -> Record:
    """Return a record whose newest epoch stands in the list of the earlier ones, too."""
    history = next((key for key in inside if key != newest and isinstance(record.get(key, 0), list | None)), None)
    own = record.get(newest)
    return record if history is None else record | {history: [*(record[history] or ()), *([own] if own else ())]}


def _is_single(value: Any) -> bool:
    return not isinstance(value, list | dict)


def _fields_within(value: Any) -> list[str]:
    if isinstance(value, list):
        return list(dict.fromkeys(itertools.chain.from_iterable(each for each in value if isinstance(each, dict))))
    return list(value) if isinstance(value, dict) else []


def _pruned(value: Any, fields: set[str]) -> Any:
    """Return a record, or a list of records, with some of its fields; an empty name takes it whole."""
    if "" in fields:
        return value
    if isinstance(value, list):
        return [_pruned(each, fields) for each in value]
    return {field: value[field] for field in fields if field in value} if isinstance(value, dict) else value


def _side_by_side(value: Any, fields: set[str]) -> Any:
    """Return a list of records as a record of lists, which are quicker to take; anything else as `_pruned` does."""
    is_list_of_records = isinstance(value, list) and value and all(isinstance(each, dict) for each in value)
    if "" in fields or not is_list_of_records:
        return _pruned(value, fields)
    return {field: [each.get(field) for each in value] for field in fields}


@lru_cache(maxsize=1)
def _records(kind: str, content: bytes) -> list[Record]:
    """Return the records, without the pictures of the sky; kept, because a file is asked for its names first."""
    records = _json_records(content) if kind == "json" else _avro_records(content)
    return [{key: value for key, value in record.items() if not isinstance(value, _NO_CURVE)} for record in records]


def _json_records(content: bytes) -> list[Record]:
    found = json.loads(content)  # takes the bare word NaN, which is no JSON but which brokers write
    records = found if isinstance(found, list) else [found]
    if not all(isinstance(record, dict) for record in records):
        raise InputFileError("it is no JSON object with a light curve in it.")
    return records


def _avro_records(content: bytes) -> list[Record]:
    try:
        import fastavro
    except ImportError as error:
        raise InputFileError(AVRO_EXTRA) from error
    records = list(fastavro.reader(io.BytesIO(content)))
    if not all(isinstance(record, dict) for record in records):
        raise InputFileError("it is no Avro file of alerts: its records have no names.")
    return [record for record in records if isinstance(record, dict)]
