"""Carry variable-star labels from one survey to another.

The data's way, in the order of the rooms::

    catalogs    files of a survey          -> raw light curves
    epochs      raw light curves           -> epochs worth keeping
    features    epochs                     -> FATS features and periods
    ingestion   all of the above           -> Parquet in a workspace
    dataset     features and labels        -> X, y, survey
    dvt         X, y, survey               -> class probabilities
    protocol    surveys                    -> a run, scored beside its rivals
    results     a run                      -> its table, and the classes of other stars
    doubts      a survey or a run          -> labels that the light curves contradict
    desk        a survey or a run          -> stars in the browser, and people's answers

Every verb of the command line is a function of the same name here. `docs/architecture.md` is the map of all rooms.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lcdvt.catalogs.listing import surveys as surveys
    from lcdvt.catalogs.registry import find_survey as find_survey
    from lcdvt.catalogs.survey import Survey as Survey
    from lcdvt.checks.doctor import doctor as doctor
    from lcdvt.checks.verify import verify as verify
    from lcdvt.desk.verbs import answers as answers
    from lcdvt.desk.verbs import browse as browse
    from lcdvt.desk.verbs import label as label
    from lcdvt.doubts.doubt import doubt as doubt
    from lcdvt.dvt.config import DVTConfig as DVTConfig
    from lcdvt.errors import LcdvtError as LcdvtError
    from lcdvt.estimator import DVTClassifier as DVTClassifier
    from lcdvt.experiments.experiment import experiment as experiment
    from lcdvt.exports.hats import export as export
    from lcdvt.features.listing import features as features
    from lcdvt.ingestion.extract import extract as extract
    from lcdvt.ingestion.ingest import IngestResult as IngestResult
    from lcdvt.ingestion.ingest import ingest as ingest
    from lcdvt.ingestion.new_survey import new_survey as new_survey
    from lcdvt.protocol.train import train as train
    from lcdvt.protocol.transfer import ensemble as ensemble
    from lcdvt.protocol.transfer import transfer as transfer
    from lcdvt.protocol.tune import tune as tune
    from lcdvt.reports.write import report as report
    from lcdvt.results.comparison import compare as compare
    from lcdvt.results.listing import runs as runs
    from lcdvt.results.predict import predict as predict
    from lcdvt.results.suggest import suggest as suggest
    from lcdvt.run import Run as Run
    from lcdvt.run import open_run as open_run
    from lcdvt.simulator.reobserve import reobserve as reobserve
    from lcdvt.simulator.simulate import simulate as simulate
    from lcdvt.tables.table import ResultTable as ResultTable
    from lcdvt.workspace.light_curve import LightCurve as LightCurve
    from lcdvt.workspace.survey import StoredSurvey as StoredSurvey
    from lcdvt.workspace.survey import open_survey as open_survey

__version__ = "0.2.0"

# Public name -> module that defines it. Imported on first use, so that `lcdvt --help` stays quick. A verb and a
# room never share a name, because the room would hide the verb once it is imported; `features` is both, and says how.
_PUBLIC: dict[str, str] = {
    "DVTClassifier": "lcdvt.estimator",
    "DVTConfig": "lcdvt.dvt.config",
    "IngestResult": "lcdvt.ingestion.ingest",
    "LcdvtError": "lcdvt.errors",
    "LightCurve": "lcdvt.workspace.light_curve",
    "ResultTable": "lcdvt.tables.table",
    "Run": "lcdvt.run",
    "StoredSurvey": "lcdvt.workspace.survey",
    "Survey": "lcdvt.catalogs.survey",
    "answers": "lcdvt.desk.verbs",
    "browse": "lcdvt.desk.verbs",
    "compare": "lcdvt.results.comparison",
    "doctor": "lcdvt.checks.doctor",
    "doubt": "lcdvt.doubts.doubt",
    "ensemble": "lcdvt.protocol.transfer",
    "experiment": "lcdvt.experiments.experiment",
    "export": "lcdvt.exports.hats",
    "extract": "lcdvt.ingestion.extract",
    "find_survey": "lcdvt.catalogs.registry",
    "ingest": "lcdvt.ingestion.ingest",
    "label": "lcdvt.desk.verbs",
    "new_survey": "lcdvt.ingestion.new_survey",
    "open_run": "lcdvt.run",
    "open_survey": "lcdvt.workspace.survey",
    "predict": "lcdvt.results.predict",
    "reobserve": "lcdvt.simulator.reobserve",
    "report": "lcdvt.reports.write",
    "runs": "lcdvt.results.listing",
    "simulate": "lcdvt.simulator.simulate",
    "suggest": "lcdvt.results.suggest",
    "surveys": "lcdvt.catalogs.listing",
    "train": "lcdvt.protocol.train",
    "transfer": "lcdvt.protocol.transfer",
    "tune": "lcdvt.protocol.tune",
    "verify": "lcdvt.checks.verify",
}

__all__ = ["__version__", "features", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name == "features":
        return import_module("lcdvt.features")
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'lcdvt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
