"""Given labels against probabilities: confident learning (Northcutt, Jiang & Chuang 2021, JAIR 70, 1373).

A class has a threshold t_j, the mean probability of j among the stars labelled j (their eq. 2): what the classifier
usually says of that class. A classifier that is less sure of Cepheids than of RR Lyrae must not make every Cepheid
doubtful, so probabilities are compared by how far they lie above or below it. The score of a star labelled y is the
margin of the best other class over the label,

    max over j ≠ y of (p_j − t_j)  −  (p_y − t_y),

their normalised margin turned round: the higher, the more doubtful. A label counts as contradicted if the star lies
off the diagonal of the confident joint (their eq. 1): of the classes with p_j ≥ t_j the most probable is not y.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Judgement:
    """What probabilities say of given labels, one entry for each star.

    Parameters
    ----------
    score
        From −2 to 2; above zero another class stands better than the label.
    suggested
        The number of the best other class.
    contradicted
        Whether the star lies off the diagonal of the confident joint.
    """

    score: NDArray[np.float64]
    suggested: NDArray[np.int64]
    contradicted: NDArray[np.bool_]


def class_thresholds(probability: NDArray[np.floating], given: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the mean probability of each class among the stars labelled so.

    A class that no star is labelled with gets the mean of the other thresholds, because nothing is known of it.

    Parameters
    ----------
    probability
        (stars, classes).
    given
        The class number of each star's label.
    """
    counts = np.bincount(given, minlength=probability.shape[1])
    own = np.bincount(given, probability[np.arange(len(given)), given], minlength=probability.shape[1])
    known = counts > 0
    means = own / np.maximum(counts, 1)
    return np.where(known, means, means[known].mean())


def judge(probability: NDArray[np.floating], given: NDArray[np.integer]) -> Judgement:
    """Weigh every label against the other classes.

    Parameters
    ----------
    probability
        (stars, classes), from models that have not learned from the star's own label.
    given
        The class number of each star's label.
    """
    stars = np.arange(len(given))
    thresholds = class_thresholds(probability, given)
    above = probability - thresholds
    others = above.copy()
    others[stars, given] = -np.inf
    suggested = others.argmax(axis=1)
    sure = np.where(above >= 0, probability, -1.0)
    return Judgement(
        score=others[stars, suggested] - above[stars, given],
        suggested=suggested,
        contradicted=(sure.max(axis=1) >= 0) & (sure.argmax(axis=1) != given),
    )
