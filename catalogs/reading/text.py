"""Delimited text to light curves: one object per file or many, wide rows or long ones."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.catalogs.file_format import Column, Flag, Format
from lcdvt.catalogs.reading.barycentre import in_stored_time
from lcdvt.catalogs.reading.cameras import SHIFTED_CAMERAS, levelled
from lcdvt.catalogs.reading.curves import BROKEN_LINE, UNKNOWN_BAND, BrokenRows, RawCurves, assemble, bands_of_rows
from lcdvt.catalogs.reading.detect import TextFile, TextLayout, separator_byte
from lcdvt.catalogs.reading.scan import LINE_FAULTS, Scan, scan_texts
from lcdvt.catalogs.reading.text_objects import TextObjects, objects_of_rows, wanted_columns
from lcdvt.catalogs.reading.values import NEGATIVE_SIGNS, has_bits, measured, without_flagged
from lcdvt.catalogs.survey import Survey
from lcdvt.compiled.kernel import kernel

NO_COMMENT: Final = -1


def scan_ids(form: Format, layout: TextLayout, block: bytes) -> Scan:
    """Scan only what says which object a line belongs to: for cutting a large file into batches."""
    return _scan(form, layout, [block], [0], (), form.id_columns)


def _scan(
    form: Format,
    layout: TextLayout,
    texts: list[bytes],
    skipped: list[int],
    numeric: tuple[Column, ...],
    text: tuple[Column, ...],
) -> Scan:
    return scan_texts(
        texts,
        skipped,
        separator=separator_byte(form),
        comment=ord(form.comment) if form.comment else NO_COMMENT,
        numeric_columns=tuple(layout.column_of[column] for column in numeric),
        text_columns=tuple(layout.column_of[column] for column in text),
        identity_columns=len(form.id_columns),
        column_count=layout.column_count,
    )


def read_texts(survey: Survey, files: Sequence[TextFile]) -> RawCurves:
    """Read the light curves of some text files that are all laid out like the first."""
    form, layout = files[0].match.format, files[0].layout
    numeric, text = wanted_columns(form)
    scan = _scan(form, layout, [file.content for file in files], [file.layout.body for file in files], numeric, text)
    values = {column: scan.values[:, place] for place, column in enumerate(numeric)}
    rows_of_file = np.diff(scan.row_start)

    found = objects_of_rows(survey, files, scan, values)
    # Each sentence with the place of its file, because they are told in the order of the files.
    told = [(place, f"{files[place].name} holds no epochs.") for place in np.flatnonzero(rows_of_file == 0).tolist()]
    dropped: Counter[str] = Counter()
    broken: list[BrokenRows] = []
    if scan.fault.any():
        faulty = _drop_faulty(found, scan, files)
        told += [(place, rows.problem) for place, rows in faulty]
        broken = [rows for _, rows in faulty]
        dropped[BROKEN_LINE] = len(broken)
    nameless = _drop_nameless(found, files)
    if nameless:
        told += nameless
        dropped["no id"] = len(nameless)

    if form.band_column is not None:
        band_index = _band_column(survey, form, scan)
    else:
        band_index = bands_of_rows(survey, [file.match for file in files], rows_of_file.tolist())
    rows = int(scan.row_start[-1])
    negative = _among(form, scan, form.sign, NEGATIVE_SIGNS) if form.sign is not None else None
    times, mags, errs = measured(
        survey, form, values.__getitem__, rows, negative, lambda column: scan.limits.get(layout.column_of[column])
    )
    marks = [
        (flag, has_bits(values[flag.column], flag) if flag.bits else _has_word(flag, form, scan)) for flag in form.flags
    ]
    shifted = 0
    if form.camera is not None:
        usable = ~np.logical_or.reduce([np.zeros(rows, dtype=bool), *(marked for _, marked in marks)])
        measurements = (times[0], mags[0], errs[0])
        mags[0], errs[0], shifted = levelled(
            survey, (found.object_index, band_index), _cameras(form, scan), measurements, usable
        )
    epochs = assemble(form, found.object_index, times, mags, errs, band_index)
    flagged: Counter[str] = Counter()
    if form.flags:
        epochs, flagged = without_flagged(form, epochs, marks, found.object_index)
    epochs, notes = in_stored_time(survey, form, found.objects, epochs)
    notes += Counter({SHIFTED_CAMERAS: shifted})
    if survey.is_flux(form):
        found.objects = [one._replace(in_flux=True) for one in found.objects]
    sentences = [problem for _, problem in sorted(told, key=lambda one: one[0])]
    return RawCurves(found.objects, epochs, sentences, dropped, flagged, broken, notes)


def _has_word(flag: Flag, form: Format, scan: Scan) -> NDArray[np.bool_]:
    """Say for each row whether the flag's text marks it."""
    among = _among(form, scan, flag.column, flag.keep or flag.drop)
    return ~among if flag.keep else among


