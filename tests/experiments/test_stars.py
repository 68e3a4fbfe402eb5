"""The paper's pairs on what is ingested under their names; what is missing is said."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import lcdvt
from lcdvt.errors import LcdvtError
from lcdvt.experiments.stars import PAIRS, run_stars
from lcdvt.parallel.executors import IN_THIS_PROCESS
from lcdvt.protocol import carry_out
from lcdvt.protocol.plan import TransferOptions
from lcdvt.tables.published import PUBLISHED_MARK

pytestmark = pytest.mark.usefixtures("few_trees")

QUICK = TransferOptions(preset="tied", members=1, repeats=2, steps=5, rows=("forest-target",))
HERE = {"labels": "10%", "options": QUICK, "workers": IN_THIS_PROCESS}
OPTIONS = "--preset tied --labels 10% --members 1 --repeats 2 --steps 5 --rows forest-target --jobs 1".split()


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """Simulated EROS and HiTS; MACHO is missing."""
    folder = tmp_path_factory.mktemp("stars")
    for survey, objects in (("eros", 60), ("hits", 120)):
        lcdvt.simulate(survey, folder / survey, objects=objects, seed=3)
        lcdvt.ingest(folder / survey, data=folder / "data", features=["Mean", "Std", "Amplitude", "Skew"], jobs=1)
    return folder / "data"


def test_the_pairs_are_the_published_ones():
    assert PAIRS == (("eros", "macho"), ("macho", "eros"), ("eros", "hits"))


def test_pairs_with_both_surveys_run_and_the_others_are_named(data, lcdvt_here, tmp_path):
    answer = lcdvt_here("experiment", "stars", *OPTIONS, "--data", data, "--json", tmp_path / "stars.json")
    assert answer.returncode == 0, answer.stderr
    assert "eros → hits (simulated)" in answer.stdout
    assert PUBLISHED_MARK.split(" (")[0] in answer.stdout
    assert "left out: eros → macho (macho not ingested)" in answer.stdout
    assert "left out: macho → eros (macho not ingested)" in answer.stdout
    record = json.loads((tmp_path / "stars.json").read_text())
    assert [run["run"] for run in record["runs"]] == ["stars-eros-hits"]
    assert record["runs"][0]["published"][-1]["f1"]["EB"]["mean"] == 0.88
    assert set(record["left_out"]) == {"eros-macho", "macho-eros"}


def test_a_finished_pair_is_not_made_again_unless_forced(data, monkeypatch):
    first = run_stars(**HERE, data=data, name="twice")
    seeds = []
    honest = carry_out.run_draw
    monkeypatch.setattr(carry_out, "run_draw", lambda task, *_: seeds.append(task.seed) or honest(task))
    progress = []
    again = run_stars(**HERE, data=data, name="twice", progress=lambda *said: progress.append(said))
    assert seeds == []
    assert again.runs[0].table().scores == first.runs[0].table().scores
    run_stars(**HERE, data=data, name="twice", force=True, progress=lambda *said: progress.append(said))
    assert seeds == [0, 1]
    assert progress[-1] == (2, 2, "eros → hits")
    with pytest.raises(LcdvtError, match="exists: use force=True"):
        run_stars(**{**HERE, "options": replace(QUICK, seed=5)}, data=data, name="twice")


def test_without_any_pair_it_says_what_is_missing(lcdvt_here, tmp_path):
    answer = lcdvt_here("experiment", "stars", "--data", tmp_path / "empty")
    assert answer.returncode == 2
    assert "missing: eros, macho, hits" in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1
