"""What is written in a format of today's surveys is read back equal, by a survey that is told from the content."""

import io
import math
import statistics
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import today_files
from helpers.today_files import (
    GAIA_WIDE_COLUMNS,
    asas_text,
    fink_text,
    forced_text,
    gaia_long_text,
    gaia_wide_text,
    lasair_text,
    mast_text,
    neowise_text,
    ogle_text,
    sky_patrol_text,
    ztf_csv_text,
)
from helpers.today_surveys import in_the_file_s_time
from hypothesis import given, settings
from hypothesis import strategies as st

import lcdvt
from lcdvt.catalogs.reading.detect import HEAD_BYTES, Match, match_survey
from lcdvt.catalogs.reading.peek import peek
from lcdvt.catalogs.reading.reader import read_file
from lcdvt.catalogs.registry import builtin_surveys
from lcdvt.epochs.block import EpochBlock, block_from_raw
from lcdvt.errors import LcdvtError

POGSON = 2.5 / math.log(10)


def decimals(low: float, high: float, places: int) -> st.SearchStrategy[float]:
    scale = 10**places
    return st.integers(int(low * scale), int(high * scale)).map(lambda number: number / scale)


def distinct(rows: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
    return sorted(set(rows))


DATES = decimals(52000, 60000, 5)
rows = st.lists(st.tuples(DATES, decimals(10, 20, 3), decimals(0.001, 1, 3)), min_size=1, max_size=20, unique=True)
fluxes = st.lists(
    st.tuples(DATES, decimals(-50, 2000, 2), decimals(0.1, 50, 2)), min_size=1, max_size=20, unique_by=lambda r: r[0]
)


def read(content: str | bytes, name: str, survey: str) -> EpochBlock:
    """Read a file as an ingest without options does; only one survey may claim it."""
    content = content.encode() if isinstance(content, str) else content
    head = content[:HEAD_BYTES]
    table = peek(head, content)
    claims = [found for found in builtin_surveys() if isinstance(match_survey(found, name, head, table), Match)]
    assert [found.name for found in claims] == [survey]
    survey_as_written = in_the_file_s_time(claims[0])
    curves = read_file(survey_as_written, content, name)
    assert curves.problems == []
    return block_from_raw(survey_as_written, curves)


def same(block: EpochBlock, expected: list[tuple[float, ...]]) -> None:
    found = sorted(zip(block.mjd.tolist(), block.mag.tolist(), block.err.tolist(), strict=True))
    assert len(found) == len(expected)
    for own, wanted in zip(found, expected, strict=True):
        assert own[0] == pytest.approx(wanted[0], abs=2e-9)
        assert own[1:] == pytest.approx(wanted[1:], rel=1e-9)


def in_magnitudes(rows: list[tuple[float, ...]], zero_point: float) -> list[tuple[float, ...]]:
    """Asinh magnitudes, softened by the median error."""
    b = statistics.median(e for _, _, e in rows)
    return sorted(
        (t, zero_point - POGSON * (math.asinh(f / 2 / b) + math.log(b)), POGSON * e / math.hypot(f, 2 * b))
        for t, f, e in rows
    )


@given(rows)
def test_ogle(rows):
    block = read(ogle_text(rows), "phot/I/OGLE-LMC-CEP-0227.dat", "ogle")
    assert [one.object_id for one in block.objects] == ["OGLE-LMC-CEP-0227"]
    same(block, distinct(rows))


@given(rows, st.data())
def test_ztf(rows, data):
    flags = data.draw(st.lists(st.sampled_from([0, 1, 32768, 65535]), min_size=len(rows), max_size=len(rows)))
    block = read(ztf_csv_text(rows, flags), "any.csv", "ztf")
    same(block, distinct([row for row, flag in zip(rows, flags, strict=True) if flag < 2]))
    assert block.dropped_epochs["flagged in catflags"] == sum(flag > 1 for flag in flags)


@given(rows, st.lists(decimals(12, 18, 3), max_size=5))
def test_sky_patrol(rows, limits):
    block = read(sky_patrol_text(rows, limits), "light_curve_1.csv", "asassn")
    same(block, distinct(rows))
    assert sorted(block.limits.mag_limit) == sorted(set(limits))
    assert block.dropped_epochs["missing value or sentinel"] == 1


@given(st.lists(rows, min_size=1, max_size=6))
def test_asas_takes_the_first_aperture_of_every_block(blocks):
    block = read(asas_text(blocks), "x.lc", "asas")
    same(block, distinct([row for rows in blocks for row in rows]))
    assert block.objects[0].ra == pytest.approx(17.191277 * 15)
    assert block.dropped_epochs["flagged in column 12"] == len(blocks)


@given(rows)
def test_gaia_wide(rows):
    block = read(gaia_wide_text(rows), "EPOCH_PHOTOMETRY-Gaia DR3 2328619740476096384.csv", "gaia")
    assert block.bands[int(block.segment_band[0])] == "G"
    same(block, distinct(rows))


def test_gaia_wide_as_the_archive_gives_it():
    """Two rows of the archive's own: the second transit has no BP and RP, which are rejected besides."""
    text = f"""{GAIA_WIDE_COLUMNS}
375316653866487564,2328619740476096384,19904707766277818,1756.8137006432394,61379.645021363125,66.40325372862291,924.3469,13.717305935966815,1756.8139941058444,38115.55505560519,95.02268429563246,401.12057,13.885786594445392,1756.8140820892297,33731.73916407903,88.0843489264427,382.94815,13.427798667608632,false,false,false,5,0,0,false
375316653866487564,2328619740476096384,22755823142500184,1808.3702083380067,85639.92140745468,111.8572199076044,765.61816,13.355676216889247,,,,,,,,,,,false,true,true,4097,1024,16779264,false
"""
    block = read(text, "star.csv", "gaia")
    assert [one.object_id for one in block.objects] == ["2328619740476096384"]
    assert dict(zip(block.bands, block.epochs_per_band()[0].tolist(), strict=True)) == {"BP": 1, "G": 2, "RP": 1}
    # Segments are in the order of the bands' names: BP, G, RP.
    assert block.mjd.tolist() == pytest.approx(
        [55197 + day for day in (1756.8139941058444, 1756.8137006432394, 1808.3702083380067, 1756.8140820892297)]
    )
    assert block.err[0] == pytest.approx(POGSON / 401.12057, rel=1e-6)


@given(rows, st.data())
def test_gaia_long_csv_and_ecsv(rows, data):
    rejected = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    text = gaia_long_text(rows, rejected)
    for content in (text, "# %ECSV 1.0\n# ---\n# delimiter: ','\n" + text):
        block = read(content, "star.csv", "gaia")
        same(block, distinct([row for row, bad in zip(rows, rejected, strict=True) if not bad]))


@given(fluxes)
def test_pan_starrs_fluxes(rows):
    rows = [(t, f * 1e-6, e * 1e-6) for t, f, e in rows]
    block = read(mast_text([*rows, (60001.0, -999.0, -999.0)]), "detections.csv", "ps1")
    same(block, in_magnitudes(rows, 8.90))
    assert block.dropped_epochs == {"missing value or sentinel": 1}
    stored = sorted(zip(block.mjd, *block.fluxes(), strict=True))
    assert stored == [pytest.approx(row, rel=1e-9, abs=1e-15) for row in sorted(rows)]


@given(rows)
def test_neowise(rows):
    block = read(neowise_text(rows), "cone.tbl", "neowise")
    same(block, distinct(rows))
    assert set(zip(block.limits.mjd, block.limits.mag_limit, strict=True)) == {(mjd, 15.1) for mjd, *_ in rows}


@given(fluxes)
def test_ztf_forced_photometry(rows):
    block = read(forced_text(rows), "forcedphotometry_req1_lc_ZTF1.txt", "ztf-forced")
    same(block, in_magnitudes(rows, 26.0))
    assert all((one.object_id, one.ra, one.dec) == ("ZTF1", 169.5, -18.7) for one in block.objects)


@given(fluxes)
def test_lasair(rows):
    same(read(lasair_text(rows), "1.json", "lsst"), in_magnitudes(rows, 31.4))


@given(
    st.lists(
        st.tuples(DATES, decimals(17, 20, 3), decimals(0.01, 0.2, 3), decimals(15, 16, 3), st.sampled_from("tf10")),
        min_size=1,
        max_size=20,
        unique_by=lambda row: row[0],
    )
)
def test_fink_gives_the_star_s_own_magnitude(rows):
    full = [(t, m, e, ref, 0.001, sign) for t, m, e, ref, sign in rows]
    block = read(fink_text(full), "any.csv", "ztf-alerts")
    expected = []
    for t, m, e, ref, ref_err, sign in full:
        difference, base = 10 ** (-0.4 * m), 10 ** (-0.4 * ref)
        flux = base + (difference if sign in "t1" else -difference)
        variance = (difference * e) ** 2 - (base * ref_err) ** 2
        err = (math.sqrt(variance) if variance > 0 else difference * e) / flux
        expected.append((t, -2.5 * math.log10(flux), err))
    same(block, sorted(expected))
    assert block.limits.mag_limit.tolist() == [19.5]


def parquet(columns: dict[str, object]) -> bytes:
    content = io.BytesIO()
    pq.write_table(pa.table(columns), content)
    return content.getvalue()


@pytest.mark.parametrize(
    "columns",
    [
        {"diaObjectId": "id", "midpointMjdTai": "time", "scienceFlux": "flux", "scienceFluxErr": "err"},
        {"objectId": "id", "expMidptMJD": "time", "psfFlux": "flux", "psfFluxErr": "err", "psfFlux_flag": "flag"},
    ],
)
def test_rubin_tables(columns):
    values = {
        "id": [169645854020337671, 169645854020337671, 169645854020337672],
        "time": [61003.25, 61004.5, 61003.25],
        "flux": [1000.0, -5.0, 100.0],
        "err": [10.0, 10.0, 10.0],
        "flag": [False, False, False],
    }
    table = {name: values[kind] for name, kind in columns.items()} | {"band": ["g", "g", "y"]}
    position = {"ra": [1.0, 1.0, 2.0], "dec": [3.0, 3.0, 4.0]}
    block = read(parquet(table | position), "table.parquet", "lsst")
    assert [one.object_id for one in block.objects] == ["169645854020337671", "169645854020337672"]
    assert block.fluxes()[0].tolist() == pytest.approx([1000.0, -5.0, 100.0])
    assert block.mag[[0, 2]].tolist() == pytest.approx([31.4 - 7.5, 31.4 - 5.0], abs=0.011)  # nearly the usual ones
    assert block.mag[1] == pytest.approx(31.4 - POGSON * (math.asinh(-5 / 20) + math.log(10)))
    assert block.dropped_epochs == {}


def test_lists_of_different_lengths_are_refused_in_a_sentence():
    from lcdvt.catalogs.registry import find_survey

    columns: dict[str, object] = {"objectid": [1], "filterid": [1], "objra": [1.0], "objdec": [2.0]}
    columns |= {"hmjd": [[58000.0, 58001.0]], "mag": [[15.0]], "magerr": [[0.1]], "catflags": [[0]]}
    curves = read_file(find_survey("ztf"), parquet(columns), "bulk.parquet")
    assert "have different numbers of epochs" in curves.problems[0]


def test_an_archive_member_and_a_relative_path_tell_the_band(tmp_path: Path, monkeypatch):
    text = ogle_text([(53000.5, 15.0, 0.01)])
    block = read(text, f"{tmp_path}/phot.tar.gz::phot/V/OGLE-LMC-CEP-0001.dat", "ogle")
    assert block.bands[int(block.segment_band[0])] == "V"
    (tmp_path / "I").mkdir()
    monkeypatch.chdir(tmp_path / "I")
    block = read(text, "OGLE-LMC-CEP-0001.dat", "ogle")
    assert block.bands[int(block.segment_band[0])] == "I"


@pytest.mark.parametrize(("on", "table"), [("visit", "Visit.parquet"), ("ccdVisitId", "CcdVisit_dp02.parquet")])
def test_rubin_s_forced_sources_find_their_dates_in_the_table_of_visits(on, table, tmp_path, workspace):
    visits = [2025110300243, 2025110300244, 2025110300245]
    forced = {
        "objectId": [1, 1, 2],
        on: [visits[1], visits[0], 7],
        "band": ["g", "r", "g"],
        "psfFlux": [1000.0, 100.0, 100.0],
        "psfFluxErr": [1.0, 1.0, 1.0],
        "psfFlux_flag": [False, False, False],
    }
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ForcedSource.parquet").write_bytes(parquet(forced))
    with pytest.raises(LcdvtError, match=r"ForcedSource\.parquet has no dates: put the table of exposures beside it"):
        lcdvt.ingest(tmp_path / "in", features="none", jobs=1)
    dates = {on: visits, "expMidptMJD": [60982.25, 60982.5, 60982.75]}
    (tmp_path / "in" / table).write_bytes(parquet(dates))
    result = lcdvt.ingest(tmp_path / "in", clean="none", features="none", jobs=1)
    assert result.problems == []
    (epochs,) = lcdvt.open_survey("lsst").iter_epochs()
    assert epochs[["object_id", "band"]].to_numpy().tolist() == [["1", "g"], ["1", "r"]]
    from_tai = 32.184 / 86400  # without a position, dates stay at the Earth
    assert epochs["mjd"].tolist() == pytest.approx([60982.5 + from_tai, 60982.25 + from_tai], abs=1e-7)
    assert result.totals["notes"] == {"light curves without a position: dates at the Earth, not barycentric": 2}
    assert result.totals["dropped_epochs"] == {"missing value or sentinel": 1}


def test_a_large_file_in_pieces_gives_what_it_gives_whole(tmp_path, workspace, monkeypatch):
    """Flags, time systems and lists go the same way through the streams as through a file that is read at once."""
    header, *lines = ztf_csv_text(
        [(58000 + i / 7, 15 + i % 9 / 10, 0.02) for i in range(4000)], [0, 32768] * 2000
    ).split("\n")
    rows = [line.replace("657105200011802", str(657105200000000 + number // 40)) for number, line in enumerate(lines)]
    (tmp_path / "zr.csv").write_text("\n".join([header, *rows]))
    lists: dict[str, object] = {"objectid": list(range(500)), "filterid": [2] * 500}
    lists |= {"objra": [1.5] * 500, "objdec": [2.5] * 500}
    lists |= {"hmjd": [[58000.5 + i, 58001.5 + i] for i in range(500)], "mag": [[15.0, 15.5]] * 500}
    lists |= {"magerr": [[0.1, 0.1]] * 500, "catflags": [[0, 32768]] * 500}
    (tmp_path / "bulk.parquet").write_bytes(parquet(lists))
    epochs = {}
    for size in (1 << 30, 1 << 10):
        monkeypatch.setattr("lcdvt.ingestion.batches.STREAMED_FROM_BYTES", size)
        name = f"by-{size}"
        result = lcdvt.ingest(
            tmp_path / "zr.csv", tmp_path / "bulk.parquet", name=name, clean="none", features="none", jobs=1
        )
        assert result.totals["dropped_epochs"] == {"flagged in catflags": 2500}
        parts = list(lcdvt.open_survey(name).iter_epochs())
        table = pd.concat(parts).astype({"object_id": str, "band": str})
        epochs[size] = table.sort_values(["object_id", "mjd"]).to_numpy().tolist()
    assert epochs[1 << 30] == epochs[1 << 10]
    assert len(epochs[1 << 10]) == 2500


READ_BACK = {
    "catalina csv": ("catalina", "any.csv", today_files.catalina_text),
    "catalina .dat": ("catalina", "/x/1132023090438.dat", today_files.bare_text),
    "ptf csv": ("ptf", "any.csv", today_files.ptf_text),
    "sky patrol 2": ("asassn", "455267102087-light-curves.csv", today_files.sky_patrol_2_text),
    "alerce csv": ("ztf-alerts", "any.csv", today_files.alerce_text),
    "antares csv": ("ztf-alerts", "/x/ZTF19aaxqsbn.csv", today_files.antares_text),
    "ztf votable": ("ztf", "any.xml", today_files.ztf_votable_text),
}


@pytest.mark.parametrize("name", READ_BACK)
@settings(max_examples=30)
@given(rows=rows)
def test_what_is_written_is_read_back_without_what_is_flagged(name, rows):
    survey, file, write = READ_BACK[name]
    rows = [(t - 1, m, e) for t, m, e in rows]  # bare columns are told by a date before 60000
    block = read(write(rows), file, survey)
    same(block, distinct(rows))
    assert len(block.objects) == 1


@settings(max_examples=30)
@given(fluxes)
def test_atlas(rows):
    block = read(today_files.atlas_text(rows), "job1.txt", "atlas")
    same(block, in_magnitudes(rows, 23.9))
    assert [(one.object_id, one.ra, one.dec) for one in block.objects] == [("job1", 10.5, -20.25)]


@settings(max_examples=30)
@given(rows)
def test_stripe_82(rows):
    rows = [(t - 1, m, e) for t, m, e in rows]  # told by a date before 60000
    block = read(today_files.sdss_text(rows), "4099.dat", "sdss-s82")
    bands = {band: number for number, band in enumerate("ugriz")}
    expected = distinct([(t + n * 0.001, m - n, e) for t, m, e in rows for n in bands.values() if n])
    found = sorted(zip(block.mjd, block.mag, block.err, strict=True))
    assert found == [pytest.approx(row, abs=2e-5) for row in expected]
    assert "u" not in {block.bands[number] for number in block.segment_band}


@settings(max_examples=30)
@given(rows)
def test_gaia_alerts_have_one_error_for_all(rows):
    block = read(today_files.gaia_alert_text(rows), "any.csv", "gaia-alerts")
    same(block, distinct([(t, m, 0.02) for t, m, _ in rows]))


@settings(max_examples=20)
@given(fluxes)
def test_alert_packets_in_avro(rows):
    pytest.importorskip("fastavro")
    block = read(today_files.alert_packet(rows), "any.avro", "lsst")
    same(block, in_magnitudes(rows, 31.4))
    assert [(one.object_id, one.ra) for one in block.objects] == [("169645854020337671", 10.5)]
