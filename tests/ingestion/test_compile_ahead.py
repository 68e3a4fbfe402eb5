"""What has to be compiled is compiled once, and somebody is told."""

import re

import pytest

from lcdvt.compiled.cache import kernels_folder
from lcdvt.features.config import FeatureConfig
from lcdvt.ingestion import compile_ahead as ahead
from lcdvt.ingestion.compile_ahead import compile_ahead
from lcdvt.parallel.executors import Workers


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LCDVT_CACHE", str(tmp_path))
    kernels_folder.cache_clear()
    yield
    kernels_folder.cache_clear()


def test_it_is_said_and_done_once():
    notes = []
    config = FeatureConfig(("B", "R"), ("Mean", "Amplitude"))
    compile_ahead(config, progress=lambda done, total, note="": notes.append(note))
    assert re.fullmatch(r"compiling (\d+) functions, once: 0 of \1", notes[0])
    assert re.fullmatch(r"compiling (\d+) functions, once: done", notes[-1])
    said = len(notes)
    compile_ahead(config, progress=lambda done, total, note="": notes.append(note))
    assert len(notes) == said


def test_only_what_is_asked_for_is_computed(monkeypatch):
    asked = []
    monkeypatch.setattr(ahead, "_compile", lambda task: asked.append(task[0].names) or frozenset())
    compile_ahead(FeatureConfig(("g",), ("Mean", "Amplitude", "Period"), period_range=(1.0, 9.0)), Workers(1))
    assert asked == [("Mean",), ("Amplitude",), ("Period",)]


def test_another_engine_and_a_cluster_compile_nothing_here(monkeypatch):
    monkeypatch.setattr(ahead, "_compile", lambda task: pytest.fail("nothing to compile"))
    compile_ahead(FeatureConfig(("g",), ("Mean",), "feets"))
    compile_ahead(FeatureConfig(("g",), ("Mean",)), Workers(1, "local"))


@pytest.mark.slow
def test_all_functions_are_compiled_and_each_counts_once():
    from lcdvt.compiled.kernel import KERNELS

    said = []
    ahead.compile_everything(Workers(1), lambda done, total, note="": said.append((done, total)))
    counts, totals = zip(*said, strict=True)
    assert list(counts) == sorted(counts) and counts[0] == 0
    assert set(totals) == {counts[-1]} == {ahead.number_of_all_functions()}
    features = [each for each in KERNELS if each.py_func.__module__.startswith("lcdvt.features")]
    assert [each.py_func.__name__ for each in features if not each.signatures] == []
