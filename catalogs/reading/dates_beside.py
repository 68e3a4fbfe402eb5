"""Dates that a survey keeps in a table of exposures beside its light curves, as Rubin does: found by exposure."""

import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lcdvt.catalogs.file_format import Format
from lcdvt.catalogs.reading.files import bare_name
from lcdvt.errors import InputFileError


def is_table_of_dates(form: Format, name: str) -> bool:
    """Say whether a file of this name is the table of exposures, which holds no light curves."""
    return bool(form.dates_file) and re.search(form.dates_file, bare_name(name)) is not None


def dates_of(form: Format, exposures: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Return the date of each exposure; NaN where the table of exposures beside the file does not have it.

    Parameters
    ----------
    form
        The format, which says how the table is called and in which columns it has exposures and dates.
    exposures
        Each row's exposure.
    name
        The light curves' file.
    """
    keys, dates = _table_beside(form, name)
    if keys.size == 0:
        return np.full(exposures.size, np.nan)
    place = np.minimum(np.searchsorted(keys, exposures), keys.size - 1)
    return np.where(keys[place] == exposures, dates[place], np.nan)


def _table_beside(form: Format, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    folder = Path(name).parent
    try:
        files = sorted(path for path in folder.iterdir() if is_table_of_dates(form, path.name))
    except OSError:
        files = []
    for path in files:
        found = _table(path, path.stat().st_mtime_ns, form.dates_on, str(form.time))
        if found is not None:
            return found
    raise InputFileError(
        f"{name} has no dates: put the table of exposures beside it, a Parquet file (such as Visit.parquet) with the "
        f"columns {form.dates_on} and {form.time}."
    )


@lru_cache(maxsize=4)
def _table(path: Path, _changed: int, on: str, time: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    try:
        if not {on, time} <= set(pq.read_schema(path).names):
            return None
        table = pq.read_table(path, columns=[on, time])
        columns = [np.asarray(table[column].cast(pa.float64()).to_numpy()) for column in (on, time)]
    except (pa.ArrowException, OSError, ValueError):
        return None
    keys, first = np.unique(columns[0], return_index=True)
    return keys, columns[1][first]
