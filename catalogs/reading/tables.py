"""Parquet, FITS and VOTable to light curves."""

import io
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lcdvt.catalogs.file_format import Column, Flag, Format
from lcdvt.catalogs.reading.barycentre import in_stored_time
from lcdvt.catalogs.reading.cameras import SHIFTED_CAMERAS, levelled
from lcdvt.catalogs.reading.curves import (
    UNKNOWN_BAND,
    RawCurves,
    RawObject,
    assemble,
    bands_of_rows,
    fill_template,
    no_curves,
    object_from_groups,
)
from lcdvt.catalogs.reading.dates_beside import dates_of
from lcdvt.catalogs.reading.detect import Match
from lcdvt.catalogs.reading.nested import flat_names, flattened, has_lists, stored_columns
from lcdvt.catalogs.reading.records import record_table
from lcdvt.catalogs.reading.values import NEGATIVE_SIGNS, has_bits, measured, without_flagged
from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.vocabulary import MISSING_WORDS
from lcdvt.disk.parquet import open_streamed
from lcdvt.errors import InputFileError, first_line

_MISSING_TEXTS: Final = pa.array(["", *(word.decode() for word in MISSING_WORDS)])
ROWS_AT_ONCE: Final = 1 << 16
"""Few calls, and some megabytes at a time."""
NESTED_ROWS_AT_ONCE: Final = 256
"""Each row of a nested table is a whole light curve."""


def read_table_bytes(survey: Survey, match: Match, content: bytes, name: str) -> RawCurves:
    """Read the light curves of a whole Parquet, FITS or VOTable file."""
    form = match.format
    wanted = [str(column) for column in form.used_columns]
    try:
        if form.type == "parquet":
            table = flattened(_parquet_columns(content, wanted, form.newest), wanted, form.newest)
        elif form.type in ("json", "avro"):
            table = flattened(record_table(form.type, content, wanted, form.newest), wanted)
        else:
            table = _astropy_table(form.type, content, wanted)
    except InputFileError as error:
        raise InputFileError(f"{name}: {error}") from error
    except Exception as error:  # the libraries raise a dozen kinds for a damaged file
        raise InputFileError(f"{name} is a damaged {form.type} file ({first_line(error)}): fetch it again.") from error
    return curves_from_table(survey, match, table, name)


