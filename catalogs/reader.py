"""One file's bytes to light curves, whatever its format."""

from lcdvt.catalogs.curves import RawCurves, no_curves
from lcdvt.catalogs.detect import HEAD_BYTES, Match, match_survey
from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.text import read_text
from lcdvt.errors import InputFileError


def read_file(survey: Survey, content: bytes, name: str) -> RawCurves:
    """Read the light curves of a file of the survey; what cannot be read is a sentence in `problems`."""
    match = match_survey(survey, name, content[:HEAD_BYTES])
    if isinstance(match, str):
        return no_curves(f"{name} is not a light curve of {survey.name}: {match}.")
    return read_matched(survey, match, content, name)


def read_matched(survey: Survey, match: Match, content: bytes, name: str) -> RawCurves:
    """Read the light curves of a file whose format is known."""
    if match.format.type == "text":
        return read_text(survey, match, content, name)
    from lcdvt.catalogs.tables import read_table_bytes

    try:
        return read_table_bytes(survey, match, content, name)
    except InputFileError as error:
        return no_curves(str(error))
