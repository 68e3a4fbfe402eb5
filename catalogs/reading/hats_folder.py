"""Which files of a HATS catalogue hold its rows: the partitions, not the maps and thumbnails beside them."""

from pathlib import Path
from typing import Final

from lcdvt.errors import InputFileError

COLLECTION: Final = "collection.properties"
PROPERTIES: Final = ("hats.properties", "properties")
PRIMARY_KEY: Final = "hats_primary_table_url"
ROW_PRODUCTS: Final = ("object", "source")
PROPERTIES_SIZE_LIMIT: Final = 1 << 20
"""A properties file has a few hundred bytes."""


def hats_partitions(folder: Path) -> list[str] | None:
    """Return the partition files of a HATS catalogue or collection in a fixed order; None for any other folder."""
    try:
        return _partitions(folder)
    except OSError as error:
        raise InputFileError(f"{folder} cannot be read as a HATS catalogue: {error.strerror or error}.") from error


def _partitions(folder: Path) -> list[str] | None:
    table = _primary_table(folder)
    if table is None:
        return None
    kind = next((_properties(table / name) for name in PROPERTIES if (table / name).is_file()), {})
    product = kind.get("dataproduct_type", ROW_PRODUCTS[0])
    if product not in ROW_PRODUCTS:
        raise InputFileError(f"{table} is a HATS {product}, which holds no objects: give the object catalogue.")
    # A partition is a file Npix=7.parquet, or a folder Npix=7 of files.
    found = sorted(path for path in (table / "dataset").rglob("*") if _is_partition(path, table) and path.is_file())
    if not found:
        raise InputFileError(f"{table} is a HATS catalogue without partitions: fetch its folder dataset too.")
    return [str(path) for path in found]


def _is_partition(path: Path, table: Path) -> bool:
    inside = path.relative_to(table).parts
    return any(part.startswith("Npix=") for part in inside) and not path.name.startswith((".", "_"))


def _primary_table(folder: Path) -> Path | None:
    if (folder / COLLECTION).is_file():
        name = _properties(folder / COLLECTION).get(PRIMARY_KEY, "")
        primary = folder / name
        # The name comes from a file: it may not lead out of the collection.
        if not name or "\0" in name or not primary.resolve().is_relative_to(folder.resolve()):
            raise InputFileError(f"{folder / COLLECTION}: {PRIMARY_KEY} = {name!r} names no folder in this collection.")
        return primary
    is_catalogue = any((folder / name).is_file() for name in PROPERTIES) and (folder / "dataset").is_dir()
    return folder if is_catalogue else None


def _properties(path: Path) -> dict[str, str]:
    if path.stat().st_size > PROPERTIES_SIZE_LIMIT:
        raise InputFileError(f"{path} is too large for the properties of a catalogue (over 1 MiB).")
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    pairs = (line.partition("=") for line in lines if not line.lstrip().startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}
