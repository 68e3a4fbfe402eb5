"""The table of all stars of a survey, one page at a time: a million rows stay on the disk.

To sort by a column, that column alone is read, and of the order only the row numbers are kept; of a page, only the
row groups that its rows lie in are read.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pds
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lcdvt.errors import SettingsError
from lcdvt.features.config import band_column
from lcdvt.names import DEC, LABEL, OBJECT_ID, PERIOD, PREDICTED, RA, SOURCE, SURVEY_LABEL, n_epochs_column
from lcdvt.parallel.memory import give_freed_memory_back
from lcdvt.results.folder import PREDICTIONS_FILE
from lcdvt.workspace.folder import PARTS
from lcdvt.workspace.objects import PART
from lcdvt.workspace.survey import StoredSurvey

MOST_ROWS: Final = 200
"""Of one page: what a browser draws at once without a pause."""
ORDERS_KEPT: Final = 4
"""Four bytes a row each: to go back and forth between some columns costs nothing."""
NOT_SHOWN: Final = (SOURCE, SURVEY_LABEL, PART)
# What was read ahead is not kept until the whole file is read.
STREAMED: Final = pds.ParquetFileFormat(default_fragment_scan_options=pds.ParquetFragmentScanOptions(pre_buffer=False))
PROBABILITY: Final = "probability"
"""Of the predicted class; made from the predictions, where it has no column of its own."""


@dataclass(frozen=True)
class Query:
    """Which rows are wanted, in which order.

    Parameters
    ----------
    sort, descending
        A column ("" for the survey's own order), and whether the highest come first.
    label
        Only stars of this class; "-" for those without one; "" for all.
    text
        Only stars with this in their ids; "" for all.
    """

    sort: str = ""
    descending: bool = False
    label: str = ""
    text: str = ""


class _Rows:
    """Parquet files below each other as one table, of which single rows are read."""

    def __init__(self, files: list[Path]) -> None:
        self.files = files
        self.dataset = pds.dataset([str(file) for file in files], format=STREAMED)
        self.names = self.dataset.schema.names
        self.groups: list[tuple[Path, int]] = []
        sizes: list[int] = []
        for file in files:
            about = pq.read_metadata(file)
            self.groups += [(file, number) for number in range(about.num_row_groups)]
            sizes += [about.row_group(number).num_rows for number in range(about.num_row_groups)]
        self.ends = np.array(list(accumulate(sizes)), dtype=np.int64)

    @property
    def total(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def take(self, rows: NDArray[np.integer], columns: list[str]) -> pa.Table:
        """Return some rows in the order asked for."""
        group = np.searchsorted(self.ends, rows, side="right")
        pieces, places = [], []
        for number in np.unique(group):
            inside = np.flatnonzero(group == number)
            file, row_group = self.groups[number]
            start = self.ends[number - 1] if number else 0
            with pq.ParquetFile(file) as opened:
                read = opened.read_row_group(row_group, columns=columns)
            pieces.append(read.take(pa.array(rows[inside] - start)))
            places.append(inside)
        if not pieces:
            return self.dataset.schema.empty_table().select(columns)
        return pa.concat_tables(pieces).take(pa.array(np.argsort(np.concatenate(places), kind="stable")))

    def of(self, ids: list[str], columns: list[str], rows: NDArray[np.integer]) -> dict[str, dict[str, Any]]:
        """Return some columns of some stars, by their ids.

        `rows` are where another table has them: an ingest writes objects and features in the same order, so that the
        stars are looked for in the whole table only where it is another one.
        """
        names = [OBJECT_ID, *columns]
        found = self.take(rows, names) if rows.max(initial=-1) < self.total else None
        if found is None or found[OBJECT_ID].to_pylist() != ids:
            wanted = pc.field(OBJECT_ID).isin(pa.array(ids, type=pa.string()))
            found = self.dataset.to_table(columns=names, filter=wanted)
        return {str(row.pop(OBJECT_ID)): row for row in found.to_pylist()}


class StarTable:
    """The stars of a survey with their labels, features and, where a run is given, what it predicts."""

    def __init__(self, stored: StoredSurvey, run: Path | None = None) -> None:
        self.stored = stored
        self.objects = _Rows([stored.folder.objects])
        parts = sorted(stored.folder.features.glob(PARTS))
        self.features = _Rows(parts) if parts else None
        predictions = None if run is None else run / PREDICTIONS_FILE
        self.predictions = _Rows([predictions]) if predictions is not None and predictions.is_file() else None
        self._orders: OrderedDict[Query, tuple[_Rows, NDArray[np.int32]]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def total(self) -> int:
        """How many stars there are."""
        return self.objects.total

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The classes that the survey's stars have, sorted."""
        found: set[str] = set()
        for batch in self.objects.dataset.to_batches(columns=[LABEL]):
            found |= set(pc.unique(batch.column(0)).to_pylist())
        return tuple(sorted(name for name in found if name is not None))

    @cached_property
    def columns(self) -> dict[str, list[str]]:
        """Return what can be sorted by, in groups."""
        predicted = [] if self.predictions is None else [
            PREDICTED, PROBABILITY,
            *(name for name in self.predictions.names if name not in (OBJECT_ID, LABEL, PREDICTED, "in_draw")),
        ]  # fmt: skip
        return {
            "star": [name for name in self.objects.names if name not in NOT_SHOWN],
            "prediction": predicted,
            "features": [name for name in (self.features.names if self.features else []) if name != OBJECT_ID],
        }

    @property
    def shown(self) -> list[str]:
        """The columns that are always shown."""
        bands = self.stored.survey.bands
        usual = [PERIOD, "Period_fap", band_column("Amplitude", bands[0])]
        return [
            OBJECT_ID,
            LABEL,
            *([PREDICTED, PROBABILITY] if self.predictions else []),
            *(name for name in usual if self.features and name in self.features.names),
            *map(n_epochs_column, bands),
            RA,
            DEC,
        ]

    def page(self, query: Query, start: int, count: int) -> dict[str, Any]:
        """Return some rows of the table, and how many there are altogether.

        Parameters
        ----------
        query
            Which rows, in which order.
        start, count
            The first row's place in that order, and how many rows at most.
        """
        if start < 0 or not 0 < count <= MOST_ROWS:
            raise SettingsError(f"rows {start} to {start + count}: at most {MOST_ROWS} at once, from 0 on.")
        rows, order = self._order(query)
        total = rows.total if order is None else len(order)
        wanted = np.arange(start, min(start + count, total)) if order is None else order[start : start + count]
        ids = [str(name) for name in rows.take(wanted, [OBJECT_ID])[OBJECT_ID].to_pylist()]
        names = list(dict.fromkeys([*self.shown, *([query.sort] if query.sort else [])]))
        found: dict[str, dict[str, Any]] = {name: {OBJECT_ID: name} for name in ids}
        for source in (self.objects, self.predictions, self.features):
            if source is None or not ids:
                continue
            own = [name for name in names if name in source.names and name not in (OBJECT_ID, LABEL)]
            own += [LABEL] if source is self.objects else []
            chances = self._probability_columns if source is self.predictions else []
            for star, values in source.of(ids, [*own, *chances], wanted).items():
                found[star] |= {name: values[name] for name in own}
                if chances:
                    found[star][PROBABILITY] = max((values[name] for name in chances), default=None)
        give_freed_memory_back()
        return {
            "total": total,
            "start": start,
            "columns": names,
            "rows": [[_as_json(found[star].get(name)) for name in names] for star in ids],
        }

    def place_of(self, query: Query, place: int) -> str | None:
        """Return the star at a place of an order; None beyond its ends."""
        rows, order = self._order(query)
        total = rows.total if order is None else len(order)
        if not 0 <= place < total:
            return None
        row = place if order is None else int(order[place])
        return str(rows.take(np.array([row]), [OBJECT_ID])[OBJECT_ID][0].as_py())

    @property
    def _probability_columns(self) -> list[str]:
        return [name for name in (self.predictions.names if self.predictions else []) if name.startswith("p_")]

    def _order(self, query: Query) -> tuple[_Rows, NDArray[np.int32] | None]:
        """Return the table that a query walks through, and the rows in their order; none for all in its own order."""
        if query == Query():
            return self.objects, None
        with self._lock:
            if query in self._orders:
                self._orders.move_to_end(query)
                return self._orders[query]
            rows = self._holder(query.sort)
            self._orders[query] = (rows, self._sorted(rows, query))
            give_freed_memory_back()  # a whole column was read for it
            while len(self._orders) > ORDERS_KEPT:
                self._orders.popitem(last=False)
            return self._orders[query]

    def _holder(self, column: str) -> _Rows:
        groups = (("star", self.objects), ("prediction", self.predictions), ("features", self.features))
        for group, source in groups:
            if source is not None and (not column or column in self.columns[group]):
                return source
        raise SettingsError(f"the stars of {self.stored.name} have no column {column!r}.")

    def _sorted(self, rows: _Rows, query: Query) -> NDArray[np.int32]:
        kept = self._kept(rows, query)
        if not query.sort:
            return kept
        if query.sort == PROBABILITY:
            table = rows.dataset.to_table(columns=self._probability_columns)
            values = np.max([column.to_numpy() for column in table.columns], axis=0)[kept]
        else:
            column = rows.dataset.to_table(columns=[query.sort])[query.sort]
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                way = "descending" if query.descending else "ascending"
                order = pc.array_sort_indices(column.take(pa.array(kept)).combine_chunks(), order=way)
                return kept[order.to_numpy()]
            values = column.to_numpy()[kept].astype(float)
        # missing values come last, whichever way the others are sorted
        order = np.argsort(-values if query.descending else values, kind="stable")
        return kept[order]

    def _kept(self, rows: _Rows, query: Query) -> NDArray[np.int32]:
        """Return the numbers of the rows that a query lets through."""
        if not query.label and not query.text:
            return np.arange(rows.total, dtype=np.int32)
        wanted = None
        if query.label:
            wanted = pc.field(LABEL).is_null() if query.label == "-" else pc.field(LABEL) == query.label
        if query.text:
            holds = pc.match_substring(pc.field(OBJECT_ID), query.text, ignore_case=True)
            wanted = holds if wanted is None else wanted & holds
        ids = self.objects.dataset.to_table(columns=[OBJECT_ID], filter=wanted)[OBJECT_ID]
        own = rows.dataset.to_table(columns=[OBJECT_ID])[OBJECT_ID]
        return np.flatnonzero(pc.is_in(own, value_set=ids.combine_chunks().cast(own.type)).to_numpy()).astype(np.int32)


def _as_json(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value
