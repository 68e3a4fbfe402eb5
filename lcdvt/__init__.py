"""Carry variable-star labels from one survey to another.

The data's way, in the order of the modules::

    catalogs    files of a survey          -> epochs
    clean       epochs                     -> epochs worth keeping
    features    epochs                     -> FATS features and periods
    ingestion   all of the above           -> Parquet in a workspace
    dataset     features and labels        -> X, y, survey
    dvt         X, y, survey               -> class probabilities
"""

import os
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Arrow's own allocator takes from the system a second time what Python and NumPy have freed: measured, that was half of
# what the peak memory of an ingest grew by with the survey. Arrow looks at this once, when it is first used.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

# Public name -> module that defines it. Imported on first use, so that `lcdvt --help` stays quick. A verb and a
# module of lcdvt never share a name: once imported, the module would hide the verb.
_PUBLIC: dict[str, str] = {
    "DVTClassifier": "lcdvt.estimator",
    "IngestResult": "lcdvt.ingestion",
    "LcdvtError": "lcdvt.errors",
    "StoredSurvey": "lcdvt.workspace",
    "Survey": "lcdvt.catalogs.survey",
    "ensemble": "lcdvt.transfer_run",
    "export_hats": "lcdvt.hats_export",
    "extract": "lcdvt.features.extraction",
    "extract_survey": "lcdvt.recompute",
    "RunResult": "lcdvt.protocol",
    "find_survey": "lcdvt.catalogs.registry",
    "ingest": "lcdvt.ingestion",
    "open_survey": "lcdvt.workspace",
    "predict": "lcdvt.prediction",
    "simulate": "lcdvt.simulator.run",
    "suggest": "lcdvt.suggestion",
    "train": "lcdvt.training_run",
    "transfer": "lcdvt.transfer_run",
    "verify": "lcdvt.verification",
    "write_report": "lcdvt.report.writing",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'lcdvt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
