"""Light curves again with fewer epochs, and their features: how a star might have looked to the same survey.

A label is one star, but its light curve can be thinned in many ways, and each gives slightly other features: another
noise, sometimes another period. Trees that learn from a star and its replicates cut where the class changes and not
where the noise of one observation happens to lie.

Which epochs are kept follows from the star's id and the replicate's number alone. Features are kept in the survey's
folder, part by part; the folder's name is a fingerprint of all that decides them, so that none is used after epochs,
features or the rule have changed.
"""

import hashlib
import itertools
import json
import os
import shutil
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lcdvt import __version__
from lcdvt.disk.atomic import write_atomically
from lcdvt.errors import WorkspaceError
from lcdvt.features.config import FeatureConfig
from lcdvt.features.extraction import extract_table
from lcdvt.names import OBJECT_ID
from lcdvt.parallel.executors import IN_THIS_PROCESS, Workers, run_batches
from lcdvt.parallel.progress import Progress, silent
from lcdvt.workspace.folder import PARTS, read_part, write_part
from lcdvt.workspace.journal import Journal, WrittenFile, stored_features, written_file
from lcdvt.workspace.survey import StoredSurvey

if TYPE_CHECKING:
    import pandas as pd

KEPT_SHARE: Final = 0.8
"""Of a star's epochs: few enough to change the noise, enough to leave the period where it is."""
MOST_STARS: Final = 50_000
"""Of a survey: teachers learn from no more guesses, and a survey of millions must not take its ingest's time again."""


@dataclass(frozen=True)
class ThinnedPart:
    """What a worker needs to compute the features of one part's thinned light curves; without a file none are kept."""

    epochs: Path
    features: Path | None
    config: FeatureConfig
    number: int
    share_of_stars: float
    stars: tuple[str, ...] | None = None


def replicate_features(
    stored: StoredSurvey,
    number: int,
    workers: Workers = IN_THIS_PROCESS,
    progress: Progress = silent,
    stars: Mapping[str, Sequence[str]] | None = None,
) -> "pd.DataFrame":
    """Return features of the survey's stars as if a fifth of their epochs had not been observed.

    They are computed once, and read from the survey's folder after that; where that can only be read, each time.

    Parameters
    ----------
    stored
        An ingested survey with features.
    number
        Which replicate, from 1 on: each keeps other epochs.
    workers
        Who computes what is missing; killed, the next call goes on with the parts that are not there yet.
    progress
        Called with the number of parts done, if any is to be computed.
    stars
        Of which stars, by the name of their part; these are computed each time, and not kept. None for as many stars
        of the whole survey as are kept.

    Returns
    -------
    A column `object_id` and the same features as the survey has, of at most fifty thousand stars.
    """
    journal = Journal(stored.folder.progress, only_read=True)
    config = stored_features(journal)
    if config is None:
        raise WorkspaceError(f"survey {stored.name!r} has no features: run `lcdvt extract {stored.name}`.")
    parts = sorted(stored.folder.epochs.glob(PARTS))
    if not parts:
        raise WorkspaceError(
            f"survey {stored.name!r} has no epochs in {stored.folder.epochs}: ingest it again with force=True."
        )
    if stars is not None:
        chosen = [
            ThinnedPart(part, None, config, number, 1.0, tuple(stars[part.name]))
            for part in parts
            if part.name in stars
        ]
        return _of_some_stars(chosen, workers, progress)
    place = stored.folder.replicates / _fingerprint(parts, config, journal)
    share = min(1.0, MOST_STARS / max(stored.count_objects(), 1))
    files = {part: place / f"{number}" / part.name for part in parts}
    missing = [part for part in parts if not files[part].exists()]
    if keep := os.access(stored.folder.root, os.W_OK):
        _remove_stale(stored.folder.replicates, place)
    tasks = [ThinnedPart(part, files[part] if keep else None, config, number, share) for part in missing]
    unkept = {}
    for done, (part, table) in enumerate(run_batches(_extract_thinned, tasks, workers, begin_here=True), start=1):
        if table is not None:
            unkept[part] = table
        progress(len(parts) - len(missing) + done, len(parts))
    remedy = f"remove {stored.folder.replicates}, it is made again"
    tables = [unkept[part] if part in unkept else read_part(files[part], remedy=remedy) for part in parts]
    return pa.concat_tables(tables).to_pandas()


def _of_some_stars(tasks: list[ThinnedPart], workers: Workers, progress: Progress) -> "pd.DataFrame":
    tables = []
    for _, table in run_batches(_extract_thinned, tasks, workers):
        tables.append(table)
        progress(len(tables), len(tasks))
    return pa.concat_tables(tables).to_pandas()


def thinned(epochs: pa.Table, number: int, share_of_stars: float = 1.0) -> pa.Table:
    """Keep four fifths of each star's epochs, drawn by its id and the replicate's number alone.

    Parameters
    ----------
    epochs
        An object's rows together, as the workspace has them.
    number
        Which replicate.
    share_of_stars
        Of which share of the stars there are replicates; the others are left out, always the same.
    """
    ids = np.array(epochs[OBJECT_ID].to_pylist(), dtype=object)
    changes = np.flatnonzero(ids[1:] != ids[:-1]) + 1
    kept = [np.zeros(0, dtype=np.int64)]
    for start, end in itertools.pairwise([*range(min(len(ids), 1)), *changes.tolist(), len(ids)]):
        name = zlib.crc32(str(ids[start]).encode())
        if np.random.default_rng(name).random() >= share_of_stars:
            continue
        count = end - start
        draw = np.random.default_rng([name, number])
        kept.append(start + np.sort(draw.choice(count, max(1, round(KEPT_SHARE * count)), replace=False)))
    return epochs.take(np.concatenate(kept))


def _fingerprint(parts: list[Path], config: FeatureConfig, journal: Journal) -> str:
    """Return a name that changes with the epochs, with the features asked for, and with how both are treated."""
    known = {
        "lcdvt": __version__,
        "kept": KEPT_SHARE,
        "most": MOST_STARS,
        "features": asdict(config),
        "epochs": {part.name: _written(part, journal) for part in parts},
    }
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]


def _written(part: Path, journal: Journal) -> WrittenFile:
    """Return size and checksum of a part as the journal has them: all epochs of a large survey are long to read."""
    noted = journal.files.get(f"{part.parent.name}/{part.name}")
    return noted if noted and noted.checksum and noted.has_its_size(part) else written_file(part)


def _remove_stale(everything: Path, used: Path) -> None:
    for folder in everything.glob("*/"):
        if folder != used:
            shutil.rmtree(folder, ignore_errors=True)


def _extract_thinned(task: ThinnedPart) -> tuple[Path, pa.Table | None]:
    """Return which part was thinned, and its features unless they are on disk now."""
    epochs = read_part(task.epochs)
    if task.stars is not None:
        epochs = epochs.filter(pc.is_in(epochs[OBJECT_ID], pa.array(task.stars, epochs.schema.field(OBJECT_ID).type)))
    features = extract_table(thinned(epochs, task.number, task.share_of_stars), task.config)
    table = features.replace_schema_metadata()
    if task.features is None:
        return task.epochs, table
    write_atomically(task.features, lambda path: write_part(table, path))
    return task.epochs, None
