"""Compiled functions are kept in one place, which several processes and kinds of processors may share."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import lcdvt
from lcdvt.compiled.cache import is_complete, kernels_folder, mark_complete

EXTRACT = """
import numpy as np, pandas as pd
from numba.core import event
from lcdvt.compiled.kernel import KERNELS, compiled_names
from lcdvt.features import extract

with event.install_recorder("numba:compile") as recorder:
    time = np.sort(np.random.default_rng(0).uniform(0, 50, 80))
    epochs = pd.DataFrame({"object_id": "star", "band": np.repeat(["B", "R"], 40), "mjd": time, "mag_err": 0.1})
    found = extract(epochs.assign(mag=np.sin(time)), ["Mean", "CAR_tau", "Eta_color"])
# One form of each function: what differs only in layout or type would be compiled again, in silence.
assert len(compiled_names()) == 3 and all(len(each.signatures) <= 1 for each in KERNELS)
print(len(recorder.buffer), found.iloc[0, 1:].tolist())
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder for compiled functions of the test's own."""
    monkeypatch.setenv("LCDVT_CACHE", str(tmp_path / "cache"))
    kernels_folder.cache_clear()
    yield tmp_path / "cache"
    kernels_folder.cache_clear()


def test_processes_that_compile_at_once_into_one_folder_agree(cache):
    beside_source = set(Path(lcdvt.__file__).parent.rglob("*.nbi"))

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, "-c", EXTRACT], env=os.environ, stdout=subprocess.PIPE, text=True)

    answers = [process.communicate()[0].split(" ", 1) for process in (start(), start())]
    answers.append(start().communicate()[0].split(" ", 1))
    assert any(int(events) > 0 for events, _ in answers[:2])
    assert int(answers[2][0]) == 0, "the third process found everything"
    assert len({values for _, values in answers}) == 1
    assert set(Path(lcdvt.__file__).parent.rglob("*.nbi")) == beside_source, "an installation may be read-only"
    assert len(list(cache.iterdir())) == 1


def test_every_kind_of_processor_has_its_folder(cache, monkeypatch):
    here = kernels_folder()
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_name", lambda: "another")
    kernels_folder.cache_clear()
    assert here is not None and here.parent == cache
    assert kernels_folder() not in (None, here)


def test_where_nothing_can_be_kept_it_is_kept_for_a_while(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("LCDVT_CACHE", str(tmp_path / "file" / "below"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    kernels_folder.cache_clear()
    folder = kernels_folder()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    kernels_folder.cache_clear()
    assert folder is not None and folder.is_relative_to(tmp_path / "temporary")
    assert kernels_folder() is None and not is_complete("anything")
    mark_complete("anything")  # nowhere: no error
    kernels_folder.cache_clear()


@pytest.mark.parametrize("kind", ["anybody may write", "a link"])
def test_among_temporary_files_only_an_own_folder_is_trusted(tmp_path, monkeypatch, kind):
    (tmp_path / "file").touch()
    monkeypatch.setenv("LCDVT_CACHE", str(tmp_path / "file" / "below"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    planted = tmp_path / f"lcdvt-{os.getuid()}"
    if kind == "a link":
        (tmp_path / "elsewhere").mkdir()
        planted.symlink_to(tmp_path / "elsewhere")
    else:
        planted.mkdir()
        planted.chmod(0o777)
    kernels_folder.cache_clear()
    assert kernels_folder() is None
    if kind == "a link":
        planted.unlink()
        kernels_folder.cache_clear()
        assert kernels_folder() is not None and planted.stat().st_mode & 0o777 == 0o700
    kernels_folder.cache_clear()
