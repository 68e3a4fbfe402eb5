"""The stars of one survey as another one would have observed them: its dates, its bands, its noise.

A star that SDSS saw sixty times in each of five bands has other features than the same star seen five times by
Pan-STARRS1: another scatter, other structure functions, seldom a sure period. A classifier that learned from the one is
lost on the other, the more so the fewer labels tell it. So each star of the source is given the dates, bands and errors
of a random star of the target, and its own light curve is looked up at these dates: by phase where its period is sure,
else at the nearest date, the target's dates moved to where the source observed. Noise is added until it is that of the
target; where the source's own is larger, it stays. (Boone 2019, AJ 158, 257, does the same with a Gaussian process in
place of the look-up.)

What is written are files like those of any survey, with their description and the labels, to be ingested, looked at and
learned from like any other. No label of the target is used.
"""

import csv
import json
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import tomli_w
from numpy.typing import NDArray

from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.time_system import ANY_DAYS
from lcdvt.disk.atomic import writable, write_atomically, write_text
from lcdvt.errors import LcdvtError, WorkspaceError, whole_number
from lcdvt.names import BAND, DEC, LABEL, MAG, MAG_ERR, MJD, OBJECT_ID, PERIOD, RA
from lcdvt.parallel.progress import Progress, silent
from lcdvt.simulator.folder import make_room
from lcdvt.simulator.simulate import LABELS, TRUTH
from lcdvt.workspace.folder import PARTS, read_part
from lcdvt.workspace.survey import StoredSurvey, open_survey

RECORD: Final = "reobserved.json"
DESCRIPTION: Final = "survey.toml"
CURVES: Final = "light_curves"
OUR_FILES: Final = (RECORD, DESCRIPTION, CURVES, TRUTH)
SURE_PERIOD: Final = 0.01
"""The false-alarm value below which a star is looked up by phase: `Period_fap` is right for 99 in 100 of these."""
PERIOD_FAP: Final = "Period_fap"
MOST_CADENCES: Final = 10_000
"""Stars of the target whose dates are given to others: as many as there are ways to observe, and few in memory."""
EPOCHS: Final = pa.schema(
    [(OBJECT_ID, pa.string()), (BAND, pa.string()), (MJD, pa.float64()), (MAG, pa.float64()), (MAG_ERR, pa.float64())]
)


@dataclass(frozen=True)
class Reobservation:
    """What was written.

    Parameters
    ----------
    directory
        Its folder.
    source, target, seed
        Whose stars, as whom, and the random seed.
    objects, by_phase
        How many stars, and how many of them were looked up by phase.
    classes
        Stars with a label of each class.
    """

    directory: Path
    source: str
    target: str
    seed: int
    objects: int
    by_phase: int
    classes: Mapping[str, int]

    @property
    def light_curves(self) -> Path:
        """The folder to ingest; labels lie beside the light curves."""
        return self.directory / CURVES

    @property
    def description(self) -> Path:
        """The survey's description, which `ingest` needs."""
        return self.directory / DESCRIPTION


class _Curve(NamedTuple):
    """Epochs of one star in one band."""

    mjd: NDArray[np.float64]
    mag: NDArray[np.float64]
    err: NDArray[np.float64]


_Star = dict[str, _Curve]
"""The light curves of one star by band."""


