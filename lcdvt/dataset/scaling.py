"""Bring features to a common scale, without looking at labels.

`survey` standardises each survey by itself, which removes shifts of zero point but also what the surveys
really differ in. `pooled` standardises all surveys together. `rank` replaces each value by the normal score
of its rank among all surveys' values: heavy tails vanish, and a period of 0.5 days stays the same number in
every survey. What was fitted is stored with the run and applied to new objects.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lcdvt.errors import DatasetError

ScalingMethod = Literal["survey", "pooled", "rank", "none"]

RANK_KNOTS = 257
"""Quantiles kept of each feature: ranks good to half a percent."""
LARGEST_SCORE = 3.0
"""Normal scores end here, so that one odd star does not leave the others behind."""
LARGEST_STANDARD = 10.0
"""The same for standardised features, whose tails are longer."""
HEAVY_TAIL_RATIO = 20.0
"""99 % quantile over median from which a positive feature is logged."""


@dataclass(frozen=True)
class ScalingChoice:
    """A scaling chosen by name, so that a wrong name is refused like any other setting."""

    method: ScalingMethod = "rank"


@dataclass(frozen=True)
class Scaler:
    """What was fitted, per survey (one entry for all surveys where they were pooled).

    Parameters
    ----------
    method
        Which of the scalings.
    features
        The names of the columns.
    logged
        Which columns are replaced by their logarithm first: positive ones with a heavy tail.
    centre, width
        (surveys or 1, features), for `survey` and `pooled`.
    knots
        (knots, features): values at equally spaced ranks, for `rank`.
    """

    method: ScalingMethod
    features: tuple[str, ...]
    logged: tuple[bool, ...]
    centre: NDArray[np.float64]
    width: NDArray[np.float64]
    knots: NDArray[np.float64]

    def apply(self, x: NDArray[np.floating], survey: int = 0) -> NDArray[np.float32]:
        """Scale rows of one survey; NaN (missing) stays NaN."""
        if x.shape[-1] != len(self.features):
            raise DatasetError(f"{x.shape[-1]} features where the scaler knows {len(self.features)}; use the same set.")
        if self.method == "none":
            return x.astype(np.float32)
        logged = _with_logarithms(x.astype(np.float64), np.array(self.logged))
        if self.method == "rank":
            return self._normal_scores(logged).astype(np.float32)
        row = survey if len(self.centre) > 1 else 0
        standard = (logged - self.centre[row]) / self.width[row]
        return np.clip(standard, -LARGEST_STANDARD, LARGEST_STANDARD).astype(np.float32)

    def _normal_scores(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        grid = np.linspace(0, 1, len(self.knots))
        normal = NormalDist()
        tail = normal.cdf(-LARGEST_SCORE)
        table = np.array([normal.inv_cdf(share) for share in np.clip(np.linspace(0, 1, 4097), tail, 1 - tail)])
        scores = np.full(x.shape, np.nan)
        for column in range(x.shape[-1]):
            knots = self.knots[:, column]
            here = np.isfinite(x[..., column])
            values = x[..., column][here]
            # equal values share the middle of their ranks: approach each flight of equal knots from both sides
            from_left = np.interp(values, knots, grid)
            from_right = 1 - np.interp(-values, -knots[::-1], grid)
            scores[..., column][here] = np.interp((from_left + from_right) / 2, np.linspace(0, 1, 4097), table)
        return scores

    def to_json(self) -> dict[str, Any]:
        """Return the scaler as JSON can hold it."""
        return {
            "method": self.method,
            "features": list(self.features),
            "logged": list(self.logged),
            "centre": self.centre.tolist(),
            "width": self.width.tolist(),
            "knots": self.knots.tolist(),
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Scaler":
        """Read what `to_json` returned."""
        columns = len(record["features"])
        return cls(
            record["method"],
            tuple(record["features"]),
            tuple(record["logged"]),
            *(np.array(record[name], dtype=np.float64).reshape(-1, columns) for name in ("centre", "width", "knots")),
        )


def fit_scaler(
    x: NDArray[np.floating], survey: NDArray[np.integer], features: tuple[str, ...], method: ScalingMethod = "rank"
) -> Scaler:
    """Fit a scaler on all rows, labelled or not.

    Parameters
    ----------
    x
        (objects, features), NaN where missing.
    survey
        The survey number of each row.
    features
        Column names, for messages and for the record.
    method
        Which scaling.
    """
    if np.isinf(x).any():
        name = features[int(np.flatnonzero(np.isinf(x).any(axis=0))[0])]
        raise DatasetError(f"feature {name} is infinite for some objects: make it NaN (missing) or mend the feature.")
    empty = np.flatnonzero(np.isnan(x).all(axis=0))
    if len(empty):
        raise DatasetError(f"feature {features[int(empty[0])]} is missing for every object: leave it out.")
    nothing = np.zeros((0, len(features)))
    if method == "none":
        return Scaler(method, features, (False,) * len(features), nothing, nothing, nothing)
    if method == "rank":
        knots = np.nanquantile(x.astype(np.float64), np.linspace(0, 1, RANK_KNOTS), axis=0)
        return Scaler(method, features, (False,) * len(features), nothing, nothing, knots)
    heavy = _heavy_tailed(x)
    logged = _with_logarithms(x.astype(np.float64), heavy)
    groups = [survey == number for number in range(int(survey.max()) + 1)] if method == "survey" else [slice(None)]
    whole_centre, whole_width = _centre_and_width(logged)
    centres, widths = [], []
    for group in groups:
        centre, width = _centre_and_width(logged[group])
        # a survey that lacks a feature borrows the numbers of all surveys: nothing of its own is ever scaled by them
        centres.append(np.where(np.isnan(centre), whole_centre, centre))
        widths.append(np.where(np.isnan(width), whole_width, width))
    return Scaler(method, features, tuple(heavy.tolist()), np.stack(centres), np.stack(widths), nothing)


def _centre_and_width(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    known = np.isfinite(x)
    count = known.sum(axis=0)
    safe = np.maximum(count, 1)
    centre = np.where(known, x, 0).sum(axis=0) / safe
    width = np.sqrt(np.where(known, (x - centre) ** 2, 0).sum(axis=0) / safe)
    centre = np.where(count > 0, centre, np.nan)
    # a feature that never varies is only centred
    return centre, np.where(count > 0, np.where(width > 0, width, 1.0), np.nan)


def _heavy_tailed(x: NDArray[np.floating]) -> NDArray[np.bool_]:
    middle, high = np.nanquantile(x.astype(np.float64), [0.5, 0.99], axis=0)
    positive = np.nanmin(x, axis=0) > 0
    return positive & (high > HEAVY_TAIL_RATIO * np.where(positive, middle, 1.0))


def _with_logarithms(x: NDArray[np.float64], columns: NDArray[np.bool_]) -> NDArray[np.float64]:
    result = x.copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithm = np.log(x[..., columns])
    # a new object may have a value the logarithm cannot take; it then counts as missing
    result[..., columns] = np.where(np.isfinite(logarithm), logarithm, np.nan)
    return result
