"""The input gate: what every kernel may take for granted about a light curve.

After the gate times are finite, sorted and unique, magnitudes and errors finite, errors positive, and there
are enough epochs. What does not pass has no epochs left and a counted reason: its features are NaN.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

PASSED: Final = 0
NO_EPOCHS: Final = 1
TOO_FEW_EPOCHS: Final = 2
CONSTANT_MAGNITUDE: Final = 3
REASONS: Final = {
    NO_EPOCHS: "no epochs in the band",
    TOO_FEW_EPOCHS: "too few usable epochs",
    CONSTANT_MAGNITUDE: "constant magnitude (only location features have values)",
}

NOT_FINITE: Final = 0
ERROR_NOT_POSITIVE: Final = 1
REPEATED_TIME: Final = 2
EPOCH_REASONS: Final = {
    NOT_FINITE: "time, magnitude or error not a finite number",
    ERROR_NOT_POSITIVE: "error not positive",
    REPEATED_TIME: "repeated time, averaged by inverse variance",
}


class Curves(NamedTuple):
    """Gated light curves, one after the other; curve i is `offsets[i]:offsets[i + 1]`."""

    time: np.ndarray
    mag: np.ndarray
    err: np.ndarray
    offsets: np.ndarray


@dataclass(frozen=True)
class GateReport:
    """How many objects, light curves and epochs did not pass, and why.

    Attributes
    ----------
    objects
        Objects seen.
    curves
        Reason and band, as in "B: too few usable epochs", to the number of light curves.
    epochs
        Reason to the number of epochs left out or merged.
    """

    objects: int = 0
    curves: dict[str, int] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)

    def __add__(self, other: "GateReport") -> "GateReport":
        """Return the report of two batches together."""
        return GateReport(
            self.objects + other.objects,
            dict(Counter(self.curves) + Counter(other.curves)),
            dict(Counter(self.epochs) + Counter(other.epochs)),
        )

    def to_json(self) -> str:
        """Write the report as it is kept in a table's metadata."""
        return json.dumps({"objects": self.objects, "curves": self.curves, "epochs": self.epochs}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> "GateReport":
        """Read what `to_json` wrote."""
        return cls(**json.loads(text))


class Gated(NamedTuple):
    """What came through the gate, and what did not."""

    curves: Curves
    reasons: np.ndarray
    epochs_dropped: np.ndarray


def varies(mag: np.ndarray) -> bool:
    """Whether a curve has epochs and they differ."""
    return len(mag) > 1 and bool(np.ptp(mag) > 0.0)


def gate(time: np.ndarray, mag: np.ndarray, err: np.ndarray, bounds: np.ndarray, minimum_epochs: int) -> Gated:
    """Clean light curve i, `bounds[i]:bounds[i + 1]` of the arrays, for every i."""
    dropped = np.zeros(len(EPOCH_REASONS), dtype=np.int64)
    number = len(bounds) - 1
    given = slice(bounds[0], bounds[-1])
    time, mag, err = time[given], mag[given], err[given]
    curve = np.repeat(np.arange(number), np.diff(bounds))
    finite = np.isfinite(time) & np.isfinite(mag) & np.isfinite(err)
    usable = finite & (err > 0.0)
    dropped[NOT_FINITE] = len(time) - np.count_nonzero(finite)
    dropped[ERROR_NOT_POSITIVE] = np.count_nonzero(finite) - np.count_nonzero(usable)
    time, mag, err, curve = time[usable], mag[usable], err[usable], curve[usable]
    of_one_curve = curve[1:] == curve[:-1]
    if np.any(of_one_curve & (time[1:] < time[:-1])):
        order = np.lexsort((time, curve))
        time, mag, err = time[order], mag[order], err[order]
    is_repeated = np.append(False, of_one_curve & (time[1:] == time[:-1]))
    dropped[REPEATED_TIME] = np.count_nonzero(is_repeated)
    if dropped[REPEATED_TIME]:
        mag, err = _merge_repeated_times(mag, err, is_repeated)
        time, curve = time[~is_repeated], curve[~is_repeated]
    epochs = np.bincount(curve, minlength=number)
    reasons = np.full(number, PASSED, dtype=np.int64)
    differs = np.bincount(curve[1:][(curve[1:] == curve[:-1]) & (mag[1:] != mag[:-1])], minlength=number)
    reasons[differs == 0] = CONSTANT_MAGNITUDE
    reasons[epochs < minimum_epochs] = TOO_FEW_EPOCHS
    reasons[bounds[1:] == bounds[:-1]] = NO_EPOCHS
    enough = epochs >= minimum_epochs
    if not enough.all():
        kept = enough[curve]
        time, mag, err = time[kept], mag[kept], err[kept]
    offsets = np.concatenate(([0], np.cumsum(np.where(enough, epochs, 0)))).astype(np.int64)
    return Gated(Curves(time, mag, err, offsets), reasons, dropped)


def _merge_repeated_times(mag: np.ndarray, err: np.ndarray, is_repeated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Average epochs of equal time, those marked with the one before, weighted by inverse variance."""
    first = np.flatnonzero(~is_repeated)
    members = np.diff(np.append(first, len(mag)))
    # Relative to the smallest error, so that neither tiny nor huge errors leave the float range.
    smallest = np.minimum.reduceat(err, first)
    weight = (np.repeat(smallest, members) / err) ** 2
    weight_sum = np.add.reduceat(weight, first)
    # From the first magnitude, so that equal magnitudes stay equal.
    merged = mag[first] + np.add.reduceat(weight * (mag - np.repeat(mag[first], members)), first) / weight_sum
    return merged, smallest / np.sqrt(weight_sum)
