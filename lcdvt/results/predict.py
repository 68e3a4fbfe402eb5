"""The verb `predict`: a saved run on new light curves, part by part."""

import tempfile
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pds
import pyarrow.parquet as pq
import torch

from lcdvt.disk.atomic import write_atomically
from lcdvt.disk.star_table import as_if_read, check_table_path, read_stars, write_stars
from lcdvt.dvt.ensemble import predict as predict_members
from lcdvt.errors import SettingsError, WorkspaceError, named_or_path
from lcdvt.evaluate import entropy
from lcdvt.features.spec import DEFAULT_FEATURES
from lcdvt.ingestion.ingest import ingest
from lcdvt.ingestion.join_rule import stored_join
from lcdvt.ingestion.settings import survey_features
from lcdvt.names import DISAGREEMENT, ENTROPY, OBJECT_ID, OTHER_SCORE, PREDICTED, REASON, probability_column
from lcdvt.parallel.executors import IN_THIS_PROCESS, Workers, run_batches
from lcdvt.parallel.progress import Progress, silent
from lcdvt.results.folder import find_run
from lcdvt.results.other_forest import OtherForest, read_other_forest
from lcdvt.results.saved import WEIGHTS_FILE, SavedRun, load_run
from lcdvt.workspace.folder import PARTS, damage_is_named, ingested_surveys, pieces_folder, read_part, workspace_folder
from lcdvt.workspace.journal import Journal, whole_records
from lcdvt.workspace.survey import StoredSurvey, open_survey

NO_FEATURES: Final = "no usable features: too few epochs in the bands the run needs"
LEFT_OUT: Final = "dropped by the survey's cleaning rule"
MOST_LACKING: Final = 0.5
"""Of the run's features; some may be missing, as a source may lack some of the target's."""


@dataclass(frozen=True)
class PartToClassify:
    """What a worker needs to classify one part."""

    run: Path
    features: Path
    bands: tuple[str, ...]
    wavelengths: tuple[float, ...]
    head: int


@dataclass(frozen=True)
class PredictResult:
    """What was classified, and where the table is.

    Parameters
    ----------
    run, survey
        The run that was asked, about which survey.
    path
        Where the table was written; None where it is only in memory.
    objects, without_features
        How many objects there are, and how many of them could not be classified.
    classes
        Objects of each predicted class.
    simulated
        Whether the simulator made the light curves, or any of the run's surveys.
    ranked_among
        The stars that `other_score` is relative to: 0.9 says that nine of ten of them look more like one of the
        classes. None for a run of a version that could not tell of new stars.
    problems
        Raw files that could not be read, in a sentence each.
    not_extracted
        Features that the run looks at and that were not computed of this survey, although its bands would give them.
    """

    run: str
    survey: str
    path: Path | None
    objects: int
    without_features: int
    classes: dict[str, int]
    simulated: bool
    ranked_among: str | None = None
    problems: list[str] = field(default_factory=list)
    not_extracted: list[str] = field(default_factory=list)
    _stars: pd.DataFrame | None = field(default=None, repr=False)

    def stars(self) -> pd.DataFrame:
        """Return one row for each object: the class, probabilities, doubts, and a reason where there is no class."""
        return self._stars if self._stars is not None else read_stars(typing.cast(Path, self.path))


