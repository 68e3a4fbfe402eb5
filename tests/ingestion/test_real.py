"""Real files of EROS-2, MACHO and the labelled surveys, counted independently of our readers."""

import csv
import math
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean

import numpy as np
import pyarrow.compute as pc
import pytest

import lcdvt
from lcdvt.epochs.block import check_epochs

EROS_SENTINELS = {99.999, 9.999}


def fats_kept(epochs: list[tuple[float, float]]) -> int:
    """Count, in plain Python, the epochs (magnitude, error) that FATS' preprocessing keeps."""
    if not epochs:
        return 0
    mags, errs = zip(*epochs, strict=True)
    mean, mean_err = fmean(mags), fmean(errs)
    std = math.sqrt(fmean([(mag - mean) ** 2 for mag in mags]))
    return sum(err < 3 * mean_err and (std == 0 or abs(mag - mean) / std < 5) for mag, err in epochs)


def eros_counts(folder: Path, clean: bool) -> dict[tuple[str, str], int]:
    counts = {}
    for path in folder.rglob("*.time"):
        bands = defaultdict(set)
        for line in path.read_text().splitlines():
            if line.startswith("#") or not line.strip():
                continue
            date, r, re, b, be = map(float, line.split())
            for band, mag, err in (("R", r, re), ("B", b, be)):
                if mag not in EROS_SENTINELS and err not in EROS_SENTINELS and err > 0:
                    bands[band].add((date, mag, err))
        for band, epochs in bands.items():
            values = [(mag, err) for _, mag, err in epochs]
            counts[path.stem, band] = fats_kept(values) if clean else len(values)
    return counts


def stored_counts(name: str) -> dict[tuple[str, str], int]:
    table = lcdvt.open_survey(name).epochs.to_table(columns=["object_id", "band"])
    return dict(Counter(zip(table["object_id"].to_pylist(), table["band"].to_pylist(), strict=True)))


@pytest.mark.parametrize("clean", [None, "none"])
def test_eros2_epochs_are_those_of_the_raw_lines(real_data, workspace, clean):
    result = lcdvt.ingest(real_data / "raw" / "eros2", clean=clean, jobs=1, features="none")
    assert result.totals["objects"] == 138
    assert not result.problems
    assert stored_counts("eros") == eros_counts(real_data / "raw" / "eros2", clean=clean is None)
    survey = lcdvt.open_survey("eros")
    epochs = survey.epochs.to_table()
    assert set(epochs["band"].unique().to_pylist()) == {"B", "R"}
    assert pc.max(epochs["mag"]).as_py() < 90
    assert not set(epochs["mag_err"].to_pylist()) & EROS_SENTINELS
    with (real_data / "raw" / "eros2" / "catalogue.csv").open() as lines:
        positions = {row["EROSID"]: float(row["RA"]) for row in csv.DictReader(lines)}
    objects = survey.objects()
    found = dict(zip(objects["object_id"], objects["ra"], strict=True))
    assert {star: ra for star, ra in found.items() if ra == ra} == {
        star: positions[star] for star in found if star in positions
    }


def macho_mjd_counts(folder: Path) -> dict[tuple[str, str], int]:
    counts = {}
    for path in folder.glob("lc_*.mjd"):
        rows = {tuple(map(float, line.split())) for line in path.read_text().splitlines() if not line.startswith("#")}
        _, star, band, _ = path.name.replace("lc_", "lc ").replace(".B.", " B ").replace(".R.", " R ").split()
        counts[star, band] = sum(err > 0 for _, _, err in rows)
    return counts


def test_macho_mjd_pairs_are_one_object_each(real_data, workspace):
    result = lcdvt.ingest(real_data / "raw" / "macho_mjd", clean="none", jobs=1, features="none")
    assert result.totals["objects"] == 10
    counts = stored_counts("macho")
    assert counts == macho_mjd_counts(real_data / "raw" / "macho_mjd")
    stars = {star for star, _ in counts}
    assert [star for star in stars if (star, "B") not in counts] == ["1.4418.1930"]


def test_macho_archive_csv_and_its_class_numbers(real_data, workspace):
    folder = real_data / "raw" / "macho_tap"
    result = lcdvt.ingest(folder, clean="none", jobs=1, features="none")
    assert result.totals["objects"] == 15
    expected: Counter[tuple[str, str]] = Counter()
    for path in folder.glob("LC_*.csv"):
        with path.open() as lines:
            for row in csv.DictReader(lines):
                star = f"{row['fieldid']}.{row['tileid']}.{row['seqn']}"
                for band in "RB":
                    mag, err = float(row[f"{band.lower()}mag"]), float(row[f"{band.lower()}err"])
                    expected[star, band] += mag != -99.0 and err > 0
    assert stored_counts("macho") == {key: count for key, count in expected.items() if count}
    objects = lcdvt.open_survey("macho").objects().set_index("object_id")
    assert objects["label"].value_counts().to_dict() == {"RRLYR": 8, "CEP": 3, "EB": 2, "LPV": 2}
    assert objects.loc["1.3443.26", ["label", "survey_label"]].tolist() == ["CEP", "4"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["eros1", "catalina", "asas"])
def test_labelled_surveys_ingest_through_their_toml(real_data, workspace, name):
    folder = real_data / "surveys" / name
    result = lcdvt.ingest(folder, survey=f"{name}-csv", name=name, jobs=1, features="none")
    with (folder / "labels.csv").open() as lines:
        labels = {row["id"]: row["label"] for row in csv.DictReader(lines)}
    objects = lcdvt.open_survey(name).objects()
    assert dict(zip(objects["object_id"], objects["label"], strict=True)) == labels
    assert result.totals["objects"] == len(labels)
    assert objects["object_id"].map(type).eq(str).all()


@pytest.mark.slow
def test_every_part_is_a_valid_epochs_table_and_objects_never_span_parts(real_data, workspace):
    lcdvt.ingest(real_data / "raw" / "eros2", jobs=2, features="none")
    survey = lcdvt.open_survey("eros")
    seen: set[str] = set()
    import pyarrow.parquet as pq

    for part in sorted(survey.folder.epochs.glob("*.parquet")):
        table = pq.read_table(part)
        check_epochs(table, part.name)
        ids = set(table["object_id"].to_pylist())
        assert not ids & seen
        seen |= ids
    assert len(seen) == 138


def test_real_macho_class_folders_become_labels(real_data, tmp_path, workspace):
    from helpers.raw_files import macho_text

    paths = (real_data / "raw" / "macho_layout_sample.txt").read_text().split()
    expected = {}
    for path in paths:
        star, band = path.rsplit("lc_", 1)[1].removesuffix(".mjd").rsplit(".", 1)
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(macho_text(star, band, [(48823.0 + day, -5.0 - day / 100, 0.1) for day in range(12)]))
        folder = path.split("/")[1]
        expected[star] = "EB" if folder == "periodic" else folder
    result = lcdvt.ingest(tmp_path / "macho_training_lightcurves", jobs=1, features="none")
    objects = lcdvt.open_survey("macho").objects()
    assert dict(zip(objects["object_id"], objects["label"], strict=True)) == expected
    assert set(result.labels["unmapped"]) == {"BE", "ML", "NV"}
    assert np.all(
        objects["n_epochs_B"] + objects["n_epochs_R"]
        == 12 * objects["object_id"].map(Counter(p.rsplit("lc_", 1)[1].rsplit(".", 2)[0] for p in paths))
    )
