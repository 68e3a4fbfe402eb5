"""Guess from names and values what the columns of a light-curve table are."""

import math
import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lcdvt.catalogs.describing.look import Sample
from lcdvt.catalogs.vocabulary import MISSING_WORDS, known_wavelength
from lcdvt.errors import SurveyError

# Where a file has several, that of the barycentre or of the Sun comes first: it does not change with the season.
TIME_NAMES: Final = tuple(
    "bjd bmjd hjd hmjd mjd jd time date obstime obs_time dateobs mjd_obs obsmjd mjdobs midpointmjdtai midpointtai "
    "expmidptmjd t epoch".split()
)
MAG_NAMES: Final = tuple(
    "mag magnitude magpsf_corr mag_autocorr m psfmag mag_auto magpsf mag_psf psf_mag mag_kron averagemag ucalmag "
    "phot".split()
)
FLUX_NAMES: Final = tuple(
    "flux pdcsap_flux corr_flux scienceflux psfflux psflux psf_flux flux_psf ujy forcediffimflux sap_flux".split()
)
ERROR_NAMES: Final = tuple(
    "magerr mag_err err error e_mag sigma emag mag_error sigmapsf_corr_ext magerr_auto sigmapsf magerr_kron "
    "psf_inst_mag_sig uncertainty".split()
)
FLUX_ERROR_NAMES: Final = tuple(
    "fluxerr flux_err flux_error e_flux psffluxerr psfluxerr psf_flux_err pdcsap_flux_err sciencefluxerr dujy "
    "forcediffimfluxunc sap_flux_err err error sigma uncertainty".split()
)
BAND_NAMES: Final = tuple("band filter passband filt fid bandpass filtercode filter_code filterid filtername".split())
ID_NAMES: Final = tuple(
    "object_id masterid objid oid star_id starid source_id asas_sn_id diaobjectid allwise_cntr id name objectid object "
    "star".split()
)
ZERO_POINT_NAMES: Final = tuple("zpdiff magzpsci magzp zp zeropoint zero_point photzp".split())
LIMIT_NAMES: Final = tuple(
    "diffmaglim maglim mag_lim maglimit mag_limit limitmag limit_mag limiting_mag limit ant_maglim".split()
)
# VizieR's names are among them; those of one system stand at the same place in both, so that they are found together.
RA_NAMES: Final = tuple("ra raj2000 ra_j2000 ra_icrs radeg ra_deg _ra _raj2000 objra".split())
DEC_NAMES: Final = tuple(
    "dec decl de dej2000 decj2000 dec_j2000 de_j2000 de_icrs dec_icrs dedeg decdeg dec_deg de_deg _de _dec _dej2000 "
    "objdec".split()
)
MAX_BANDS: Final = 12
"""No survey here has more; more columns like a magnitude mean that the guess is wrong."""
NOT_BANDS: Final = frozenset("e er err d sig lim ref abs zp std mean med psf ap auto kron cal ucal corr".split())
"""What stands beside `mag` in a column's name without being a band."""
MJD_RANGE, JD_RANGE = (15000.0, 110000.0), (2_415_000.0, 2_500_000.0)
NUMERIC_SHARE: Final = 0.9
"""A few stray words do not make a column text."""

_MISSING: Final = ("", *(word.decode() for word in MISSING_WORDS))
_ERROR_WORDS: Final = re.compile(r"(?i)magerr|emag|error|err|er|e_|sigma|sig|uncertainty|unc")
_FLUX_ERROR_PARTS: Final = frozenset("e er err error errors sig sigma unc uncertainty".split())
_NOT_FLUX_PARTS: Final = frozenset(
    "ref reference template tmpl bkg background sky lim limit flag flags ratio std rms snr zp n num".split()
)
"""What stands beside `flux` in the name of a column that is no measurement of the star's flux."""
_FLUX_ERROR_PART: Final = re.compile(r"^d(?=flux)|(?<=flux)(?:error|err|sigma|sig|uncertainty|unc)")
_BAND_MAG: Final = re.compile(r"(?i)(?:(?P<before>[a-z0-9]{1,4})_?m(?:ag|pro)|mag_?(?P<after>[a-z0-9]{1,4}))")
"""WISE says mpro, for the profile by which it was measured."""
_CALENDAR_DATE: Final = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}")


@dataclass(frozen=True)
class ColumnGuess:
    """What the columns of a table seem to be."""

    time: str
    middle_time: float
    magnitudes: tuple[tuple[str, str | None], ...]
    """Magnitude and error: of each band in a wide row, else one pair."""
    bands: tuple[str, ...]
    is_wide: bool
    is_flux: bool
    id: str | None
    band: str | None
    ra: str | None
    dec: str | None
    zero_point: str | None
    """Each row's magnitude of flux 1."""
    limit: str | None
    """The limiting magnitude of rows without a magnitude; None where every such row lacks it, too."""
    numbers: dict[str, NDArray[np.float64]]
    """The values of every numeric column, NaN where there is none."""


