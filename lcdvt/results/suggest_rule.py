"""Which stars are worth a label: those in doubt that others resemble, and no two alike.

Every star i has a doubt d_i, made of the margin between its two best classes and of the members' disagreement. Stars
are alike by k_ij = exp(−|x_i − x_j|² / 2h²). The density ρ_i is the sum of k_ij over the stars of the same predicted
class, divided by the highest such sum in that class, so that the typical star of a rare class counts as one of a common
class does. Stars are chosen one after the other, each time the one with the highest

    d_i · √ρ_i · (1 − c_i),         c_i = max k_il over all stars l that have a label or are chosen already.

So a lonely outlier waits, for nobody is like it, and so does a star beside a labelled or chosen one, for that one
speaks for it. Half of the places are shared out evenly: each predicted class gets that many at least. No label is
looked at, only which stars have one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

STARS_PER_SET: Final = 3000
"""Candidates, stars to compare them with, and labelled stars: so many of each, however large the survey."""
DIMENSIONS: Final = 10
"""Principal components in which stars are compared: in all features at once every star is far from every other."""
NEIGHBOUR_SHARE: Final = 0.01
FEWEST_NEIGHBOURS: Final = 5
"""h is the usual distance to a neighbour of this rank."""
ALIKE: Final = 0.5
"""Stars are called alike from this k on."""

DENSITY_POWER: Final = 0.5
"""Of ρ, beside the doubt itself; docs/method.md has what other powers gave."""
EVEN_SHARE: Final = 0.5
"""Of the places, those that all predicted classes share alike."""

FeaturesOf = Callable[[NDArray[np.int64]], NDArray[np.floating]]


@dataclass(frozen=True)
class Opinions:
    """What a run says of every star of a survey.

    Parameters
    ----------
    probability
        (stars, classes).
    disagreement
        Share of the members that prefer another class, (stars,).
    labelled
        Whose label the run has learned from, (stars,).
    free
        Who may be asked for, (stars,).
    """

    probability: NDArray[np.floating]
    disagreement: NDArray[np.floating]
    labelled: NDArray[np.bool_]
    free: NDArray[np.bool_]

    @property
    def predicted(self) -> NDArray[np.int64]:
        """The best class of each star."""
        return self.probability.argmax(axis=1)

    @property
    def doubt(self) -> NDArray[np.float64]:
        """From 0 (certain and unanimous) to 1: mean of lacking margin and scaled disagreement."""
        classes = self.probability.shape[1]
        ordered = np.sort(self.probability, axis=1)
        lacking_margin = 1.0 - (ordered[:, -1] - ordered[:, -2])
        # all members cannot disagree with their own mean: with K classes 1 − 1/K is the most
        most = 1.0 - 1.0 / classes
        return (lacking_margin + np.clip(self.disagreement / most, 0.0, 1.0)) / 2


@dataclass(frozen=True)
class Query:
    """A star worth a label: its row, its doubt, and about how many others of the survey are like it."""

    row: int
    doubt: float
    alike: int


def choose_stars(
    opinions: Opinions, features_of: FeaturesOf, number: int, *, per_class: bool = False, seed: int = 0
) -> list[Query]:
    """Return the stars to label next, the most useful first; fewer than wanted where too few have features.

    Parameters
    ----------
    opinions
        What the run says of all stars.
    features_of
        Gives scaled features (NaN where missing) of the rows it is called with.
    number
        How many stars, or how many of each predicted class.
    per_class
        Which of the two.
    seed
        The random seed of the samples that stand for a survey larger than `STARS_PER_SET`.
    """
    generator = np.random.default_rng(seed)
    classes = opinions.probability.shape[1]
    doubt, predicted = opinions.doubt, opinions.predicted
    wanted = number * classes if per_class else number
    rows_of_sets = (
        _most_doubtful(doubt, predicted, opinions.free, max(STARS_PER_SET, 2 * wanted)),
        _sample(predicted, ~opinions.labelled, STARS_PER_SET, generator),
        _sample(predicted, opinions.labelled, STARS_PER_SET, generator),
    )
    (candidates, at_candidates), (others, at_others), (_, at_labelled) = _places(rows_of_sets, features_of)
    width = _usual_distance(at_others)
    likeness = _likeness(at_candidates, at_others, width)
    in_class, other_class = predicted[candidates], predicted[others]
    density = _density(likeness, in_class, other_class)
    available = np.bincount(in_class, minlength=classes)
    least = np.minimum(number if per_class else int(EVEN_SHARE * number / classes), available)
    chosen = _greedy(
        worth=doubt[candidates] * density**DENSITY_POWER,
        spoken_for=_likeness(at_candidates, at_labelled, width).max(axis=1, initial=0.0),
        likeness_to=lambda candidate: _likeness(at_candidates, at_candidates[[candidate]], width)[:, 0],
        in_class=in_class,
        least=least,
        wanted=min(int(least.sum()) if per_class else number, len(candidates)),
    )
    outside, sampled = (np.bincount(predicted[some], minlength=classes) for some in (~opinions.labelled, others))
    stars_each = (outside / np.maximum(sampled, 1))[other_class]
    alike = (likeness[chosen] >= ALIKE) & (others[None] != candidates[chosen][:, None])
    return [
        Query(int(row), float(doubt[row]), round(float(stars_each[near].sum())))
        for row, near in zip(candidates[chosen], alike, strict=True)
    ]


def _most_doubtful(
    doubt: NDArray[np.float64], predicted: NDArray[np.int64], free: NDArray[np.bool_], most: int
) -> NDArray[np.int64]:
    """Return the rows of the most doubtful free stars, class by class in turn, so that no class is crowded out."""
    rows = np.flatnonzero(free)
    rows = rows[np.argsort(-doubt[rows], kind="stable")]
    return np.sort(rows[np.argsort(_rank_in_class(predicted[rows]), kind="stable")][:most])


def _sample(
    predicted: NDArray[np.int64], among: NDArray[np.bool_], most: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return some rows at random, as many of each predicted class as there are, up to a fair share."""
    rows = generator.permutation(np.flatnonzero(among))
    return np.sort(rows[np.argsort(_rank_in_class(predicted[rows]), kind="stable")][:most])


