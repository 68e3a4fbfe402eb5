"""Class names of the great catalogues in lcdvt's own classes, as data: class_names/crosswalk.csv, with references."""

import csv
import re
from functools import cache
from importlib import resources
from typing import Final

_FIRST_TYPE: Final = re.compile(r"[^:/+|]+")


@cache
def crosswalk() -> dict[str, dict[str, str]]:
    """Return for each scheme of names (ogle, gcvs, gaia, scope, simbad) its names, in lower case, with our class."""
    text = resources.files("lcdvt.catalogs").joinpath("class_names", "crosswalk.csv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    schemes: dict[str, dict[str, str]] = {}
    for row in csv.DictReader(lines):
        schemes.setdefault(row["scheme"], {})[row["name"].casefold()] = row["class"]
    return schemes


def class_by_scheme(scheme: str, name: str) -> str | None:
    """Return our class of a name; None if the scheme does not have it.

    Catalogues add doubts and second types to a name: "EA/SD:", "RRAB/BL" and "EW|ELL" go by their first type.
    """
    names = crosswalk()[scheme]
    whole = name.strip().casefold()
    first = _FIRST_TYPE.match(whole)
    return names.get(whole) or (names.get(first[0].strip()) if first else None)
