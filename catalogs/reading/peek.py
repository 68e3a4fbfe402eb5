"""What the beginning of a Parquet, FITS, VOTable, JSON or Avro file says of its content, without reading the rows."""

import io
import re
import warnings
from pathlib import Path
from typing import Any, Final

from lcdvt.catalogs.reading.detect import TABLE_MAGIC, TableHead
from lcdvt.catalogs.reading.files import read_whole
from lcdvt.catalogs.reading.nested import flat_names

VOTABLE_HEAD: Final = 1 << 18
_VOTABLE_ELEMENT: Final = re.compile(rb"<(FIELD|PARAM)\b([^>]*)>")
_XML_ATTRIBUTE: Final = re.compile(rb"""\b(name|value)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def table_kind(head: bytes) -> str | None:
    """Return the type of table that a file with these first bytes is, None for a text."""
    start = head.lstrip()
    return next((kind for kind, magic in TABLE_MAGIC.items() if start.startswith(magic)), None)


def peek(head: bytes, source: bytes | Path) -> TableHead | None:
    """Return a table's columns and keywords; None for a text, and for a file that the reader will find damaged.

    Parameters
    ----------
    head
        The file's first bytes, decompressed.
    source
        All its bytes, decompressed, or where it is on disk.
    """
    kind = table_kind(head)
    if kind is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is wrong with the file is told by the reader
            return _PEEKERS[kind](_as_found(head, source))
    except Exception:  # the libraries raise a dozen kinds for a damaged file; reading it gives the sentence
        return None


def _as_found(head: bytes, source: bytes | Path) -> bytes | Path:
    """Return the bytes of a file that is compressed as a whole, and any other as it was given."""
    if isinstance(source, bytes):
        return source
    with source.open("rb") as raw:
        return source if head.startswith(raw.read(16)) else read_whole(str(source))


def _open(source: bytes | Path) -> Any:
    return source if isinstance(source, Path) else io.BytesIO(source)


def _parquet(source: bytes | Path) -> TableHead:
    import pyarrow.parquet as pq

    return TableHead(tuple(flat_names(pq.read_schema(_open(source)))), {})


def _fits(source: bytes | Path) -> TableHead:
    from astropy.io import fits

    with fits.open(_open(source), memmap=False) as units:
        keywords = {key: str(value).strip() for key, value in units[0].header.items() if _is_said(value)}
        table = next(unit for unit in units if isinstance(unit, fits.BinTableHDU | fits.TableHDU))
        keywords |= {key: str(value).strip() for key, value in table.header.items() if _is_said(value)}
        return TableHead(tuple(table.columns.names), keywords)


def _is_said(value: object) -> bool:
    return isinstance(value, str | int | float) and bool(str(value).strip())


def _votable(source: bytes | Path) -> TableHead:
    if isinstance(source, Path):
        with source.open("rb") as raw:
            text = raw.read(VOTABLE_HEAD)
    else:
        text = source[:VOTABLE_HEAD]
    columns, keywords = [], {}
    for element in _VOTABLE_ELEMENT.finditer(text.partition(b"<DATA")[0]):
        said = {one[1]: (one[2] or one[3] or b"").decode("utf-8", "replace") for one in
                _XML_ATTRIBUTE.finditer(element[2])}  # fmt: skip
        if element[1] == b"FIELD" and b"name" in said:
            columns.append(said[b"name"])
        elif b"name" in said and said.get(b"value"):
            keywords[said[b"name"]] = said[b"value"]
    return TableHead(tuple(columns), keywords)


def _records(source: bytes | Path, kind: str) -> TableHead:
    from lcdvt.catalogs.reading.records import record_names

    content = read_whole(str(source)) if isinstance(source, Path) else source
    return TableHead(tuple(record_names(kind, content)), {})


_PEEKERS: Final = {
    "parquet": _parquet,
    "fits": _fits,
    "votable": _votable,
    "json": lambda source: _records(source, "json"),
    "avro": lambda source: _records(source, "avro"),
}