def _rank_in_class(predicted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many of the same class stand before each."""
    rank = np.empty(len(predicted), dtype=np.int64)
    for number in np.unique(predicted):
        members = predicted == number
        rank[members] = np.arange(members.sum())
    return rank


def _places(
    rows_of_sets: Sequence[NDArray[np.int64]], features_of: FeaturesOf
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Return, for each set, the rows that have features and where they lie among the stars of the second set.

    The axes are the directions in which the second set's stars differ most.
    """
    # each star's features are read once, whatever sets it is in
    rows = np.unique(np.concatenate(rows_of_sets))
    features = features_of(rows).astype(np.float64)
    rows, features = rows[usable := np.isfinite(features).any(axis=1)], np.nan_to_num(features[usable], nan=0.0)
    others = np.isin(rows, rows_of_sets[1])
    centred = features - features[others].sum(axis=0) / max(1, others.sum())
    # by their products, not star by star: there are far fewer features than stars
    _, directions = np.linalg.eigh(centred[others].T @ centred[others])
    places = centred @ directions[:, ::-1][:, :DIMENSIONS]
    return [(rows[some], places[some]) for some in (np.isin(rows, wanted) for wanted in rows_of_sets)]


def _usual_distance(space: NDArray[np.float64]) -> float:
    """Return the median distance to the neighbour that a star should just about speak for."""
    if len(space) < 2:
        return 1.0
    rank = min(max(FEWEST_NEIGHBOURS, round(NEIGHBOUR_SHARE * len(space))), len(space) - 1)
    distance = np.partition(_squared_distance(space, space), rank, axis=1)[:, rank]
    usual = float(np.sqrt(np.median(distance)))
    return usual if usual > 0 else 1.0


def _likeness(some: NDArray[np.float64], others: NDArray[np.float64], width: float) -> NDArray[np.float32]:
    return np.exp(_squared_distance(some, others) / (-2 * width**2)).astype(np.float32)


def _squared_distance(some: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    squares = (some**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)[None] - 2 * some @ others.T
    return np.maximum(squares, 0.0)


def _density(
    likeness: NDArray[np.float32], in_class: NDArray[np.int64], other_class: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return how many stars of its own class each candidate is like, compared with the best candidate of the class."""
    density = np.zeros(len(likeness))
    for number in np.unique(in_class):
        members = in_class == number
        crowd = likeness[np.ix_(members, other_class == number)].sum(axis=1, dtype=np.float64)
        density[members] = crowd / max(crowd.max(), np.finfo(float).tiny)
    return density


def _greedy(
    worth: NDArray[np.float64],
    spoken_for: NDArray[np.float32],
    likeness_to: Callable[[int], NDArray[np.float32]],
    in_class: NDArray[np.int64],
    least: NDArray[np.int64],
    wanted: int,
) -> list[int]:
    """Choose candidates one by one; the last places are kept for classes that have not got their least number."""
    missing, free = least.copy(), np.ones(len(worth), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < wanted:
        open_to = free & (missing[in_class] > 0) if missing.sum() >= wanted - len(chosen) else free
        candidate = int(np.where(open_to, worth * (1.0 - spoken_for), -1.0).argmax())
        chosen.append(candidate)
        free[candidate] = False
        missing[in_class[candidate]] = max(0, missing[in_class[candidate]] - 1)
        spoken_for = np.maximum(spoken_for, likeness_to(candidate))
    return chosen
