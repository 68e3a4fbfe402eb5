"""The verb `export`: features and predictions as a HATS catalogue, so that an LSDB user joins them by position.

Rows are dealt out to HEALPix partitions on disk, part by part, and each partition is then sorted and written: one
partition is in memory at a time, however large the survey is.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lcdvt import __version__
from lcdvt.disk.atomic import writable
from lcdvt.disk.parquet import open_streamed
from lcdvt.disk.toml_config import read_table
from lcdvt.errors import SettingsError, WorkspaceError
from lcdvt.names import DEC, OBJECT_ID, RA
from lcdvt.parallel.progress import Progress, silent
from lcdvt.results.folder import CONFIG_FILE, PREDICTIONS_FILE, find_run
from lcdvt.workspace.folder import OBJECTS_FILE, PARTS, part_name, read_part, workspace_folder
from lcdvt.workspace.objects import PART, objects_by_part
from lcdvt.workspace.survey import StoredSurvey, open_survey

ROWS_PER_PARTITION: Final = 100_000
"""Some ten megabytes each, which LSDB likes to read."""
HIGHEST_ORDER: Final = 8
"""Partitions are never smaller than a quarter of a degree."""
SPATIAL_INDEX: Final = "_healpix_29"
SPATIAL_ORDER: Final = 29
"""Of HATS' own index column."""


@dataclass(frozen=True)
class ExportedRows:
    """A source of rows with object_id, ra and dec.

    Parameters
    ----------
    name
        The name of the catalogue.
    survey
        Where the positions come from.
    description
        For the catalogue's properties.
    predictions
        A run's predictions; None exports the survey's features.
    """

    name: str
    survey: StoredSurvey
    description: str
    predictions: Path | None = None

    def tables(self) -> Iterator[pa.Table]:
        """Yield the rows part by part, always in the same order."""
        if self.predictions is None:
            yield from self._features()
        else:
            yield from self._predictions()

    def positions(self) -> Iterator[tuple[Any, Any]]:
        """Yield RA and Dec of the rows, as they come."""
        if self.predictions is not None:
            for table in self.tables():
                yield table[RA].to_numpy(), table[DEC].to_numpy()
            return
        with open_streamed(self.survey.folder.objects) as file:
            for batch in file.iter_batches(columns=[RA, DEC]):
                # A star whose position is not known may have null there, which numpy gets as NaN in a copy.
                yield batch[RA].to_numpy(zero_copy_only=False), batch[DEC].to_numpy(zero_copy_only=False)

    def _features(self) -> Iterator[pa.Table]:
        for number, objects in objects_by_part(self.survey.folder.objects):
            features = read_part(self.survey.folder.features / part_name(number)).to_pandas()
            known = objects.drop_columns([PART]).to_pandas().set_index(OBJECT_ID).loc[features[OBJECT_ID]]
            yield _table(pd.concat([known.reset_index(), features.drop(columns=[OBJECT_ID])], axis=1))

    def _predictions(self) -> Iterator[pa.Table]:
        assert self.predictions is not None
        positions = self.survey.objects().set_index(OBJECT_ID)[[RA, DEC]]
        with open_streamed(self.predictions) as file:
            for batch in file.iter_batches():
                frame = batch.to_pandas()
                where = positions.reindex(frame[OBJECT_ID]).to_numpy(dtype=float)
                frame.insert(1, RA, where[:, 0])
                frame.insert(2, DEC, where[:, 1])
                yield _table(frame)


@dataclass(frozen=True)
class ExportResult:
    """What was written, and where."""

    name: str
    folder: Path
    objects: int
    without_position: int
    partitions: int


