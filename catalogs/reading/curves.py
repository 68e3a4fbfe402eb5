"""Light curves as read: bands coded, dates and sentinels still as the survey writes them."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lcdvt.catalogs.file_format import Format
from lcdvt.catalogs.reading.detect import Match
from lcdvt.catalogs.survey import Survey

UNKNOWN_BAND: Final = -1
BROKEN_LINE: Final = "a broken line"
HOURS_TO_DEGREES: Final = 15.0
_TEMPLATE_FIELD: Final = re.compile(r"{([^{}]+)}")


class RawObject(NamedTuple):
    """What a file tells of an object besides its epochs."""

    object_id: str
    source: str
    ra: float = float("nan")
    dec: float = float("nan")
    survey_label: str | None = None
    bands_in_file: tuple[int, ...] = ()
    """The band of a one-band file, so that a star's B and R files are no duplicates of each other."""
    joined: bool = False
    """Whether other files may hold more of the same star in the same band."""
    in_flux: bool = False
    """Whether its magnitudes and errors, as read, are fluxes of the survey's zero point."""


class RawEpochs(NamedTuple):
    """One entry per epoch and band, in no particular order."""

    object_index: NDArray[np.int32]
    band_index: NDArray[np.int8]
    time: NDArray[np.float64]
    mag: NDArray[np.float64]
    """Or flux, for an object that is `in_flux`; +inf marks an upper limit."""
    err: NDArray[np.float64]
    """Of an upper limit the limiting magnitude."""


class BrokenRows(NamedTuple):
    """An object whose rows in one file could not be read."""

    object_id: str
    source: str
    problem: str


@dataclass
class RawCurves:
    """Some objects with their epochs, and what could not be read."""

    objects: list[RawObject]
    epochs: RawEpochs
    problems: list[str] = field(default_factory=list)
    """One sentence per object or file that was skipped."""
    dropped_objects: Counter[str] = field(default_factory=Counter)
    """How many objects were skipped, by reason."""
    dropped_epochs: Counter[str] = field(default_factory=Counter)
    """How many epochs the survey itself marks as not to be used, by mark."""
    broken: list[BrokenRows] = field(default_factory=list)
    """Objects whose rows in some file were skipped: other files may hold more of them."""
    notes: Counter[str] = field(default_factory=Counter)
    """What else is to be known of what was read, with how many light curves or epochs it is about."""


def assemble(
    form: Format,
    object_index: NDArray[np.int32],
    times: list[NDArray[np.float64]],
    mags: list[NDArray[np.float64]],
    errs: list[NDArray[np.float64]],
    band_index: NDArray[np.int8],
) -> RawEpochs:
    """Put columns together: wide rows become one entry per band, long rows are entries already.

    `band_index` is that of each row, or of each band of a wide row.
    """
    if form.wide:
        epochs = RawEpochs(
            np.concatenate([object_index] * len(mags)),
            np.repeat(band_index, object_index.size),
            np.concatenate(times),
            np.concatenate(mags),
            np.concatenate(errs),
        )
    else:
        epochs = RawEpochs(object_index, band_index, times[0], mags[0], errs[0])
    if (object_index < 0).any():
        return take(epochs, epochs.object_index >= 0)
    return epochs


def take(epochs: RawEpochs, chosen: NDArray[np.bool_]) -> RawEpochs:
    """Return the chosen epochs."""
    return RawEpochs(
        epochs.object_index[chosen],
        epochs.band_index[chosen],
        epochs.time[chosen],
        epochs.mag[chosen],
        epochs.err[chosen],
    )


def no_curves(problem: str) -> RawCurves:
    """Return an empty reading with the sentence that says why it is empty."""
    empty = np.empty(0)
    none = RawEpochs(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int8), empty, empty, empty)
    return RawCurves([], none, [problem])


def object_from_groups(match: Match, name: str, survey: Survey) -> RawObject:
    """Describe a one-object file's object by what its name and first lines tell."""
    groups = match.groups
    ra = float("nan")
    if "ra_hours" in groups:
        ra = _number(groups["ra_hours"]) * HOURS_TO_DEGREES
    elif "ra" in groups:
        ra = _number(groups["ra"])
    band = band_of_file(match, survey)
    bands = (band,) if band is not None else ()
    return RawObject(
        fill_template(match.format.id, groups),
        name,
        ra,
        _number(groups.get("dec", "nan")),
        bands_in_file=bands,
        survey_label=groups.get("label"),
        joined=match.format.joined,
    )


def band_of_file(match: Match, survey: Survey) -> int | None:
    """Return the one band of all of a file's rows, as an index into the survey's bands, if it has only one."""
    form = match.format
    if "band" in match.groups:
        name = form.band_names.get(match.groups["band"], match.groups["band"])
        return survey.bands.index(name) if name in survey.bands else UNKNOWN_BAND
    return survey.bands.index(form.band) if form.band else None


def bands_of_rows(survey: Survey, matches: Sequence[Match], rows: Sequence[int]) -> NDArray[np.int8]:
    """Return the band of each row of some files of one format, or the bands of every wide row."""
    form = matches[0].format
    if form.wide:
        return np.array([survey.bands.index(band.band) for band in form.wide], dtype=np.int8)
    return np.repeat(np.array([band_of_file(match, survey) for match in matches], dtype=np.int8), rows)


def fill_template(template: str, values: dict[str, str]) -> str:
    """Make an object id from its template."""
    if template.startswith("{") and (whole := values.get(template[1:-1])) is not None:  # one field and nothing else
        return whole
    return _TEMPLATE_FIELD.sub(lambda field: values.get(field[1], field[0]), template)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def join_curves(parts: Iterable[RawCurves]) -> RawCurves:
    """Put several readings together; objects keep their order, epochs point to their new places."""
    objects: list[RawObject] = []
    problems: list[str] = []
    broken: list[BrokenRows] = []
    dropped: Counter[str] = Counter()
    dropped_epochs: Counter[str] = Counter()
    notes: Counter[str] = Counter()
    pieces: list[RawEpochs] = []
    shifts: list[int] = []
    for part in parts:
        shifts.append(len(objects))
        objects.extend(part.objects)
        problems.extend(part.problems)
        broken.extend(part.broken)
        dropped.update(part.dropped_objects)
        dropped_epochs.update(part.dropped_epochs)
        notes.update(part.notes)
        pieces.append(part.epochs)
    if not pieces:
        return RawCurves([], no_curves("").epochs)
    if len(pieces) == 1:
        return RawCurves(objects, pieces[0], problems, dropped, dropped_epochs, broken, notes)
    sizes = [piece.time.size for piece in pieces]
    joined = RawEpochs(*(np.concatenate(column) for column in zip(*pieces, strict=True)))
    shifted = joined.object_index + np.repeat(np.array(shifts, dtype=np.int32), sizes)
    return RawCurves(objects, joined._replace(object_index=shifted), problems, dropped, dropped_epochs, broken, notes)
