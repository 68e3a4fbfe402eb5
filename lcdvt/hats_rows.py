"""What goes into an exported catalogue, table by table: a survey's features, or a run's predictions."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lcdvt.config import read_table
from lcdvt.errors import WorkspaceError
from lcdvt.names import DEC, OBJECT_ID, RA
from lcdvt.part import PART
from lcdvt.run_folder import PREDICTIONS_FILE
from lcdvt.run_list import CONFIG_FILE, find_run
from lcdvt.stored_objects import objects_by_part
from lcdvt.workspace import OBJECTS_FILE, PARTS, StoredSurvey, open_survey, part_name, read_part, workspace_folder


@dataclass(frozen=True)
class ExportedRows:
    """A source of rows with object_id, ra and dec.

    Parameters
    ----------
    name
        Of the catalogue.
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
        with pq.ParquetFile(self.survey.folder.objects) as file:
            for batch in file.iter_batches(columns=[RA, DEC]):
                yield batch[RA].to_numpy(), batch[DEC].to_numpy()

    def _features(self) -> Iterator[pa.Table]:
        for number, objects in objects_by_part(self.survey.folder.objects):
            features = read_part(self.survey.folder.features / part_name(number)).to_pandas()
            known = objects.drop_columns([PART]).to_pandas().set_index(OBJECT_ID).loc[features[OBJECT_ID]]
            yield _table(pd.concat([known.reset_index(), features.drop(columns=[OBJECT_ID])], axis=1))

    def _predictions(self) -> Iterator[pa.Table]:
        assert self.predictions is not None
        positions = self.survey.objects().set_index(OBJECT_ID)[[RA, DEC]]
        with pq.ParquetFile(self.predictions) as file:
            for batch in file.iter_batches():
                frame = batch.to_pandas()
                where = positions.reindex(frame[OBJECT_ID]).to_numpy(dtype=float)
                frame.insert(1, RA, where[:, 0])
                frame.insert(2, DEC, where[:, 1])
                yield _table(frame)


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
