from pathlib import Path

import numpy as np
import pandas as pd
import pytest

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def golden_epochs() -> pd.DataFrame:
    """The simulated curves that feets 0.4 saw."""
    return pd.read_csv(GOLDEN / "curves.csv.gz").rename(columns={"curve": "object_id"})


@pytest.fixture(scope="session")
def golden_values() -> pd.DataFrame:
    """What feets 0.4 said: one row per curve, one column per feature; NaN where it gave nothing."""
    values = pd.read_csv(GOLDEN / "values.csv")
    return values.pivot(index="curve", columns="feature", values="value")


@pytest.fixture(scope="session")
def fast_values(golden_epochs: pd.DataFrame) -> pd.DataFrame:
    """What the fast engine says of the same curves."""
    from lcdvt.features import extract

    return extract(golden_epochs, bands=("b", "r")).set_index("object_id")


@pytest.fixture
def two_band_epochs() -> pd.DataFrame:
    """Six objects in two bands, small enough for any executor."""
    rng = np.random.default_rng(5)
    parts = []
    for number in range(6):
        time = np.sort(rng.uniform(0, 60, 40))
        for band, shift in (("B", 0.5), ("R", 0.0)):
            mag = 16 + shift + 0.3 * np.sin(2 * np.pi * time / (0.5 + number)) + rng.normal(0, 0.02, 40)
            parts.append(
                pd.DataFrame({"object_id": f"star{number}", "band": band, "mjd": time, "mag": mag, "mag_err": 0.02})
            )
    return pd.concat(parts, ignore_index=True)
