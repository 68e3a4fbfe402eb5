"""Cleaning rules as data: a rule is a tuple of small steps, each of which says what it dropped.

`fats` is the preprocessing of FATS (Nun et al. 2015); `hits` is that of the HiTS variability catalogue
(Martínez-Palomera et al. 2018), the step that Belhaj et al. 2018 refer to.
"""

from dataclasses import dataclass, fields
from typing import Any, Final, Protocol

import numba
import numpy as np
from numpy.typing import NDArray

from lcdvt.epochs.block import EpochBlock
from lcdvt.errors import SurveyError


class Step(Protocol):
    """One cleaning step; it changes the block and counts what it drops."""

    def apply(self, block: EpochBlock) -> None:
        """Drop epochs or objects from the block."""


@dataclass(frozen=True)
class FatsPreprocessing:
    """Drop epochs with an error above `error_factor` × the mean error, or `sigma` standard deviations off the mean.

    Both limits come from the whole curve, in one pass, as in FATS. Unlike FATS, which divides by zero there, a
    curve of constant magnitude is kept.
    """

    error_factor: float = 3.0
    sigma: float = 5.0

    def apply(self, block: EpochBlock) -> None:
        """Drop epochs from the block."""
        too_large = f"error above {self.error_factor:g} × mean error"
        too_far = f"magnitude beyond {self.sigma:g}σ"
        why = _fats_reasons(block.start, block.mag, block.err, self.error_factor, self.sigma)
        block.drop_epochs(why, (too_large, too_far))


@dataclass(frozen=True)
class SigmaClip:
    """Drop epochs more than `sigma` standard deviations from the mean, once (not repeated)."""

    sigma: float = 3.0

    def apply(self, block: EpochBlock) -> None:
        """Drop epochs from the block."""
        keep = _clip_mask(block.start, block.mag, self.sigma)
        block.keep_epochs(keep, f"magnitude beyond {self.sigma:g}σ")


@dataclass(frozen=True)
class MagnitudeLimits:
    """Drop epochs brighter than `brightest` (saturation) or fainter than `faintest`; both limits stay in."""

    brightest: float = -np.inf
    faintest: float = np.inf

    def apply(self, block: EpochBlock) -> None:
        """Drop epochs from the block."""
        block.keep_epochs(block.mag >= self.brightest, f"brighter than {self.brightest:g} mag")
        block.keep_epochs(block.mag <= self.faintest, f"fainter than {self.faintest:g} mag")


@dataclass(frozen=True)
class SaturatedStars:
    """Drop a band in which more than `share` of the epochs are brighter than `brightest`.

    A saturated star is measured too faint as often as too bright, so that its other epochs are no better.
    """

    brightest: float
    share: float = 0.05

    def apply(self, block: EpochBlock) -> None:
        """Drop objects from the block."""
        lengths = np.diff(block.start)
        before = np.concatenate(([0], np.cumsum(block.mag < self.brightest)))
        bright = before[block.start[1:]] - before[block.start[:-1]]
        reason = f"of a saturated star, brighter than {self.brightest:g} mag"
        block.keep_segments(bright <= self.share * lengths, reason)
        block.drop_empty_objects("saturated star")


@dataclass(frozen=True)
class ErrorLimit:
    """Drop epochs with an error above `largest`."""

    largest: float

    def apply(self, block: EpochBlock) -> None:
        """Drop epochs from the block."""
        block.keep_epochs(block.err <= self.largest, f"error above {self.largest:g} mag")


@dataclass(frozen=True)
class MinimumEpochs:
    """Drop a band with fewer than `count` epochs, and an object without a band left."""

    count: int

    def apply(self, block: EpochBlock) -> None:
        """Drop objects from the block."""
        reason = f"fewer than {self.count} epochs"
        block.keep_segments(np.diff(block.start) >= self.count, reason)
        block.drop_empty_objects(reason)


STEPS: Final[dict[str, type[Any]]] = {
    "fats_preprocessing": FatsPreprocessing,
    "sigma_clip": SigmaClip,
    "magnitude_limits": MagnitudeLimits,
    "error_limit": ErrorLimit,
    "saturated_stars": SaturatedStars,
    "minimum_epochs": MinimumEpochs,
}
RULES: Final[dict[str, tuple[Step, ...]]] = {
    "none": (),
    "fats": (FatsPreprocessing(),),
    "hits": (MinimumEpochs(15), MagnitudeLimits(brightest=15.0), SigmaClip(3.0), MinimumEpochs(10)),
}


def find_rule(rule: str | tuple[dict[str, Any], ...], where: str) -> tuple[Step, ...]:
    """Return a rule by its name, or build it from a survey's own list of steps."""
    if isinstance(rule, str):
        if rule not in RULES:
            raise SurveyError(
                f"{where}: cleaning rule {rule!r} is not known: use {', '.join(RULES)}, or a list of steps."
            )
        return RULES[rule]
    steps = []
    for table in rule:
        kind = STEPS.get(str(table.get("step")))
        if kind is None:
            raise SurveyError(f"{where}: cleaning step {table.get('step')!r} is not known: use {', '.join(STEPS)}.")
        values = {key: value for key, value in table.items() if key != "step"}
        unknown = set(values) - {f.name for f in fields(kind)}
        if unknown or not all(isinstance(value, int | float) for value in values.values()):
            wanted = ", ".join(f.name for f in fields(kind))
            raise SurveyError(f"{where}: cleaning step {table['step']!r} takes numbers for {wanted} only.")
        try:
            steps.append(kind(**values))
        except TypeError as error:
            raise SurveyError(f"{where}: cleaning step {table['step']!r} is incomplete: {error}.") from error
    return tuple(steps)


def clean(block: EpochBlock, rule: tuple[Step, ...]) -> None:
    """Apply a rule's steps in order; the block counts what each drops."""
    for step in rule:
        step.apply(block)
        block.drop_empty_objects("no epoch left after cleaning")


@numba.njit(cache=True)
def _fats_reasons(start, mag, err, error_factor, sigma):  # type: ignore[no-untyped-def]
    """Return for each epoch 1 if its error is too large, else 2 if it is too far from the mean, else 0."""
    why = np.zeros(mag.size, dtype=np.int8)
    for segment in range(start.size - 1):
        a, b = start[segment], start[segment + 1]
        if a == b:
            continue
        largest, mean, std = error_factor * np.mean(err[a:b]), np.mean(mag[a:b]), np.std(mag[a:b])
        for i in range(a, b):
            near_mean = std == 0.0 or abs(mag[i] - mean) / std < sigma
            why[i] = 1 if not err[i] < largest else 0 if near_mean else 2
    return why


@numba.njit(cache=True)
def _clip_mask(start: NDArray[np.int64], mag: NDArray[np.float64], sigma: float):  # type: ignore[no-untyped-def]
    keep = np.ones(mag.size, dtype=np.bool_)
    for segment in range(start.size - 1):
        a, b = start[segment], start[segment + 1]
        if a < b:
            mean, std = np.mean(mag[a:b]), np.std(mag[a:b])
            for i in range(a, b):
                keep[i] = abs(mag[i] - mean) <= sigma * std
    return keep
