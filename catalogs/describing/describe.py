"""Look at one light-curve file of an unknown survey and write a TOML description that reads it.

Every guess is marked as one, with what it was made from: the user corrects a line instead of writing a file.
"""

import json
import re
from pathlib import Path
from typing import Final

import numpy as np

from lcdvt.catalogs.describing.guess_columns import JD_RANGE, MJD_RANGE, ColumnGuess, guess_columns
from lcdvt.catalogs.describing.look import Sample
from lcdvt.catalogs.reading.files import bare_name
from lcdvt.catalogs.vocabulary import known_wavelength

LIKELY_SENTINELS: Final = (99.999, 99.99, 99.9, 99.0, 999.0, -99.0, -999.0, -9.999, 9.999, 9.99, -99.9, -99.99)
JANSKY_ZERO_POINTS: Final = {
    "jy": (8.9, "jansky"),
    "mjy": (16.4, "millijansky"),
    "ujy": (23.9, "microjansky"),
    "njy": (31.4, "nanojansky"),
}
"""What a column's name says of the unit of its fluxes: the AB magnitude of flux 1, and the unit in words."""
STANDS_APART: Final = 1.0
"""Magnitudes between a sentinel and the nearest measurement."""


def describe(name: str, sample: Sample) -> str:
    """Return the TOML description of a survey of which a light-curve file was looked at."""
    guess = guess_columns(sample)
    errors = [err for _, err in guess.magnitudes if err is not None]
    # A description has one error column per band or none at all.
    has_errors = len(errors) == len(guess.magnitudes)
    lines = [
        f"# Survey description made from {quoted(sample.path.name)}.",
        "# Lines marked `guess` were read off that file: check them.",
        "# `lcdvt surveys show macho --toml` prints a complete example.",
        f"name = {quoted(name)}",
        f"title = {quoted(name)}",
        'citation = ""  # the paper users of these data cite',
        f"bands = [{', '.join(map(quoted, guess.bands))}]  # guess",
        "period_range = [0.1, 1000.0]  # days; what the survey's cadence and length can show",
        'clean = "fats"  # fats, hits, none, or a list of steps',
        "",
        *_wavelength_section(guess.bands),
        "[time]",
        *_time_section(guess.time, guess.middle_time),
        'scale = "utc"',
        "",
        "[magnitude]",
        'kind = "flux"  # guess' if guess.is_flux else 'kind = "calibrated"  # or instrumental, or flux',
    ]
    if guess.is_flux:
        lines.append(_flux_zero_point(guess))
    if not has_errors:
        lines.append(
            f"constant_error = 0.02  # guess: {'not every band has' if errors else 'there is no'} error column"
        )
    magnitudes = [mag for mag, _ in guess.magnitudes]
    # Of fluxes any number may be a measurement.
    looked_at = () if guess.is_flux else (("mag", magnitudes), ("err", errors))
    sentinels = {kind: _sentinels(guess, columns) for kind, columns in looked_at}
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
        'name = "light curves"',
        *_format_section(sample, guess, has_errors),
    ]
    return "\n".join(lines) + "\n"


def _format_section(sample: Sample, guess: ColumnGuess, has_errors: bool) -> list[str]:
    def column(name: str) -> str:
        return quoted(name) if sample.number_of is None else str(sample.number_of[name])

    lines = [*sample.layout_lines] if sample.type == "text" else [f"type = {quoted(sample.type)}"]
    if guess.id is not None:
        in_template = guess.id if sample.number_of is None else sample.number_of[guess.id]
        lines.append(f"id = {quoted(f'{{{in_template}}}')}  # guess")
    else:
        lines += [f"file_name = {_stem_pattern(sample.path)}", 'id = "{star}"  # guess: the file\'s name']
    lines.append(f"time = {column(guess.time)}  # guess")
    if guess.is_wide:
        for band, (mag, err) in zip(guess.bands, guess.magnitudes, strict=True):
            error = f", err = {column(err)}" if err is not None and has_errors else ""
            lines.append(f"wide.{band} = {{ mag = {column(mag)}{error} }}  # guess")
    else:
        ((mag, err),) = guess.magnitudes
        lines.append(f"mag = {column(mag)}  # guess")
        if err is not None:
            lines.append(f"err = {column(err)}  # guess")
        band = f"band = {quoted(guess.bands[0])}" if guess.band is None else f"band_column = {column(guess.band)}"
        lines.append(f"{band}  # guess")
        if guess.zero_point is not None:
            lines.append(f"zero_point_column = {column(guess.zero_point)}  # guess")
        if guess.limit is not None:
            lines.append(f"limit = {column(guess.limit)}  # guess: rows with this and no magnitude are upper limits")
    if guess.ra is not None and guess.dec is not None:
        lines += [f"ra = {column(guess.ra)}  # guess", f"dec = {column(guess.dec)}  # guess"]
    return lines


def _wavelength_section(bands: tuple[str, ...]) -> list[str]:
    """Return the table of wavelengths; where a name tells none, the whole table waits for the user as a comment."""
    known = {band: known_wavelength(band) for band in bands}
    if all(known.values()):
        head = "[wavelengths]  # nanometres; they order the bands and match them with other surveys'"
        lines = [f"{quoted(band)} = {wavelength:g}  # guess: from the name" for band, wavelength in known.items()]
    else:
        head = "# [wavelengths]  # nanometres: fill in and uncomment, or write `bands` in order from blue to red"
        lines = [f"# {quoted(band)} = {wavelength or '…'}" for band, wavelength in known.items()]
    return [head, *lines, ""]


def quoted(text: str) -> str:
    """Write a text as a TOML string; a file name's bytes that are no text become question marks."""
    return json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=False).replace("\x7f", "\\u007f")


def _stem_pattern(path: Path) -> str:
    pattern = rf"(?P<star>[^/]+?){re.escape(Path(bare_name(path.name)).suffix)}$"
    # Between single quotes a regular expression stays readable, unless it has such a quote in it.
    return f"'{pattern}'" if pattern.isprintable() and "'" not in pattern else quoted(pattern)


def _time_section(column: str, middle: float) -> list[str]:
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


def _sentinels(guess: ColumnGuess, columns: list[str]) -> list[float]:
    """Return the likely sentinels among the values that stand apart from all others: 9.99 may be a magnitude, too."""
    values = np.concatenate([guess.numbers[column] for column in columns]) if columns else np.empty(0)
    values = values[np.isfinite(values)]
    others = values[~np.isin(np.round(values, 6), LIKELY_SENTINELS)]
    if others.size == 0:
        return []
    low, high = others.min() - STANDS_APART, others.max() + STANDS_APART
    return [
        sentinel
        for sentinel in LIKELY_SENTINELS
        if not low < sentinel < high and (np.abs(values - sentinel) < 1e-6).any()
    ]


def _flux_zero_point(guess: ColumnGuess) -> str:
    column = guess.magnitudes[0][0]
    if guess.zero_point is not None:
        return "flux_zero_point = 23.9  # guess: fluxes are brought to microjansky by each row's own zero point"
    for part in re.split(r"[^a-z]+", re.sub("[µμ]", "u", column.lower())):
        if part in JANSKY_ZERO_POINTS:
            zero_point, unit = JANSKY_ZERO_POINTS[part]
            return f"flux_zero_point = {zero_point}  # guess: AB magnitudes of {unit}, from the column's name"
    return "flux_zero_point = 25.0  # guess: the magnitude of flux 1 (23.9 of 1 uJy, 31.4 of 1 nJy, 8.9 of 1 Jy)"
