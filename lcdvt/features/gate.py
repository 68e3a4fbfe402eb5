"""The input gate: what every kernel may take for granted about a light curve.

After the gate times are finite, sorted and unique, magnitudes and errors finite, errors positive, and there
are enough epochs. What does not pass has no epochs left and a counted reason: its features are NaN.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numba import njit

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
    gated_time, gated_mag, gated_err = np.empty_like(time), np.empty_like(mag), np.empty_like(err)
    offsets = np.zeros(len(bounds), dtype=np.int64)
    reasons = np.zeros(len(bounds) - 1, dtype=np.int64)
    dropped = np.zeros(len(EPOCH_REASONS), dtype=np.int64)
    _gate_all(time, mag, err, bounds, minimum_epochs, gated_time, gated_mag, gated_err, offsets, reasons, dropped)
    used = offsets[-1]
    return Gated(Curves(gated_time[:used], gated_mag[:used], gated_err[:used], offsets), reasons, dropped)


@njit(cache=True, error_model="numpy")
def _gate_all(
    time: np.ndarray,
    mag: np.ndarray,
    err: np.ndarray,
    bounds: np.ndarray,
    minimum_epochs: int,
    out_time: np.ndarray,
    out_mag: np.ndarray,
    out_err: np.ndarray,
    offsets: np.ndarray,
    reasons: np.ndarray,
    dropped: np.ndarray,
) -> None:
    for curve in range(len(bounds) - 1):
        start = offsets[curve]
        stop = start
        in_order = True
        for i in range(bounds[curve], bounds[curve + 1]):
            if not (np.isfinite(time[i]) and np.isfinite(mag[i]) and np.isfinite(err[i])):
                dropped[NOT_FINITE] += 1
            elif err[i] <= 0.0:
                dropped[ERROR_NOT_POSITIVE] += 1
            else:
                out_time[stop], out_mag[stop], out_err[stop] = time[i], mag[i], err[i]
                in_order = in_order and (stop == start or out_time[stop - 1] <= out_time[stop])
                stop += 1
        if not in_order:
            order = np.argsort(out_time[start:stop], kind="mergesort")
            out_time[start:stop] = out_time[start:stop][order]
            out_mag[start:stop] = out_mag[start:stop][order]
            out_err[start:stop] = out_err[start:stop][order]
        unique_stop = _merge_repeated_times(out_time, out_mag, out_err, start, stop)
        dropped[REPEATED_TIME] += stop - unique_stop
        stop = unique_stop
        if bounds[curve + 1] == bounds[curve]:
            reasons[curve] = NO_EPOCHS
        elif stop - start < minimum_epochs:
            reasons[curve] = TOO_FEW_EPOCHS
            stop = start
        else:
            constant = True
            for i in range(start + 1, stop):
                constant = constant and out_mag[i] == out_mag[start]
            if constant:
                reasons[curve] = CONSTANT_MAGNITUDE
        offsets[curve + 1] = stop


@njit(cache=True, error_model="numpy")
def _merge_repeated_times(time: np.ndarray, mag: np.ndarray, err: np.ndarray, start: int, stop: int) -> int:
    """Average epochs of equal time in place; return the new end."""
    write = start
    read = start
    while read < stop:
        after = read + 1
        while after < stop and time[after] == time[read]:
            after += 1
        if after - read > 1:
            smallest = err[read]
            for i in range(read + 1, after):
                smallest = min(smallest, err[i])
            weight_sum = 0.0
            weighted = 0.0
            for i in range(read, after):
                # Relative to the smallest error, so that neither tiny nor huge errors leave the float range.
                weight = (smallest / err[i]) ** 2
                weight_sum += weight
                weighted += weight * mag[i]
            time[write], mag[write], err[write] = time[read], weighted / weight_sum, smallest / np.sqrt(weight_sum)
        else:
            time[write], mag[write], err[write] = time[read], mag[read], err[read]
        write += 1
        read = after
    return write
