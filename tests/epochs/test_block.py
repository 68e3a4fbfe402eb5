"""Raw epochs to the epochs table, against plain Python."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lcdvt.catalogs.reading.curves import RawCurves, RawEpochs, RawObject
from lcdvt.catalogs.survey_toml import survey_from_toml
from lcdvt.epochs.block import block_from_raw

SURVEY = survey_from_toml(
    """
name = "two"
bands = ["V", "B"]
[time]
system = "HJD-2450000"
[sentinels]
mag = [99.999]
err = [9.999]
[[formats]]
name = "rows"
file_name = '(?P<star>.+)'
id = "{star}"
mag = 2
err = 3
band = "V"
""",
    "two.toml",
)
IDS = ("s2", "s0", "s1")
raw_epochs = st.lists(
    st.tuples(
        st.integers(0, len(IDS) - 1),
        st.sampled_from([0, 1, -1]),
        st.sampled_from([1.5, 2.5, 2.5000000001, 300.25, -1e9, math.nan]),
        st.sampled_from([15.0, 15.5, 16.0, 99.999, math.inf, -math.inf, math.nan]),
        st.sampled_from([0.1, 0.2, 0.0, -0.1, 9.999, 99.999, math.nan]),
    ),
    max_size=30,
)


def reason_to_drop(band: int, mjd: float, mag: float, err: float) -> str:
    if mag == -math.inf and math.isfinite(mjd):
        return "flux zero or negative, without a magnitude"
    is_limit = mag == math.inf
    value = err if is_limit else mag
    if not (math.isfinite(value) and math.isfinite(mjd)) or value == 99.999 or (err == 9.999 and not is_limit):
        return "missing value or sentinel"
    if band < 0:
        return "band not described in the survey"
    if not 0 < mjd < 200_000:
        return "date out of range"
    return "" if err > 0 or is_limit else "error not positive"


@given(raw_epochs)
def test_epochs_are_sorted_counted_and_never_repeated(rows):
    columns = list(zip(*rows, strict=True)) or [()] * 5
    types = (np.int32, np.int8, float, float, float)
    raw = RawEpochs(*(np.array(column, dtype=kind) for column, kind in zip(columns, types, strict=True)))
    block = block_from_raw(SURVEY, RawCurves([RawObject(star, f"{star}.dat") for star in IDS], raw))

    expected, limits, dropped = set(), set(), {}
    for place, band, time, mag, err in rows:
        mjd = time + SURVEY.time.offset_to_mjd
        reason = reason_to_drop(band, mjd, mag, err)
        epoch = (IDS[place], SURVEY.bands[band], mjd, mag, err)
        if not reason and epoch in expected | limits:
            reason = "exact repetition"
        if reason:
            dropped[reason] = dropped.get(reason, 0) + 1
        else:
            (limits if mag == math.inf else expected).add(epoch)
    stars = {star for star, *_ in expected}
    of_dropped = sum(star not in stars for star, *_ in limits)
    if of_dropped:
        dropped["upper limit of a dropped object"] = of_dropped
    table = block.to_arrow()
    found = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    assert found == sorted(expected)
    assert dict(block.dropped_epochs) == dropped
    assert [one.object_id for one in block.objects] == sorted(stars)
    kept = block.limits.to_arrow([one.object_id for one in block.objects], block.bands)
    assert list(zip(*(column.to_pylist() for column in kept.columns), strict=True)) == sorted(
        (star, band, mjd, limit) for star, band, mjd, _, limit in limits if star in stars
    )
