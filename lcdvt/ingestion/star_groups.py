"""Which light curves are pieces of one star: those a table names, and those that lie together on the sky.

Friends of friends: the closest pair is joined first, and a pair is left apart if that would put two light curves into
one star which cannot be the same: of the same band, at the same time, with clearly different brightness.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

SMALLEST_DIFFERENCE: Final = 0.5
"""Magnitudes. Zero points of fields and cameras differ by less, two stars that are told apart mostly by more."""
SPREADS_APART: Final = 2.0
"""A variable star's median wanders within its own spread, so that this many spreads are needed as well."""


@dataclass(frozen=True)
class StarGroups:
    """Which star each light curve belongs to.

    Parameters
    ----------
    star_of
        The star's name, by the light curve's id.
    kept_apart
        How many pairs within the radius were not joined because their brightness differs.
    without_position
        How many light curves had no position by which they could be joined.
    """

    star_of: dict[str, str]
    kept_apart: int
    without_position: int


def group_stars(
    pieces: pd.DataFrame, curves: pd.DataFrame, radius_arcsec: float | None, names: dict[str, str]
) -> StarGroups:
    """Find the star of every light curve.

    Parameters
    ----------
    pieces
        One row for each light curve: piece, ra, dec.
    curves
        One row for each light curve and band: piece, band, median, spread, first, last.
    radius_arcsec
        Light curves this close are one star; None looks at no positions.
    names
        The stars that a table gives. A light curve whose own id is one of these stars belongs to it as well; none of
        them is joined by position.
    """
    named = set(names.values())
    star_of = {piece: names.get(piece, piece) for piece in pieces["piece"]}
    if radius_arcsec is None:
        return StarGroups(star_of, 0, 0)
    free = pieces[[piece not in names and piece not in named for piece in pieces["piece"]]]
    placed = free[np.isfinite(free["ra"]) & np.isfinite(free["dec"]) & (free["dec"].abs() <= 90)]
    ids = placed["piece"].to_numpy()
    first, second = close_pairs(placed["ra"].to_numpy(), placed["dec"].to_numpy(), radius_arcsec)
    near = set(ids[first]) | set(ids[second])
    brightness = _Brightness(curves[curves["piece"].isin(near)])
    members: dict[str, list[str]] = {}
    kept_apart = 0
    for one, other in zip(ids[first], ids[second], strict=True):
        group, joining = (members.setdefault(piece, [piece]) for piece in (one, other))
        if group is joining:
            continue
        if brightness.differ(group, joining):
            kept_apart += 1
            continue
        group.extend(joining)
        for piece in joining:
            members[piece] = group
    star_of |= {piece: min(group) for piece, group in members.items()}
    return StarGroups(star_of, kept_apart, len(free) - len(placed))


def close_pairs(
    ra: NDArray[np.float64], dec: NDArray[np.float64], radius_arcsec: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of positions within the radius, the closest first, each once."""
    import astropy.units as u
    from astropy.coordinates import SkyCoord

    if ra.size < 2:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    sky = SkyCoord(ra * u.deg, dec * u.deg)
    first, second, separation, _ = sky.search_around_sky(sky, radius_arcsec * u.arcsec)
    once = first < second
    first, second, apart = first[once], second[once], separation.arcsec[once]
    order = np.lexsort((second, first, apart))
    return first[order], second[order]


class _Brightness:
    """When and how bright each light curve is in each band."""

    def __init__(self, curves: pd.DataFrame):
        self._of: dict[str, dict[str, tuple[float, float, float, float]]] = {}
        columns = (curves[name] for name in ("piece", "band", "median", "spread", "first", "last"))
        for piece, band, *values in zip(*columns, strict=True):
            median, spread, first, last = values
            self._of.setdefault(piece, {})[band] = (median, spread, first, last)

    def differ(self, group: list[str], other: list[str]) -> bool:
        """Say whether some light curve of one group cannot be of the same star as one of the other."""
        return any(self._pair_differs(one, two) for one in group for two in other)

    def _pair_differs(self, one: str, two: str) -> bool:
        here, there = self._of[one], self._of[two]
        for band in here.keys() & there.keys():
            (median, spread, first, last), (median2, spread2, first2, last2) = here[band], there[band]
            at_the_same_time = first <= last2 and first2 <= last
            if at_the_same_time and abs(median - median2) > max(
                SMALLEST_DIFFERENCE, SPREADS_APART * max(spread, spread2)
            ):
                return True
        return False