def guess_columns(sample: Sample) -> ColumnGuess:
    """Guess what each column is; a table without dates or magnitudes is refused."""
    table = sample.table
    numbers = _numeric_columns(table)
    named_numeric = list(numbers) if sample.has_names else []
    all_named = [str(column) for column in table.columns] if sample.has_names else []
    # Braces are the id template's own, so a column whose name has them cannot be in it.
    id_column = _find([column for column in all_named if not set(column) & set("{}")], ID_NAMES)
    band_column = _find(all_named, BAND_NAMES)
    bands = _bands_in(table[band_column]) if band_column else []
    band_column = band_column if bands else None
    ra, dec = _find(named_numeric, RA_NAMES), _find(named_numeric, DEC_NAMES)
    free = [column for column in numbers if column not in (id_column, band_column, ra, dec)]
    time = _time_column(sample, numbers, named_numeric, free)
    rest = [column for column in free if column != time]
    if not sample.has_names and time in free:  # what stands before the date may be the position
        rest = free[free.index(time) + 1 :] + free[: free.index(time)]

    mag = _find(named_numeric, MAG_NAMES)
    named_flux = _flux_column([column for column in named_numeric if column in rest])
    if mag is not None and _is_signed(numbers[mag]) and named_flux is not None:
        mag = None  # a negative flux written as a negative magnitude: the flux itself is there, too
    by_band = _columns_by_band([column for column in named_numeric if column in rest]) if mag is None else {}
    is_wide = len(by_band) > 1
    if is_wide:
        magnitudes, bands, is_flux = tuple(by_band.values()), list(by_band), False
    else:
        flux = named_flux if mag is None and not by_band else None
        is_flux = flux is not None
        err = None if flux is None else _flux_error_of(flux, named_numeric)
        for band, pair in by_band.items():
            mag, err = pair
            bands = bands or [band]
        mag = mag or flux or (rest[0] if rest else None)
        own_names = tuple(f"{(mag or '').rpartition('.')[2].lower()}{word}" for word in ("err", "_err", "error", "unc"))
        err = err or _find(named_numeric, (*own_names, *(FLUX_ERROR_NAMES if is_flux else ERROR_NAMES)))
        if err is None and not is_flux and _find(named_numeric, FLUX_ERROR_NAMES) is not None:
            rest = [mag] if mag is not None else []  # errors there are, but of the flux beside the magnitude
        err = err or next((column for column in rest if column != mag and _looks_like_error(numbers[column])), None)
        magnitudes = ((mag, err),) if mag is not None else ()
    if time is None or not magnitudes:
        raise SurveyError(
            f"{sample.path}: no columns that look like a date and a magnitude were found; "
            f"it has {', '.join(map(str, table.columns)) or 'none'}."
        )
    middle = float(np.nanmedian(numbers[time]))
    return ColumnGuess(
        time=time,
        middle_time=middle,
        magnitudes=magnitudes,
        bands=tuple(bands or ["V"]),
        is_wide=is_wide,
        is_flux=is_flux,
        id=id_column,
        band=band_column,
        ra=ra,
        dec=dec,
        zero_point=_find(named_numeric, ZERO_POINT_NAMES) if is_flux else None,
        limit=None if is_wide or is_flux else _limit_column(numbers, named_numeric, magnitudes[0][0]),
        numbers=numbers,
    )


def _flux_column(columns: list[str]) -> str | None:
    """Find the flux: by a usual name, else by `flux` in a name such as flux_ujy, best with an error column."""
    usual = _find(columns, FLUX_NAMES)
    if usual is not None:
        return usual
    fluxes = []
    for column in columns:
        parts, is_error = _flux_parts(column)
        is_flux = any(part.startswith("flux") or part.endswith("flux") for part in parts)
        if is_flux and not is_error and not _NOT_FLUX_PARTS.intersection(parts):
            fluxes.append(column)
    return next((flux for flux in fluxes if _flux_error_of(flux, columns) is not None), next(iter(fluxes), None))


def _flux_error_of(flux: str, columns: list[str]) -> str | None:
    """Find the column whose name is the flux's with a word for error anywhere in it: flux_err_ujy is of flux_ujy."""
    parts, _ = _flux_parts(flux)
    return next((column for column in columns if _flux_parts(column) == (parts, True)), None)


def _flux_parts(column: str) -> tuple[list[str], bool]:
    """Return the parts of a column's name without the words for error, and whether there were any."""
    parts = [part for part in re.split(r"[^a-z0-9]+", column.rpartition(".")[2].lower()) if part]
    kept = [_FLUX_ERROR_PART.sub("", part) for part in parts if part not in _FLUX_ERROR_PARTS]
    return kept, kept != parts


def _limit_column(numbers: dict[str, NDArray[np.float64]], named_numeric: list[str], mag: str) -> str | None:
    limit = _find(named_numeric, LIMIT_NAMES)
    is_used = limit is not None and bool((np.isnan(numbers[mag]) & np.isfinite(numbers[limit])).any())
    return limit if is_used else None


