"""Look at one light-curve file of an unknown survey and write a TOML description that reads it.

Every guess is marked as one, with what it was made from: the user corrects a line instead of writing a file.
"""

import io
import re
from collections import Counter
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from lcdvt.catalogs.detect import HEAD_BYTES, head_text
from lcdvt.catalogs.files import bare_name, open_stream
from lcdvt.errors import SurveyError

BYTES_LOOKED_AT: Final = 1 << 20
TIME_NAMES: Final = tuple("mjd hmjd bmjd hjd bjd jd time date obstime obs_time dateobs t epoch".split())
MAG_NAMES: Final = tuple("mag magnitude m psfmag mag_auto mag_psf psf_mag mag_kron".split())
FLUX_NAMES: Final = tuple("flux psfflux psf_flux flux_psf".split())
ERROR_WORDS: Final = tuple(
    "magerr mag_err err error e_mag sigma emag mag_error sigmapsf fluxerr "
    "flux_err e_flux psffluxerr psf_flux_err uncertainty magerr_kron".split()
)
BAND_NAMES: Final = tuple("band filter passband filt fid bandpass".split())
ID_NAMES: Final = tuple("id object_id objid oid star_id starid source_id name objectid object star".split())
RA_NAMES, DEC_NAMES = ("ra", "raj2000", "ra_deg"), ("dec", "dej2000", "dec_deg")
LIKELY_SENTINELS: Final = (99.999, 99.99, 99.9, 99.0, 999.0, -99.0, -999.0, -9.999, 9.999, 9.99, -99.9, -99.99)
MAX_BANDS: Final = 12
BLUE_TO_RED: Final = "uUbBgGvVrRiIzZyYjJhHkK"
MJD_RANGE, JD_RANGE = (15000.0, 110000.0), (2_415_000.0, 2_500_000.0)


def describe_file(name: str, path: Path) -> str:
    """Return the TOML description of a survey of which `path` is a light-curve file."""
    with open_stream(path) as stream:
        content = stream.read(BYTES_LOOKED_AT)
    if not content.strip():
        raise SurveyError(f"{path} is empty: give a light-curve file with data.")
    format_lines, table, has_header = _load(path, content)
    if table.empty:
        raise SurveyError(f"{path} holds no rows: give a light-curve file with data.")
    return _write(name, path, format_lines, table, has_header)


def _load(path: Path, content: bytes) -> tuple[list[str], pd.DataFrame, bool]:
    if content.startswith(b"PAR1"):
        import pyarrow.parquet as pq

        batch = next(pq.ParquetFile(path).iter_batches(batch_size=100_000), None)
        return ['type = "parquet"'], batch.to_pandas() if batch is not None else pd.DataFrame(), True
    if content.startswith((b"SIMPLE  =", b"<?xml", b"<VOTABLE")):
        from astropy.table import Table

        kind = "fits" if content.startswith(b"SIMPLE") else "votable"
        with open_stream(path) as stream:
            table = Table.read(io.BytesIO(stream.read()), format=kind)
        table.convert_bytestring_to_unicode()
        return [f'type = "{kind}"'], table.to_pandas(), True
    if b"\0" in content[:HEAD_BYTES]:
        raise SurveyError(f"{path} is neither text nor Parquet, FITS or VOTable: convert it first.")
    return _load_text(path, content)


def _load_text(path: Path, content: bytes) -> tuple[list[str], pd.DataFrame, bool]:
    text = head_text(content)
    lines = text.splitlines()
    if len(content) == BYTES_LOOKED_AT:
        lines = lines[:-1]
    filled = [line for line in lines if line.strip()]
    comment = next((mark for mark in "#%!" if filled[0].lstrip().startswith(mark)), "")
    comments = [line for line in filled if comment and line.lstrip().startswith(comment)]
    rows = [line for line in filled if not (comment and line.lstrip().startswith(comment))]
    if not rows:
        raise SurveyError(f"{path} holds comment lines only: give a light-curve file with data.")
    character = _separator(rows)
    split = [_fields(line, character) for line in rows]
    spoken = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", None: "whitespace"}[character]
    described = [f'separator = "{spoken}"']
    if comment:
        described.append(f'comment = "{comment}"')
    first_is_header = not any(_is_number(value) for value in split[0]) and len(rows) > 1
    if first_is_header:
        described.append("header = true")
        header = split[0]
        split = split[1:]
    else:
        header = _fields(comments[-1].strip().lstrip(comment).strip(), character) if comments else []
        if len(header) == len(split[0]) and not any(_is_number(value) for value in header):
            described.append('header = "comment"')
        else:
            described.append("header = false")
            header = []
    width = Counter(len(fields) for fields in split).most_common(1)[0][0]
    split = [fields for fields in split if len(fields) == width]
    names: list[str] = header if len(header) == width else [str(number) for number in range(1, width + 1)]
    table = pd.DataFrame(split, columns=pd.Index(names))
    for column in table.columns:
        numbers = pd.to_numeric(table[column], errors="coerce")
        if numbers.notna().mean() > 0.9:  # a few missing values do not make a column text
            table[column] = numbers
    return described, table, bool(header)


