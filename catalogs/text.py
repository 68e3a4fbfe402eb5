"""Delimited text to light curves: one object per file or many, wide rows or long ones."""

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numba
import numpy as np
from numpy.typing import NDArray

from lcdvt.catalogs.curves import (
    BROKEN_LINE,
    UNKNOWN_BAND,
    RawCurves,
    RawObject,
    assemble,
    fill_template,
    no_curves,
    object_from_groups,
)
from lcdvt.catalogs.detect import Match, TextLayout, separator_byte
from lcdvt.catalogs.files import decoded
from lcdvt.catalogs.scan import LINE_FAULTS, Scan, scan_text
from lcdvt.catalogs.survey import Column, Format, Survey

NO_COMMENT: Final = -1


def scan_ids(form: Format, layout: TextLayout, block: bytes) -> Scan:
    """Scan only what says which object a line belongs to: for cutting a large file into batches."""
    columns = tuple(layout.column_of[column] for column in form.id_columns)
    return _scan(form, layout, block, (), columns)


def _scan(form: Format, layout: TextLayout, block: bytes, numeric: tuple[int, ...], text: tuple[int, ...]) -> Scan:
    return scan_text(
        block,
        separator=separator_byte(form),
        comment=ord(form.comment) if form.comment else NO_COMMENT,
        numeric_columns=numeric,
        text_columns=text,
        identity_columns=len(form.id_columns),
        column_count=layout.column_count,
    )


def read_text(survey: Survey, match: Match, content: bytes, name: str) -> RawCurves:
    """Read the light curves of a text file or of a block of one."""
    form, layout = match.format, match.layout
    assert layout is not None  # a text format's match always carries the layout
    body = content[layout.body :] if layout.body else content
    numeric, text = _wanted_columns(form)
    places = (tuple(layout.column_of[column] for column in columns) for columns in (numeric, text))
    scan = _scan(form, layout, body, *places)
    if scan.values.shape[0] == 0:
        return no_curves(f"{name} holds no epochs.")
    values = {column: scan.values[:, place] for place, column in enumerate(numeric)}

    objects, object_index = _objects(survey, match, scan, body, name, values)
    problems: list[str] = []
    dropped: Counter[str] = Counter()
    if scan.fault.any():
        objects, object_index, problems = _without_faulty(objects, object_index, scan, layout, name)
        dropped[BROKEN_LINE] = len(problems)
    nameless = [place for place, found in enumerate(objects) if not found.object_id.strip()]
    if nameless:
        problems.append(f"{name}: some rows have no id; they are skipped: give every object its id.")
        object_index = np.where(np.isin(object_index, nameless), -1, object_index)
        dropped["no id"] = len(nameless)

    time = values[form.time]
    no_error = np.full(time.size, np.nan if survey.constant_error is None else survey.constant_error)
    mags = [values[mag] for mag, _ in form.magnitude_columns]
    errs = [no_error if err is None else values[err] for _, err in form.magnitude_columns]
    band_index = _band_column(survey, form, scan, body, text) if form.band_column is not None else None
    epochs = assemble(survey, match, object_index, time, mags, errs, band_index)
    return RawCurves(objects, epochs, problems, dropped)


