"""What the engine trains on: the rows of every survey in one tensor, and who is labelled for whom.

Members may see the same objects with the same labels, the same objects with label draws of their own
(ten draws in one run), or objects of their own (five seeds of a synthetic experiment in one run).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
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
    """

    names: tuple[str, ...]
    widths: tuple[int, ...]
    classes: int
    rows: Tensor
    observed: Tensor | None
    labels: list[list[Tensor]]
    label_classes: list[list[Tensor]]
    unlabelled: list[list[Tensor]]

    @property
    def members(self) -> int:
        """How many members the data were laid out for."""
        return len(self.labels)

    @classmethod
    def from_surveys(
        cls, surveys: Sequence[SurveyRows], classes: Sequence[str], members: int, device: torch.device | str = "cpu"
    ) -> "TrainingData":
        """Check the surveys' rows and lay them out for `members` members."""
        if len(classes) < 2:
            raise DatasetError(f"{len(classes)} class is not enough to classify: give labels of at least two classes.")
        widths = tuple(survey.x.shape[-1] for survey in surveys)
        widest = max(widths)
        pieces, masks, offset = [], [], 0
        labels: list[list[Tensor]] = [[] for _ in range(members)]
        label_classes: list[list[Tensor]] = [[] for _ in range(members)]
        unlabelled: list[list[Tensor]] = [[] for _ in range(members)]
        for survey in surveys:
            _check(survey, classes, members)
            objects = survey.x.shape[-2]
            flat = np.asarray(survey.x, dtype=np.float32).reshape(-1, survey.x.shape[-1])
            padded = np.pad(flat, ((0, 0), (0, widest - flat.shape[1])), constant_values=np.nan)
            masks.append(~np.isnan(padded))
            pieces.append(np.nan_to_num(padded, nan=0.0))
            for member in range(members):
                y = survey.y if survey.y.ndim == 1 else survey.y[member]
                start = offset + (member * objects if survey.x.ndim == 3 else 0)
                known = np.flatnonzero(y != UNLABELLED)
                labels[member].append(torch.from_numpy(known + start))
                label_classes[member].append(torch.from_numpy(y[known].astype(np.int64)))
                unlabelled[member].append(torch.from_numpy(np.flatnonzero(y == UNLABELLED) + start))
            offset += len(flat)
        _check_classes(label_classes, classes)
        mask = np.concatenate(masks)
        observed = None if mask.all() else torch.from_numpy(mask.astype(np.float32)).to(device)
        rows = torch.from_numpy(np.concatenate(pieces)).to(device)
        names = tuple(survey.name for survey in surveys)
        return cls(names, widths, len(classes), rows, observed, labels, label_classes, unlabelled)

    def label_counts(self) -> Tensor:
        """Return how many labels each class has, (members, surveys, K)."""
        return torch.stack(
            [torch.stack([torch.bincount(y, minlength=self.classes) for y in member]) for member in self.label_classes]
        )


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
