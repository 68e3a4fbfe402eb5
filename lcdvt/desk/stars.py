"""What a star's page shows of the star itself: its light curve, its periods, its features."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pds
from numpy.typing import NDArray

from lcdvt.errors import WorkspaceError
from lcdvt.features.config import band_column
from lcdvt.figures.light_curves import band_colours
from lcdvt.names import BAND, DEC, LABEL, MAG, MAG_ERR, MAG_LIMIT, MJD, OBJECT_ID, PERIOD, RA
from lcdvt.workspace.folder import PARTS, part_name
from lcdvt.workspace.objects import PART
from lcdvt.workspace.survey import StoredSurvey

if TYPE_CHECKING:
    from lcdvt.features.period.search import Periodogram

FALSE_ALARM: Final = "Period_fap"
AMPLITUDE: Final = "Amplitude"
BINS: Final = 700
"""Of the drawn periodogram: about one for each pixel of its width; each shows the highest score in it."""
CANDIDATES: Final = 5
"""Periods to choose from beside the best one: one digit each on the keyboard, and few enough to try them all."""
SAME_PERIOD: Final = 0.002
"""Two periods that differ by less than this share fold a light curve alike."""
STARS_KEPT: Final = 64
"""Light curves kept in memory: those of a round and their neighbours."""


@dataclass(frozen=True)
class Star:
    """One star as the workspace has it.

    Parameters
    ----------
    object_id, survey
        The star and its survey.
    label
        Its class in the workspace; None where nobody knows.
    ra, dec
        Degrees; None where not known.
    epochs
        band, mjd, mag, mag_err.
    limits
        band, mjd, mag_limit: when it was looked for and not seen.
    features
        By column; missing ones are left out.
    """

    object_id: str
    survey: str
    label: str | None
    ra: float | None
    dec: float | None
    epochs: pd.DataFrame
    limits: pd.DataFrame
    features: Mapping[str, float]

    @property
    def period(self) -> float | None:
        """Days, as the features have it."""
        return self.features.get(PERIOD)


class SurveyStars:
    """The stars of an ingested survey, found by their ids without reading the whole survey."""

    def __init__(self, stored: StoredSurvey) -> None:
        self.stored = stored
        self.bands = stored.survey.bands
        self.colours = band_colours(stored.survey.nanometres)
        self.star = lru_cache(maxsize=STARS_KEPT)(self._star)

    @property
    def name(self) -> str:
        """The survey's name in the workspace."""
        return self.stored.name

    @property
    def amplitude_column(self) -> str:
        """The amplitude in the bluest band, where variable stars vary most."""
        return band_column(AMPLITUDE, self.bands[0])

    def has(self, object_id: str) -> bool:
        """Say whether there is such a star."""
        objects = pds.dataset(self.stored.folder.objects, format="parquet")
        return objects.count_rows(filter=pc.field(OBJECT_ID) == object_id) > 0

    def _star(self, object_id: str) -> Star:
        about = self._about(object_id)
        part = about[PART]
        epochs = _read(_part_or_all(self.stored.folder.epochs, part), object_id)
        if epochs is None:  # a star that is listed was read: the folder is on its way, or gone
            raise FileNotFoundError(f"no epochs in {self.stored.folder.epochs}")
        features = _read(_part_or_all(self.stored.folder.features, part), object_id)
        limits = self.stored.folder.limits / part_name(part)  # a part without any has no file
        found = _read([str(limits)] if limits.is_file() else [], object_id)
        values = {} if features is None or not features.num_rows else features.drop([OBJECT_ID]).to_pylist()[0]
        return Star(
            object_id=object_id,
            survey=self.name,
            label=about[LABEL],
            ra=_finite(about[RA]),
            dec=_finite(about[DEC]),
            epochs=epochs.to_pandas(),
            limits=pd.DataFrame(columns=[BAND, MJD, MAG_LIMIT]) if found is None else found.to_pandas(),
            features={name: float(value) for name, value in values.items() if _finite(value) is not None},
        )

    def _about(self, object_id: str) -> dict[str, Any]:
        columns = [LABEL, RA, DEC, PART]
        objects = pds.dataset(self.stored.folder.objects, format="parquet")
        found = objects.to_table(columns=columns, filter=pc.field(OBJECT_ID) == object_id).to_pylist()
        if not found:
            raise WorkspaceError(f"survey {self.name!r} has no object {object_id!r}.")
        return found[0]

    def curve(self, star: Star, most: int | None = None) -> list[dict[str, Any]]:
        """Return the star's epochs by band, blue to red, as the page draws them.

        Parameters
        ----------
        star
            One of this survey's.
        most
            Epochs of each band at most, evenly taken; None for all.
        """
        curves = []
        for band in self.bands:
            epochs = star.epochs[star.epochs[BAND] == band]
            if most is not None and len(epochs) > most:
                epochs = epochs.iloc[np.linspace(0, len(epochs) - 1, most).astype(int)]
            columns = zip("tme", (MJD, MAG, MAG_ERR), (6, 4, 4), strict=True)
            numbers = {key: epochs[column].round(places).tolist() for key, column, places in columns}
            curves.append({"band": band, "colour": self.colours[band], **numbers})
        return curves

    def limits(self, star: Star) -> list[dict[str, Any]]:
        """Return the star's upper limits by band, as the page draws them; bands without any are left out."""
        found = []
        for band in self.bands:
            rows = star.limits[star.limits[BAND] == band]
            if len(rows):
                dates, mags = rows[MJD].round(6).tolist(), rows[MAG_LIMIT].round(4).tolist()
                found.append({"band": band, "colour": self.colours[band], "t": dates, "m": mags})
        return found

    def scan(self, star: Star) -> dict[str, Any] | None:
        """Return the periodogram, thinned to what can be seen, and the periods worth trying; None without one."""
        from lcdvt.features.period.search import periodogram  # numba, which takes a second to import

        epochs = star.epochs
        bands = [epochs[epochs[BAND] == band].sort_values(MJD) for band in self.bands]
        times, mags, errs = ([band[column].to_numpy(dtype=float) for band in bands] for column in (MJD, MAG, MAG_ERR))
        found = periodogram(times, mags, errs, self.stored.survey.period_range)
        if found is None or not found.score.max() > 0:
            return None
        period, score = _thinned(found)
        return {
            "period": [float(f"{value:.6g}") for value in period],
            "score": [round(float(value), 4) for value in score / found.score.max()],
            "candidates": candidate_periods(found, star.period),
        }