def _find(columns: list[str], names: tuple[str, ...]) -> str | None:
    lower: dict[str, str] = {}
    for column in columns:
        lower.setdefault(column.lower(), column)
    for column in columns:  # a field of a nested column is known by its own name, "Mag Error" is mag_error
        lower.setdefault(column.rpartition(".")[2].lower(), column)
        lower.setdefault(re.sub(r"[ -]", "_", column.lower()), column)
    return next((lower[name] for name in names if name in lower), None)


def _numeric_columns(table: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    found = {}
    for column in table.columns:
        values = table[column]
        kind = getattr(values.dtype, "kind", "O")
        if kind in "Mmb":  # dates of the calendar, spans and yes/no are no measurements
            continue
        numbers = np.asarray(pd.to_numeric(values, errors="coerce").to_numpy(dtype=float, na_value=np.nan))
        finite = np.isfinite(numbers)
        text = values[~finite].astype("string").str.strip().str.lower()
        # An upper limit such as >18.2 is no value, but it does not make the column text either.
        silent = text.isna() | text.isin(_MISSING) | text.str.fullmatch(r"[<>]=?\s*[0-9.+-]+").fillna(value=False)
        if finite.any() and finite.sum() >= NUMERIC_SHARE * (len(values) - int(silent.sum())):
            found[str(column)] = np.where(finite, numbers, np.nan)
    return found


def _bands_in(values: pd.Series) -> list[str]:
    present = values.dropna()
    if pd.api.types.is_float_dtype(present.dtype) and (present % 1 == 0).all():
        present = present.astype("int64")
    names = sorted(set(present.astype(str).str.strip()) - {""})[:MAX_BANDS]
    return sorted(names, key=_colour)


def _colour(band: str) -> float:
    """Return the wavelength of a band as far as its name or a letter of it tells (g, zg, g_prime); else infinity."""
    for name in (band, band[-1], band[0], band[-1].swapcase(), band[0].swapcase()):
        wavelength = known_wavelength(name)
        if wavelength is not None:
            return wavelength
    return math.inf


def _time_column(
    sample: Sample, numbers: dict[str, NDArray[np.float64]], named_numeric: list[str], free: list[str]
) -> str | None:
    by_name = _find(named_numeric, TIME_NAMES)
    if by_name is not None:
        return by_name
    others = [str(column) for column in sample.table.columns if str(column) not in numbers]
    calendar = _find(others, TIME_NAMES) if sample.has_names else None
    calendar = calendar or next((column for column in others if _is_calendar(sample.table[column])), None)
    for column in free:
        middle = float(np.nanmedian(numbers[column]))
        if any(low < middle < high for low, high in (MJD_RANGE, JD_RANGE)):
            return column
    if calendar is None:
        return free[0] if free else None
    example = str(sample.table[calendar].iloc[0])[:30]
    raise SurveyError(
        f"{sample.path}: the dates in column {calendar!r} are text ({example!r}): write them as MJD or JD numbers."
    )


def _is_calendar(values: pd.Series) -> bool:
    return bool(values.head(20).astype(str).str.match(_CALENDAR_DATE).mean() > 0.5)


def _columns_by_band(columns: list[str]) -> dict[str, tuple[str, str | None]]:
    """Find pairs such as rmag/rerr, mag_B/err_B, g_mag/g_magerr or MagR/ErMagR, from blue to red."""
    mag_of: dict[str, str] = {}
    for column in columns:
        found = _BAND_MAG.fullmatch(column)
        band = (found["before"] or found["after"]) if found else ""
        if band and column.lower() not in ERROR_NAMES and band.lower() not in NOT_BANDS and "err" not in band.lower():
            mag_of.setdefault(band, column)
    if len(mag_of) == 1 and not all(len(band) <= 2 and _colour(band) < math.inf for band in mag_of):
        return {}  # a lone kronmag is a kind of magnitude, not a band
    errors = {column: _band_of_error(column) for column in columns if column not in mag_of.values()}
    return {band: (mag_of[band], _error_of(band, errors)) for band in sorted(mag_of, key=_colour)}


def _band_of_error(column: str) -> str | None:
    """Return what is left of an error column's name without the words for error and magnitude."""
    rest, count = _ERROR_WORDS.subn("", column)
    return re.sub(r"(?i)mag|mpro|_", "", rest) if count else None


def _error_of(band: str, errors: dict[str, str | None]) -> str | None:
    exact = [column for column, rest in errors.items() if rest == band]
    alike = [column for column, rest in errors.items() if rest is not None and rest.lower() == band.lower()]
    return min(exact or alike, key=len, default=None)


def _is_signed(values: NDArray[np.float64]) -> bool:
    """Say whether magnitudes stand on both sides of zero, far from it, as no star's do."""
    low, high = np.nanpercentile(values, [1, 99])
    return bool(low < -5 and high > 5)


def _looks_like_error(values: NDArray[np.float64]) -> bool:
    return bool(0 < np.nanmedian(values) < 1.0)
