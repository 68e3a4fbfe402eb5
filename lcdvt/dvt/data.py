"""What the engine trains on: the rows of every survey in one tensor, and who is labelled for whom.

Members may see the same objects with the same labels, the same objects with label draws of their own
(ten draws in one run), or objects of their own (five seeds of a synthetic experiment in one run).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lcdvt.dataset.dataset import UNLABELLED, SurveyRows
from lcdvt.errors import DatasetError


@dataclass(frozen=True)
class TrainingData:
    """Every survey's rows stacked, padded to the widest survey, missing features filled with zero.

    Parameters
    ----------
    names, widths
        The surveys, source first and target last, and their numbers of features.
    classes
        K.
    rows
        (all rows, widest survey's features), on the device.
    observed
        Like `rows`: 1 observed, 0 missing or padding; None where all is observed.
    labels
        (members, surveys, …) nested lists: row numbers of each member's labelled objects.
    label_classes
        Their classes, in the same order.
    unlabelled
        Row numbers of each member's unlabelled objects.
    again
        Like `rows`: the first replicate of each object, zeros where it has none; None where no replicates were wanted.
    has_again
        (all rows,): 1 for objects with a replicate, 0 for the others.
    """

    names: tuple[str, ...]
    widths: tuple[int, ...]
    classes: int
    rows: Tensor
    observed: Tensor | None
    labels: list[list[Tensor]]
    label_classes: list[list[Tensor]]
    unlabelled: list[list[Tensor]]
    again: Tensor | None = None
    has_again: Tensor | None = None

    @property
    def members(self) -> int:
        """How many members the data were laid out for."""
        return len(self.labels)

    @classmethod
    def from_surveys(
        cls,
        surveys: Sequence[SurveyRows],
        classes: Sequence[str],
        members: int,
        device: torch.device | str = "cpu",
        *,
        replicates: bool = False,
    ) -> "TrainingData":
        """Check the surveys' rows and lay them out for `members` members.

        Parameters
        ----------
        surveys
            Source first and target last.
        classes
            Their names.
        members
            How many models are trained.
        device
            Where the rows are kept.
        replicates
            Whether a replicate of each object is kept too, where it has one: an objective with a `consistency_weight`
            needs it.
        """
        if len(classes) < 2:
            raise DatasetError(f"{len(classes)} class is not enough to classify: give labels of at least two classes.")
        widths = tuple(survey.x.shape[-1] for survey in surveys)
        widest = max(widths)
        pieces, masks, again, offset = [], [], [], 0
        labels: list[list[Tensor]] = [[] for _ in range(members)]
        label_classes: list[list[Tensor]] = [[] for _ in range(members)]
        unlabelled: list[list[Tensor]] = [[] for _ in range(members)]
        for survey in surveys:
            _check(survey, classes, members)
            objects = survey.x.shape[-2]
            padded = _padded(survey.x, widest)
            masks.append(~np.isnan(padded))
            pieces.append(np.nan_to_num(padded, nan=0.0))
            if replicates:
                again.append(_padded(_first_replicate(survey), widest))
            for member in range(members):
                y = survey.y if survey.y.ndim == 1 else survey.y[member]
                start = offset + (member * objects if survey.x.ndim == 3 else 0)
                known = np.flatnonzero(y != UNLABELLED)
                labels[member].append(torch.from_numpy(known + start))
                label_classes[member].append(torch.from_numpy(y[known].astype(np.int64)))
                unlabelled[member].append(torch.from_numpy(np.flatnonzero(y == UNLABELLED) + start))
            offset += len(padded)
        _check_classes(label_classes, classes)
        mask = np.concatenate(masks)
        observed = None if mask.all() else torch.from_numpy(mask.astype(np.float32)).to(device)
        rows = torch.from_numpy(np.concatenate(pieces)).to(device)
        names = tuple(survey.name for survey in surveys)
        data = cls(names, widths, len(classes), rows, observed, labels, label_classes, unlabelled)
        if not replicates:
            return data
        second = np.concatenate(again)
        exists = torch.from_numpy((~np.isnan(second)).any(axis=1).astype(np.float32))
        values = torch.from_numpy(np.nan_to_num(second, nan=0.0))
        return replace(data, again=values.to(device), has_again=exists.to(device))

    def label_counts(self) -> Tensor:
        """Return how many labels each class has, (members, surveys, K)."""
        return torch.stack(
            [torch.stack([torch.bincount(y, minlength=self.classes) for y in member]) for member in self.label_classes]
        )


def _padded(x: NDArray[np.floating], widest: int) -> NDArray[np.float32]:
    """Return the rows of all members below each other, as wide as those of the widest survey."""
    flat = np.asarray(x, dtype=np.float32).reshape(-1, x.shape[-1])
    return np.pad(flat, ((0, 0), (0, widest - flat.shape[1])), constant_values=np.nan)


def _first_replicate(survey: SurveyRows) -> NDArray[np.floating]:
    """Return one replicate of each object, nothing but NaN where it has none."""
    if survey.replicates is None or not len(survey.replicates):
        return np.full(survey.x.shape, np.nan)
    if survey.replicates.shape[1:] != survey.x.shape:
        raise DatasetError(
            f"{survey.name}: objects are {survey.x.shape} and their replicates {survey.replicates.shape[1:]}; "
            "give each object a row in every replicate, of NaN where it has none."
        )
    return survey.replicates[0]


def _check(survey: SurveyRows, classes: Sequence[str], members: int) -> None:
    for name, array, own in (("features", survey.x, 3), ("labels", survey.y, 2)):
        if array.ndim == own and len(array) != members:
            raise DatasetError(f"{survey.name}: {name} of {len(array)} members for {members}; give one per member.")
    if survey.x.shape[-2] != survey.y.shape[-1]:
        raise DatasetError(
            f"{survey.name}: {survey.x.shape[-2]} objects have features and {survey.y.shape[-1]} have labels; "
            "give one label, or −1, for each object."
        )
    if np.isinf(survey.x).any():
        raise DatasetError(
            f"{survey.name}: {int(np.isinf(survey.x).sum())} features are infinite; "
            "make them NaN (missing) or mend the feature."
        )
    if survey.y.size and (survey.y.max() >= len(classes) or survey.y.min() < UNLABELLED):
        raise DatasetError(f"{survey.name}: labels must be class numbers 0 to {len(classes) - 1}, or −1.")
    lone = (survey.y != UNLABELLED).sum(axis=-1).min() if survey.y.size else 0
    if lone == 0:
        raise DatasetError(
            f"{survey.name}: no object is labelled; DVT needs a few labels in every survey, so draw more of them."
        )


def _check_classes(label_classes: list[list[Tensor]], classes: Sequence[str]) -> None:
    """Refuse a class without any label: no term of the objective could ever tell what it looks like.

    A class that only one survey has labels of is fine: its component is learned from that survey alone.
    """
    for member in label_classes:
        counts = torch.bincount(torch.cat(member), minlength=len(classes))
        empty = [name for name, count in zip(classes, counts.tolist(), strict=True) if count == 0]
        if empty:
            raise DatasetError(
                f"class {empty[0]} has no labelled object in any survey: draw labels of it or leave the class out."
            )
