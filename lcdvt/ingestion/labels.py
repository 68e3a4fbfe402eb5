"""Labels from a catalogue: by object id, or by position on the sky."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lcdvt.catalogs.reading.files import absolute_name
from lcdvt.catalogs.survey import Survey
from lcdvt.errors import InputFileError
from lcdvt.ingestion.label_table import as_text, read_catalogue_table

if TYPE_CHECKING:
    from astropy.coordinates import SkyCoord

ID_NAMES: Final = tuple(
    "object_id id objid object star starid star_id erosid "
    "machoid macho_id source_id internalid name objectid oid asas_sn_id asassn_name".split()
)
CLASS_NAMES: Final = tuple(
    "label class classification type vartype var_type variability_type survey_label "
    "best_class_name variable_type ml_classification".split()
)
RA_NAMES: Final = ("ra", "raj2000", "ra_deg", "radeg", "ra_icrs")
DEC_NAMES: Final = ("dec", "dej2000", "dec_deg", "decdeg", "de_icrs", "decj2000")
CATALOGUE_STEMS: Final = ("labels", "catalog", "catalogue")
TRUTH_FILE: Final = "truth.csv"
CATALOGUE_SUFFIXES: Final = (".csv", ".parquet", ".fits", ".fit", ".vot", ".xml", ".votable")


@dataclass(frozen=True)
class LabelCatalogue:
    """Objects with the class a catalogue gives them."""

    path: Path
    ids: pd.Series | None
    classes: pd.Series | None
    ra: NDArray[np.float64] | None
    dec: NDArray[np.float64] | None
    match_radius_arcsec: float | None
    """None: match by id."""
    conflicts: int = 0
    """How many ids have rows with different classes; the first row counts."""
    contradicted: frozenset[str] = frozenset()
    """Stars whose light curves have rows with different classes; none counts."""

    def of_stars(self, star_of: Mapping[str, str], survey: Survey) -> "LabelCatalogue":
        """Return the same catalogue with the star of each light curve in place of its id."""
        if self.match_radius_arcsec is not None or self.ids is None:
            return self
        stars = self.ids.map(lambda piece: star_of.get(piece, piece), na_action="ignore").astype("string")
        kept, _ = _one_row_per_id(stars, self.classes)
        classes, contradicted = self.classes, frozenset[str]()
        if classes is not None:
            canonical = classes.map(survey.canonical_class, na_action="ignore")
            several = canonical.groupby(stars).nunique() > 1
            contradicted = frozenset(several.index[several])
            classes = classes.mask(stars.isin(contradicted)).iloc[kept].reset_index(drop=True)
        return replace(
            self,
            ids=stars.iloc[kept].reset_index(drop=True),
            classes=classes,
            ra=None if self.ra is None else self.ra[kept],
            dec=None if self.dec is None else self.dec[kept],
            contradicted=contradicted,
        )

    def join(self, objects: pd.DataFrame) -> pd.DataFrame:
        """Return for each object the catalogue's class and position, missing where it has none."""
        found = self._rows_by_position(objects) if self.match_radius_arcsec is not None else self._rows_by_id(objects)
        known = found >= 0
        result = pd.DataFrame({"survey_label": pd.Series(pd.NA, index=objects.index, dtype="string")})
        result["ra"], result["dec"] = np.nan, np.nan
        if self.classes is not None:
            result.loc[known, "survey_label"] = self.classes.array[found[known]]
        if self.ra is not None and self.dec is not None:
            result.loc[known, "ra"], result.loc[known, "dec"] = self.ra[found[known]], self.dec[found[known]]
        return result

    def _rows_by_id(self, objects: pd.DataFrame) -> NDArray[np.int64]:
        found = pc.index_in(pa.array(objects["object_id"], pa.string()), value_set=pa.array(self.ids, pa.string()))
        return found.fill_null(-1).to_numpy().astype(np.int64)

    def _rows_by_position(self, objects: pd.DataFrame) -> NDArray[np.int64]:
        result = np.full(len(objects), -1, dtype=np.int64)
        placed, stars = _placed(objects["ra"].to_numpy(), objects["dec"].to_numpy())
        usable, catalogue = self._rows_on_sky
        if placed.size == 0 or usable.size == 0:
            return result
        nearest, separation, _ = stars.match_to_catalog_sky(catalogue)
        near = separation.arcsec <= self.match_radius_arcsec
        result[placed[near]] = usable[nearest[near]]
        return result

    def count_ambiguous(self, objects: pd.DataFrame) -> int:
        """Return how many objects have rows of several classes within the radius, of which the nearest counts."""
        if self.match_radius_arcsec is None or self.classes is None:
            return 0
        import astropy.units as u

        placed, stars = _placed(objects["ra"].to_numpy(), objects["dec"].to_numpy())
        usable, catalogue = self._rows_on_sky
        if placed.size == 0 or usable.size == 0:
            return 0
        row, star, _, _ = stars.search_around_sky(catalogue, self.match_radius_arcsec * u.arcsec)
        classes = self.classes.iloc[usable[row]].str.casefold().reset_index(drop=True)
        return int((classes.groupby(star).nunique() > 1).sum())

    @cached_property
    def _rows_on_sky(self) -> tuple[NDArray[np.intp], "SkyCoord"]:
        """Which rows have a position, and these on the sky: kept, with their tree, because objects come in chunks."""
        assert self.ra is not None and self.dec is not None  # load_catalogue asks for them
        return _placed(self.ra, self.dec)


