"""Cleaning rules as data: a rule is a tuple of small steps, each of which says what it dropped.

`fats` is the preprocessing of FATS (Nun et al. 2015); `hits` is that of the HiTS variability catalogue
(Martínez-Palomera et al. 2018), the step that Belhaj et al. 2018 refer to.
"""

from dataclasses import dataclass, fields
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from lcdvt.epochs.block import EpochBlock
from lcdvt.errors import SurveyError
from lcdvt.features.segments import sum_within


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
        why = _fats_reasons(block, self.error_factor, self.sigma)
        block.drop_epochs(why, (too_large, too_far))


@dataclass(frozen=True)
class SigmaClip:
    """Drop epochs more than `sigma` standard deviations from the mean, once (not repeated)."""

    sigma: float = 3.0

    def apply(self, block: EpochBlock) -> None:
        """Drop epochs from the block."""
        keep = _clip_mask(block, self.sigma)
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


def _fats_reasons(block: EpochBlock, error_factor: float, sigma: float) -> NDArray[np.int8]:
    """Return for each epoch 1 if its error is too large, else 2 if it is too far from the mean, else 0."""
    start, lengths = block.start, _lengths(block.start)
    largest = error_factor * (sum_within(block.err, start) / lengths)
    off_mean = block.mag - _each(sum_within(block.mag, start) / lengths, start)
    std = np.sqrt(sum_within(off_mean * off_mean, start) / lengths)
    with np.errstate(divide="ignore", invalid="ignore"):
        is_far = ~(np.abs(off_mean) / _each(std, start) < sigma)
    if (std == 0.0).any():
        is_far &= _each(std != 0.0, start)
    reasons = is_far.view(np.int8) * np.int8(2)
    np.copyto(reasons, 1, where=~(block.err < _each(largest, start)))
    return reasons


def _clip_mask(block: EpochBlock, sigma: float) -> NDArray[np.bool_]:
    mean, std = _mean_and_std(block.mag, block.start)
    return np.asarray(np.abs(block.mag - mean) <= sigma * std)


def _mean_and_std(
    values: NDArray[np.float64], start: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each value's segment."""
    lengths = _lengths(start)
    mean = _each(sum_within(values, start) / lengths, start)
    return mean, _each(np.sqrt(sum_within((values - mean) ** 2, start) / lengths), start)


def _lengths(start: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.maximum(np.diff(start), 1)


def _each(of_segment: NDArray[Any], start: NDArray[np.int64]) -> NDArray[Any]:
    return np.repeat(of_segment, np.diff(start))
