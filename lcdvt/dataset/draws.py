"""Which objects keep their label: budgets like `1%`, `25` or `3/class`, drawn stratified, nested and seeded.

A draw is the beginning of one seeded order of all labelled objects. The order first takes one object of
each class, then goes on so that each beginning of it has the classes in the survey's own proportions
(Sainte-Laguë's rule, which, unlike rounding, never takes an object away when the budget grows). So the 1 %
draw lies inside the 5 % draw of the same seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from lcdvt.errors import SettingsError


@dataclass(frozen=True)
class LabelBudget:
    """How many labels to keep: a share of the objects, a number of objects, or a number per class."""

    amount: float
    kind: Literal["share", "objects", "per class"]

    @classmethod
    def parse(cls, text: str, option: str = "labels") -> "LabelBudget":
        """Read `1%`, `0.01`, `25`, `3/class` or `all`; `option` is what an error calls it."""
        wrong = SettingsError(f"{option}={text}: give a share (1% or 0.01), a number (25), 3/class, or all.")
        cleaned = text.strip().lower().replace(" ", "")
        if cleaned == "all":
            return cls(1.0, "share")
        try:
            if cleaned.endswith("%"):
                budget = cls(float(cleaned[:-1]) / 100, "share")
            elif cleaned.endswith("/class"):
                budget = cls(int(cleaned.removesuffix("/class")), "per class")
            elif "." in cleaned or "e" in cleaned:
                budget = cls(float(cleaned), "share")
            else:
                budget = cls(int(cleaned), "objects")
        except ValueError as error:
            raise wrong from error
        if not budget.amount > 0 or (budget.kind == "share" and budget.amount > 1):
            raise wrong
        return budget

    @classmethod
    def parse_or_none(cls, text: str) -> "LabelBudget":
        """Read what `parse` reads, or `0`: no label at all, where other surveys have some."""
        return NO_LABEL if text.strip() == "0" else cls.parse(text)

    def __str__(self) -> str:
        if self.kind == "share":
            return f"{100 * self.amount:g}%"
        return f"{self.amount:g}/class" if self.kind == "per class" else f"{self.amount:g}"


EVERY_LABEL: Final = LabelBudget(1.0, "share")
NO_LABEL: Final = LabelBudget(0, "objects")


def draw_labels(
    y: NDArray[np.integer], budget: LabelBudget, seed: int, classes: Sequence[str] = ()
) -> NDArray[np.int64]:
    """Return the places of the objects whose label is kept, in ascending order.

    Parameters
    ----------
    y
        Class numbers, −1 for objects without a label; shares are shares of the labelled objects.
    budget
        How many.
    seed
        The same seed gives nested draws for growing budgets.
    classes
        Names of the class numbers, for messages.
    """
    if budget == NO_LABEL:
        return np.empty(0, dtype=np.int64)
    members = _shuffled_by_class(y, seed)
    if not members:
        raise SettingsError("no object has a label to draw: give labels first (`lcdvt ingest --catalog FILE`).")
    if budget == EVERY_LABEL:
        return np.flatnonzero(y >= 0)
    sizes = {number: len(places) for number, places in members.items()}
    total = sum(sizes.values())
    if budget.kind == "per class":
        short = [number for number, size in sizes.items() if size < budget.amount]
        if short:
            name = classes[short[0]] if classes else f"number {short[0]}"
            raise SettingsError(f"labels={budget}: class {name} has {sizes[short[0]]} labelled objects; ask for fewer.")
        counts = dict.fromkeys(sizes, int(budget.amount))
    else:
        wanted = round(budget.amount * total) if budget.kind == "share" else int(budget.amount)
        if wanted > total:
            raise SettingsError(f"labels={budget}: there are only {total} labelled objects; ask for fewer.")
        if budget.kind == "objects" and wanted < len(sizes):
            raise SettingsError(
                f"labels={budget}: {len(sizes)} classes need at least one label each; ask for {len(sizes)} or more."
            )
        counts = _proportional_counts(sizes, max(wanted, len(sizes)))
    drawn = np.concatenate([members[number][: counts[number]] for number in members])
    return np.sort(drawn)


def _shuffled_by_class(y: NDArray[np.integer], seed: int) -> dict[int, NDArray[np.int64]]:
    shuffled = {}
    for number in np.unique(y[y >= 0]).tolist():
        # one generator per class: the order within a class does not depend on which other classes there are
        generator = np.random.default_rng([seed, number])
        shuffled[number] = generator.permutation(np.flatnonzero(y == number))
    return shuffled


def _proportional_counts(sizes: dict[int, int], wanted: int) -> dict[int, int]:
    """Give each class one label, then the next label to the class with the highest size / (2 given + 1)."""
    numbers = list(sizes)
    quotients, owners = [], []
    for number in numbers:
        given = np.arange(1, sizes[number])
        quotients.append(sizes[number] / (2 * given + 1))
        owners.append(np.full(len(given), number))
    # a stable sort: equal quotients go to the class with the lower number, whatever the budget
    order = np.argsort(-np.concatenate(quotients), kind="stable")[: wanted - len(numbers)]
    further = np.concatenate(owners)[order]
    return {number: 1 + int((further == number).sum()) for number in numbers}
