"""The objects table: every part's objects with their labels, written part by part."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lcdvt.catalogs.reading.files import printable
from lcdvt.catalogs.survey import Survey
from lcdvt.disk.atomic import write_atomically
from lcdvt.errors import LcdvtError
from lcdvt.ingestion.labels import LabelCatalogue
from lcdvt.names import CANONICAL_CLASSES, DEC, LABEL, OBJECT_ID, RA, SURVEY_LABEL
from lcdvt.workspace.folder import SurveyFolder
from lcdvt.workspace.objects import objects_folder, objects_schema

OBJECTS_AT_ONCE: Final = 1 << 12
"""Enough to make the cost of a call small; more would show in the peak memory."""


def write_objects(folder: SurveyFolder, survey: Survey, catalogue: LabelCatalogue | None) -> dict[str, Any]:
    """Write objects.parquet and return how many objects have which label.

    A catalogue's label wins over that of a class folder; a class without translation keeps its own name.
    """
    schema = objects_schema(survey)
    classes: Counter[str] = Counter()
    from_catalogue = ambiguous = 0

    def write(path: Path) -> None:
        nonlocal from_catalogue, ambiguous
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for objects in _in_chunks(folder):
                if catalogue is not None:
                    ambiguous += catalogue.count_ambiguous(objects.select([RA, DEC]).to_pandas())
                    objects, labelled = _joined(objects, catalogue)
                    from_catalogue += labelled
                own = objects[SURVEY_LABEL].combine_chunks().dictionary_encode()
                names = [survey.canonical_class(name) for name in own.dictionary.to_pylist()]
                labels = pa.DictionaryArray.from_arrays(own.indices, pa.array(names, pa.string())).cast(pa.string())
                for entry in labels.drop_null().value_counts().to_pylist():
                    classes[entry["values"]] += entry["counts"]
                writer.write_table(objects.append_column(LABEL, labels).select(schema.names).cast(schema))

    if catalogue is not None and catalogue.match_radius_arcsec is not None and not _any_position(folder):
        raise LcdvtError(
            f"no object of {survey.name} has a position of its own, its files carry none: "
            f"match {catalogue.path} by id, and leave match_radius=… out."
        )
    write_atomically(folder.objects, write)
    mapped = {*CANONICAL_CLASSES, *survey.classes}
    radius = catalogue.match_radius_arcsec if catalogue is not None else None
    return {
        "classes": dict(sorted(classes.items())),
        "unmapped": {label: count for label, count in sorted(classes.items()) if label not in mapped},
        "catalogue": printable(str(catalogue.path.absolute())) if catalogue else None,
        "match_radius": f"{radius}arcsec" if radius is not None else None,
        "labelled_by_catalogue": from_catalogue,
        "conflicts": catalogue.conflicts if catalogue else 0,
        "ambiguous": ambiguous,
        "contradicted_stars": len(catalogue.contradicted) if catalogue else 0,
        "catalogue_has_classes": catalogue is not None and catalogue.classes is not None,
        "no_such_ids": _ids_of_both(folder, catalogue) if catalogue is not None and from_catalogue == 0 else None,
    }


def _ids_of_both(folder: SurveyFolder, catalogue: LabelCatalogue) -> list[str] | None:
    """Return an id of the catalogue and one of the survey where they have none in common: leading zeros may be lost.

    Parameters
    ----------
    folder
        The survey.
    catalogue
        A table of labels that gave none.
    """
    if catalogue.match_radius_arcsec is not None or catalogue.ids is None or catalogue.ids.dropna().empty:
        return None
    theirs, ours = pa.array(catalogue.ids.dropna(), pa.string()), ""
    for objects in _in_chunks(folder):
        if pc.any(pc.is_in(objects[OBJECT_ID], theirs)).as_py():
            return None
        ours = ours or objects[OBJECT_ID][0].as_py()
    return [theirs[0].as_py(), ours]


def _any_position(folder: SurveyFolder) -> bool:
    return any(np.isfinite(chunk[RA].to_numpy() + chunk[DEC].to_numpy()).any() for chunk in _in_chunks(folder))


def _in_chunks(folder: SurveyFolder) -> Iterator[pa.Table]:
    """Yield the objects of many parts at a time: few calls, and never all objects in memory."""
    waiting: list[pa.Table] = []
    for part in sorted(objects_folder(folder).glob("part-*.parquet")):
        # A third of the cost of read_table, which looks for a dataset first; threads and reading ahead need more rows.
        with pq.ParquetFile(part, pre_buffer=False) as file:
            waiting.append(file.read(use_threads=False))
        if sum(table.num_rows for table in waiting) >= OBJECTS_AT_ONCE:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _joined(objects: pa.Table, catalogue: LabelCatalogue) -> tuple[pa.Table, int]:
    """Put the catalogue's labels and positions in; return also how many objects it labels."""
    found = catalogue.join(objects.select([OBJECT_ID, RA, DEC]).to_pandas())
    labels = pa.array(found[SURVEY_LABEL], pa.string(), from_pandas=True)
    own = objects[SURVEY_LABEL]
    if catalogue.contradicted:
        own = pc.if_else(pc.is_in(objects[OBJECT_ID], pa.array(sorted(catalogue.contradicted))), None, own)
    columns = {SURVEY_LABEL: pc.coalesce(labels, own)}
    for axis in (RA, DEC):
        known = found[axis].to_numpy()
        columns[axis] = pa.array(np.where(np.isnan(known), objects[axis].to_numpy(), known))
    for name, values in columns.items():
        objects = objects.set_column(objects.column_names.index(name), name, values)
    return objects, len(labels) - labels.null_count
