"""The verb `surveys`: which surveys are read by name, as a table."""

import pandas as pd

from lcdvt.catalogs.registry import builtin_surveys


def surveys() -> pd.DataFrame:
    """Return every survey that lcdvt reads by name: what it is, its bands, formats, period range and citation."""
    return pd.DataFrame(
        [
            {
                "name": survey.name,
                "title": survey.title,
                "bands": " ".join(survey.bands),
                "formats": "; ".join(form.name for form in survey.formats),
                "shortest_period": survey.period_range[0],
                "longest_period": survey.period_range[1],
                "citation": survey.citation,
            }
            for survey in builtin_surveys()
        ]
    ).set_index("name")