def _fields(line: str, character: str | None) -> list[str]:
    return [value.strip().strip('"') for value in (line.split(character) if character else line.split())]


def _separator(rows: list[str]) -> str | None:
    sample = rows[:50]
    for character in (";", "\t", ",", "|"):
        counts = {line.count(character) for line in sample}
        if min(counts) > 0 and len(counts) <= 2:
            return character
    return None


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _find(table: pd.DataFrame, names: tuple[str, ...]) -> str | None:
    lower = {str(column).lower(): str(column) for column in table.columns}
    return next((lower[name] for name in names if name in lower), None)


def _numeric(table: pd.DataFrame) -> list[str]:
    return [str(column) for column in table.columns if pd.api.types.is_numeric_dtype(table[column])]


def _wide_bands(table: pd.DataFrame) -> dict[str, tuple[str, str | None]]:
    """Find pairs such as rmag/rerr, mag_B/err_B or MagR/ErMagR."""
    bands: dict[str, tuple[str, str | None]] = {}
    columns = _numeric(table)
    for column in columns:
        found = re.fullmatch(r"(?i)(?:(?P<a>[A-Za-z0-9]{1,4})_?mag|mag_?(?P<b>[A-Za-z0-9]{1,4}))", column)
        if not found or column.lower() in MAG_NAMES or "err" in column.lower():
            continue
        band = found["a"] or found["b"]
        errors = [
            other for other in columns if other != column and "er" in other.lower() and band.lower() in other.lower()
        ]
        bands[band] = (column, min(errors, key=len) if errors else None)
    by_colour = sorted(
        bands, key=lambda band: BLUE_TO_RED.find(band[0]) if band[0] in BLUE_TO_RED else len(BLUE_TO_RED)
    )
    return {band: bands[band] for band in by_colour} if len(bands) > 1 else {}


def _time_section(column: str, values: np.ndarray) -> list[str]:
    middle = float(np.nanmedian(values))
    name = column.lower()
    prefix = "H" if "hjd" in name or "hmjd" in name else "B" if "bjd" in name or "bmjd" in name else ""
    if JD_RANGE[0] < middle < JD_RANGE[1]:
        return [f'system = "{prefix}JD"  # guess: dates near {middle:.1f}']
    if MJD_RANGE[0] < middle < MJD_RANGE[1]:
        return [f'system = "{prefix}MJD"  # guess: dates near {middle:.1f}']
    if prefix or ("jd" in name and "mjd" not in name):
        return [
            f'system = "{prefix}JD"  # guess: from the column name',
            f"zero_point = 2450000  # guess: dates near {middle:.1f}",
        ]
    return [
        f'system = "days"  # guess: dates near {middle:.1f}, zero point not known; for HJD−2450000 write "HJD-2450000"'
    ]


def _quoted(column: str, has_header: bool) -> str:
    return f'"{column}"' if has_header else column


