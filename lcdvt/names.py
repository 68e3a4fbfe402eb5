"""Column and class names, each spelled once."""

from typing import Final

# The epochs table.
OBJECT_ID: Final = "object_id"
BAND: Final = "band"
MJD: Final = "mjd"
MAG: Final = "mag"
MAG_ERR: Final = "mag_err"

# The objects table.
LABEL: Final = "label"
SURVEY_LABEL: Final = "survey_label"
RA: Final = "ra"
DEC: Final = "dec"
SOURCE: Final = "source"


def n_epochs_column(band: str) -> str:
    """Return the objects table's column that counts the epochs in `band`."""
    return f"n_epochs_{band}"


# The canonical classes of the toolkit; a survey may add others under their own names.
CANONICAL_CLASSES: Final = ("CEP", "EB", "LPV", "QSO", "RRLYR")
