"""JSON and Avro: a record per object, or per alert, with its light curve nested in it, as an Arrow table."""

import io
import json
from typing import Any, Final

import pyarrow as pa

from lcdvt.errors import InputFileError

AVRO_EXTRA: Final = "reading Avro needs the package fastavro: install lcdvt[avro]"
_NO_CURVE: Final = (bytes, bytearray)


def record_table(kind: str, content: bytes) -> pa.Table:
    """Return the records of a JSON or Avro file, one row each; pictures cut out of the sky are left out."""
    records = _json_records(content) if kind == "json" else _avro_records(content)
    return pa.Table.from_pylist([_without_pictures(record) for record in records])


def _json_records(content: bytes) -> list[dict[str, Any]]:
    found = json.loads(content)  # takes the bare word NaN, which is no JSON but which brokers write
    records = found if isinstance(found, list) else [found]
    if not all(isinstance(record, dict) for record in records):
        raise InputFileError("it is no JSON object with a light curve in it.")
    return records


def _avro_records(content: bytes) -> list[dict[str, Any]]:
    try:
        import fastavro
    except ImportError as error:
        raise InputFileError(AVRO_EXTRA) from error
    records: list[dict[str, Any]] = list(fastavro.reader(io.BytesIO(content)))
    return records


def _without_pictures(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if not isinstance(value, _NO_CURVE)}
