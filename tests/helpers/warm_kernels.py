"""Imported for what that does: the compiled functions of features are loaded, and all forks of this process have them.

numba makes its own tables in every process before it finds the first compiled function on disk: half a second for each
command that computes features.
"""

import numpy as np
import pandas as pd

from lcdvt.features import extract

for bands in (("V",), ("B", "R"), ("g", "r", "i")):
    for epochs in (25, 100):  # short and long light curves have functions of their own
        nights = np.arange(epochs) * 0.7
        stars = [
            pd.DataFrame({"object_id": star, "band": band, "mjd": nights, "mag": mag, "mag_err": 0.05})
            for star, mag in (("pulsating", np.sin(nights)), ("eclipsed", 1.0 * (nights % 1.7 < 0.2)))
            for band in bands
        ]
        extract(pd.concat(stars), period_range=(0.5, 20.0))
