"""SIGKILLs at random moments, workers included: the same command goes on, and ends with the values of an unhurt one.

Every step of every verb is tried in test_every_step.py, in one process; here are whole commands with their workers.
"""

import json
import shutil
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from helpers.fault_runs import Killer, finish, same_tables
from helpers.raw_files import write_eros, write_macho_bulk

import lcdvt
from lcdvt.errors import WorkspaceError

# Each of the commands is run a dozen times: on a busy machine that takes longer than a test usually may.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400), pytest.mark.usefixtures("few_trees")]

STARS = 48
ENSEMBLE = ["ensemble", "--source", "old", "--target", "new", "--labels", "20%", "--members", 2, "--repeats", 3,
            "--steps", 60, "--preset", "tied", "--rows", "forest-target", "--jobs", 1]  # fmt: skip


def rows(star: int, epochs: int) -> list[tuple[float, float, float, float, float]]:
    return [
        (300.0 + 1.7 * day, 15.0 + (star * 7 + day * 13) % 50 / 100, 0.02, 16.0 + (day * 3 + star) % 7 / 10, 0.03)
        for day in range(epochs)
    ]


@pytest.fixture(scope="module")
def surveys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small labelled surveys, ingested."""
    folder = tmp_path_factory.mktemp("surveys")
    for name, seed in (("old", 1), ("new", 2)):
        lcdvt.simulate("hits", folder / "raw" / name, objects=STARS, seed=seed)
        finish("ingest", folder / "raw" / name, "--name", name, "--data", folder / "data", "--jobs", 1)
    return folder / "data"


@pytest.fixture(scope="module")
def run(surveys: Path) -> Path:
    finish(*ENSEMBLE, "--data", surveys, "--name", "whole")
    return surveys / "runs" / "whole"


def nothing_but_interrupted(data: Path) -> None:
    """Whatever a kill left of a survey is whole, and more may be missing than is wrong."""
    allowed = ("its ingest was interrupted", "no ingest has recorded", "not in objects.parquet", "journal is missing")
    for folder in data.glob("*/.ingest"):
        for finding in lcdvt.verify(folder.parent)[0].findings:
            assert any(words in str(finding) for words in allowed), finding
        assert all(pq.read_table(part) for part in folder.parent.rglob("part-*.parquet"))


@pytest.mark.parametrize("kind", ["files", "stream"])
def test_ingest(tmp_path, kind):
    if kind == "files":
        for star in range(300):
            write_eros(tmp_path / "raw", f"lm0010k{star:04d}", rows(star, 60))
    else:
        write_macho_bulk(tmp_path / "raw", 1, 3319, {f"1.3319.{star}": rows(star, 700) for star in range(64)})
    data = tmp_path / "data"
    data.mkdir()
    killer = Killer(data, 1, lambda: nothing_but_interrupted(data))
    command = ["ingest", tmp_path / "raw", "--features", "Mean,Std,PeriodLS,CAR_sigma", "--jobs", 2]
    killer.run(2, *command, "--data", data)
    finish(*command, "--data", data)
    finish(*command, "--data", tmp_path / "whole")
    same_tables(data, tmp_path / "whole")
    (checked,) = lcdvt.verify(data=data)
    assert checked.is_sound, checked.findings
    assert not list(data.rglob("*.unfinished"))


def test_ingest_that_joins_and_grows(tmp_path):
    """Half of the stars are there and joined; with the other half all are joined again."""
    data, whole = tmp_path / "data", tmp_path / "whole"
    lcdvt.simulate("ztf", tmp_path / "raw", objects=60, seed=4)
    fields = sorted((tmp_path / "raw").glob("ztf_*"))
    lcdvt.ingest(fields[0], join_radius="1arcsec", features=["Mean", "PeriodLS"], data=data, jobs=1)
    before = len(lcdvt.open_survey("ztf", data).objects())

    def whole_or_absent() -> None:
        nothing_but_interrupted(data)
        try:
            stars = lcdvt.open_survey("ztf", data).objects()
        except WorkspaceError as error:
            assert "not ingested" in str(error)
            return
        assert len(stars) in (before, 60)
        assert set(lcdvt.open_survey("ztf", data).features()["object_id"]) == set(stars["object_id"])

    command = ["ingest", tmp_path / "raw", "--join-radius", "1arcsec", "--features", "Mean,PeriodLS", "--jobs", 2]
    Killer(data, 5, whole_or_absent).run(1, *command, "--data", data)
    finish(*command, "--data", data)
    finish(*command, "--data", whole)
    # The parts that were read differ, because the files came in two lots; the stars do not.
    epochs = [lcdvt.open_survey("ztf", each).epochs.to_table().to_pandas() for each in (data, whole)]
    order = ["object_id", "band", "mjd"]
    pd.testing.assert_frame_equal(*(each.sort_values(order).reset_index(drop=True) for each in epochs))
    (checked,) = lcdvt.verify(data=data)
    assert checked.is_sound, checked.findings
    assert not list(data.rglob("*.unfinished"))


def test_extract(surveys, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(surveys / "new", data / "new")
    lcdvt.extract("new", features=["Mean"], data=data, jobs=1)

    def all_or_nothing() -> None:
        try:
            features = lcdvt.open_survey("new", data).features()
        except WorkspaceError as error:
            assert "lcdvt extract new" in str(error)
            return
        assert len(features) == len(lcdvt.open_survey("new", data).objects())
        assert features.shape[1] in (2, lcdvt.open_survey("new", surveys).features().shape[1])

    Killer(data, 2, all_or_nothing).run(3, "extract", "new", "--data", data, "--jobs", 2)
    finish("extract", "new", "--data", data)
    assert lcdvt.open_survey("new", data).features().equals(lcdvt.open_survey("new", surveys).features())
    (checked,) = lcdvt.verify("new", data=data)
    assert checked.is_sound, checked.findings


def test_ensemble(surveys, run, tmp_path):
    data = tmp_path / "data"
    for name in ("old", "new"):
        shutil.copytree(surveys / name, data / name)

    def no_half_run() -> None:
        assert all(checked.is_sound for checked in lcdvt.verify(data=data))

    is_done = (data / "runs" / "whole").exists
    Killer(data, 3, no_half_run, is_done).run(2, *ENSEMBLE, "--data", data, "--name", "whole")
    finish(*ENSEMBLE, "--data", data, "--name", "whole", "--force")
    same_tables(data / "runs" / "whole", run)
    for name in ("weights.safetensors", "scaler.json"):
        assert (data / "runs" / "whole" / name).read_bytes() == (run / name).read_bytes()
    tables = [json.loads((folder / "metrics.json").read_text())["table"] for folder in (data / "runs" / "whole", run)]
    assert tables[0] == tables[1]


def test_predict(surveys, run, tmp_path):
    (tmp_path / "out").mkdir()
    command = ["predict", run, surveys.parent / "raw" / "new", "--survey", "hits", "--jobs", 1]
    finish(*command, "--out", tmp_path / "whole.parquet")

    def whole_or_absent() -> None:
        assert not (tmp_path / "out" / "stars.parquet").exists() or pq.read_table(tmp_path / "out" / "stars.parquet")

    # The light curves are read in a temporary folder; beside the output it can be watched.
    target = ["--out", tmp_path / "out" / "stars.parquet", "--force"]
    Killer(tmp_path / "out", 4, whole_or_absent, TMPDIR=str(tmp_path / "out")).run(3, *command, *target)
    finish(*command, *target)
    assert pq.read_table(tmp_path / "out" / "stars.parquet") == pq.read_table(tmp_path / "whole.parquet")