def _among(form: Format, scan: Scan, column: Column, words: tuple[str, ...]) -> NDArray[np.bool_]:
    """Say for each row whether the text in a column is one of some words."""
    keys = np.array([np.frombuffer(_padded(word), dtype=np.uint8) for word in words])
    at = wanted_columns(form)[1].index(column)
    codes = np.zeros(len(words), dtype=np.int8)
    return np.asarray(match_tokens(scan, at, keys, codes) == 0)


def _cameras(form: Format, scan: Scan) -> NDArray[np.int64]:
    """Return a number for each row's camera, made of the first eight bytes of its name."""
    assert form.camera is not None  # asked for by the caller only then
    at = wanted_columns(form)[1].index(form.camera)
    start, stop = scan.text_start[:, at], scan.text_stop[:, at]
    data = np.frombuffer(scan.buffer, dtype=np.uint8)
    number = np.zeros(start.size, dtype=np.uint64)
    for place in range(8):
        there = start + place < stop
        byte = np.where(there, data[np.minimum(start + place, data.size - 1)], 0).astype(np.uint64)
        number |= byte << np.uint64(8 * place)
    return number.view(np.int64)


def _drop_faulty(found: TextObjects, scan: Scan, files: Sequence[TextFile]) -> list[tuple[int, BrokenRows]]:
    """Leave out what a file has of an object with a broken line there: where one line is torn others may be missing."""
    faulty_rows = np.flatnonzero(scan.fault)
    faulty, first = np.unique(found.object_index[faulty_rows], return_index=True)
    told = []
    for index, row in zip(faulty.tolist(), faulty_rows[first].tolist(), strict=True):
        place = found.file_of_object[index]
        line = files[place].layout.body_line + int(scan.line_number[row])
        what, object_id = LINE_FAULTS[int(scan.fault[row])], found.objects[index].object_id
        name = files[place].name
        sentence = f"{name}:{line}: {what}; object {object_id} is skipped there: mend or fetch the file again."
        told.append((place, BrokenRows(object_id, name, sentence)))
    _remove(found, faulty)
    return told


def _remove(found: TextObjects, unwanted: NDArray[np.integer]) -> None:
    """Leave objects out; their rows belong to nobody then."""
    kept = np.setdiff1d(np.arange(len(found.objects)), unwanted)
    new_index = np.full(len(found.objects) + 1, -1, dtype=np.int32)  # the last place is for rows that have no object
    new_index[kept] = np.arange(kept.size)
    found.objects = [found.objects[index] for index in kept]
    found.file_of_object = [found.file_of_object[index] for index in kept]
    found.object_index = new_index[found.object_index]


def _drop_nameless(found: TextObjects, files: Sequence[TextFile]) -> list[tuple[int, str]]:
    """Leave out the rows of objects without an id."""
    nameless = [index for index, one in enumerate(found.objects) if not one.object_id.strip()]
    places = [found.file_of_object[index] for index in nameless]
    if nameless:
        _remove(found, np.array(nameless))
    sentence = "some rows have no id; they are skipped: give every object its id."
    return [(place, f"{files[place].name}: {sentence}") for place in places]


def _band_column(survey: Survey, form: Format, scan: Scan) -> NDArray[np.int8]:
    names = {band: band for band in survey.bands} | form.band_names
    keys = np.array([np.frombuffer(_padded(key), dtype=np.uint8) for key in names])
    codes = np.array([survey.bands.index(band) for band in names.values()], dtype=np.int8)
    assert form.band_column is not None  # asked for by the caller only then
    at = wanted_columns(form)[1].index(form.band_column)
    return match_tokens(scan, at, keys, codes)


_LONGEST_BAND_NAME = 32


def _padded(key: str) -> bytes:
    return key.encode()[:_LONGEST_BAND_NAME].ljust(_LONGEST_BAND_NAME, b"\0")


def match_tokens(scan: Scan, at: int, keys: NDArray[np.uint8], codes: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return for each row the code of the key that its text in a column equals, or UNKNOWN_BAND."""
    result = np.full(len(scan.text_start), UNKNOWN_BAND, dtype=np.int8)
    data = np.frombuffer(scan.buffer, dtype=np.uint8)
    start, stop = (np.ascontiguousarray(places[:, at]) for places in (scan.text_start, scan.text_stop))
    _fill_matches(data, start, stop, keys, codes, result)
    return result


@kernel
def _fill_matches(data, start, stop, keys, codes, result):  # type: ignore[no-untyped-def]
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
