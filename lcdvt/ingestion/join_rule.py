"""Which light curves are to be one star: the angle and the table of names that the user gave, now or last time."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from lcdvt.catalogs.reading.files import absolute_name
from lcdvt.errors import InputFileError, SettingsError, WorkspaceError
from lcdvt.ingestion.label_table import as_text, read_catalogue_table
from lcdvt.ingestion.labels import parse_radius
from lcdvt.workspace.journal import ANEW, Journal

LARGEST_RADIUS_ARCSEC: Final = 60.0
"""The coarsest surveys see stars as large as this; a wider circle holds neighbours, and pairs without end."""
PIECE_COLUMN: Final = "id"
STAR_COLUMN: Final = "star"


@dataclass(frozen=True)
class JoinRule:
    """How light curves are joined to stars.

    Parameters
    ----------
    radius_arcsec
        Light curves this close to each other are one star; None does not look at positions.
    ids
        The table that names the star of each light curve; None for no such table.
    """

    radius_arcsec: float | None
    ids: str | None

    @property
    def settings(self) -> dict[str, Any]:
        """What the journal keeps of the rule."""
        return asdict(self)

    def star_names(self) -> dict[str, str]:
        """Return the star of each light curve that the table names."""
        return {} if self.ids is None else read_star_names(Path(self.ids))


def asked_join(join_radius: str | None, join_ids: str | Path | None) -> JoinRule | None:
    """Return the rule that the options give, None where they give none; what is wrong with them is said here."""
    if join_radius is None and join_ids is None:
        return None
    radius = None if join_radius is None else parse_radius(join_radius, "join_radius")
    if radius is not None and radius > LARGEST_RADIUS_ARCSEC:
        raise SettingsError(
            f"join_radius={join_radius!r} would join neighbours: give an angle up to {LARGEST_RADIUS_ARCSEC:g}arcsec."
        )
    rule = JoinRule(radius, None if join_ids is None else absolute_name(str(join_ids)))
    rule.star_names()
    return rule


def stored_join(journal: Journal) -> JoinRule | None:
    """Return the rule by which the survey was joined before, if it was."""
    stored = (journal.settings or {}).get("join")
    if stored is None:
        return None
    try:
        return JoinRule(**stored)
    except TypeError as error:
        raise WorkspaceError(f"{journal.path} has a rule of joining that is not known ({error}): {ANEW}.") from error


def read_star_names(path: Path) -> dict[str, str]:
    """Read the table that names the star of each light curve: columns `id` and `star`."""
    if not path.is_file():
        raise InputFileError(f"{path}, which names the star of each light curve, does not exist: give join_ids=FILE.")
    table = read_catalogue_table(path)
    names = [str(column).strip().lower() for column in table.columns]
    if any(names.count(wanted) != 1 for wanted in (PIECE_COLUMN, STAR_COLUMN)):
        raise InputFileError(
            f"{path} has the columns {', '.join(map(str, table.columns))}: join_ids needs one column "
            f"{PIECE_COLUMN!r} (the light curve) and one column {STAR_COLUMN!r} (the star's name)."
        )
    pieces, stars = (as_text(table.iloc[:, names.index(wanted)]) for wanted in (PIECE_COLUMN, STAR_COLUMN))
    empty = int((pieces.isna() | stars.isna()).sum())
    if empty:
        raise InputFileError(f"{path}: {empty} rows lack the id or the star: fill them in, or leave the rows out.")
    star_of: dict[str, str] = {}
    for piece, star in zip(pieces, stars, strict=True):
        if star_of.setdefault(piece, star) != star:
            raise InputFileError(f"{path}: {piece} belongs to {star_of[piece]} and to {star}: give it one star.")
    if not star_of:
        raise InputFileError(f"{path} names no star: give a row with id and star for each light curve.")
    return star_of
