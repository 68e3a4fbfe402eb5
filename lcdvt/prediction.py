"""The verb `predict`: a saved run on new light curves, part by part."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import torch

from lcdvt.alignment import align_features
from lcdvt.dvt.ensemble import predict as predict_members
from lcdvt.errors import LcdvtError
from lcdvt.executors import run_batches
from lcdvt.ingestion import ingest
from lcdvt.manifest import whole_records
from lcdvt.names import OBJECT_ID
from lcdvt.progress import Progress, silent
from lcdvt.run_list import find_run
from lcdvt.star_table import check_table_path, write_stars
from lcdvt.store import WEIGHTS_FILE, SavedRun, load_run
from lcdvt.workspace import PARTS, StoredSurvey, open_survey, read_part, write_atomically

NO_FEATURES: Final = "no usable features: too few epochs in the bands the run needs"
LEFT_OUT: Final = "dropped by the survey's cleaning rule"


class PredictionError(LcdvtError):
    """A run that does not fit the light curves."""


@dataclass(frozen=True)
class PartToClassify:
    """What a worker needs to classify one part."""

    run: Path
    features: Path
    bands: tuple[str, ...]
    head: int


@dataclass(frozen=True)
class PredictResult:
    """What was classified, and where the table is."""

    run: str
    survey: str
    path: Path
    objects: int
    without_features: int
    classes: dict[str, int]
    simulated: bool
    problems: list[str] = field(default_factory=list)
    """Raw files that could not be read, in a sentence each."""


def predict(
    run: str | Path,
    what: str | Path,
    out: str | Path,
    *,
    like: str | None = None,
    survey: str | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    data: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> PredictResult:
    """Classify light curves with a saved run and write one row per object.

    Parameters
    ----------
    run
        A run's name in the workspace, or its folder.
    what
        An ingested survey's name, or raw light curves (read as `ingest` reads them, kept nowhere).
    out
        Where to write: .parquet or .csv (streamed), .fits or .vot (these two are built in memory).
    like
        The survey of the run whose own layers to use; None takes the one of the same name, else the run's target.
    survey
        For raw files: a survey's name or TOML file, if the files do not tell.
    jobs, dask, data, force, progress
        As in `ingest`; `force` overwrites `out`. Raw files are read by `jobs` processes, or by the cluster; features
        are classified here, which is quicker than sending them, or on the cluster.
    """
    target = Path(out)
    check_table_path(target, force)
    folder = find_run(run, data)
    saved = _saved_run(folder)
    if not Path(what).exists():
        stored = open_survey(str(what), data)
        return _classify(folder, saved, stored, target, like, dask, progress)
    # A cluster's workers see what lies beside the output, but not this machine's own temporary folder.
    with tempfile.TemporaryDirectory(prefix=".lcdvt-", dir=target.absolute().parent if dask else None) as scratch:
        ingested = ingest(what, survey=survey, catalog="none", jobs=jobs, dask=dask, data=scratch)
        result = _classify(folder, saved, open_survey(ingested.name, scratch), target, like, dask, progress)
    return replace(result, problems=ingested.problems)


def _classify(
    run: Path,
    saved: SavedRun,
    stored: StoredSurvey,
    target: Path,
    like: str | None,
    dask: str | None,
    progress: Progress,
) -> PredictResult:
    surveys = saved.description.surveys
    head = like or (stored.name if stored.name in surveys else surveys[-1])
    if head not in surveys:
        raise PredictionError(f"--like {head}: the run {run.name} knows {', '.join(surveys)}.")
    counted: dict[str, int] = {}
    objects = missing = 0

    def frames() -> Iterator[pd.DataFrame]:
        nonlocal objects, missing
        parts = sorted(stored.folder.features.glob(PARTS))
        tasks = [PartToClassify(run, part, stored.survey.bands, surveys.index(head)) for part in parts]
        for frame in run_batches(classify_part, tasks, jobs=None if dask else 1, dask=dask):
            objects += len(frame)
            missing += int(frame["predicted"].isna().sum())
            for label, count in frame["predicted"].value_counts().items():
                counted[str(label)] = counted.get(str(label), 0) + int(count)
            progress(objects, None)
            yield frame
        for record in whole_records(stored.folder.progress) if objects else ():
            if record.left_out and isinstance(record.left_out, dict):  # the journal may have been touched by hand
                objects += len(record.left_out)
                missing += len(record.left_out)
                yield _unclassified(saved, record.left_out)

    write_atomically(target, lambda path: write_stars(frames(), path, target.suffix))
    if objects == 0:
        target.unlink(missing_ok=True)
        raise PredictionError(f"survey {stored.name!r} has no features: run `lcdvt extract {stored.name}`.")
    return PredictResult(
        run=run.name,
        survey=stored.name,
        path=target,
        objects=objects,
        without_features=missing,
        classes=dict(sorted(counted.items())),
        simulated=stored.is_simulated or bool(saved.metrics.get("simulated")),
    )


def classify_part(task: PartToClassify) -> pd.DataFrame:
    """Classify the objects of one part, here or on a worker."""
    return classify_frame(_saved_run(task.run), read_part(task.features).to_pandas(), task.bands, task.head)


def _saved_run(folder: Path) -> SavedRun:
    weights = folder / WEIGHTS_FILE
    return _loaded(folder, weights.stat().st_mtime_ns if weights.is_file() else 0)


@lru_cache(maxsize=1)
def _loaded(run: Path, written: int) -> SavedRun:
    """Load a run once for all its parts; one that was written since is another."""
    return load_run(run)


def classify_frame(saved: SavedRun, features: pd.DataFrame, bands: tuple[str, ...], head: int) -> pd.DataFrame:
    """Return each object's probabilities, best class, entropy, disagreement, and a reason where there is none."""
    wanted = saved.scaler.features
    # What the run does not know falls out here, and what this survey does not have is missing.
    aligned = align_features(features, bands, len(bands)).reindex(columns=[OBJECT_ID, *wanted])
    values = aligned[list(wanted)].to_numpy(dtype=float)
    usable = np.isfinite(values).any(axis=1)
    scaled = saved.scaler.apply(np.where(np.isfinite(values), values, np.nan), head)
    with torch.no_grad():
        opinion = predict_members(saved.model, torch.from_numpy(scaled), head)
    classes = np.array(saved.description.classes, dtype=object)
    probability = opinion.probability.numpy().astype(float)
    columns = {f"p_{label}": np.where(usable, probability[:, i], np.nan) for i, label in enumerate(classes)}
    return pd.DataFrame(
        {
            OBJECT_ID: aligned[OBJECT_ID],
            "predicted": np.where(usable, classes[probability.argmax(axis=1)], None),
            **columns,
            "entropy": np.where(usable, opinion.entropy.numpy(), np.nan),
            "disagreement": np.where(usable, opinion.disagreement.numpy(), np.nan),
            "reason": [None if enough else NO_FEATURES for enough in usable],
        }
    )


def _unclassified(saved: SavedRun, left_out: dict[str, str]) -> pd.DataFrame:
    """Return rows for objects that cleaning dropped: an astronomer looks for every star that was given."""
    numbers = [*(f"p_{label}" for label in saved.description.classes), "entropy", "disagreement"]
    return pd.DataFrame(
        {
            OBJECT_ID: list(left_out),
            "predicted": None,
            **dict.fromkeys(numbers, np.nan),
            "reason": [f"{LEFT_OUT}: {reason}" for reason in left_out.values()],
        }
    )
