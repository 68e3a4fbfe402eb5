"""Files, archive members and cut-out blocks to light curves, whatever their format."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import pyarrow as pa

from lcdvt.catalogs.reading.curves import RawCurves, join_curves, no_curves
from lcdvt.catalogs.reading.dates_beside import is_table_of_dates
from lcdvt.catalogs.reading.detect import HEAD_BYTES, Match, TextFile, match_survey
from lcdvt.catalogs.reading.files import printable, read_whole
from lcdvt.catalogs.reading.peek import peek
from lcdvt.catalogs.reading.text import read_texts
from lcdvt.catalogs.survey import Survey
from lcdvt.errors import InputFileError

READ_TOGETHER_BYTES: Final = 8 << 20
"""A batch's worth, so that memory stays that of a batch."""


class Piece(NamedTuple):
    """Something to read: a file still on disk, or bytes or rows that are already here."""

    name: str
    on_disk: bool = False
    content: bytes = b""
    match: Match | None = None
    table: pa.Table | None = None
    problem: str = ""

    @property
    def shown(self) -> str:
        """The name as it is shown and stored."""
        return printable(self.name)


def read_pieces(survey: Survey, pieces: Iterable[Piece], checksums: dict[str, str] | None = None) -> RawCurves:
    """Read the light curves of some pieces; what cannot be read is a sentence in `problems`.

    Parameters
    ----------
    survey
        What the pieces are of.
    pieces
        What to read.
    checksums
        Gets the checksum of each file that was read from disk, by its name.
    """
    return join_curves(_readings(survey, pieces, {} if checksums is None else checksums))


def read_file(survey: Survey, content: bytes, name: str) -> RawCurves:
    """Read the light curves of one file of the survey."""
    return read_pieces(survey, [Piece(name, content=content)])


def _readings(survey: Survey, pieces: Iterable[Piece], checksums: dict[str, str]) -> Iterator[RawCurves]:
    """Read piece by piece, but neighbouring text files that are laid out alike all at once."""
    together: list[TextFile] = []
    size = 0
    for piece in pieces:
        opened = _opened(survey, piece, checksums)
        text = opened if isinstance(opened, TextFile) else None
        if together and not (text and text.is_like(together[-1]) and size < READ_TOGETHER_BYTES):
            yield read_texts(survey, together)
            together, size = [], 0
        if isinstance(opened, TextFile):
            together.append(opened)
            size += len(opened.content)
        else:
            yield opened
    if together:
        yield read_texts(survey, together)


def _opened(survey: Survey, piece: Piece, checksums: dict[str, str]) -> TextFile | RawCurves:
    """Return a text file's content with its format, or what another piece holds."""
    if piece.problem:
        return no_curves(printable(piece.problem))
    name = piece.shown
    try:
        if piece.table is not None and piece.match is not None:
            from lcdvt.catalogs.reading.tables import curves_from_table

            return curves_from_table(survey, piece.match, piece.table, name)
        content = read_whole(piece.name, checksums) if piece.on_disk else piece.content
        head = content[:HEAD_BYTES]
        table = peek(head, content) if survey.has_tables and not piece.match else None
        match = piece.match or match_survey(survey, name, head, table)
        if isinstance(match, str) and any(is_table_of_dates(form, name) for form in survey.formats):
            return RawCurves([], no_curves("").epochs)  # its dates go to the light curves beside it
        if isinstance(match, str):
            return no_curves(f"{name} is not a light curve of {survey.name}: {match}.")
        if match.format.refused:
            return no_curves(f"{name} {match.format.refused}")
        if match.format.type == "text":
            return TextFile(name, content, match)
        from lcdvt.catalogs.reading.tables import read_table_bytes

        return read_table_bytes(survey, match, content, name)
    except InputFileError as error:
        return no_curves(printable(str(error)))
