"""What a survey writes down to what is kept: fluxes to one zero point, flux errors to those of magnitudes, flags.

A magnitude that cannot be is marked by an infinity: +inf is an upper limit, whose limiting magnitude stands where the
error would; -inf a star that is fainter than nothing, as more was taken from its reference magnitude than there was.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.catalogs.file_format import BandColumns, Column, Flag, Format
from lcdvt.catalogs.reading.curves import RawEpochs, take
from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.time_zone import utc_from_local

Floats = NDArray[np.float64]
WrittenLimits = tuple[NDArray[np.int64], Floats]
UPPER_LIMIT: Final = np.inf
NO_MAGNITUDE: Final = -np.inf
NEGATIVE_SIGNS: Final = ("f", "0", "-1", "-1.0", "false", "False", "n")
"""How files write that a difference is negative."""
_POGSON: Final = 2.5 / np.log(10.0)
# Relative for large sentinels, because in single precision 99.99 is 2e-6 off.
_SENTINEL_TOLERANCE: Final = 1e-6


def measured(
    survey: Survey,
    form: Format,
    column: Callable[[Column], Floats],
    rows: int,
    negative: NDArray[np.bool_] | None = None,
    limits: Callable[[Column], WrittenLimits | None] = lambda _: None,
) -> tuple[list[Floats], list[Floats], list[Floats]]:
    """Return dates, magnitudes (or fluxes) and errors of each measurement that a row of this format holds.

    Parameters
    ----------
    survey, form
        The survey, and the file's format.
    column
        Gives the numbers of a column.
    rows
        How many there are.
    negative
        Where the star is fainter than in the reference image, for a format of differences.
    limits
        Gives the rows of a column that say a limit such as >18.2 instead of a value, and the limits.
    """
    shift = survey.time_shift(form)
    times, mags, errs = [], [], []
    for one in form.measurements:
        time = column(form.time_column(one))
        time = time + shift if shift else time
        if form.time_zone:
            to_mjd = survey.time.offset_to_mjd
            time = utc_from_local(time + to_mjd, form.time_zone) - to_mjd
        times.append(time)
        mag, err = (_fluxes if survey.is_flux(form) else _magnitudes)(survey, form, one, column, rows)
        if negative is not None:
            mag, err = _apparent(form, column, mag, err, negative)
        if form.limit is not None:
            limit = column(form.limit)
            mag, err = _marked(mag, err, np.isnan(mag) & np.isfinite(limit), limit)
        if form.limit_without_error:
            mag, err = _marked(mag, err, np.isfinite(mag) & np.isnan(err), mag)
        if (written := limits(one.mag)) is not None:
            of_rows, values = written
            limit = np.full(rows, np.nan)
            limit[of_rows] = values
            if survey.is_flux(form):
                limit = _faintest(limit * _to_survey_flux(survey, form, column), survey.flux_zero_point)
            mag, err = _marked(mag, err, np.isfinite(limit), limit)
        mags.append(mag)
        errs.append(err)
    return times, mags, errs


def _marked(mag: Floats, err: Floats, is_limit: NDArray[np.bool_], limit: Floats) -> tuple[Floats, Floats]:
    """Return magnitudes and errors with the upper limits marked."""
    return np.where(is_limit, UPPER_LIMIT, mag), np.where(is_limit, limit, err)


def _faintest(flux: Floats, zero_point: float) -> Floats:
    """Return the limiting magnitudes of limiting fluxes; NaN for one that limits nothing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(flux > 0, zero_point - 2.5 * np.log10(flux), np.nan)


def _magnitudes(
    survey: Survey, form: Format, one: BandColumns, column: Callable[[Column], Floats], rows: int
) -> tuple[Floats, Floats]:
    if one.err is None:
        return column(one.mag), np.full(rows, np.nan if survey.constant_error is None else survey.constant_error)
    if one.flux is None:
        return column(one.mag), column(one.err)
    with np.errstate(invalid="ignore", divide="ignore"):
        return column(one.mag), _POGSON * column(one.err) / column(one.flux)