def reobserve(
    source: str,
    target: str,
    directory: str | Path,
    *,
    seed: int = 0,
    data: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Reobservation:
    """Write a survey's stars as another survey would have observed them, ready to be ingested.

    Parameters
    ----------
    source
        An ingested survey with features; its labels are kept.
    target
        The ingested survey whose dates, bands and errors the stars are given.
    directory
        A new or empty folder; its name becomes the survey's.
    seed
        The same seed gives the same epochs.
    data
        The workspace; None takes LCDVT_DATA or ./lcdvt-data.
    force
        Replace what this verb wrote to the folder before.
    progress
        Called with the number of stars done.
    """
    seed = whole_number("seed", seed)
    if seed < 0:
        raise LcdvtError(f"seed={seed}: give a whole number from 0 on.")
    stars_of, seen_by = open_survey(source, data), open_survey(target, data)
    folder = Path(directory)
    description = _description(folder.resolve().name, stars_of.survey, seen_by.survey, source, target)
    periods = _sure_periods(stars_of)
    cadences = _cadences(seen_by)
    with writable(folder):
        make_room(folder, force, RECORD, OUR_FILES)
    write_text(folder / RECORD, json.dumps({"source": source, "target": target, "seed": seed}))
    total, done, by_phase = stars_of.count_objects(), 0, 0
    for number, part in enumerate(_stored_parts(stars_of)):
        rows = []
        for star, curves in _stars(read_part(part)):
            period = periods.get(star, math.nan)
            rng = np.random.default_rng([zlib.crc32(star.encode()), seed])
            seen = _looked_up(curves, cadences[rng.integers(len(cadences))], period, (stars_of, seen_by), rng)
            rows += [(star, band, curve) for band, curve in seen.items()]
            done, by_phase = done + 1, by_phase + math.isfinite(period)
        write_atomically(folder / CURVES / f"part-{number:05d}.parquet", partial(pq.write_table, _table(rows)))
        progress(done, total)
    classes = _write_labels(stars_of, folder, is_simulated=stars_of.is_simulated or seen_by.is_simulated)
    write_text(folder / DESCRIPTION, description)
    result = Reobservation(folder, source, target, seed, done, by_phase, classes)
    write_text(folder / RECORD, json.dumps({**asdict(result), "directory": folder.name}, indent=1))
    return result


def _stored_parts(survey: StoredSurvey) -> list[Path]:
    parts = sorted(survey.folder.epochs.glob(PARTS))
    if not parts:
        raise WorkspaceError(f"survey {survey.name!r} has no epochs: ingest it again with force=True.")
    return parts


def _sure_periods(survey: StoredSurvey) -> dict[str, float]:
    """Return the period of each star that has a sure one."""
    features = survey.features()
    missing = [name for name in (PERIOD, PERIOD_FAP) if name not in features]
    if missing:
        raise WorkspaceError(
            f"survey {survey.name!r} has no feature {missing[0]}, by which stars are folded: run "
            f"`lcdvt extract {survey.name}`."
        )
    sure = features[np.isfinite(features[PERIOD]) & (features[PERIOD_FAP] < SURE_PERIOD)]
    return dict(zip(sure[OBJECT_ID].astype(str), sure[PERIOD].astype(float), strict=True))


def _cadences(survey: StoredSurvey) -> list[_Star]:
    """Return how stars of the survey were observed; of a large one, those of parts from all over it."""
    parts = _stored_parts(survey)
    per_part = max(1, survey.count_objects() // len(parts))
    found: list[_Star] = []
    for part in parts[:: max(1, len(parts) * per_part // MOST_CADENCES)]:
        found += [curves for _, curves in _stars(read_part(part))]
    if not found:
        raise WorkspaceError(f"survey {survey.name!r} has no epochs: ingest its light curves first.")
    return found


def _stars(epochs: pa.Table) -> Iterator[tuple[str, _Star]]:
    """Yield each star of a part with its light curves; its rows lie together, and those of a band, too."""
    stars, bands = (pc.dictionary_encode(epochs[name].combine_chunks()) for name in (OBJECT_ID, BAND))
    star, band = (each.indices.to_numpy() for each in (stars, bands))
    names, band_names = stars.dictionary.to_pylist(), bands.dictionary.to_pylist()
    columns = [epochs[name].to_numpy() for name in (MJD, MAG, MAG_ERR)]
    ends = np.append(np.flatnonzero((np.diff(star) != 0) | (np.diff(band) != 0)) + 1, len(star))
    curves: _Star = {}
    start = 0
    for end in ends[ends > 0].tolist():
        curves[band_names[band[start]]] = _Curve(*(column[start:end] for column in columns))
        if end == len(star) or star[end] != star[start]:
            yield str(names[star[start]]), curves
            curves = {}
        start = end


def _looked_up(
    curves: _Star,
    cadence: _Star,
    period: float,
    surveys: tuple[StoredSurvey, StoredSurvey],
    rng: np.random.Generator,
) -> _Star:
    """Return a star of the first survey at the dates, in the bands and with the noise of one of the second."""
    source, target = (stored.survey for stored in surveys)
    begins, ends = (min(c.mjd.min() for c in curves.values()), max(c.mjd.max() for c in curves.values()))
    first, last = (min(c.mjd.min() for c in cadence.values()), max(c.mjd.max() for c in cadence.values()))
    room = (ends - begins) - (last - first)
    moved = begins - first + rng.uniform(min(room, 0.0), max(room, 0.0))
    seen = {}
    for band, dates in cadence.items():
        own = curves[_nearest_band(source, target, band, curves)]
        nearest = _nearest(dates.mjd + moved, own.mjd, period)
        lacking = _true_error(target, dates.err) ** 2 - _true_error(source, own.err[nearest]) ** 2
        noise = rng.standard_normal(len(lacking)) * np.sqrt(np.maximum(lacking, 0.0))
        seen[band] = _Curve(dates.mjd, own.mag[nearest] + noise, dates.err)
    return seen


def _nearest(wanted: NDArray[np.float64], observed: NDArray[np.float64], period: float) -> NDArray[np.intp]:
    """Return which observed date is nearest to each wanted one: in phase, or in time where there is no period."""
    if is_folded := math.isfinite(period):
        wanted, observed = np.mod(wanted / period, 1.0), np.mod(observed / period, 1.0)
    order = np.argsort(observed, kind="stable")
    before, after = (observed[order[-1]] - 1.0, observed[order[0]] + 1.0) if is_folded else (-np.inf, np.inf)
    known = np.concatenate([[before], observed[order], [after]])
    right = np.searchsorted(known, wanted)
    is_left = wanted - known[right - 1] <= known[right] - wanted
    return np.concatenate([order[-1:], order, order[:1]])[np.where(is_left, right - 1, right)]


def _true_error(survey: Survey, err: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.hypot(survey.error_scale * err, survey.error_floor)


def _nearest_band(source: Survey, target: Survey, band: str, curves: _Star) -> str:
    """Return the band of the source, of those this star has, that is nearest to one of the target."""
    if source.bands_without_wavelength or target.bands_without_wavelength:
        place = target.bands.index(band)
        return min(curves, key=lambda own: abs(source.bands.index(own) - place))
    wavelength = target.nanometres[band]
    return min(curves, key=lambda own: abs(math.log(source.nanometres[own] / wavelength)))


def _table(rows: list[tuple[str, str, _Curve]]) -> pa.Table:
    lengths = [len(curve.mjd) for _, _, curve in rows]
    star = np.repeat(np.array([star for star, _, _ in rows], dtype=object), lengths)
    band = np.repeat(np.array([band for _, band, _ in rows], dtype=object), lengths)
    columns = [np.concatenate([np.zeros(0), *(curve[place] for _, _, curve in rows)]) for place in range(3)]
    return pa.table([star, band, *columns], schema=EPOCHS)


def _write_labels(survey: StoredSurvey, folder: Path, *, is_simulated: bool) -> dict[str, int]:
    """Write the stars' classes and positions; beside simulated stars as the truth, too, by which they are known."""
    objects = survey.objects()
    labelled = objects[objects[LABEL].notna()]

    def write(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["id", "class", RA, DEC])
            for row in labelled[[OBJECT_ID, LABEL, RA, DEC]].itertuples(index=False):
                table.writerow([*row[:2], *("" if value is None or value != value else value for value in row[2:])])

    for file in (folder / CURVES / LABELS, folder / TRUTH) if is_simulated else (folder / CURVES / LABELS,):
        write_atomically(file, write)
    return dict(sorted(Counter(labelled[LABEL].astype(str)).items()))


def _description(name: str, source: Survey, target: Survey, source_name: str, target_name: str) -> str:
    """Return the description of the survey that is written: the target's, of magnitudes of the source."""
    time = target.time
    table: dict[str, Any] = {
        "name": name,
        "title": f"stars of {source_name} as {target_name} would have observed them",
        "citation": "; ".join(dict.fromkeys(text for text in (source.citation, target.citation) if text)),
        "bands": list(target.bands),
        "period_range": list(target.period_range),
        "pairing_days": target.pairing_days,
        "clean": "none",
    }
    if target.band_wavelengths:
        table["wavelengths"] = target.band_wavelengths
    system = ANY_DAYS if time.system == ANY_DAYS else "BMJD" if time.convert else "MJD"
    table["time"] = {"system": system, "scale": time.stored_scale}
    kind = "calibrated" if source.magnitude_kind == "flux" else source.magnitude_kind
    table["magnitude"] = {"kind": kind, "error_scale": target.error_scale, "error_floor": target.error_floor}
    columns = {"id": f"{{{OBJECT_ID}}}", "band_column": BAND, "time": MJD, "mag": MAG, "err": MAG_ERR}
    table["formats"] = [{"name": "epochs of many stars", "type": "parquet", **columns}]
    return tomli_w.dumps(table)
