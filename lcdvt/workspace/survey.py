"""An ingested survey, opened: nothing is loaded before it is asked for."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.survey_toml import survey_from_file
from lcdvt.disk.limited_text import read_json_object
from lcdvt.errors import WorkspaceError, named_or_path
from lcdvt.names import LABEL, OBJECT_ID, PERIOD
from lcdvt.workspace.folder import (
    PARTS,
    SurveyFolder,
    cut_files,
    damage_is_named,
    ingested_surveys,
    part_name,
    read_part,
    workspace_folder,
)
from lcdvt.workspace.light_curve import LightCurve

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.dataset as pds
    from astropy.timeseries import TimeSeries


def open_survey(name: str, data: str | Path | None = None) -> "StoredSurvey":
    """Open an ingested survey by name."""
    name = str(named_or_path(name, "the survey", "the name of an ingested survey"))
    workspace = workspace_folder(data)
    folder = SurveyFolder(workspace / name)
    if not folder.objects.is_file():
        known = ", ".join(ingested_surveys(workspace)) or "none yet"
        raise WorkspaceError(
            f"survey {name!r} is not ingested in {workspace} (there: {known}): run `lcdvt ingest` first."
        )
    damaged = cut_files(folder)
    if damaged:
        others = f" (and {len(damaged) - 1} more)" if len(damaged) > 1 else ""
        raise WorkspaceError(
            f"{damaged[0]}{others} is damaged or cut short: rebuild it with `lcdvt ingest --repair` and the same "
            f"input; `lcdvt verify {name}` lists all that is wrong."
        )
    # Absolute, because a notebook may change its folder.
    return StoredSurvey(name, SurveyFolder(folder.root.absolute()), survey_from_file(folder.survey_toml))


@dataclass(frozen=True)
class FeaturePart:
    """The stars of one part of features, before their features are read.

    Parameters
    ----------
    path
        The part.
    object_ids, labels
        Its stars in their order, and their classes; None for a star without a label.
    """

    path: Path
    object_ids: list[str]
    labels: list[str | None]


@dataclass(frozen=True)
class StoredSurvey:
    """An ingested survey; nothing is loaded before it is asked for."""

    name: str
    folder: SurveyFolder
    survey: Survey

    @property
    def is_simulated(self) -> bool:
        """Whether the simulator made it: every figure from it is then marked so."""
        return bool(self.ingested.get("simulated"))

    @property
    def ingested(self) -> dict[str, Any]:
        """What the ingest read, dropped and could not read: the content of ingest.json."""
        try:
            return read_json_object(self.folder.summary)
        except (OSError, ValueError) as error:
            raise WorkspaceError(
                f"{self.folder.summary} cannot be read ({error}): run the same `lcdvt ingest` again to write it."
            ) from error

    @property
    def epochs(self) -> "pds.Dataset":
        """All epochs as a pyarrow dataset: filter and project it without loading it whole."""
        import pyarrow.dataset as pds

        return pds.dataset(self.folder.epochs, format="parquet", exclude_invalid_files=False)

    @property
    def limits(self) -> "pds.Dataset":
        """All upper limits as a pyarrow dataset: object_id, band, mjd, mag_limit; empty where the survey has none."""
        import pyarrow.dataset as pds

        from lcdvt.epochs.limits import LIMITS_SCHEMA

        if not self.folder.limits.is_dir():
            return pds.dataset(LIMITS_SCHEMA.empty_table())
        return pds.dataset(self.folder.limits, LIMITS_SCHEMA, format="parquet", exclude_invalid_files=False)

    def iter_epochs(self) -> "Iterator[pd.DataFrame]":
        """Yield the epochs part by part; an object never spans two parts."""
        for part in sorted(self.folder.epochs.glob(PARTS)):
            yield read_part(part).to_pandas()

    def objects(self) -> "pd.DataFrame":
        """Return the objects table: id, label, position, number of epochs per band, source file."""
        return read_part(self.folder.objects).to_pandas()

    def features(self) -> "pd.DataFrame":
        """Return the features of every object."""
        if not any(self.folder.features.glob(PARTS)):
            raise WorkspaceError(f"survey {self.name!r} has no features: run `lcdvt extract {self.name}`.")
        return read_part(self.folder.features).to_pandas()

    def count_objects(self) -> int:
        """Return how many objects there are, without reading them."""
        import pyarrow.parquet as pq

        with damage_is_named(self.folder.objects):
            return int(pq.read_metadata(self.folder.objects).num_rows)

    def feature_parts(self) -> "Iterator[FeaturePart]":
        """Yield the stars that have features and their labels, part by part: never all of them in memory."""
        from lcdvt.workspace.objects import PART, objects_by_part

        for number, objects in objects_by_part(self.folder.objects, [OBJECT_ID, LABEL, PART]):
            path = self.folder.features / part_name(number)
            if path.is_file():
                labels = dict(zip(objects[OBJECT_ID].to_pylist(), objects[LABEL].to_pylist(), strict=True))
                object_ids = read_part(path, [OBJECT_ID])[OBJECT_ID].to_pylist()
                yield FeaturePart(path, object_ids, [labels.get(object_id) for object_id in object_ids])

    def light_curve(self, object_id: str) -> LightCurve:
        """Return one star: `.plot()` shows it, `.fold().plot()` by phase, `.epochs` are its numbers."""
        from lcdvt.workspace.objects import PART

        # Ids are text, also where a survey numbers its stars.
        object_id = str(object_id)
        # The objects table knows the part: of ten thousand parts, one is opened.
        part = self._value_of(self.folder.objects, object_id, PART)
        if part is None:
            raise WorkspaceError(f"survey {self.name!r} has no object {object_id!r}.")
        found = self._rows_of(self.folder.epochs / part_name(part), object_id)
        if found.empty:
            raise WorkspaceError(f"survey {self.name!r} has no object {object_id!r}.")
        return LightCurve(
            object_id=object_id,
            survey=self.name,
            epochs=found,
            limits=self._limits_of(part, object_id),
            nanometres=self.survey.nanometres,
            period=self._value_of(self.folder.features / part_name(part), object_id, PERIOD),
            label=self._value_of(self.folder.objects, object_id, LABEL),
            time_scale=self.survey.time.stored_scale,
            flux_unit=self.survey.flux_unit,
            citation=self.survey.citation,
        )

    def _limits_of(self, part: int, object_id: str) -> "pd.DataFrame":
        """Return one star's upper limits; a part without any has no file."""
        from lcdvt.epochs.limits import LIMITS_SCHEMA

        path = self.folder.limits / part_name(part)
        if path.exists():
            return self._rows_of(path, object_id)
        return LIMITS_SCHEMA.empty_table().to_pandas().drop(columns=OBJECT_ID)

    def _rows_of(self, path: Path, object_id: str) -> "pd.DataFrame":
        """Return one star's rows of a part of epochs or upper limits."""
        import pyarrow as pa
        import pyarrow.compute as pc

        with damage_is_named(path, self._remedy):
            rows = read_part(path, remedy=self._remedy)
            if OBJECT_ID not in rows.column_names:
                raise pa.ArrowInvalid(f"it has no column {OBJECT_ID!r}")
            return rows.filter(pc.equal(rows[OBJECT_ID], object_id)).to_pandas().drop(columns=OBJECT_ID)

    @property
    def _remedy(self) -> str:
        return f"`lcdvt verify {self.name}` says what to do"

    def _value_of(self, place: Path, object_id: str, column: str) -> Any:
        """Return one value of one star from the objects or a part of features; None where there is none."""
        import pandas as pd
        import pyarrow.compute as pc
        import pyarrow.dataset as pds

        if not place.is_file():
            return None
        with damage_is_named(place, self._remedy):
            table = pds.dataset(place, format="parquet")
            if column not in table.schema.names:
                return None
            values = table.to_table(columns=[column], filter=pc.field(OBJECT_ID) == object_id)[column].to_pylist()
        return None if not values or pd.isna(values[0]) else values[0]

    def to_timeseries(self, object_id: str) -> "TimeSeries":
        """Return one object's epochs as an astropy TimeSeries with units."""
        return self.light_curve(object_id).to_timeseries()

    def to_nested(self) -> Any:
        """Return the objects as a nested-pandas frame, each with its epochs in the column `lightcurve`."""
        try:
            from nested_pandas import NestedFrame
        except ImportError as error:
            raise WorkspaceError("to_nested needs nested-pandas: pip install 'lcdvt[lsdb]'.") from error
        objects = NestedFrame(self.objects().set_index(OBJECT_ID))
        epochs = self.epochs.to_table().to_pandas().set_index(OBJECT_ID)
        return objects.join_nested(epochs, "lightcurve")