def predict(
    run: str | Path,
    what: str | Path,
    out: str | Path | None = None,
    *,
    like: str | None = None,
    survey: str | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    data: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> PredictResult:
    """Classify light curves with a saved run, one row per object.

    Parameters
    ----------
    run
        A run's name in the workspace, or its folder.
    what
        An ingested survey's name, or raw light curves (read as `ingest` reads them, kept nowhere). Where a folder has
        the name of an ingested survey, the survey is meant; "macho/" or "./macho" is the folder.
    out
        Where to write: .parquet or .csv (streamed), .fits or .vot (these two are built in memory). None keeps the
        table in memory only: `PredictResult.stars` returns it.
    like
        The survey of the run whose own layers to use; None takes the one of the same name, else the run's target.
    survey
        For raw files: a survey's name or TOML file, if the files do not tell.
    jobs, dask, data, force, progress
        As in `ingest`; `force` overwrites `out`. Raw files are read by `jobs` processes, or by the cluster; features
        are classified here, which is quicker than sending them, or on the cluster.
    """
    target = None if out is None else Path(out)
    if target is not None:
        check_table_path(target, force)
    given = named_or_path(what, "what to classify", "an ingested survey's name, or a file or folder of light curves")
    folder = find_run(run, data)
    saved, other = _saved_run(folder)
    asked = _Question(folder, saved, other, like, dask)
    is_ingested = survey is None and isinstance(what, str) and what in ingested_surveys(workspace_folder(data))
    if is_ingested or not given.exists():
        return _classify(asked, open_survey(str(what), data), target, progress)
    # A cluster's workers see what lies beside the output, but not this machine's own temporary folder.
    beside = (target or Path("here")).absolute().parent
    with tempfile.TemporaryDirectory(prefix=".lcdvt-", dir=beside if dask else None) as scratch:
        ingested = ingest(what, survey=survey, catalog="none", jobs=jobs, dask=dask, data=scratch)
        result = _classify(asked, open_survey(ingested.name, scratch), target, progress)
    return replace(result, problems=ingested.problems)


@dataclass(frozen=True)
class _Question:
    """The run that is asked, as which of its surveys, and where its answers are computed."""

    folder: Path
    saved: SavedRun
    other: OtherForest | None
    like: str | None
    dask: str | None

    @property
    def ranked_among(self) -> str | None:
        """What `other_score` is relative to."""
        if self.other is None:
            return None
        return f"the {len(self.other.reference)} stars of {self.saved.description.surveys[-1]} in the run"

    def head(self, survey: str) -> int:
        """Return the number of the run's survey whose own layers are used."""
        surveys = self.saved.description.surveys
        head = self.like or (survey if survey in surveys else surveys[-1])
        if head not in surveys:
            raise SettingsError(f"like={head}: the run {self.folder.name} knows {', '.join(surveys)}.")
        return surveys.index(head)


def _classify(asked: _Question, stored: StoredSurvey, target: Path | None, progress: Progress) -> PredictResult:
    saved, head = asked.saved, asked.head(stored.name)
    parts = sorted(stored.folder.features.glob(PARTS))
    not_extracted = _not_extracted(saved, stored, parts[0]) if parts else []
    counted: dict[str, int] = {}
    objects = missing = 0

    def frames() -> Iterator[pd.DataFrame]:
        nonlocal objects, missing
        tasks = [
            PartToClassify(asked.folder, part, stored.survey.bands, stored.survey.wavelengths, head) for part in parts
        ]
        # Here, which is quicker than sending features to other processes, or on the cluster.
        workers = Workers(dask=asked.dask) if asked.dask else IN_THIS_PROCESS
        for frame in run_batches(classify_part, tasks, workers):
            objects += len(frame)
            missing += int(frame[PREDICTED].isna().sum())
            for label, count in frame[PREDICTED].value_counts().items():
                counted[str(label)] = counted.get(str(label), 0) + int(count)
            progress(objects, None)
            yield frame
        for left_out in _left_out(stored) if objects else ():
            objects += len(left_out)
            missing += len(left_out)
            yield _unclassified(saved, left_out)

    stars = None
    if target is None:
        found = list(frames())
        stars = as_if_read(pd.concat(found, ignore_index=True)) if found else None
    else:
        write_atomically(target, lambda path: write_stars(frames(), path, target.suffix))
    if objects == 0:
        if target is not None:
            target.unlink(missing_ok=True)
        raise WorkspaceError(f"survey {stored.name!r} has no features: run `lcdvt extract {stored.name}`.")
    return PredictResult(
        run=asked.folder.name,
        survey=stored.name,
        path=target,
        objects=objects,
        without_features=missing,
        classes=dict(sorted(counted.items())),
        simulated=stored.is_simulated or bool(saved.metrics.get("simulated")),
        ranked_among=asked.ranked_among,
        not_extracted=not_extracted,
        _stars=stars,
    )


def _not_extracted(saved: SavedRun, stored: StoredSurvey, part: Path) -> list[str]:
    """Return the run's features that a whole extraction would give the survey, and that it does not have.

    Where these are most of them it is refused: the run would guess, and be sure.
    """
    with damage_is_named(part):
        has = set(pq.read_schema(part).names)
    columns = survey_features(stored.survey, DEFAULT_FEATURES, "fast").columns()
    lacks = pd.DataFrame([{OBJECT_ID: "", **{column: column not in has for column in columns}}])
    is_lacking = saved.aligned(lacks, stored.survey.bands, stored.survey.wavelengths).iloc[0]
    wanted = [name for name in saved.scaler.features if pd.notna(is_lacking[name])]  # NaN where it has no such band
    lacking = [name for name in wanted if is_lacking[name]]
    if len(lacking) > MOST_LACKING * len(wanted):
        raise SettingsError(
            f"survey {stored.name!r} has only {len(wanted) - len(lacking)} of the run's {len(wanted)} features: run "
            f"`lcdvt extract {stored.name}`."
        )
    return lacking


def _left_out(stored: StoredSurvey) -> Iterator[dict[str, str]]:
    """Yield what cleaning dropped, and why; of a joined survey light curves, by their own ids.

    Which star such a light curve would have been a piece of is not known, but where a table names its star and that
    star is there, nothing is missing. Nor is it where another file has epochs of the same star.
    """
    joined = stored.folder.pieces.is_file()
    folder = pieces_folder(stored.folder) if joined else stored.folder
    pieces = read_part(stored.folder.pieces, columns=["piece", "star"]) if joined else None
    there = set() if pieces is None else {*pieces["piece"].to_pylist(), *pieces["star"].to_pylist()}
    rule = stored_join(Journal(stored.folder.progress, only_read=True)) if joined else None
    names = rule.star_names() if rule is not None and rule.ids and Path(rule.ids).is_file() else {}
    for record in whole_records(folder.progress):
        if record.left_out and isinstance(record.left_out, dict):  # the journal may have been touched by hand
            found = {
                name: why for name, why in record.left_out.items() if name not in there and names.get(name) not in there
            }
            if found and not joined:
                ids = pc.field(OBJECT_ID).isin(pa.array(list(found), pa.string()))
                stays = pds.dataset(stored.folder.objects, format="parquet").to_table([OBJECT_ID], filter=ids)
                found = {name: why for name, why in found.items() if name not in set(stays[OBJECT_ID].to_pylist())}
            if found:
                yield found


def classify_part(task: PartToClassify) -> pd.DataFrame:
    """Classify the objects of one part, here or on a worker."""
    saved, other = _saved_run(task.run)
    aligned = saved.aligned(read_part(task.features).to_pandas(), task.bands, task.wavelengths)
    return classify_frame(saved, aligned, task.head, other)


def _saved_run(folder: Path) -> tuple[SavedRun, OtherForest | None]:
    weights = folder / WEIGHTS_FILE
    return _loaded(folder, weights.stat().st_mtime_ns if weights.is_file() else 0)


@lru_cache(maxsize=1)
def _loaded(run: Path, written: int) -> tuple[SavedRun, OtherForest | None]:
    """Load a run once for all its parts; one that was written since is another."""
    saved = load_run(run)
    return saved, read_other_forest(run, len(saved.scaler.features))


def classify_frame(saved: SavedRun, aligned: pd.DataFrame, head: int, other: OtherForest | None = None) -> pd.DataFrame:
    """Return each object's probabilities, best class, doubts, and a reason where there is no class.

    Parameters
    ----------
    saved
        The run that is asked.
    aligned
        Features under the run's names.
    head
        The number of the run's survey whose own layers are used.
    other
        The run's forest for `other_score`, which is missing without it.
    """
    scaled, usable = saved.scaled(aligned, head)
    looks_other = other.score(scaled) if other is not None else np.full(len(scaled), np.nan)
    with torch.no_grad():
        opinion = predict_members(saved.model, torch.from_numpy(scaled), head, saved.temperature(head))
    classes = np.array(saved.description.classes, dtype=object)
    mean = opinion.probability.numpy()
    probability = mean.astype(float)
    columns = {probability_column(name): np.where(usable, probability[:, k], np.nan) for k, name in enumerate(classes)}
    return pd.DataFrame(
        {
            OBJECT_ID: aligned[OBJECT_ID],
            PREDICTED: np.where(usable, classes[probability.argmax(axis=1)], None),
            **columns,
            ENTROPY: np.where(usable, entropy(mean), np.nan),
            DISAGREEMENT: np.where(usable, opinion.disagreement.numpy(), np.nan),
            OTHER_SCORE: np.where(usable, looks_other, np.nan),
            REASON: [None if enough else NO_FEATURES for enough in usable],
        }
    )


def _unclassified(saved: SavedRun, left_out: dict[str, str]) -> pd.DataFrame:
    """Return rows for objects that cleaning dropped: an astronomer looks for every star that was given."""
    numbers = [*map(probability_column, saved.description.classes), ENTROPY, DISAGREEMENT, OTHER_SCORE]
    return pd.DataFrame(
        {
            OBJECT_ID: list(left_out),
            PREDICTED: None,
            **dict.fromkeys(numbers, np.nan),
            REASON: [f"{LEFT_OUT}: {reason}" for reason in left_out.values()],
        }
    )
