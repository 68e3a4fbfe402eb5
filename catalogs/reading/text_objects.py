"""Whose rows are these? The objects of scanned text files, by file or by what the rows themselves say."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lcdvt.catalogs.file_format import Column, Format
from lcdvt.catalogs.reading.curves import RawObject, fill_template, object_from_groups
from lcdvt.catalogs.reading.detect import Match, TextFile
from lcdvt.catalogs.reading.files import decoded
from lcdvt.catalogs.reading.scan import Scan
from lcdvt.catalogs.survey import Survey


@dataclass
class TextObjects:
    """The objects of some files of one format."""

    objects: list[RawObject]
    file_of_object: list[int]
    object_index: NDArray[np.int32]
    """Row: the place of its object, -1 for none."""


@lru_cache(maxsize=64)
def _distinct(
    numeric: tuple[Column | None, ...], text: tuple[Column | None, ...]
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    first, second = (
        tuple(dict.fromkeys(column for column in columns if column is not None)) for columns in (numeric, text)
    )
    return first, second


def wanted_columns(form: Format) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Return the numeric and the text columns to scan, each once: two bands may share an error column."""
    measured = [column for one in form.measurements for column in (form.time_column(one), one.mag, one.err, one.flux)]
    bits = [flag.column for flag in form.flags if flag.bits]
    words = [flag.column for flag in form.flags if not flag.bits]
    return _distinct(
        (*measured, form.ra, form.dec, form.zero_point_column, form.limit, form.reference, form.reference_err, *bits),
        (*form.id_columns, form.band_column, form.label, form.sign, form.camera, *words),
    )


def objects_of_rows(
    survey: Survey, files: Sequence[TextFile], scan: Scan, values: dict[Column, NDArray[np.float64]]
) -> TextObjects:
    """Return the objects of files of one format; rows of one object may stand in several runs of one file."""
    form = files[0].match.format
    about = _RowText(form, scan, values)
    rows = int(scan.row_start[-1])
    begins = np.zeros(rows + 1, dtype=bool)  # one more than rows: the last files may have none
    begins[scan.row_start] = True
    if form.many_objects:
        begins[1:-1] |= scan.text_hash[1:] != scan.text_hash[:-1]
    starts = np.flatnonzero(begins[:-1])
    file_of_run = (np.searchsorted(scan.row_start, starts, side="right") - 1).tolist()
    if not form.many_objects:
        objects = [object_from_groups(files[place].match, files[place].name, survey) for place in file_of_run]
        if about.describes_objects:
            objects = [about.described(row, found) for row, found in zip(starts.tolist(), objects, strict=True)]
        one_run_each = np.arange(starts.size, dtype=np.int32)
        return TextObjects(objects, file_of_run, np.repeat(one_run_each, np.diff(np.append(starts, rows))))
    objects, file_of_object = [], []
    index_of: dict[tuple[int, str], int] = {}
    index_of_run = np.empty(starts.size, dtype=np.int32)
    for run, (row, place) in enumerate(zip(starts.tolist(), file_of_run, strict=True)):
        object_id = about.object_id(row, files[place].match)
        index = index_of.setdefault((place, object_id), len(objects))
        if index == len(objects):
            objects.append(about.described(row, RawObject(object_id, files[place].name)))
            file_of_object.append(place)
        index_of_run[run] = index
    return TextObjects(objects, file_of_object, np.repeat(index_of_run, np.diff(np.append(starts, rows))))


class _RowText:
    """What the rows themselves say of their objects."""

    def __init__(self, form: Format, scan: Scan, values: dict[Column, NDArray[np.float64]]):
        self._form, self._scan, self._values = form, scan, values
        self._columns = wanted_columns(form)[1]
        self.describes_objects = form.ra is not None or form.dec is not None or form.label is not None

    def _token(self, row: int, column: Column) -> str:
        at = (row, self._columns.index(column))
        return decoded(self._scan.buffer[self._scan.text_start[at] : self._scan.text_stop[at]]).replace('""', '"')

    def object_id(self, row: int, match: Match) -> str:
        """Return the id of the row's object; an id of which a part is missing is no id."""
        tokens = {str(column): self._token(row, column) for column in self._form.id_columns}
        complete = all(part.strip() for part in tokens.values())
        return fill_template(self._form.id, match.groups | tokens) if complete else ""

    def described(self, row: int, found: RawObject) -> RawObject:
        """Return the object with the position and label that its row gives."""
        form = self._form
        ra, dec = (self._values[axis][row] if axis is not None else np.nan for axis in (form.ra, form.dec))
        label = self._token(row, form.label).strip() if form.label is not None else ""
        return found._replace(
            ra=float(ra) if np.isfinite(ra) else found.ra,
            dec=float(dec) if np.isfinite(dec) else found.dec,
            survey_label=label or found.survey_label,
        )
