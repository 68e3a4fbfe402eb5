"""The paper's table from scores: which rows, which numbers, what is bold, and what stands under it.

Here is what a table says. How it looks in each format is in `lcdvt.tables.formats`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from lcdvt.errors import LcdvtError
from lcdvt.evaluate import RowScores, Spread, spread
from lcdvt.tables.html import to_html
from lcdvt.tables.published import PUBLISHED_MARK, PublishedRow, published_rows

MACRO: Final = "macro F1"
SIMULATED: Final = "simulated"
OBSERVED: Final = "this run"


@dataclass(frozen=True)
class Circumstances:
    """What a reader must know to judge the numbers.

    Parameters
    ----------
    sources, target
        Names of the surveys; no sources where one survey was trained on its own labels.
    classes
        In the order of the columns.
    labels_per_class
        For each draw, how many target labels of each class were drawn.
    class_mix
        Objects of each class in the target.
    seeds
        One for each draw.
    members
        Models in each draw's ensemble; none where no ensemble was trained.
    simulated
        Whether any of the surveys is simulated; then the table says so.
    folds
        Whether each draw held out one fold of the labels instead of drawing a few.
    left_out
        Classes that were not asked for, or have labels on one side only: their objects took part without a label and
        were not scored.
    answers
        Of the target labels in each draw, how many of each class people gave by `lcdvt label`.
    sample_sizes
        Surveys of which a sample was learned from, because they have too many stars: how many of how many in the first
        draw.
    doubted
        For each draw, how many of its target labels DVT did not learn from, because the sources contradict them.
    """

    sources: tuple[str, ...]
    target: str
    classes: tuple[str, ...]
    labels_per_class: tuple[Mapping[str, int], ...]
    class_mix: Mapping[str, int]
    seeds: tuple[int, ...]
    members: int | None
    simulated: bool
    folds: bool = False
    left_out: tuple[str, ...] = ()
    answers: Mapping[str, int] = field(default_factory=dict)
    sample_sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    doubted: tuple[int, ...] = ()


@dataclass(frozen=True)
class Cell:
    """A number of the table; none where a row has no such class.

    Parameters
    ----------
    value
        As shares of one.
    is_best
        Whether no rival is better.
    places
        How percent are written: with one decimal, or, where the paper printed them, with no more digits than it has.
    """

    value: Spread | None
    is_best: bool = False
    places: str = ".1f"

    @property
    def text(self) -> str:
        """Percent, with the deviation over draws where there is one."""
        if self.value is None:
            return "–"
        mean = format(100 * self.value.mean, self.places)
        return mean if self.value.deviation is None else f"{mean} ± {format(100 * self.value.deviation, self.places)}"


@dataclass(frozen=True)
class TableRow:
    """A row as it is shown; one cell for each class, then macro F1."""

    name: str
    training: str
    model: str
    is_upper_bound: bool
    data: str
    cells: tuple[Cell, ...]

    @property
    def is_published(self) -> bool:
        """Whether the numbers are the paper's."""
        return self.data == PUBLISHED_MARK


@dataclass(frozen=True)
class ResultTable:
    """A whole table, ready for any format.

    Parameters
    ----------
    title
        The pair of surveys, marked when simulated.
    columns
        Class names and, last, macro F1.
    rows
        Ours, upper bounds first, then the published ones.
    notes
        Sentences under the table.
    scores, circumstances
        What it was made from.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...]
    scores: tuple[RowScores, ...]
    circumstances: Circumstances

    def _repr_html_(self) -> str:
        return to_html(self)


def build_table(scores: Sequence[RowScores], circumstances: Circumstances) -> ResultTable:
    """Make the table of one transfer, with the published figures of the same pair where there are any.

    Parameters
    ----------
    scores
        One entry for each row, in the order wanted; upper bounds move to the top.
    circumstances
        Surveys, label draws and seeds.
    """
    _check(scores, circumstances)
    published = published_rows(circumstances.sources, circumstances.target)
    columns = _class_columns(scores, published, circumstances.classes)
    ordered = sorted(scores, key=lambda row: not row.is_upper_bound)
    data = SIMULATED if circumstances.simulated else OBSERVED
    spreads = [_spreads(row, columns) for row in ordered]
    best = _best_by_column(ordered, spreads)
    rows = [
        TableRow(
            row.name,
            row.training,
            row.model,
            row.is_upper_bound,
            data,
            tuple(Cell(value, (number, place) in best) for place, value in enumerate(values)),
        )
        for number, (row, values) in enumerate(zip(ordered, spreads, strict=True))
    ]
    rows += [_published_row(row, columns) for row in published]
    pair = " → ".join(filter(None, [" + ".join(circumstances.sources), circumstances.target]))
    return ResultTable(
        title=f"{pair} ({SIMULATED})" if circumstances.simulated else pair,
        columns=(*columns, MACRO),
        rows=tuple(rows),
        notes=tuple(_notes(scores, circumstances, bool(published))),
        scores=tuple(scores),
        circumstances=circumstances,
    )


def _check(scores: Sequence[RowScores], circumstances: Circumstances) -> None:
    if not scores:
        raise LcdvtError("a table needs at least one row: choose some with rows=….")
    draws = len(circumstances.seeds)
    for row in scores:
        if len(row.draws) != draws:
            raise LcdvtError(f"row {row.name} has {len(row.draws)} draws where {draws} were made; score every draw.")
    if len(circumstances.labels_per_class) != draws:
        raise LcdvtError(f"label counts of {len(circumstances.labels_per_class)} draws for {draws} seeds; give each.")


def _class_columns(
    scores: Sequence[RowScores], published: Sequence[PublishedRow], classes: tuple[str, ...]
) -> tuple[str, ...]:
    scored = {name for row in scores for draw in row.draws for name in draw.f1}
    ours = [name for name in classes if name in scored]
    theirs = [name for row in published for name in row.f1]
    return tuple(dict.fromkeys([*ours, *theirs]))


def _spreads(row: RowScores, columns: tuple[str, ...]) -> list[Spread | None]:
    values = [row.column(name) for name in columns]
    return [spread(column) if column else None for column in values] + [spread(row.column())]


def _best_by_column(rows: Sequence[RowScores], spreads: Sequence[Sequence[Spread | None]]) -> set[tuple[int, int]]:
    """Return (row, column) of each column's best rival; values that look the same are equally good."""
    best = set()
    for place in range(len(spreads[0])):
        shown = {
            number: round(100 * value.mean, 1)
            for number, row in enumerate(rows)
            if not row.is_upper_bound and (value := spreads[number][place]) is not None
        }
        best |= {(number, place) for number, value in shown.items() if value == max(shown.values())}
    return best