def _placed(ra: NDArray[np.float64], dec: NDArray[np.float64]) -> tuple[NDArray[np.intp], "SkyCoord"]:
    """Return which positions are known, and these on the sky."""
    import astropy.units as u
    from astropy.coordinates import SkyCoord

    known = np.flatnonzero(np.isfinite(ra) & np.isfinite(dec) & (np.abs(dec) <= 90))
    return known, SkyCoord(ra[known] * u.deg, dec[known] * u.deg)


def catalogue_beside(paths: list[Path]) -> Path | None:
    """Return the label catalogue that lies in a given folder itself (labels.csv, catalogue.fits …), if any."""
    for path in paths:
        if path.is_dir():
            for stem in CATALOGUE_STEMS:
                for suffix in CATALOGUE_SUFFIXES:
                    if (path / f"{stem}{suffix}").is_file():
                        return path / f"{stem}{suffix}"
    return None


def tables_beside(paths: list[Path]) -> set[Path]:
    """Return the catalogues and truth tables that lie in the given folders: they are no light curves."""
    found = (file for path in paths if path.is_dir() for file in path.iterdir())
    return {file for file in found if file.name.split(".")[0] in CATALOGUE_STEMS or file.name == TRUTH_FILE}


def lies_in_simulation(paths: list[Path]) -> bool:
    """Say whether the simulator wrote these files: its truth table lies beside them or a little above."""
    places = (Path(absolute_name(str(path))) for path in paths)
    return any((folder / TRUTH_FILE).is_file() for place in places for folder in (place, *place.parents[:3]))


def parse_radius(text: str, option: str = "match_radius") -> float:
    """Return an angle such as "1arcsec", "0.5 arcmin" or "2arcsec" in arcseconds; `option` is who asks for it."""
    from astropy.coordinates import Angle

    try:
        text = str(text)  # a number, whose unit nobody knows, or an angle of astropy
        if text.strip().replace(".", "", 1).isdigit():
            raise ValueError("no unit")
        arcsec = float(Angle(text).arcsec)
    except ValueError as error:
        raise InputFileError(f"{option}={text!r} is not an angle: write for example 1arcsec.") from error
    if not 0 < arcsec < 3600:
        raise InputFileError(f"{option}={text!r}: an angle above zero and below one degree is needed.")
    return arcsec


def load_catalogue(path: Path, *, match_radius: str | None = None) -> LabelCatalogue:
    """Read a catalogue of labels: CSV, Parquet, FITS or VOTable; columns are found by their usual names."""
    table = read_catalogue_table(path)
    ids, classes, ra, dec = (_column(table, names) for names in (ID_NAMES, CLASS_NAMES, RA_NAMES, DEC_NAMES))
    if match_radius is not None and (ra is None or dec is None):
        raise InputFileError(
            f"{path} has no columns ra and dec for match_radius={match_radius}; "
            f"it has {', '.join(map(str, table.columns))}."
        )
    if match_radius is None and ids is None:
        raise InputFileError(
            f"{path} has no id column ({', '.join(ID_NAMES[:4])} …); it has {', '.join(map(str, table.columns))}: "
            "rename one, or match by position with match_radius=1arcsec."
        )
    if classes is None and (ra is None or dec is None):
        raise InputFileError(
            f"{path} has neither a class column ({', '.join(CLASS_NAMES[:4])} …) nor ra and dec: "
            "there is nothing to take from it."
        )
    conflicts = 0
    if match_radius is None and ids is not None:
        kept, conflicts = _one_row_per_id(ids, classes)
        ids, classes, ra, dec = (
            None if column is None else column.iloc[kept].reset_index(drop=True) for column in (ids, classes, ra, dec)
        )
    return LabelCatalogue(
        path,
        ids,
        classes,
        None if ra is None else _degrees(ra, "ra", path),
        None if dec is None else _degrees(dec, "dec", path),
        None if match_radius is None else parse_radius(match_radius),
        conflicts,
    )


def _one_row_per_id(ids: pd.Series, classes: pd.Series | None) -> tuple[NDArray[np.intp], int]:
    """Return each id's first row, one with a class where there is one, and how many ids have several classes."""
    id_codes = pd.factorize(ids)[0]  # numbers in place of texts: a catalogue may have millions of rows
    class_codes = np.full(len(ids), -1) if classes is None else pd.factorize(classes.str.casefold())[0]
    with_class_first = np.lexsort((class_codes < 0, id_codes))
    with_class_first = with_class_first[id_codes[with_class_first] >= 0]
    first = np.unique(id_codes[with_class_first], return_index=True)[1]
    named = class_codes >= 0
    pairs = np.unique(np.stack((id_codes, class_codes))[:, named & (id_codes >= 0)], axis=1)
    several = int((np.unique(pairs[0], return_counts=True)[1] > 1).sum())
    return np.sort(with_class_first[first]), several


def _degrees(values: pd.Series, name: str, path: Path) -> NDArray[np.float64]:
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    if values.notna().any() and not np.isfinite(numbers).any():
        raise InputFileError(f"{path}: the column {name} is not in decimal degrees: convert it first.")
    return numbers


def _column(table: pd.DataFrame, wanted: tuple[str, ...]) -> pd.Series | None:
    names = [str(column).strip().lower() for column in table.columns]
    return next((as_text(table.iloc[:, names.index(name)]) for name in wanted if name in names), None)