def _fluxes(
    survey: Survey, form: Format, one: BandColumns, column: Callable[[Column], Floats], rows: int
) -> tuple[Floats, Floats]:
    """Return fluxes of the survey's own zero point, whatever that of the format or of the row is."""
    flux = column(one.mag)
    if one.err is None:
        err = np.abs(flux) * (np.nan if survey.constant_error is None else survey.constant_error / _POGSON)
    else:
        err = column(one.err)
    flux = np.where(any_of(flux, survey.mag_sentinels) | any_of(err, survey.err_sentinels), np.nan, flux)
    factor = _to_survey_flux(survey, form, column)
    return (flux, err) if np.all(factor == 1.0) else (flux * factor, err * factor)


def _to_survey_flux(survey: Survey, form: Format, column: Callable[[Column], Floats]) -> float | Floats:
    """Return what brings a flux of this format to the survey's own zero point."""
    zero: float | Floats = survey.flux_zero_point if form.flux_zero_point is None else form.flux_zero_point
    if form.zero_point_column is not None:
        zero = column(form.zero_point_column)
    return 10.0 ** (-0.4 * (zero - survey.flux_zero_point))


def _apparent(
    form: Format, column: Callable[[Column], Floats], mag: Floats, err: Floats, negative: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return the star's own magnitude from that of its difference to a reference image.

    The fluxes are added, with the difference's sign, and the errors as Förster et al. 2021 (AJ 161, 242, appendix A)
    do it: the noise of the reference is in the difference already.
    """
    assert form.reference is not None and form.reference_err is not None  # a sign is described with both
    reference, reference_err = column(form.reference), column(form.reference_err)
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = 10.0 ** (-0.4 * mag)
        base = 10.0 ** (-0.4 * reference)
        flux = base + np.where(negative, -difference, difference)
        variance = (difference * err) ** 2 - (base * reference_err) ** 2
        own_err = np.where(variance > 0, np.sqrt(np.abs(variance)), difference * err) / flux
        return np.where(flux > 0, -2.5 * np.log10(flux), np.where(flux <= 0, NO_MAGNITUDE, np.nan)), own_err


def with_tolerance(sentinels: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Return the sentinels and how near to each a value means nothing."""
    values = np.array(sentinels, dtype=float)
    return values, _SENTINEL_TOLERANCE * np.maximum(1.0, 0.1 * np.abs(values))


def any_of(values: Floats, sentinels: tuple[float, ...]) -> NDArray[np.bool_]:
    """Say of each value whether it is one of the sentinels."""
    found = np.zeros(values.size, dtype=bool)
    for sentinel, tolerance in zip(*with_tolerance(sentinels), strict=True):
        found |= np.abs(values - sentinel) < tolerance
    return found


def has_bits(values: Floats, flag: Flag) -> NDArray[np.bool_]:
    """Say of each number whether it has one of the flag's bits; a missing number has none."""
    whole = np.where(np.isfinite(values) & (np.abs(values) < 2.0**62), values, 0.0).astype(np.int64)
    return (whole & flag.bits) != 0


def without_flagged(
    form: Format,
    epochs: RawEpochs,
    marks: list[tuple[Flag, NDArray[np.bool_]]],
    object_of_row: NDArray[np.int32],
) -> tuple[RawEpochs, Counter[str]]:
    """Leave out the flagged epochs and count them by the first flag that marks them.

    Parameters
    ----------
    form
        The file's format.
    epochs
        All its epochs, band after band of a wide row, without the rows that belong to no object.
    marks
        Each flag with the rows it marks.
    object_of_row
        Each row's object, -1 for none.
    """
    owned = object_of_row >= 0
    counts: Counter[str] = Counter()
    keep = np.ones(epochs.time.size, dtype=bool)
    for flag, rows in marks:
        marked = np.concatenate(
            [rows[owned] if flag.band in ("", one.band) else np.zeros(owned.sum(), bool) for one in form.measurements]
        )
        fresh = marked & keep
        counts[flag.reason] += int(np.count_nonzero(fresh))
        keep &= ~marked
    return (epochs if keep.all() else take(epochs, keep)), +counts