def _published_row(row: PublishedRow, columns: tuple[str, ...]) -> TableRow:
    values = [row.f1.get(name) for name in columns] + [row.macro_f1]
    # not compared with ours: other objects, other light curves, other draws
    cells = tuple(Cell(value, places=".3g") for value in values)
    return TableRow("published", row.training, row.model, row.is_upper_bound, PUBLISHED_MARK, cells)


def _notes(scores: Sequence[RowScores], circumstances: Circumstances, has_published: bool) -> list[str]:
    draws = len(circumstances.seeds)
    notes = []
    if circumstances.simulated:
        notes.append("Our numbers are from simulated surveys, not from real light curves.")
    target, labels = ("target ", "Target labels") if circumstances.sources else ("", "Labels")
    unseen, repeat = ("held out", "fold") if circumstances.folds else ("not drawn", "label draw")
    how = f"mean ± standard deviation over {draws} {repeat}s" if draws > 1 else f"one {repeat}"
    if circumstances.members is not None:
        how += f", {circumstances.members} members each"
    notes.append(f"F1 in percent on {target}objects whose label was {unseen}; {how}.")
    notes.append(f"{labels}: {_label_counts(circumstances)}.")
    if circumstances.answers:
        given = ", ".join(f"{name} {count}" for name, count in circumstances.answers.items())
        notes.append(
            f"Among them {sum(circumstances.answers.values())} answers of people who were asked ({given}): learned "
            "from in every draw, and no such star is scored."
        )
    if any(circumstances.doubted):
        doubted = ", ".join(map(str, circumstances.doubted))
        notes.append(
            f"Contradicted by the sources: {doubted} of these labels (by draw). DVT did not learn from them, the other "
            "rows did."
        )
    total = sum(circumstances.class_mix.values())
    mix = ", ".join(f"{name} {count} ({100 * count / total:.1f} %)" for name, count in circumstances.class_mix.items())
    notes.append(f"Class mix of {'the target' if target else circumstances.target}: {mix}.")
    if circumstances.sample_sizes:
        notes.append(sample_sentence(circumstances.sample_sizes, circumstances.target, circumstances.seeds[0]))
    if circumstances.left_out:
        notes.append(f"Left out (not asked for, or without labels on one side): {', '.join(circumstances.left_out)}.")
    notes.append(f"Seeds: {', '.join(map(str, circumstances.seeds))}.")
    reading = "Bold: best of our rows without the upper bounds."
    if any(row.is_upper_bound for row in scores) or has_published:
        reading += " Italic: upper bounds, which know the true class of every other target object."
    notes.append(reading)
    if has_published:
        notes.append(
            f"{PUBLISHED_MARK}: Belhaj et al. 2018, other objects and label draws; "
            "macro F1 there is the mean of the rounded class values."
        )
    return notes


def sample_sentence(sizes: Mapping[str, tuple[int, int]], target: str, seed: int) -> str:
    """Say which surveys were too large to be learned from as a whole, and what became of their other stars."""
    listed = " and ".join(f"{learned:,} of {stars:,} stars of {name}" for name, (learned, stars) in sizes.items())
    rest = f", with all drawn labels of {target}, whose other stars were classified and scored part by part"
    return (
        f"Trained on a sample, to keep the memory small: {listed}, chosen by seed {seed}"
        f"{rest if target in sizes else ''}."
    )


def _label_counts(circumstances: Circumstances) -> str:
    listed = [", ".join(f"{name} {count}" for name, count in draw.items()) for draw in circumstances.labels_per_class]
    if len(set(listed)) == 1:
        return listed[0] if len(listed) == 1 else f"{listed[0]} in each draw"
    return "; ".join(f"seed {seed}: {counts}" for seed, counts in zip(circumstances.seeds, listed, strict=True))