def _write(name: str, path: Path, format_lines: list[str], table: pd.DataFrame, has_header: bool) -> str:
    numeric = _numeric(table)
    wide = _wide_bands(table) if has_header and _find(table, MAG_NAMES) is None else {}
    time = _find(table, TIME_NAMES) if has_header else None
    id_column = _find(table, ID_NAMES) if has_header else None
    band_column = _find(table, BAND_NAMES) if has_header else None
    ra, dec = (_find(table, names) if has_header else None for names in (RA_NAMES, DEC_NAMES))
    free = [column for column in numeric if column not in (id_column, band_column, ra, dec)]
    time = time or (free[0] if free else None)
    rest = [column for column in free if column != time]
    mag = _find(table, MAG_NAMES) if has_header else None
    flux = _find(table, FLUX_NAMES) if has_header and mag is None else None
    mag = mag or flux or (rest[0] if rest and not wide else None)
    err = _find(table, ERROR_WORDS) if has_header else None
    err = err or next((column for column in rest if column != mag and _looks_like_error(table[column])), None)
    if time is None or (mag is None and not wide):
        raise SurveyError(
            f"{path}: no columns that look like a date and a magnitude were found; it has {list(table.columns)}."
        )

    bands = [str(band) for band in wide]
    if not bands and band_column:
        bands = [str(band) for band in sorted(table[band_column].dropna().astype(str).unique())][:MAX_BANDS]
    bands = bands or ["V"]
    mags = [pair[0] for pair in wide.values()] or [str(mag)]
    errs = [pair[1] for pair in wide.values() if pair[1]] or ([err] if err else [])
    constant_error = not errs or (wide and len(errs) < len(wide))

    def quoted(column: str | None) -> str:
        return _quoted(str(column), has_header)

    lines = [
        f"# Survey description made from {path.name}. Lines marked `guess` were read off that file: check them.",
        "# `lcdvt surveys show macho --toml` prints a complete example.",
        f'name = "{name}"',
        f'title = "{name}"',
        'citation = ""  # the paper users of these data cite',
        f"bands = [{', '.join(chr(34) + band + chr(34) for band in bands)}]  # guess; order them from blue to red",
        "period_range = [0.1, 1000.0]  # days; what the survey's cadence and length can show",
        'clean = "fats"  # fats, hits, none, or a list of steps',
        "",
        "[time]",
        *_time_section(str(time), table[str(time)].to_numpy(dtype=float)),
        'scale = "utc"',
        "",
        "[magnitude]",
        'kind = "flux"  # guess' if flux else 'kind = "calibrated"  # or instrumental, or flux',
    ]
    if constant_error:
        lines.append("constant_error = 0.02  # guess: no error column was found")
    sentinels = {kind: _sentinels(table, columns) for kind, columns in (("mag", mags), ("err", errs))}
    if any(sentinels.values()):
        lines += ["", "[sentinels]"]
        lines += [
            f"{kind} = {values}  # guess: values that stand for nothing" for kind, values in sentinels.items() if values
        ]
    lines += [
        "",
        "[classes]  # canonical class = the survey's own names",
        'RRLYR = ["RRL"]',
        'CEP = ["CEPH"]',
        "",
        "[[formats]]",
    ]
    lines += ['name = "light curves"', *format_lines]
    if id_column:
        lines.append(f'id = "{{{id_column}}}"  # guess')
    else:
        lines += [f"file_name = '{_stem_pattern(path)}'", 'id = "{star}"  # guess: the file\'s name']
    lines.append(f"time = {quoted(time)}  # guess")
    if wide:
        for band, (mag_column, err_column) in wide.items():
            error = f", err = {quoted(err_column)}" if err_column and not constant_error else ""
            lines.append(f"wide.{band} = {{ mag = {quoted(mag_column)}{error} }}  # guess")
    else:
        lines.append(f"mag = {quoted(mag)}  # guess")
        if err and not constant_error:
            lines.append(f"err = {quoted(err)}  # guess")
        lines.append(
            f"band_column = {quoted(band_column)}  # guess" if band_column else f'band = "{bands[0]}"  # guess'
        )
    if ra and dec:
        lines += [f"ra = {quoted(ra)}  # guess", f"dec = {quoted(dec)}  # guess"]
    return "\n".join(lines) + "\n"


def _stem_pattern(path: Path) -> str:
    suffix = Path(bare_name(path.name)).suffix
    return rf"(?P<star>[^/]+?){re.escape(suffix)}$"


def _looks_like_error(values: pd.Series) -> bool:
    numbers = values.dropna().to_numpy(dtype=float)
    return numbers.size > 0 and bool(np.nanmedian(numbers) > 0) and bool(np.nanmedian(numbers) < 1.0)


def _sentinels(table: pd.DataFrame, columns: list[str]) -> list[float]:
    values = np.concatenate([table[column].to_numpy(dtype=float) for column in columns]) if columns else np.empty(0)
    return [sentinel for sentinel in LIKELY_SENTINELS if (np.abs(values - sentinel) < 1e-6).any()]
