"""Column and class names, each spelled once."""

from typing import Final

# The epochs table.
OBJECT_ID: Final = "object_id"
BAND: Final = "band"
MJD: Final = "mjd"
MAG: Final = "mag"
MAG_ERR: Final = "mag_err"
FLUX: Final = "flux"
FLUX_ERR: Final = "flux_err"

# The table of upper limits has object, band and date as the epochs table has, and this.
MAG_LIMIT: Final = "mag_limit"

# The objects table.
LABEL: Final = "label"
SURVEY_LABEL: Final = "survey_label"
RA: Final = "ra"
DEC: Final = "dec"
SOURCE: Final = "source"
SOURCES_SEPARATOR: Final = " | "
"""Between the files of an object that was read from several."""


def n_epochs_column(band: str) -> str:
    """Return the objects table's column that counts the epochs in `band`."""
    return f"n_epochs_{band}"


# The canonical classes of the toolkit; a survey may add others under their own names.
CANONICAL_CLASSES: Final = ("CEP", "EB", "LPV", "QSO", "RRLYR")

# Of the features, what other rooms ask for by name.
PERIOD: Final = "Period"

# The table of predictions, one row for each object.
PREDICTED: Final = "predicted"
ENTROPY: Final = "entropy"
DISAGREEMENT: Final = "disagreement"
OTHER_SCORE: Final = "other_score"
IN_DRAW: Final = "in_draw"
REASON: Final = "reason"


def probability_column(label: str) -> str:
    """Return the predictions' column that holds the probability of the class `label`."""
    return f"p_{label}"
