"""Ingest, extract and predict on a real scheduler with real workers, some of which are killed: the same bytes."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.clusters import Cluster, kill_group, running_cluster, wait_until
from helpers.fault_runs import finish, start

import lcdvt
from lcdvt.errors import LcdvtError

pytestmark = pytest.mark.usefixtures("few_trees")

OLD_RUN = Path(__file__).parents[1] / "data" / "run-0.1"
STARS = 240


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw")
    lcdvt.simulate("hits", folder / "hits", objects=STARS, seed=3)
    return folder


@pytest.fixture(scope="module")
def whole(raw: Path) -> Path:
    """What one process makes of the survey, with relative paths."""
    finish("ingest", "hits", "--jobs", 1, "--data", "whole", cwd=raw)
    return raw / "whole" / "hits"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster") / "c", workers=2) as started:
        yield started


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}


def parts(folder: Path) -> int:
    return len(list(folder.glob("part-*.parquet")))


@pytest.mark.slow
def test_workers_killed_in_mid_run_cost_nothing_but_time(raw, whole, cluster):
    ingest = start("ingest", "hits", "--dask", cluster.address, "--data", "killed", cwd=raw)
    wait_until(lambda: parts(raw / "killed" / "hits" / "epochs") >= 2, "the first parts")
    cluster.kill_worker()
    assert ingest.poll() is None, "the worker was killed too late"
    output, _ = ingest.communicate(timeout=300)
    assert ingest.returncode == 0, output
    assert content(raw / "killed" / "hits") == content(whole)
    assert not list((raw / "killed").rglob("*.unfinished"))

    cluster.add_worker()
    shutil.copytree(raw / "killed", raw / "extracted")
    extract = start("extract", "hits", "--dask", cluster.address, "--data", "extracted", cwd=raw)
    wait_until(lambda: parts(raw / "extracted" / "hits" / "features.new") >= 2, "the first features")
    cluster.kill_worker()
    assert extract.poll() is None, "the worker was killed too late"
    output, _ = extract.communicate(timeout=300)
    assert extract.returncode == 0, output
    before, after = (lcdvt.open_survey("hits", raw / name).features() for name in ("whole", "extracted"))
    assert after.equals(before)
    assert lcdvt.verify("hits", data=raw / "extracted")[0].findings == []
    cluster.add_worker()


@pytest.mark.slow
def test_a_command_that_is_lost_leaves_a_survey_that_goes_on_without_the_cluster(raw, whole, cluster):
    ingest = start("ingest", "hits", "--dask", cluster.address, "--data", "lost", cwd=raw)
    wait_until(lambda: parts(raw / "lost" / "hits" / "epochs") >= 2, "the first parts")
    kill_group(ingest)
    done = parts(raw / "lost" / "hits" / "epochs")
    assert done < parts(whole / "epochs"), "the command was killed too late"
    finish("ingest", "hits", "--jobs", 1, "--data", "lost", cwd=raw)
    assert content(raw / "lost" / "hits") == content(whole)


@pytest.mark.slow
def test_prediction_on_the_cluster_says_the_same(raw, whole, cluster):
    for name, how in (("here", ()), ("there", ("--dask", cluster.address))):
        finish("predict", OLD_RUN, "hits", "--data", "whole", "--out", f"{name}.parquet", *how, cwd=raw)
    finish("predict", OLD_RUN, "hits", "--survey", "hits", "--out", "raw.parquet", "--dask", cluster.address, cwd=raw)
    assert (raw / "here.parquet").read_bytes() == (raw / "there.parquet").read_bytes()
    assert (raw / "here.parquet").read_bytes() == (raw / "raw.parquet").read_bytes()


@pytest.mark.slow
def test_label_draws_on_the_cluster_give_the_same_table(raw, cluster):
    for name, seed in (("old", 7), ("new", 8)):
        lcdvt.simulate("hits", raw / name, objects=60, seed=seed)
        finish("ingest", name, "--name", name, "--jobs", 1, "--data", "labelled", cwd=raw)
    command = ["ensemble", "--source", "old", "--target", "new", "--labels", "20%", "--members", 2, "--repeats", 2,
               "--steps", 30, "--preset", "tied", "--rows", "forest-target", "--data", "labelled"]  # fmt: skip
    finish(*command, "--jobs", 1, "--name", "here", cwd=raw)
    finish(*command, "--dask", cluster.address, "--name", "there", cwd=raw)
    here, there = (raw / "labelled" / "runs" / name for name in ("here", "there"))
    for name in ("weights.safetensors", "scaler.json", "predictions.parquet"):
        assert (here / name).read_bytes() == (there / name).read_bytes(), name
    tables = [json.loads((folder / "metrics.json").read_text())["table"] for folder in (here, there)]
    assert tables[0] == tables[1]


def test_a_scheduler_without_workers_is_said_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("lcdvt.parallel.dask_cluster.SECONDS_FOR_A_WORKER", 0.2)
    from lcdvt.parallel.executors import Workers, run_batches

    with running_cluster(tmp_path / "c", workers=0) as empty, pytest.raises(LcdvtError, match="has no workers: start"):
        list(run_batches(os.path.basename, ["a"], Workers(dask=empty.address)))


def leave_the_machine(number: int) -> int:
    os._exit(1)


@pytest.mark.slow
def test_a_batch_that_ends_every_worker_is_said_in_a_sentence():
    from lcdvt.parallel.executors import Workers, run_batches

    with pytest.raises(LcdvtError, match="a batch has ended 3 Dask workers"):
        list(run_batches(leave_the_machine, [1], Workers(1, "local")))
