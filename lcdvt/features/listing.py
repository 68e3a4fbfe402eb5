"""The verb `features`: what can be computed, as a table."""

from dataclasses import asdict

import pandas as pd

from lcdvt.features.spec import feature_spec
from lcdvt.features.table import FEATURES


def features(name: str | None = None) -> pd.DataFrame:
    """Return every feature with its family, bands, epochs needed, definition, reference and meaning.

    Parameters
    ----------
    name
        Only this feature; None for all.
    """
    chosen = FEATURES.values() if name is None else [feature_spec(name)]
    return pd.DataFrame([asdict(spec) for spec in chosen]).set_index("name")
