"""The files of today's surveys: parsed back with plain Python and pyarrow, then ingested without any option."""

import csv
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from helpers.today_surveys import in_the_file_s_time

import lcdvt
from lcdvt.catalogs.registry import find_survey
from lcdvt.simulator.observation import observe
from lcdvt.simulator.simulate import FORMATS, simulate
from lcdvt.simulator.surveys import SURVEYS
from lcdvt.simulator.ztf_files import IrsaCsv

TODAY = ("ogle", "ztf", "gaia", "ps1", "lsst")
OBJECTS, SEED = 60, 4
MINUTE = 1 / 1440
# Epochs of a star in each band. Sixty stars lie in a few fields only, so these are what 98 of 100 fields have (seed 77,
# which no test uses), less what is lost; test_telescopes has many fields, and how the filters share their visits.
EPOCHS = {
    "ogle": {"V": (40, 99), "I": (370, 778)},
    "ztf": {"g": (270, 461), "r": (280, 480), "i": (22, 58)},
    "gaia": {"G": (42, 71), "BP": (35, 71), "RP": (35, 71)},
    "ps1": dict.fromkeys("grizy", (2, 10)),
    "lsst": {"u": (1, 12), "g": (2, 14), "r": (8, 28), "i": (9, 28), "z": (7, 28), "y": (5, 28)},
}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Folder of a small run per survey."""
    folders = {survey: tmp_path_factory.mktemp(survey) for survey in TODAY}
    for survey, folder in folders.items():
        simulate(survey, folder, objects=OBJECTS, seed=SEED)
    return folders


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def stars_of(survey):
    """The same stars from the library, without files."""
    files = next(iter(FORMATS[survey].values()))
    return [observe(SURVEYS[survey], SEED, index, files.field_of(index)) for index in range(OBJECTS)]


def test_ogle_files(simulated):
    for row, star in zip(rows_of(simulated["ogle"] / "truth.csv"), stars_of("ogle"), strict=True):
        assert row["id"].startswith("LMC" if row["class"] == "QSO" else "OGLE-LMC-")
        for band, measured in star.measured.items():
            table = np.loadtxt(simulated["ogle"] / "phot" / band / f"{row['id']}.dat", ndmin=2)
            seen = measured.seen
            assert table[:, 0] + 49999.5 == pytest.approx(star.visits.mjd[seen], abs=1e-5)
            assert table[:, 1] == pytest.approx(measured.mag[seen], abs=6e-4)
            assert table[:, 2] == pytest.approx(measured.err[seen], abs=6e-4)
            assert np.all(table[:, 2] > 0)


def test_ztf_files_have_an_oid_in_each_band_and_flag_what_is_spoiled(simulated):
    ids = {row["id"] for row in rows_of(simulated["ztf"] / "truth.csv")}
    found, flagged, total = set(), 0, 0
    for path in simulated["ztf"].glob("ztf_*/*.csv"):
        for row in rows_of(path):
            assert (row["filtercode"], row["oid"][3]) in {("zg", "1"), ("zr", "2"), ("zi", "3")}
            assert float(row["hjd"]) - 2400000.5 == pytest.approx(float(row["mjd"]), abs=1e-6)
            assert len(row["filefracday"]) == 14
            found.add(row["oid"])
            flagged += row["catflags"] == "32768"
            total += 1
    assert found == ids
    assert 0.02 < flagged / total < 0.08


def test_gaia_files(simulated):
    zero_points = {"G": 25.6874, "BP": 25.3385, "RP": 24.7479}
    for row, star in zip(rows_of(simulated["gaia"] / "truth.csv"), stars_of("gaia"), strict=True):
        rows = rows_of(simulated["gaia"] / "epoch_photometry" / f"EPOCH_PHOTOMETRY-Gaia DR3 {row['id']}.csv")
        assert {each["source_id"] for each in rows} == {row["id"]} and len(row["id"]) == 19
        for band, measured in star.measured.items():
            own = [each for each in rows if each["band"] == band]
            assert len(own) == measured.seen.sum()
            for each in own:
                mag = zero_points[band] - 2.5 * np.log10(float(each["flux"]))
                assert mag == pytest.approx(float(each["mag"]), abs=1e-4)
        times = np.array([float(each["time"]) for each in rows if each["band"] == "G"])
        assert times + 55197.0 == pytest.approx(star.visits.mjd[star.measured["G"].seen], abs=1e-8)


def test_ps1_files_give_jansky_and_now_and_then_no_fit(simulated):
    sentinels = 0
    for row, star in zip(rows_of(simulated["ps1"] / "truth.csv"), stars_of("ps1"), strict=True):
        rows = rows_of(simulated["ps1"] / "detections" / f"ps1_{row['id']}.csv")
        assert {each["objID"] for each in rows} == {row["id"]} and len(row["id"]) == 18
        assert [each["obsTime"] for each in rows] == sorted(each["obsTime"] for each in rows)
        for number, measured in enumerate(star.measured.values(), 1):
            own = [float(each["psfFlux"]) for each in rows if each["filterID"] == str(number)]
            assert len(own) == measured.seen.sum()
            for flux, mag in zip(own, measured.mag[measured.seen], strict=True):
                if flux == -999.0:
                    sentinels += 1
                else:
                    assert 8.90 - 2.5 * np.log10(flux) == pytest.approx(mag, abs=1e-3)
    assert 3 < sentinels < 100


def test_lsst_files_have_their_dates_in_the_table_of_visits(simulated):
    visits = pq.read_table(simulated["lsst"] / "Visit.parquet").to_pandas().set_index("visit")
    assert visits.index.is_unique
    parts = [pq.read_table(path).to_pandas() for path in sorted(simulated["lsst"].glob("ForcedSource_*.parquet"))]
    assert len(parts) == 3
    truth = rows_of(simulated["lsst"] / "truth.csv")
    tables = {str(name): table for part in parts for name, table in part.groupby("objectId")}
    for row, star in zip(truth, stars_of("lsst"), strict=True):
        table = tables[row["id"]]
        seen = np.any([measured.seen for measured in star.measured.values()], axis=0)
        dates = visits.loc[table["visit"]]
        assert dates["expMidptMJD"].to_numpy() == pytest.approx(star.visits.mjd[seen], abs=1e-9)
        assert dates["band"].tolist() == table["band"].tolist() == star.visits.filters[seen].tolist()
        for band, measured in star.flux.items():
            flux = table.loc[table["band"] == band, "psfFlux"].to_numpy()
            assert flux == pytest.approx(3631e9 * measured.flux[measured.seen], rel=1e-6)


@pytest.mark.parametrize("survey", TODAY)
def test_ingest_tells_the_survey_and_finds_every_star_with_its_class(simulated, tmp_path, survey):
    shown = []
    result = lcdvt.ingest(
        simulated[survey],
        jobs=1,
        features="none",
        data=tmp_path,
        progress=lambda done, total, note="": shown.append((done, total)),
    )
    assert result.totals["files_skipped"] == 0, "a table of exposures holds no stars and is no file to skip"
    assert all(total is None or done <= total for done, total in shown)
    stored = lcdvt.open_survey(survey, data=tmp_path)
    assert stored.is_simulated
    objects = stored.objects().set_index("object_id")
    truth = {row["id"]: row for row in rows_of(simulated[survey] / "truth.csv")}
    assert set(objects.index) == set(truth)
    assert objects["label"].to_dict() == {name: row["class"] for name, row in truth.items()}
    epochs = pd.concat(stored.iter_epochs())
    epochs["band"] = epochs["band"].astype(str)
    counts = epochs.groupby(["object_id", "band"]).size().unstack()
    for band, (low, high) in EPOCHS[survey].items():
        assert low <= counts[band].median() <= high


@pytest.mark.parametrize("survey", TODAY)
def test_ingested_magnitudes_are_the_truth_at_their_own_dates(simulated, tmp_path, survey):
    """Epoch by epoch: zero points, bands and dates survive the file."""
    described = in_the_file_s_time(find_survey(survey))  # simulated stars shine by the file's own dates
    lcdvt.ingest(simulated[survey], survey=described, jobs=1, features="none", data=tmp_path)
    epochs = dict(iter(pd.concat(lcdvt.open_survey(survey, data=tmp_path).iter_epochs()).groupby("object_id")))
    residuals = {band: [] for band in EPOCHS[survey]}
    one_id = [row["id"] for row in rows_of(simulated[survey] / "truth.csv")]
    for index, star in enumerate(stars_of(survey)):
        for band, truth in star.truth.items():
            name = str(IrsaCsv.oid(star, band)) if survey == "ztf" else one_id[index]
            own = epochs[name][epochs[name]["band"] == band]
            visit = np.abs(own["mjd"].to_numpy()[:, None] - star.visits.mjd).argmin(axis=1)
            assert np.all(np.abs(own["mjd"].to_numpy() - star.visits.mjd[visit]) < MINUTE)
            residuals[band] += (own["mag"].to_numpy() - truth[visit]).tolist()
    for values in residuals.values():
        assert len(values) > 100
        assert abs(np.median(values)) < 4 * 1.2533 * 1.4826 * np.median(np.abs(values)) / np.sqrt(len(values))


needs_real_data = pytest.mark.skipif(
    "LCDVT_REAL_DATA" not in os.environ, reason="LCDVT_REAL_DATA does not point at the folder of real survey files"
)


@needs_real_data
def test_ogle_and_ztf_files_look_like_real_ones(simulated):
    today = Path(os.environ["LCDVT_REAL_DATA"], "raw/today")
    real = (today / "ogle/phot_O4/I/OGLE-LMC-CEP-0227.dat").read_text().splitlines()[0]
    ours = next((simulated["ogle"] / "phot/I").glob("*.dat")).read_text().splitlines()[0]
    assert re.sub(r"\d", "0", real) == re.sub(r"\d", "0", ours)
    real = (today / "ztf/irsa/dde60-zg1.csv").read_text().splitlines()
    ours = next(simulated["ztf"].glob("ztf_*/*.csv")).read_text().splitlines()
    assert real[0] == ours[0]
    assert len(real[1].split(",")) == len(ours[1].split(","))
