"""`predict` answers for every light curve it was given, and takes no more memory for many than for few."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import lcdvt
from lcdvt.results.predict import LEFT_OUT, NO_FEATURES

ROOT = Path(__file__).parents[2]
# A run that an earlier lcdvt made. It knows none of HiTS' features, which is what makes every other star one of those
# without features.
OLD_RUN = ROOT / "tests" / "data" / "run-0.1"
SHORT = {5: "fewer than 15 epochs", 0: "no valid epoch"}
# Beyond what fits into one batch nothing may grow but lists of names.
LARGEST_GROWTH = 1.15


@pytest.fixture(scope="module")
def curves(tmp_path_factory) -> Path:
    """Twelve simulated light curves, two of them cut short."""
    folder = tmp_path_factory.mktemp("curves") / "fresh"
    lcdvt.simulate("hits", folder, objects=12, seed=9)
    for epochs, path in zip(SHORT, sorted(folder.rglob("*.dat")), strict=False):
        lines = path.read_text().splitlines(keepends=True)
        head = [line for line in lines if line.startswith("#")]
        rows = lines[len(head) :][:epochs] or ["1\t57070.0" + "\tnan" * 12 + "\n"]
        path.write_text("".join([*head, *rows]))
    return folder


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".fits"])
def test_stars_that_cleaning_dropped_are_rows_with_a_reason(curves, tmp_path, suffix):
    answer = lcdvt.predict(OLD_RUN, curves, tmp_path / f"stars{suffix}", jobs=1)
    assert (answer.objects, answer.without_features, answer.simulated) == (12, 12, True)
    if suffix == ".fits":
        from astropy.table import Table

        table = Table.read(answer.path).to_pandas()
        table["reason"] = table["reason"].map(lambda text: text.decode() if isinstance(text, bytes) else text)
    else:
        table = pd.read_csv(answer.path) if suffix == ".csv" else pd.read_parquet(answer.path)
    assert table["object_id"].nunique() == len(table) == 12
    assert sorted(table["reason"])[:2] == sorted(f"{LEFT_OUT}: {reason}" for reason in SHORT.values())
    assert (table["reason"] == NO_FEATURES).sum() == 10


def test_an_ingested_survey_remembers_whom_cleaning_dropped(curves, tmp_path):
    lcdvt.ingest(curves, catalog="none", data=tmp_path / "data", jobs=1)
    answer = lcdvt.predict(OLD_RUN, "hits", tmp_path / "stars.csv", data=tmp_path / "data")
    assert answer.objects == 12
    reasons = pd.read_csv(answer.path)["reason"]
    assert reasons.str.startswith(LEFT_OUT).sum() == 2


def test_a_joined_survey_remembers_its_dropped_light_curves(curves, tmp_path):
    lcdvt.ingest(curves, catalog="none", data=tmp_path / "alone", jobs=1)
    kept = sorted(lcdvt.open_survey("hits", tmp_path / "alone").objects()["object_id"])
    everything = pd.read_csv(lcdvt.predict(OLD_RUN, "hits", tmp_path / "all.csv", data=tmp_path / "alone").path)
    dropped = sorted(set(everything["object_id"]) - set(kept))
    assert (len(kept), len(dropped)) == (10, 2)
    # One dropped light curve belongs to a star of which others are there; of the other nobody knows.
    table = tmp_path / "stars.csv"
    table.write_text(f"id,star\n{kept[0]},one\n{kept[1]},one\n{dropped[0]},one\n")
    lcdvt.ingest(curves, catalog="none", data=tmp_path / "data", join_ids=table, jobs=1)
    answer = lcdvt.predict(OLD_RUN, "hits", tmp_path / "stars_out.csv", data=tmp_path / "data")
    stars = pd.read_csv(answer.path).set_index("object_id")
    assert sorted(stars.index) == sorted(["one", *kept[2:], dropped[1]])
    assert stars.loc[dropped[1], "reason"].startswith(LEFT_OUT)
    assert answer.objects == 10


def test_files_that_cannot_be_read_are_named(curves, tmp_path, lcdvt_here):
    (tmp_path / "notes.txt").write_text("call the observatory\n")
    answer = lcdvt_here("predict", OLD_RUN, curves, "--out", tmp_path / "s.csv", "--jobs", "1")
    assert "12 objects of hits classified by run-0.1 (simulated)" in answer.stdout
    assert "skipped" not in answer.stderr
    broken = tmp_path / "curves"
    broken.mkdir()
    for path in sorted(curves.rglob("*.dat"))[3:6]:
        (broken / path.name).write_bytes(path.read_bytes())
    (broken / "broken_g.dat").write_bytes(b"\x00\x01\x02")
    answer = lcdvt_here("predict", OLD_RUN, broken, "--survey", "hits", "--out", tmp_path / "t.csv", "--jobs", "1")
    assert answer.returncode == 0, answer.stderr
    assert "skipped: " in answer.stderr
    assert "broken_g.dat" in answer.stderr
    assert len(pd.read_csv(tmp_path / "t.csv")) == 3


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_light_curves(tmp_path):
    command = [sys.executable, ROOT / "benchmarks" / "predict.py", "--objects", "500,4000", "--json", tmp_path / "p"]
    subprocess.run(command, check=True, capture_output=True)
    found = json.loads((tmp_path / "p").read_text())
    for measured in found["measured"]:
        assert measured["rows"] == measured["distinct_ids"] == measured["objects"]
        assert measured["with_class_or_reason"] == measured["rows"]
        assert measured["cut_short"] <= measured["without_class"] < measured["rows"] / 2
    assert found["growth"] < LARGEST_GROWTH
