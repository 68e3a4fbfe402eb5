"""The published figures of Deep Variational Transfer on the real surveys, to stand beside ours.

Belhaj, Protopapas and Pan (2018, arXiv:1812.03123) give F1 in percent, averaged over ten label draws, with the
standard deviation where they have one. No macro F1 is published; the tables here take the mean of the published
classes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from lcdvt.evaluate import Spread

PUBLISHED_MARK = "published (real EROS/MACHO/HiTS)"

_UPPER_BOUND = "Supervised upper bound"
_TRANSFER = "Transfer (Benavente et al. 2017)"
_TOP = "Multi-task top cycle consistency"
_ENSEMBLE = "Multi-task ensemble"


@dataclass(frozen=True)
class PublishedRow:
    """One row of a published table; F1 as shares of one, like our own scores."""

    training: str
    model: str
    is_upper_bound: bool
    f1: Mapping[str, Spread]

    @property
    def macro_f1(self) -> Spread:
        """Mean over the published classes; its deviation over draws is not published."""
        return Spread(fmean(value.mean for value in self.f1.values()), None)


def _row(training: str, model: str, classes: str, percents: str) -> PublishedRow:
    """Read `80 44±23 …`, one figure for each class."""
    f1 = {}
    for name, figure in zip(classes.split(), percents.split(), strict=True):
        mean, _, deviation = figure.partition("±")
        f1[name] = Spread(float(mean) / 100, float(deviation) / 100 if deviation else None)
    return PublishedRow(training, model, training == _UPPER_BOUND, f1)


def _table(classes: str, *rows: tuple[str, str, str]) -> tuple[PublishedRow, ...]:
    return tuple(_row(training, model, classes, percents) for training, model, percents in rows)


PUBLISHED: Mapping[tuple[str, str], tuple[PublishedRow, ...]] = {
    ("eros", "macho"): _table(
        "CEP EB LPV QSO RRLYR",
        (_UPPER_BOUND, "Random forest", "80 88 97 83 95"),
        (_UPPER_BOUND, "DVT", "80 87 98 81 94"),
        (_TRANSFER, "GMM based", "33 73 93 37 91"),
        (_TOP, "DVT", "44±23 76±5.2 95±3.0 77±2.4 93±1.1"),
        (_ENSEMBLE, "DVT", "56±26 85±2.2 98±0.4 84±1.3 95±0.6"),
    ),
    ("macho", "eros"): _table(
        "CEP EB LPV QSO RRLYR",
        (_UPPER_BOUND, "Random forest", "86 92 93 40 93"),
        (_UPPER_BOUND, "DVT", "86 89 92 64 89"),
        (_TRANSFER, "GMM based", "25 76 58 2 69"),
        (_TOP, "DVT", "73±1.7 84±0.5 83±1.9 17±9.1 84±0.7"),
        (_ENSEMBLE, "DVT", "75±0.9 87±0.4 86±0.2 18±10 87±0.5"),
    ),
    ("eros", "hits"): _table(
        "EB QSO RRLYR",
        (_UPPER_BOUND, "Random forest", "93 94 98"),
        (_UPPER_BOUND, "DVT", "93 92 98"),
        (_TRANSFER, "GMM based", "2 37 15"),
        (_TOP, "DVT", "85±3.4 83±6.2 94±0.4"),
        (_ENSEMBLE, "DVT", "88±1.7 88±2.7 95±0.9"),
    ),
}


def published_rows(sources: tuple[str, ...], target: str) -> tuple[PublishedRow, ...]:
    """Return the published table of a pair of surveys; none for several sources or other surveys."""
    if len(sources) != 1:
        return ()
    return PUBLISHED.get((sources[0].lower(), target.lower()), ())