def candidate_periods(found: "Periodogram", best: float | None) -> list[float]:
    """Return the periods of the highest peaks that fold differently from the best period, its half and its double."""
    score = found.score
    inner = (score[1:-1] >= score[:-2]) & (score[1:-1] > score[2:])
    peaks = np.flatnonzero(inner) + 1
    peaks = peaks[np.argsort(-score[peaks], kind="stable")][: 40 * CANDIDATES]
    step = found.frequency[1] - found.frequency[0]
    known = [] if best is None else [best, best / 2, 2 * best]
    chosen: list[float] = []
    taken = [round((1.0 / period - found.frequency[0]) / step) for period in known]
    for peak in peaks:
        left, middle, right = score[peak - 1 : peak + 2]
        bend = left - 2 * middle + right
        # the top of the parabola through three samples: a whole step off would smear the folded curve
        shift = 0.5 * (left - right) / bend if bend < 0 else 0.0
        period = float(1.0 / (found.frequency[peak] + shift * step))
        beside = any(abs(int(peak) - other) <= 2 * found.samples_per_peak for other in taken)
        if not beside and all(abs(period / other - 1) > SAME_PERIOD for other in [*known, *chosen]):
            chosen.append(period)
            taken.append(int(peak))
        if len(chosen) == CANDIDATES:
            break
    return chosen


def _thinned(found: "Periodogram") -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the highest score in each of some bins of log period, short periods first."""
    logarithm = np.log(found.frequency)
    edges = np.linspace(logarithm[0], logarithm[-1], BINS + 1)
    starts = np.unique(np.searchsorted(logarithm, edges[:-1]))
    highest = np.maximum.reduceat(found.score, starts)
    ends = np.append(starts[1:], len(logarithm))
    places = [start + int(found.score[start:end].argmax()) for start, end in zip(starts, ends, strict=True)]
    return 1.0 / found.frequency[places][::-1], highest[::-1]


def features_of(stored: StoredSurvey, object_ids: list[str], columns: list[str] | None = None) -> pd.DataFrame:
    """Return features of some stars, with their ids; columns that the survey lacks are left out."""
    parts = [str(part) for part in sorted(stored.folder.features.glob(PARTS))]
    if not parts:
        raise WorkspaceError(f"survey {stored.name!r} has no features: run `lcdvt extract {stored.name}`.")
    table = pds.dataset(parts, format="parquet")
    wanted = None if columns is None else [OBJECT_ID, *(name for name in columns if name in table.schema.names)]
    ids = pa.array(object_ids, type=pa.string())
    return table.to_table(columns=wanted, filter=pc.field(OBJECT_ID).isin(ids)).to_pandas()


def _part_or_all(folder: Path, number: int) -> list[str]:
    part = folder / part_name(number)
    return [str(part)] if part.is_file() else [str(path) for path in sorted(folder.glob(PARTS))]


def _read(parts: list[str], object_id: str) -> pa.Table | None:
    if not parts:
        return None
    return pds.dataset(parts, format="parquet").to_table(filter=pc.field(OBJECT_ID) == object_id)


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