@lru_cache(maxsize=64)
def _cached_columns(
    numeric: tuple[Column | None, ...], text: tuple[Column | None, ...]
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    unique = (tuple(dict.fromkeys(column for column in columns if column is not None)) for columns in (numeric, text))
    first, second = unique
    return first, second


def _wanted_columns(form: Format) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Return the numeric and the text columns to scan, each once: two bands may share an error column."""
    magnitudes = [column for pair in form.magnitude_columns for column in pair]
    return _cached_columns(
        (form.time, *magnitudes, form.ra, form.dec), (*form.id_columns, form.band_column, form.label)
    )


def _objects(
    survey: Survey, match: Match, scan: Scan, body: bytes, name: str, values: dict[Column, NDArray[np.float64]]
) -> tuple[list[RawObject], NDArray[np.int32]]:
    form = match.format
    rows = scan.values.shape[0]
    text = _wanted_columns(form)[1]

    def token(row: int, column: Column) -> str:
        place = text.index(column)
        return decoded(body[scan.text_start[row, place] : scan.text_stop[row, place]]).replace('""', '"')

    def described(row: int, found: RawObject) -> RawObject:
        ra, dec = (values[axis][row] if axis is not None else np.nan for axis in (form.ra, form.dec))
        label = token(row, form.label).strip() if form.label is not None else ""
        return replace(
            found,
            ra=float(ra) if np.isfinite(ra) else found.ra,
            dec=float(dec) if np.isfinite(dec) else found.dec,
            survey_label=label or found.survey_label,
        )

    if not form.many_objects:
        found = object_from_groups(match, fill_template(form.id, match.groups), name, survey)
        plain = form.ra is None and form.dec is None and form.label is None
        return [found if plain else described(0, found)], np.zeros(rows, dtype=np.int32)
    starts = np.flatnonzero(np.concatenate(([True], scan.text_hash[1:] != scan.text_hash[:-1])))
    index_of: dict[str, int] = {}
    objects: list[RawObject] = []
    index_of_run = np.empty(starts.size, dtype=np.int32)
    for run, row in enumerate(starts.tolist()):
        tokens = {str(column): token(row, column) for column in form.id_columns}
        # An id of which a part is missing is no id.
        object_id = (
            fill_template(form.id, match.groups | tokens) if all(part.strip() for part in tokens.values()) else ""
        )
        if object_id not in index_of:
            index_of[object_id] = len(objects)
            objects.append(described(row, RawObject(object_id, name)))
        index_of_run[run] = index_of[object_id]
    return objects, np.repeat(index_of_run, np.diff(np.append(starts, rows)))


def _without_faulty(
    objects: list[RawObject], object_index: NDArray[np.int32], scan: Scan, layout: TextLayout, name: str
) -> tuple[list[RawObject], NDArray[np.int32], list[str]]:
    """Leave out every object with a broken line: half an object is worse than none."""
    faulty_rows = np.flatnonzero(scan.fault)
    faulty, first = np.unique(object_index[faulty_rows], return_index=True)
    problems = []
    for index, row in zip(faulty, faulty_rows[first], strict=True):
        line = layout.body_line + int(scan.line_number[row])
        what = LINE_FAULTS[int(scan.fault[row])]
        problems.append(
            f"{name}:{line}: {what}; object {objects[index].object_id} is skipped: mend or fetch the file again."
        )
    kept = np.setdiff1d(np.arange(len(objects)), faulty)
    new_index = np.full(len(objects), -1, dtype=np.int32)
    new_index[kept] = np.arange(kept.size)
    return [objects[index] for index in kept], new_index[object_index], problems


def _band_column(survey: Survey, form: Format, scan: Scan, body: bytes, text: tuple[Column, ...]) -> NDArray[np.int8]:
    names = {band: band for band in survey.bands} | form.band_names
    keys = np.array([np.frombuffer(_padded(key), dtype=np.uint8) for key in names])
    codes = np.array([survey.bands.index(band) for band in names.values()], dtype=np.int8)
    assert form.band_column is not None  # asked for by the caller only then
    at = text.index(form.band_column)
    data = np.frombuffer(body, dtype=np.uint8)
    return np.asarray(_match_tokens(data, scan.text_start[:, at], scan.text_stop[:, at], keys, codes))


_LONGEST_BAND_NAME = 32


def _padded(key: str) -> bytes:
    return key.encode()[:_LONGEST_BAND_NAME].ljust(_LONGEST_BAND_NAME, b"\0")


@numba.njit(cache=True)
def _match_tokens(data, start, stop, keys, codes):  # type: ignore[no-untyped-def]
    """Return for each token the code of the key it equals, or UNKNOWN_BAND."""
    result = np.full(start.size, UNKNOWN_BAND, dtype=np.int8)
    width = keys.shape[1]
    for row in range(start.size):
        length = stop[row] - start[row]
        if length > width:
            continue
        for k in range(keys.shape[0]):
            if length < width and keys[k, length] != 0:
                continue
            same = True
            for j in range(length):
                if data[start[row] + j] != keys[k, j]:
                    same = False
                    break
            if same:
                result[row] = codes[k]
                break
    return result
