"""Tables with one row per star as Parquet, CSV, FITS or VOTable, written piece by piece where the form allows it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lcdvt.errors import SettingsError
from lcdvt.names import OBJECT_ID

ASTROPY_FORMATS: Final = {".fits": "fits", ".vot": "votable", ".xml": "votable"}
FORMATS: Final = (".parquet", ".csv", *ASTROPY_FORMATS)


def check_table_path(path: Path, force: bool) -> None:
    """Refuse a form that is not known, and to overwrite a file without `force`; before any work is done."""
    if path.suffix not in FORMATS:
        raise SettingsError(f"{path}: write to a file ending in {', '.join(FORMATS)}.")
    if path.exists() and not force:
        raise SettingsError(f"{path} exists: use force=True to overwrite it.")


def write_stars(frames: Iterator[pd.DataFrame], path: Path, suffix: str) -> None:
    """Write frames of the same columns below each other: .parquet and .csv as they come, the others at once.

    Parameters
    ----------
    frames
        Columns of text, of numbers, or of yes and no; text may be missing.
    path
        The file, which may have a temporary name.
    suffix
        The form.
    """
    if suffix == ".csv":
        for number, frame in enumerate(frames):
            frame.to_csv(path, mode="a" if number else "w", header=number == 0, index=False)
        return
    if suffix == ".parquet":
        writer: pq.ParquetWriter | None = None
        for frame in frames:
            table = pa.Table.from_pandas(frame, schema=_schema(frame), preserve_index=False)
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
        if writer is not None:
            writer.close()
        return
    from astropy.table import Table

    whole = pd.concat(list(frames), ignore_index=True)
    columns = {
        name: whole[name].fillna("").astype(str).to_numpy(dtype=str)
        if _is_text(whole[name])
        else whole[name].to_numpy()
        for name in whole.columns
    }
    # Written as text, a VOTable may corrupt memory and end the process later (astropy issue 20419), in binary not.
    binary = {"tabledata_format": "binary2"} if ASTROPY_FORMATS[suffix] == "votable" else {}
    Table(columns).write(path, format=ASTROPY_FORMATS[suffix], overwrite=True, **binary)


def as_if_read(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with the types it has after it was written and read again."""
    return pa.Table.from_pandas(frame, schema=_schema(frame), preserve_index=False).to_pandas()


def read_stars(path: Path) -> pd.DataFrame:
    """Read a table that `write_stars` wrote."""
    if path.suffix == ".csv":
        return pd.read_csv(path, dtype={OBJECT_ID: str})
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    from astropy.table import Table

    return Table.read(path, format=ASTROPY_FORMATS[path.suffix]).to_pandas()


def _schema(frame: pd.DataFrame) -> pa.Schema:
    """Return types that do not depend on what a frame happens to hold: a text may be missing in all its rows."""

    def kind(values: pd.Series) -> pa.DataType:
        if _is_text(values):
            return pa.string()
        return pa.float64() if values.dtype.kind == "f" else pa.from_numpy_dtype(np.dtype(str(values.dtype)))

    return pa.schema([(name, kind(frame[name])) for name in frame.columns])


def _is_text(values: pd.Series) -> bool:
    return pd.api.types.is_object_dtype(values.dtype) or pd.api.types.is_string_dtype(values.dtype)