def _astropy_table(kind: str, content: bytes, wanted: list[str]) -> pa.Table:
    from astropy.table import Table

    stream = io.BytesIO(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of units that are no FITS units, and of what the error after it says again
        found = Table.read(stream, format="fits", hdu=None) if kind == "fits" else _votable(stream, wanted)
    columns: dict[str, pa.Array] = {}
    for column in wanted:
        if column in found.colnames:
            values = found[column]
            masked = np.ma.getmaskarray(values) if hasattr(values, "mask") else np.zeros(len(values), dtype=bool)
            plain = np.asarray(values.filled(np.nan) if masked.any() and values.dtype.kind == "f" else values)
            if plain.dtype.kind == "S":
                plain = np.char.decode(plain, "utf-8")
            if plain.dtype.kind in "Ob":
                plain = np.array([_word(value) for value in plain.tolist()])
            # FITS is big-endian; Arrow wants the machine's own order.
            native = plain if plain.dtype.kind == "U" else plain.astype(plain.dtype.newbyteorder("="))
            columns[column] = pa.array(native.tolist() if native.dtype.kind == "U" else native, mask=masked)
    return pa.table(columns)


def _parquet_columns(content: bytes, wanted: list[str], newest: str) -> pa.Table:
    """Read only what is wanted: an alert's pictures of the sky are most of its file."""
    with pq.ParquetFile(io.BytesIO(content)) as file:
        names = flat_names(file.schema_arrow)
        there = [column for column in wanted if column in names]
        return file.read(columns=stored_columns(file.schema_arrow, there, newest))


def _word(value: object) -> str:
    """Return a text, or a yes or no, as the text formats write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _votable(stream: io.BytesIO, wanted: list[str]) -> Any:
    """Read the wanted columns of a VOTable's only table: of the others it does not matter what is wrong in them."""
    from astropy.io.votable import parse_single_table

    return parse_single_table(stream, columns=wanted).to_table(use_names_over_ids=True)


def parquet_batches(path: Path, form: Format, *, ids_alone: bool = False) -> Iterator[pa.Table]:
    """Stream the needed columns of a Parquet file that may be larger than memory, or those of its ids alone."""
    try:
        with open_streamed(path) as file:
            used = form.id_columns if ids_alone else form.used_columns
            wanted, names = [str(column) for column in used], flat_names(file.schema_arrow)
            missing = [column for column in wanted if column not in names]
            if missing:
                raise InputFileError(f"{path} has no column {missing[0]!r}; it has {', '.join(names[:20])}.")
            is_nested = has_lists(file.schema_arrow, wanted)
            rows = NESTED_ROWS_AT_ONCE if is_nested else ROWS_AT_ONCE
            newest = "" if ids_alone else form.newest
            for batch in file.iter_batches(rows, columns=stored_columns(file.schema_arrow, wanted, newest)):
                yield flattened(pa.Table.from_batches([batch]), wanted, newest)
    except (pa.ArrowException, OSError) as error:
        raise InputFileError(f"{path} is a damaged parquet file ({first_line(error)}): fetch it again.") from error


def id_strings(form: Format, table: pa.Table, groups: dict[str, str]) -> NDArray[Any]:
    """Return each row's object id; empty where a part of it is missing."""
    code, ids = object_codes(form, table, groups)
    return np.array(ids, dtype=object)[code]


def object_codes(form: Format, table: pa.Table, groups: dict[str, str]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the number of each row's object, and the objects' ids; an id of which a part is missing is empty."""
    names = [str(column) for column in form.id_columns]
    parts = [_encoded(table, column) for column in form.id_columns]
    code = parts[0][0]
    rows = [(word,) for word in parts[0][1]]
    for more, words in parts[1:]:
        together, code = np.unique(code * len(words) + more, return_inverse=True)
        rows = [(*rows[each // len(words)], words[each % len(words)]) for each in together.tolist()]
    if form.id == "{" + names[0] + "}":
        return code, [row[0] for row in rows]
    filled = (fill_template(form.id, groups | dict(zip(names, row, strict=True))) if all(row) else "" for row in rows)
    return code, list(filled)


def _encoded(table: pa.Table, column: Column) -> tuple[NDArray[np.int64], list[str]]:
    """Return each row's text as a number, and the distinct texts: there are few of them, and many rows."""
    values = table[str(column)]
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    encoded = values.combine_chunks().dictionary_encode(null_encoding="encode")
    words = pc.fill_null(encoded.dictionary.cast(pa.string()), "").to_pylist()
    return np.asarray(encoded.indices.to_numpy()).astype(np.int64), words


def curves_from_table(survey: Survey, match: Match, table: pa.Table, name: str) -> RawCurves:
    """Take the light curves out of an Arrow table with the survey's own column names."""
    try:
        return _curves(survey, match, table, name)
    except (pa.ArrowException, TypeError, ValueError) as error:
        return no_curves(f"{name}: {first_line(error)}: numbers are needed for dates, magnitudes and errors.")


def _curves(survey: Survey, match: Match, table: pa.Table, name: str) -> RawCurves:
    form = match.format
    missing = [str(column) for column in form.used_columns if str(column) not in table.column_names]
    if missing:
        return no_curves(f"{name} has no column {missing[0]!r}; it has {', '.join(table.column_names[:20])}.")
    rows = table.num_rows
    if rows == 0:
        return no_curves(f"{name} holds no epochs.")
    negative = _among(table, form.sign, NEGATIVE_SIGNS) if form.sign is not None else None

    def numbers(column: Column) -> NDArray[np.float64]:
        if form.dates_file and column == form.time:
            return dates_of(form, _floats(table, form.dates_on), name)
        return _floats(table, column)

    times, mags, errs = measured(survey, form, numbers, rows, negative)
    ra, dec = (np.full(rows, np.nan) if axis is None else _floats(table, axis) for axis in (form.ra, form.dec))
    labels = table[str(form.label)].cast(pa.string()).to_pylist() if form.label is not None else [None] * rows
    problems: list[str] = []
    dropped: Counter[str] = Counter()
    if form.many_objects:
        code, ids = object_codes(form, table, match.groups)
        _, first = np.unique(code, return_index=True)
        by_id = sorted(range(len(ids)), key=ids.__getitem__)
        objects = [
            RawObject(ids[place], name, float(ra[first[place]]), float(dec[first[place]]), labels[first[place]])
            for place in by_id
        ]
        rank = np.empty(len(ids), dtype=np.int32)
        rank[by_id] = np.arange(len(ids))
        object_index = rank[code]
        if "" in ids:
            problems.append(f"{name}: some rows have no id; they are skipped: give every object its id.")
            dropped["no id"] = 1
            objects, object_index = objects[1:], object_index - 1  # the empty id sorts before all others
    else:
        found = object_from_groups(match, name, survey)
        own = (float(ra[0]), float(dec[0])) if np.isfinite(ra[0] + dec[0]) else (found.ra, found.dec)
        objects = [found._replace(ra=own[0], dec=own[1], survey_label=labels[0])]
        object_index = np.zeros(rows, dtype=np.int32)
    if form.band_column is not None:
        band_index = _band_column(survey, form, table)
    else:
        band_index = bands_of_rows(survey, [match], [rows])
    marks = [
        (flag, has_bits(_floats(table, flag.column), flag) if flag.bits else _has_word(table, flag))
        for flag in form.flags
    ]
    shifted = 0
    if form.camera is not None:
        usable = ~np.logical_or.reduce([np.zeros(rows, dtype=bool), *(marked for _, marked in marks)])
        camera, _ = _encoded(table, form.camera)
        measurements = (times[0], mags[0], errs[0])
        mags[0], errs[0], shifted = levelled(survey, (object_index, band_index), camera, measurements, usable)
    epochs = assemble(form, object_index, times, mags, errs, band_index)
    flagged: Counter[str] = Counter()
    if form.flags:
        epochs, flagged = without_flagged(form, epochs, marks, object_index)
    epochs, notes = in_stored_time(survey, form, objects, epochs)
    notes += Counter({SHIFTED_CAMERAS: shifted})
    if survey.is_flux(form):
        objects = [one._replace(in_flux=True) for one in objects]
    return RawCurves(objects, epochs, problems, dropped, flagged, notes=notes)


def _has_word(table: pa.Table, flag: Flag) -> NDArray[np.bool_]:
    """Say for each row whether the flag's text marks it."""
    among = _among(table, flag.column, flag.keep or flag.drop)
    return ~among if flag.keep else among


def _among(table: pa.Table, column: Column, wanted: tuple[str, ...]) -> NDArray[np.bool_]:
    """Say for each row whether its text in a column is one of some words."""
    code, words = _encoded(table, column)
    return np.array([word.strip() in wanted for word in words], dtype=bool)[code]


def _floats(table: pa.Table, column: Column) -> NDArray[np.float64]:
    values = table[str(column)]
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        values = pc.if_else(pc.is_in(pc.utf8_lower(values), _MISSING_TEXTS), None, values)
    numbers = np.asarray(pc.fill_null(values.cast(pa.float64()), np.nan).to_numpy())
    infinite = np.isinf(numbers)
    return np.where(infinite, np.nan, numbers) if infinite.any() else numbers


def _band_column(survey: Survey, form: Format, table: pa.Table) -> NDArray[np.int8]:
    assert form.band_column is not None  # asked for by the caller only then
    names = {band: band for band in survey.bands} | form.band_names
    code, found = _encoded(table, form.band_column)
    bands = [survey.bands.index(names[name.strip()]) if name.strip() in names else UNKNOWN_BAND for name in found]
    return np.array(bands, dtype=np.int8)[code]