def export(
    what: str,
    out: str | Path,
    *,
    rows_per_partition: int = ROWS_PER_PARTITION,
    data: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> ExportResult:
    """Write a survey's features or a run's predictions as a HATS catalogue.

    Parameters
    ----------
    what
        An ingested survey (objects, labels, features) or a run (its predictions).
    out
        The catalogue's folder; its name is the catalogue's.
    rows_per_partition
        Partitions are divided until none has more rows.
    data
        The workspace.
    force
        Replace a HATS catalogue that is there.
    progress
        Called with the number of objects done.

    Notes
    -----
    Objects without a position cannot be in a catalogue of the sky; they are counted and left out.
    """
    if rows_per_partition < 1:
        raise SettingsError(f"rows_per_partition={rows_per_partition}: a partition has at least one row.")
    _need_hats()
    target = Path(out)
    _refuse_occupied(target, force)
    rows = exported_rows(what, data)
    histogram, missing = _histogram(rows)
    if not histogram.any():
        raise WorkspaceError(
            f"no object of {what} has a position: ingest it with a catalogue (catalog=FILE) that has ra and dec."
        )
    alignment = _alignment(histogram, rows_per_partition)
    with _beside(target) as growing:
        _deal_out(rows, alignment, growing / "pieces", progress)
        pixels = [_write_partition(pieces, growing / "catalogue") for pieces in sorted((growing / "pieces").iterdir())]
        total = int(histogram.sum())
        _write_metadata(rows, growing / "catalogue", target.name, pixels, total)
        with writable(target.parent):
            if target.exists():
                shutil.rmtree(target)
            (growing / "catalogue").rename(target)
    return ExportResult(rows.name, target, total, missing, len(pixels))


def _need_hats() -> None:
    try:
        import hats  # noqa: F401
    except ImportError as error:
        raise WorkspaceError("a HATS catalogue needs the lsdb extra: pip install 'lcdvt[lsdb]'.") from error


def _refuse_occupied(target: Path, force: bool) -> None:
    if not target.exists():
        return
    is_catalogue = (target / "hats.properties").is_file()
    if not is_catalogue:
        raise WorkspaceError(f"{target} exists and is no HATS catalogue: choose another folder.")
    if not force:
        raise WorkspaceError(f"{target} exists: use force=True to replace it.")


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Give a folder on the same disk; the catalogue is moved into place when it is whole."""
    with writable(target.absolute().parent):
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.absolute().parent) as growing:
            yield Path(growing)


def _has_position(ra: NDArray[np.float64], dec: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.isfinite(ra) & np.isfinite(dec) & (np.abs(dec) <= 90)


def _histogram(rows: ExportedRows) -> tuple[NDArray[np.int64], int]:
    """Count the objects of each pixel of the highest order, and those without a position."""
    from hats.pixel_math.spatial_index import compute_spatial_index

    histogram = np.zeros(12 * 4**HIGHEST_ORDER, dtype=np.int64)
    missing = 0
    for ra, dec in rows.positions():
        placed = _has_position(ra, dec)
        missing += int(np.count_nonzero(~placed))
        pixels = compute_spatial_index(ra[placed], dec[placed], HIGHEST_ORDER)
        histogram += np.bincount(pixels, minlength=histogram.size)
    return histogram, missing


def _alignment(histogram: NDArray[np.int64], rows_per_partition: int) -> Any:
    from hats.pixel_math.partition_stats import generate_alignment

    # Stars closer together than a pixel of the highest order stay in one partition.
    threshold = max(rows_per_partition, int(histogram.max()))
    return generate_alignment(histogram, highest_order=HIGHEST_ORDER, threshold=threshold)


def _deal_out(rows: ExportedRows, alignment: Any, pieces: Path, progress: Progress) -> None:
    """Put each part's rows into files by partition."""
    from hats.pixel_math.spatial_index import compute_spatial_index, spatial_index_to_healpix

    done = 0
    for number, table in enumerate(rows.tables()):
        ra, dec = table[RA].to_numpy(), table[DEC].to_numpy()
        placed = np.flatnonzero(_has_position(ra, dec))
        index = compute_spatial_index(ra[placed], dec[placed], SPATIAL_ORDER)
        table = table.take(placed).add_column(0, SPATIAL_INDEX, pa.array(index, pa.int64()))
        of_row = [alignment[pixel] for pixel in spatial_index_to_healpix(index, HIGHEST_ORDER)]
        for order, pixel, _ in sorted(set(map(tuple, of_row))):
            chosen = np.flatnonzero([place[0] == order and place[1] == pixel for place in of_row])
            folder = pieces / f"{order}-{pixel}"
            folder.mkdir(parents=True, exist_ok=True)
            pq.write_table(table.take(chosen), folder / f"piece-{number:07d}.parquet")
        done += table.num_rows
        progress(done, None)


def _write_partition(pieces: Path, catalogue: Path) -> tuple[int, int]:
    from hats.io.paths import new_pixel_catalog_file
    from hats.pixel_math import HealpixPixel

    order, pixel = map(int, pieces.name.split("-"))
    table = pa.concat_tables(pq.read_table(path) for path in sorted(pieces.iterdir()))
    path = new_pixel_catalog_file(catalogue, HealpixPixel(order, pixel))
    pq.write_table(table.sort_by([(SPATIAL_INDEX, "ascending")]), Path(str(path)), compression="zstd")
    shutil.rmtree(pieces)
    return order, pixel


def _write_metadata(rows: ExportedRows, catalogue: Path, name: str, pixels: list[tuple[int, int]], total: int) -> None:
    from hats.catalog import PartitionInfo, TableProperties
    from hats.io.parquet_metadata import write_parquet_metadata
    from hats.pixel_math import HealpixPixel

    info = PartitionInfo([HealpixPixel(order, pixel) for order, pixel in sorted(pixels)])
    info.write_to_file(catalogue / "partition_info.csv")
    written = write_parquet_metadata(catalogue)
    if written != total:
        raise WorkspaceError(f"{catalogue} has {written} rows instead of {total}: export it again.")
    properties: dict[str, Any] = {
        "catalog_name": name,
        "catalog_type": "object",
        "total_rows": total,
        "ra_column": RA,
        "dec_column": DEC,
        "healpix_column": SPATIAL_INDEX,
        "healpix_order": SPATIAL_ORDER,
        "obs_description": rows.description,
        **TableProperties.new_provenance_dict(catalogue, builder=f"lcdvt {__version__}"),
    }
    TableProperties(**properties).to_properties_file(catalogue)


def _table(frame: pd.DataFrame) -> pa.Table:
    """Make a table whose schema does not depend on what one part happens to hold."""
    columns: dict[str, pa.Array] = {}
    for name in frame.columns:
        values = frame[name]
        if pd.api.types.is_bool_dtype(values.dtype):
            columns[name] = pa.array(values.to_numpy(), pa.bool_())
        elif pd.api.types.is_integer_dtype(values.dtype):
            columns[name] = pa.array(values.to_numpy(), pa.int64())
        elif pd.api.types.is_float_dtype(values.dtype):
            columns[name] = pa.array(np.asarray(values, dtype=np.float64), pa.float64())
        else:
            columns[name] = pa.array(values, pa.string(), from_pandas=True)
    return pa.table(columns)


def exported_rows(what: str, data: str | Path | None) -> ExportedRows:
    """Find a survey or run by its name; a survey wins over a run of the same name."""
    if (workspace_folder(data) / what / OBJECTS_FILE).is_file():
        stored = open_survey(what, data)
        if not any(stored.folder.features.glob(PARTS)):
            raise WorkspaceError(f"survey {what!r} has no features to export: run `lcdvt extract {what}`.")
        return ExportedRows(what, stored, f"FATS features and periods of {what}, {stored.survey.citation}")
    folder = find_run(what, data)
    predictions = folder / PREDICTIONS_FILE
    if not predictions.is_file():
        raise WorkspaceError(f"the run {folder} has no {PREDICTIONS_FILE}: make it again with `lcdvt transfer`.")
    surveys = read_table(folder / CONFIG_FILE).get("run", {}).get("surveys", [])
    if not surveys:
        raise WorkspaceError(f"{folder / CONFIG_FILE} names no survey: the run is damaged, make it again.")
    stored = open_survey(str(surveys[-1]), data)
    return ExportedRows(folder.name, stored, f"classes of {stored.name} by the run {folder.name}", predictions)
