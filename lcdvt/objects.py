"""The objects table: every part's objects with their labels, written part by part."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lcdvt.catalogs.survey import Survey
from lcdvt.labels import LabelCatalogue
from lcdvt.names import CANONICAL_CLASSES, DEC, LABEL, OBJECT_ID, RA, SOURCE, SURVEY_LABEL, n_epochs_column
from lcdvt.part import PART, objects_folder
from lcdvt.workspace import SurveyFolder, write_atomically


def _schema(survey: Survey) -> pa.Schema:
    text = [(name, pa.string()) for name in (OBJECT_ID, LABEL, SURVEY_LABEL)]
    counts = [(n_epochs_column(band), pa.int64()) for band in survey.bands]
    return pa.schema(
        [*text, (RA, pa.float64()), (DEC, pa.float64()), *counts, (SOURCE, pa.string()), (PART, pa.int32())]
    )


def write_objects(folder: SurveyFolder, survey: Survey, catalogue: LabelCatalogue | None) -> dict[str, Any]:
    """Write objects.parquet and return how many objects have which label.

    A catalogue's label wins over that of a class folder; a class without translation keeps its own name.
    """
    schema = _schema(survey)
    classes: Counter[str] = Counter()
    unmapped: Counter[str] = Counter()
    from_catalogue = 0

    def write(path: Path) -> None:
        nonlocal from_catalogue
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for part in sorted(objects_folder(folder).glob("part-*.parquet")):
                objects = pq.read_table(part).to_pandas()
                own = objects[SURVEY_LABEL].astype("string")
                if catalogue is not None:
                    found = catalogue.join(objects)
                    from_catalogue += int(found[SURVEY_LABEL].notna().sum())
                    own = found[SURVEY_LABEL].fillna(own)
                    for axis in (RA, DEC):
                        objects[axis] = np.where(found[axis].notna(), found[axis], objects[axis])
                objects[SURVEY_LABEL] = own
                objects[LABEL] = own.map(survey.canonical_class, na_action="ignore")
                classes.update(objects[LABEL].dropna())
                unmapped.update(label for label in objects[LABEL].dropna() if label not in mapped)
                objects = objects.astype({LABEL: object, SURVEY_LABEL: object}).where(pd.notna(objects), None)
                writer.write_table(pa.Table.from_pandas(objects, schema=schema, preserve_index=False))

    mapped = {*CANONICAL_CLASSES, *survey.classes}
    write_atomically(folder.objects, write)
    return {
        "classes": dict(sorted(classes.items())),
        "unmapped": dict(sorted(unmapped.items())),
        "catalogue": str(catalogue.path) if catalogue else None,
        "labelled_by_catalogue": from_catalogue,
        "catalogue_has_classes": catalogue is not None and catalogue.classes is not None,
    }
