"""Delimited text to light curves: one object per file or many, wide rows or long ones."""

from typing import Final

import numba
import numpy as np
from numpy.typing import NDArray

from lcdvt.catalogs.curves import (
    UNKNOWN_BAND,
    RawCurves,
    RawObject,
    assemble,
    fill_template,
    no_curves,
    object_from_groups,
)
from lcdvt.catalogs.detect import Match, TextLayout, separator_byte
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
    at = layout.column_of
    numeric: list[Column] = [form.time]
    for mag, err in form.magnitude_columns:
        numeric += [mag] if err is None else [mag, err]
    positions = [column for column in (form.ra, form.dec) if column is not None]
    numeric += positions
    text = [*form.id_columns, *(column for column in (form.band_column, form.label) if column is not None)]
    scan = _scan(form, layout, body, tuple(at[column] for column in numeric), tuple(at[column] for column in text))
    if scan.values.shape[0] == 0:
        return no_curves(f"{name} holds no epochs.")

    objects, object_index = _objects(survey, match, scan, body, name, len(positions))
    problems: list[str] = []
    if scan.fault.any():
        objects, object_index, problems = _without_faulty(objects, object_index, scan, layout, name)

    time = scan.values[:, 0]
    missing_error = np.full(time.size, np.nan if survey.constant_error is None else survey.constant_error)
    column = 1
    mags, errs = [], []
    for _, err in form.magnitude_columns:
        mags.append(scan.values[:, column])
        errs.append(missing_error if err is None else scan.values[:, column + 1])
        column += 1 if err is None else 2
    band_index = _band_column(survey, form, scan, body) if form.band_column is not None else None
    epochs = assemble(survey, match, object_index, time, mags, errs, band_index)
    return RawCurves(objects, epochs, problems)


def _objects(
    survey: Survey, match: Match, scan: Scan, body: bytes, name: str, n_positions: int
) -> tuple[list[RawObject], NDArray[np.int64]]:
    form = match.format
    rows = scan.values.shape[0]
    if not form.many_objects:
        found = object_from_groups(match, fill_template(form.id, match.groups), name, survey)
        if n_positions == 2:
            ra, dec = np.nanmedian(scan.values[:, -2:], axis=0)
            found = RawObject(found.object_id, name, float(ra), float(dec), None, found.bands_in_file)
        return [found], np.zeros(rows, dtype=np.int64)
    starts = np.flatnonzero(np.concatenate(([True], scan.text_hash[1:] != scan.text_hash[:-1])))
    index_of: dict[str, int] = {}
    objects: list[RawObject] = []
    index_of_run = np.empty(starts.size, dtype=np.int64)
    for run, row in enumerate(starts):
        tokens = [
            body[scan.text_start[row, i] : scan.text_stop[row, i]].decode("utf-8", "replace")
            for i in range(scan.text_start.shape[1])
        ]
        values = match.groups | {str(column): token for column, token in zip(form.id_columns, tokens, strict=False)}
        object_id = fill_template(form.id, values)
        if object_id not in index_of:
            index_of[object_id] = len(objects)
            ra, dec = scan.values[row, -2:] if n_positions == 2 else (np.nan, np.nan)
            label = (tokens[-1].strip() or None) if form.label is not None else None
            objects.append(RawObject(object_id, name, float(ra), float(dec), label))
        index_of_run[run] = index_of[object_id]
    return objects, np.repeat(index_of_run, np.diff(np.append(starts, rows)))


def _without_faulty(
    objects: list[RawObject], object_index: NDArray[np.int64], scan: Scan, layout: TextLayout, name: str
) -> tuple[list[RawObject], NDArray[np.int64], list[str]]:
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
    new_index = np.full(len(objects), -1, dtype=np.int64)
    new_index[kept] = np.arange(kept.size)
    return [objects[index] for index in kept], new_index[object_index], problems


def _band_column(survey: Survey, form: Format, scan: Scan, body: bytes) -> NDArray[np.int64]:
    names = {band: band for band in survey.bands} | form.band_names
    keys = np.array([np.frombuffer(_padded(key), dtype=np.uint8) for key in names])
    codes = np.array([survey.bands.index(band) for band in names.values()], dtype=np.int64)
    at = len(form.id_columns)
    data = np.frombuffer(body, dtype=np.uint8)
    return np.asarray(_match_tokens(data, scan.text_start[:, at], scan.text_stop[:, at], keys, codes))


_LONGEST_BAND_NAME = 32


def _padded(key: str) -> bytes:
    return key.encode()[:_LONGEST_BAND_NAME].ljust(_LONGEST_BAND_NAME, b"\0")


@numba.njit(cache=True)
def _match_tokens(data, start, stop, keys, codes):  # type: ignore[no-untyped-def]
    """Return for each token the code of the key it equals, or UNKNOWN_BAND."""
    result = np.full(start.size, UNKNOWN_BAND, dtype=np.int64)
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
