"""OGLE's verdicts on EROS-1's labels, and how benchmarks/doubt.py scores a ranking by them."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    """The script as a module."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    spec = importlib.util.spec_from_file_location("benchmark_doubt", BENCHMARKS / "doubt.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("ogle_truth", None)


def test_verdicts_follow_the_rule(benchmark, tmp_path):
    file = tmp_path / "labels.csv"
    rows = ["a,RRLYR,RRLyr", "b,CEP,aCep", "c,RRLYR,aCep", "d,EB,", "e,EB,Cep", "f,EB,DPV", "g,RRLYR,", "h,RRLYR,DSCT"]
    file.write_text("\n".join(["id,label,ogle3_type", *rows]))
    verdicts = benchmark.ogle_verdicts(file, np.array(list("abcdefgh"), dtype=object))
    expected = "confirmed confirmed contradicted assumed contradicted undecided undecided undecided"
    assert verdicts.tolist() == expected.split()
    from ogle_truth import is_confirmed

    assert is_confirmed(verdicts).tolist() == [True, True, False, True, False, False, False, False]


def test_a_ranking_is_scored_without_binaries_that_ogle_does_not_know(benchmark):
    verdicts = np.array(["contradicted", "assumed", "undecided", "contradicted", "confirmed"], dtype=object)
    ids, score = np.array(list("abcde"), dtype=object), np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    found = benchmark.score_ranking(ids, score, verdicts, most_doubtful=3)
    assert found["auroc"] == 1.0
    assert found["precision"] == pytest.approx(2 / 3)
    assert benchmark.score_ranking(ids, -score, verdicts, most_doubtful=3)["auroc"] == 0.0


def test_verdicts_of_the_real_survey_are_those_of_the_issue(benchmark, real_data):
    file = real_data / "surveys" / "eros1" / "labels.csv"
    ids = np.array([line.split(",")[0] for line in file.read_text().splitlines()[1:]], dtype=object)
    counts = dict(zip(*np.unique(benchmark.ogle_verdicts(file, ids).astype(str), return_counts=True), strict=True))
    assert counts == {"confirmed": 1840, "contradicted": 207, "assumed": 306, "undecided": 559}
