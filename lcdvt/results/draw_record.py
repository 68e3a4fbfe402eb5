"""One finished label draw as a JSON file: scores, confusion and reliability of every row of the table.

A run's folder keeps them in `draws/draw-000.json`, `draw-001.json`, …; `read_draws` gives them back. They are what an
interrupted run goes on from, and what tables and reports are made of: a table is always built from the files, so that
a run that was stopped and one that never was end with the same numbers (JSON keeps every digit of a float).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.disk.atomic import write_text
from lcdvt.errors import WorkspaceError
from lcdvt.evaluate import (
    ReliabilityBins,
    Score,
    confusion_matrix,
    pooled_reliability,
    reliability,
    score,
    score_of_counts,
)

VERSION: Final = 1
"""Raised when the file's form changes, so that an old lcdvt refuses it."""
DRAWS_FOLDER: Final = "draws"


@dataclass(frozen=True)
class RowOutcome:
    """How one row of the table did in one draw.

    Parameters
    ----------
    score
        F1 by class, macro F1 and calibration error.
    confusion
        (true class, predicted class) counts of the scored objects.
    reliability
        How often predictions of a given confidence were right.
    """

    score: Score
    confusion: NDArray[np.int64]
    reliability: ReliabilityBins

    @classmethod
    def of(
        cls,
        truth: NDArray[np.integer],
        probability: NDArray[np.floating],
        classes: tuple[str, ...],
        scored: NDArray[np.bool_],
    ) -> "RowOutcome":
        """Compare probabilities with the true classes of the objects that count."""
        known, given = truth[scored], probability[scored]
        return cls(
            score(truth, probability, classes, scored),
            confusion_matrix(known, given.argmax(axis=1), len(classes)),
            reliability(known, given),
        )

    @classmethod
    def pooled(cls, outcomes: "Sequence[RowOutcome]", classes: tuple[str, ...]) -> "RowOutcome":
        """Return what the objects of several outcomes come to together; a single one stays as it is."""
        if len(outcomes) == 1:
            return outcomes[0]
        confusion = np.sum([outcome.confusion for outcome in outcomes], axis=0)
        bins = pooled_reliability([outcome.reliability for outcome in outcomes])
        return cls(score_of_counts(confusion, bins, classes), confusion, bins)

    def to_record(self) -> dict[str, Any]:
        """Return the outcome as JSON can hold it."""
        return {
            "f1": dict(self.score.f1),
            "macro_f1": self.score.macro_f1,
            "calibration_error": self.score.calibration_error,
            "confusion": self.confusion.tolist(),
            "reliability": {
                "edges": self.reliability.edges.tolist(),
                "count": self.reliability.count.tolist(),
                "confidence": _without_nan(self.reliability.confidence),
                "accuracy": _without_nan(self.reliability.accuracy),
            },
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "RowOutcome":
        """Read what `to_record` returned."""
        bins = record["reliability"]
        return cls(
            Score(record["f1"], record["macro_f1"], record["calibration_error"]),
            np.array(record["confusion"], dtype=np.int64),
            ReliabilityBins(
                np.array(bins["edges"], dtype=np.float64),
                np.array(bins["count"], dtype=np.int64),
                np.array(bins["confidence"], dtype=np.float64),
                np.array(bins["accuracy"], dtype=np.float64),
            ),
        )


@dataclass(frozen=True)
class DrawRecord:
    """What a finished draw leaves behind.

    Parameters
    ----------
    identity
        Fingerprint of everything that went into the draw: data, drawn labels, settings, seed, version.
    seed
        The random seed of the draw.
    classes
        Names of the rows and columns of the confusion counts.
    labels_per_class
        How many labels of the target were drawn.
    rows
        By row of the table; empty where no label was left to score with.
    problems
        Members that were ended, in a sentence each.
    doubted
        Objects of the target whose drawn label DVT did not learn from, because the sources contradict it.
    """

    identity: str
    seed: int
    classes: tuple[str, ...]
    labels_per_class: Mapping[str, int]
    rows: Mapping[str, RowOutcome]
    problems: tuple[str, ...] = field(default=())
    doubted: tuple[str, ...] = field(default=())

    @property
    def is_scored(self) -> bool:
        """Whether there were labels left to score on."""
        return bool(self.rows)

    def write(self, path: Path) -> None:
        """Write the draw; the file is there whole or not at all."""
        record = {
            "version": VERSION,
            "identity": self.identity,
            "seed": self.seed,
            "classes": list(self.classes),
            "labels_per_class": dict(self.labels_per_class),
            "rows": {name: outcome.to_record() for name, outcome in self.rows.items()},
            "problems": list(self.problems),
            "doubted": list(self.doubted),
        }
        text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_text(path, text)

    @classmethod
    def read(cls, path: Path) -> "DrawRecord":
        """Read what `write` wrote."""
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            if record["version"] != VERSION:
                raise WorkspaceError(
                    f"{path} is of version {record['version']}, this lcdvt reads {VERSION}: update lcdvt."
                )
            return cls(
                record["identity"],
                record["seed"],
                tuple(record["classes"]),
                record["labels_per_class"],
                {name: RowOutcome.from_record(row) for name, row in record["rows"].items()},
                tuple(record["problems"]),
                tuple(record.get("doubted", ())),  # the first draws of version 1 learned from all labels
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise WorkspaceError(f"{path} is damaged ({error}): delete it and run the same command again.") from error


def draw_path(run: Path, number: int) -> Path:
    """Return where the draw of that number lies in a run's folder."""
    return run / DRAWS_FOLDER / f"draw-{number:03d}.json"


def draw_paths(run: Path) -> list[Path]:
    """Return the files of the finished draws, in their order."""
    return sorted((run / DRAWS_FOLDER).glob("draw-*.json"))


def read_draws(run: Path) -> list[DrawRecord]:
    """Read the finished draws of a run's folder, in their order; runs of lcdvt 0.1 have none."""
    return [DrawRecord.read(path) for path in draw_paths(run)]


def _without_nan(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
