"""The files: parsed back here with plain Python, none of the package's readers."""

import csv
import dataclasses
import gzip
import os
import re
import tarfile
from pathlib import Path

import numpy as np
import pytest

from lcdvt.catalogs.time_zone import utc_from_local
from lcdvt.simulator.macho_files import MJD_FILE_ZONE
from lcdvt.simulator.observation import observe
from lcdvt.simulator.simulate import FORMATS, simulate
from lcdvt.simulator.surveys import SURVEYS

CHOICES = [(survey, format) for survey, formats in FORMATS.items() for format in formats]
OBJECTS, SEED = 60, 4


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Folder of a small run per survey and format."""
    folders = {}
    for survey, format in CHOICES:
        folders[survey, format] = tmp_path_factory.mktemp(f"{survey}_{format}")
        simulate(survey, folders[survey, format], objects=OBJECTS, seed=SEED, format=format)
    return folders


def read_truth(folder):
    with (folder / "truth.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def observed_again(survey, format):
    """The same stars from the library, without files."""
    files = FORMATS[survey][format]
    return [observe(SURVEYS[survey], SEED, index, files.field_of(index)) for index in range(OBJECTS)]


def snapshot(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(("survey", "format"), CHOICES)
def test_same_seed_same_bytes_other_seed_other_stars(simulated, tmp_path, survey, format):
    simulate(survey, tmp_path / "again", objects=OBJECTS, seed=SEED, format=format)
    assert snapshot(tmp_path / "again") == snapshot(simulated[survey, format])
    simulate(survey, tmp_path / "other", objects=5, seed=SEED + 1, format=format)
    periods = [{row["period"] for row in read_truth(folder)} for folder in (tmp_path / "other", tmp_path / "again")]
    assert not (periods[0] & periods[1]) - {""}


@pytest.mark.parametrize(("survey", "format"), CHOICES)
def test_a_shorter_run_is_the_beginning_of_a_longer_one(simulated, tmp_path, survey, format):
    simulate(survey, tmp_path, objects=45, seed=SEED, format=format)
    shorter = read_truth(tmp_path)
    assert shorter == read_truth(simulated[survey, format])[: len(shorter)]
    if format not in ("bulk", "pack", "parquet"):  # there, one file holds many stars
        longer = snapshot(simulated[survey, format])
        for name, content in snapshot(tmp_path).items():
            if name not in ("truth.csv", "labels.csv"):
                assert longer[name] == content


@pytest.mark.parametrize(("survey", "format"), CHOICES)
def test_ids_are_unique_and_labels_agree_with_the_truth(simulated, survey, format):
    folder = simulated[survey, format]
    truth = {row["id"]: row["class"] for row in read_truth(folder)}
    if survey == "ztf":  # an identifier in each band
        assert OBJECTS < len(truth) <= 3 * OBJECTS
    else:
        assert len(truth) == OBJECTS
    assert (folder / "labels.csv").exists() == (format != "mjd")
    if format != "mjd":
        with (folder / "labels.csv").open(newline="") as file:
            labels = {row["id"]: row["class"] for row in csv.DictReader(file)}
        own_names = SURVEYS[survey].survey_labels
        assert labels == {object_id: own_names.get(label, label) for object_id, label in truth.items()}


@pytest.mark.parametrize(("survey", "format"), [("eros", "time"), ("macho", "mjd"), ("hits", "dat")])
def test_ids_stay_unique_when_a_million_stars_go_round_the_fields_again(survey, format):
    files = FORMATS[survey][format]
    sample = observe(SURVEYS[survey], SEED, 0, 1)
    indices = [*range(3000), *range(100_000, 101_000), *range(999_000, 1_000_000)]
    addresses = {
        files.address(dataclasses.replace(sample, index=index, field=files.field_of(index))) for index in indices
    }
    assert len(addresses) == len(indices)


def test_eros_files(simulated):
    folder = simulated["eros", "time"]
    sentinels = 0
    for row, observation in zip(read_truth(folder), observed_again("eros", "time"), strict=True):
        star = row["id"]
        field, chip, quarter = re.fullmatch(r"(lm\d{3})(\d)([klmn])\d+", star).groups()
        path = folder / field / f"{field}{chip}" / f"{field}{chip}{quarter}" / f"{star}.time"
        lines = path.read_text().splitlines()
        assert [line.startswith("#") for line in lines[:5]] == [True] * 4 + [False]
        assert lines[1].split()[1] == star
        values = np.array([[float(word) for word in line.split()] for line in lines[4:]])
        red, blue = observation.measured["R"], observation.measured["B"]
        either = red.seen | blue.seen
        assert values.shape == (either.sum(), 5)
        assert values[:, 0] + 50000 - 0.5 == pytest.approx(observation.visits.mjd[either], abs=1e-5)
        for measured, mag, err in ((red, values[:, 1], values[:, 2]), (blue, values[:, 3], values[:, 4])):
            lost = mag == 99.999
            assert np.array_equal(lost, ~measured.seen[either])
            assert np.array_equal(lost, err == 9.999)
            assert mag[~lost] == pytest.approx(measured.mag[measured.seen], abs=1e-9)
            assert err[~lost] == pytest.approx(measured.err[measured.seen], abs=1e-9)
            sentinels += lost.sum()
    assert sentinels > 100


def test_macho_mjd_files(simulated):
    root = simulated["macho", "mjd"] / "macho_training_lightcurves"
    folders = {
        "CEP": "periodic/CEPH",
        "EB": "periodic/EB",
        "LPV": "periodic/LPV",
        "RRLYR": "periodic/RRL",
        "QSO": "QSO",
    }
    missing = 0
    for row, observation in zip(read_truth(root.parent), observed_again("macho", "mjd"), strict=True):
        for band, measured in observation.measured.items():
            path = root / folders[row["class"]] / f"lc_{row['id']}.{band}.mjd"
            assert path.exists() == measured.seen.any()
            if not path.exists():
                missing += 1
                continue
            lines = path.read_text().splitlines()
            assert lines[0].startswith("#Field Tile Seq") and lines[2] == "#MJD Mag Err"
            assert ".".join(lines[1][1:].split()[:3]) == row["id"]
            assert lines[1].split()[5] == band
            values = np.array([[float(word) for word in line.split(" ")] for line in lines[3:]])
            dates = utc_from_local(values[:, 0], MJD_FILE_ZONE)
            assert dates == pytest.approx(observation.visits.mjd[measured.seen], abs=1e-6)
            assert np.array_equal(values[:, 1:].T, [measured.mag[measured.seen], measured.err[measured.seen]])
            assert values[:, 1].max() < 0  # instrumental magnitudes
    assert missing > 0


def check_wide_macho(rows, observation, column, first_column):
    """Compare wide rows of text with the star; `column` maps a name to a position."""
    assert len(rows) == observation.visits.mjd.size
    dates = np.array([float(row[column["dateobs"]]) for row in rows])
    assert dates == pytest.approx(observation.visits.mjd, abs=1e-4)
    for band, name in (("R", "r"), ("B", "b")):
        measured = observation.measured[band]
        mag = np.array([float(row[column[f"{name}mag"]]) for row in rows])
        err = np.array([float(row[column[f"{name}err"]]) for row in rows])
        assert np.array_equal(mag == -99.0, ~measured.seen)
        assert np.array_equal(mag[measured.seen], measured.mag[measured.seen])
        valid = measured.seen & (err > 0)
        assert np.array_equal(err[valid], measured.err[valid])
        negative_errors = int(np.sum(measured.seen & (err < 0)))
        assert valid.sum() + negative_errors == measured.seen.sum()
        assert valid.sum() >= 0.97 * measured.seen.sum()
        chi2 = np.array([float(row[column[f"{name}mag"] + 5]) for row in rows])
        assert np.array_equal(chi2 == 999.0, ~measured.seen)
    assert rows[0][first_column] == str(observation.field)


def test_macho_archive_csv(simulated):
    folder = simulated["macho", "csv"]
    for row, observation in zip(read_truth(folder), observed_again("macho", "csv"), strict=True):
        with (folder / f"LC_{row['id']}.csv").open(newline="") as file:
            header, *rows = csv.reader(file)
        assert len(header) == 37 and {len(line) for line in rows} == {37}
        check_wide_macho(rows, observation, {name: number for number, name in enumerate(header)}, 0)


def test_macho_bulk_dump(simulated):
    folder = simulated["macho", "bulk"]
    stars = {}
    for path in sorted(folder.glob("F_*/F_*.gz")):
        field, tile = re.fullmatch(r"F_(\d+)\.(\d+)\.gz", path.name).groups()
        with gzip.open(path, "rt") as file:
            for line in file:
                words = line.rstrip("\n").split(";")
                assert len(words) == 39 and words[:3] == ["", field, tile]
                stars.setdefault(".".join(words[1:4]), []).append(words)
    truth = read_truth(folder)
    assert set(stars) == {row["id"] for row in truth}
    # Counted from 1: date 5, red magnitude and error 10-11, blue 25-26.
    column = {"dateobs": 4, "rmag": 9, "rerr": 10, "bmag": 24, "berr": 25}
    for row, observation in zip(truth, observed_again("macho", "bulk"), strict=True):
        check_wide_macho(stars[row["id"]], observation, column, 1)


def check_hits_dat(text, observation):
    header, *lines = text.splitlines()
    names = header.lstrip("# ").split("\t")
    assert header.startswith("#") and names[:4] == ["EPOCH", "MJD", "MAG_KRON", "MAGERR_KRON"]
    assert names[-2:] == ["MAG_AP5", "MAGERR_AP5"] and len(names) == 14
    values = np.array([[float(word) for word in line.split("\t")] for line in lines])
    measured = observation.measured["g"]
    assert values[:, 1] == pytest.approx(observation.visits.mjd[measured.seen], abs=1e-6)
    assert values[:, 2] == pytest.approx(measured.mag[measured.seen], abs=1e-9)
    assert values[:, 3] == pytest.approx(measured.err[measured.seen], abs=1e-9)
    assert len(values) >= 15


def test_hits_dat_files(simulated):
    folder = simulated["hits", "dat"]
    for row, observation in zip(read_truth(folder), observed_again("hits", "dat"), strict=True):
        field, ccd = re.fullmatch(r"(Blind15A_\d\d+)_([NS]\d+)_\d{4}_\d{4}", row["id"]).groups()
        check_hits_dat((folder / "lightcurves" / field / ccd / f"{row['id']}_g.dat").read_text(), observation)


def test_hits_packs(simulated):
    folder = simulated["hits", "pack"]
    members = {}
    for path in folder.rglob("*_LC_occ15.tar.gz"):
        with tarfile.open(path) as pack:
            members |= {member.name: pack.extractfile(member).read().decode() for member in pack}
    truth = read_truth(folder)
    assert set(members) == {f"{row['id']}_g.dat" for row in truth}
    for row, observation in zip(truth, observed_again("hits", "pack"), strict=True):
        check_hits_dat(members[f"{row['id']}_g.dat"], observation)


def test_hits_psf_files(simulated):
    folder = simulated["hits", "psf"]
    for row, observation in zip(read_truth(folder), observed_again("hits", "psf"), strict=True):
        field = re.match(r"Blind15A_\d+", row["id"]).group()
        lines = (folder / "lightcurves" / "galaxy" / field / f"{row['id']}_g_psf_ff.csv").read_text().splitlines()
        assert all(line.startswith("#") for line in lines[:5])
        rows = list(csv.DictReader(lines[5:]))
        measured = observation.measured["g"]
        assert len(rows) == measured.seen.sum()
        for name in ("mjd", "aperture_mag_0", "aperture_mag_err_0", "aperture_mag_4"):
            assert np.all(np.isfinite([float(line[name]) for line in rows]))
        widest = np.array([float(line["aperture_mag_4"]) for line in rows])
        assert np.median(widest - measured.mag[measured.seen]) == pytest.approx(0.01, abs=0.05)


needs_real_data = pytest.mark.skipif(
    "LCDVT_REAL_DATA" not in os.environ, reason="LCDVT_REAL_DATA does not point at the folder of real survey files"
)


@needs_real_data
def test_eros_files_look_like_real_ones(simulated):
    real = sorted(Path(os.environ["LCDVT_REAL_DATA"], "raw/eros2").rglob("*.time"))[0].read_text().splitlines()
    ours = next(simulated["eros", "time"].rglob("*.time")).read_text().splitlines()
    shape = [re.sub(r"\d", "0", lines[4]) for lines in (real, ours)]
    assert shape[0] == shape[1]
    assert [real[number] for number in (0, 2, 3)] == [ours[number] for number in (0, 2, 3)]


@needs_real_data
def test_macho_files_look_like_real_ones(simulated):
    raw = Path(os.environ["LCDVT_REAL_DATA"], "raw")
    real_header = sorted((raw / "macho_tap").glob("LC_*.csv"))[0].read_text().splitlines()[0]
    assert next(simulated["macho", "csv"].glob("LC_*.csv")).read_text().splitlines()[0] == real_header
    real = sorted((raw / "macho_mjd").glob("*.mjd"))[0].read_text().splitlines()
    ours = next(simulated["macho", "mjd"].rglob("*.mjd")).read_text().splitlines()
    assert (real[0], real[2]) == (ours[0], ours[2])
    assert len(real[1].split()) == len(ours[1].split())


@needs_real_data
def test_macho_errors_are_those_of_real_stars_of_the_same_magnitude():
    """Median error at the real star's median magnitude, within a factor of two."""
    files = sorted(Path(os.environ["LCDVT_REAL_DATA"], "raw/macho_mjd").glob("lc_[0-9]*.mjd"))
    rng = np.random.default_rng(0)
    ratios = []
    for path in files:
        table = np.loadtxt(path)
        band = next(band for band in SURVEYS["macho"].bands if f".{band.name}." in path.name)
        magnitude = np.full(500, np.median(table[:, 1]))
        ratios.append(np.median(band.measure(rng, magnitude, np.ones(500), 1.0).err) / np.median(table[:, 2]))
    assert 0.5 < np.median(ratios) < 2.0
    assert np.mean([0.4 < ratio < 2.5 for ratio in ratios]) > 0.8
