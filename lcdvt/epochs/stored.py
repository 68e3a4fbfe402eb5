"""What the stored tables of epochs and of upper limits have in common: what they say of themselves, and their order."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lcdvt import __version__
from lcdvt.catalogs.survey import Survey
from lcdvt.errors import WorkspaceError
from lcdvt.names import BAND, MJD, OBJECT_ID

_VOTABLE_TEXT_LENGTH: Final = 64


def table_metadata(survey: Survey, name: str, columns: Sequence[str], units: Mapping[str, str]) -> dict[str, str]:
    """Return what a Parquet file says of itself: units, time system, citation, version.

    Parameters
    ----------
    survey
        Whose it is.
    name
        What it holds.
    columns
        All its columns.
    units
        The unit of each column of numbers, which may be empty; the others are text.
    """
    # Fixed-length text, because astropy cannot stack its objects for variable-length text on a string column.
    fields = "".join(
        f'<FIELD name="{column}" datatype="double"' + (f' unit="{units[column]}"/>' if units[column] else "/>")
        if column in units
        else f'<FIELD name="{column}" datatype="unicodeChar" arraysize="{_VOTABLE_TEXT_LENGTH}"/>'
        for column in columns
    )
    votable = (
        '<?xml version="1.0"?><VOTABLE version="1.4" xmlns="http://www.ivoa.net/xml/VOTable/v1.3">'
        f'<RESOURCE type="results"><TABLE name="{name}">{fields}</TABLE></RESOURCE></VOTABLE>'
    )
    return {
        "lcdvt.version": __version__,
        "lcdvt.survey": survey.name,
        "lcdvt.citation": survey.citation,
        "lcdvt.time": json.dumps(
            {
                "column": MJD,
                "from": survey.time.describe(),
                "stored": survey.time.stored,
                "scale": survey.time.stored_scale,
            },
            ensure_ascii=False,
        ),
        "lcdvt.units": json.dumps(dict(units)),
        "lcdvt.magnitude": survey.magnitudes_in_words,
        # The convention by which astropy and others find units in Parquet (VOParquet).
        "IVOA.VOTable-Parquet.version": "1.0",
        "IVOA.VOTable-Parquet.content": votable,
    }


def checked_numbers(
    table: pa.Table, what: str, schema: pa.Schema, numbers: Sequence[str], where: str
) -> dict[str, NDArray[Any]]:
    """Return columns of numbers of a table that has the columns of its schema, and finite numbers in them."""
    for wanted in schema:
        if wanted.name not in table.column_names:
            raise WorkspaceError(f"{where} is not {what}: it lacks the column {wanted.name!r}.")
    values = {name: np.asarray(table[name].to_numpy()) for name in numbers}
    for name, column in values.items():
        if not np.isfinite(column).all():
            raise WorkspaceError(f"{where}: {name} holds values that are not finite.")
    return values


def check_order(table: pa.Table, mjd: NDArray[Any], where: str) -> None:
    """Refuse a table whose rows are not in the order of object, band and date."""
    ids, bands = (np.asarray(table[name].cast(pa.string()).to_pylist(), dtype=object) for name in (OBJECT_ID, BAND))
    if len(ids) > 1:
        same_object = ids[1:] == ids[:-1]
        same_band = same_object & (bands[1:] == bands[:-1])
        ordered = (ids[1:] > ids[:-1]) | (same_object & (bands[1:] > bands[:-1])) | (same_band & (np.diff(mjd) >= 0))
        if not ordered.all():
            row = int(np.flatnonzero(~ordered)[0]) + 1
            raise WorkspaceError(f"{where}: row {row} (object {ids[row]}) is out of order: object, band, date.")
