"""`lcdvt doctor`, `--version` and the shell's completion."""

import json
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lcdvt import __version__
from lcdvt.checks import doctor as diagnosis
from lcdvt.checks.doctor import doctor
from lcdvt.compiled.cache import kernels_folder
from lcdvt.workspace.journal import locked


@pytest.fixture
def data(two_surveys, tmp_path) -> Path:
    return shutil.copytree(two_surveys, tmp_path / "data")


def test_a_sound_installation_is_well(data, lcdvt_here, tmp_path):
    answer = lcdvt_here("doctor", "--data", data, "--json", tmp_path / "doctor.json")
    assert answer.returncode == 0, answer.stderr
    found = json.loads((tmp_path / "doctor.json").read_text())
    assert found["versions"]["lcdvt"] == __version__
    assert {"torch", "numba", "scikit-learn"} <= set(found["versions"]) and "pytest" not in found["versions"]
    assert found["workspace"]["surveys"]["old"] == {
        "objects": 160, "labelled": 160, "features": True, "simulated": True,
    }  # fmt: skip
    assert found["workspace"]["chosen_by"] == "data"
    assert found["computing"]["device"] in ("cpu", "cuda", "mps") and found["computing"]["torch_threads"] >= 1
    assert set(found["optional"]) == {"dask", "lsdb", "nested-pandas", "feets", "notebooks", "chromium", "pdflatex"}
    assert found["problems"] == []
    for text in ("torch: ", "survey old: 160 objects", "compiled functions", "all is well"):
        assert text in answer.stdout


def test_a_workspace_that_is_not_there_yet_is_no_problem(tmp_path, monkeypatch):
    monkeypatch.setenv("LCDVT_DATA", str(tmp_path / "later" / "data"))
    found = doctor()
    assert (found.workspace["exists"], found.workspace["writable"], found.problems) == (False, True, ())
    assert found.workspace["chosen_by"] == "LCDVT_DATA"
    assert not (tmp_path / "later").exists(), "nothing is changed"


def test_a_damaged_survey_is_named_and_the_others_are_shown(data, lcdvt_here):
    (data / "old" / "objects.parquet").write_bytes(b"PAR1")
    answer = lcdvt_here("doctor", "--data", data)
    assert answer.returncode == 1
    assert "survey old does not open" in answer.stderr and "`lcdvt verify old`" in answer.stderr
    assert "survey new: 160 objects" in answer.stdout


def ends_early(journal: Path, kept: int | None) -> None:
    """Make of a journal what an ingest leaves that was stopped: its first lines, or all but the word that it ended."""
    lines = [line for line in journal.read_text().splitlines(keepends=True) if '"completed"' not in line]
    journal.write_text("".join(lines[:kept]))


@pytest.mark.parametrize("kept", [1, None])
def test_an_interrupted_ingest_is_a_problem_until_it_is_finished(data, lcdvt_here, tmp_path, kept):
    ends_early(data / "old" / ".ingest" / "journal.jsonl", kept)
    (data / "old" / "objects.parquet").unlink()
    answer = lcdvt_here("doctor", "--data", data, "--json", tmp_path / "doctor.json")
    assert answer.returncode == 1
    assert "interrupted old: its ingest is not finished" in answer.stdout and "all is well" not in answer.stdout
    assert "run the same `lcdvt ingest` again to finish it" in answer.stderr
    assert json.loads((tmp_path / "doctor.json").read_text())["workspace"]["interrupted_surveys"] == ["old"]
    with locked(data / "old" / ".ingest"):
        assert doctor(data).problems == (), "it is being written just now"


def test_an_interrupted_update_of_joined_light_curves_is_a_problem(data):
    pieces = data / "old" / ".ingest" / "pieces" / ".ingest"
    pieces.mkdir(parents=True)
    shutil.copy(data / "old" / ".ingest" / "journal.jsonl", pieces)
    assert doctor(data).problems == ()
    ends_early(pieces / "journal.jsonl", None)
    (said,) = doctor(data).problems
    assert "the ingest of old was interrupted" in said


def test_an_interrupted_run_is_shown(data, lcdvt_here):
    (data / "runs" / ".mine.unfinished" / "draws").mkdir(parents=True)
    assert "unfinished mine: 0 draws done" in lcdvt_here("doctor", "--data", data).stdout


def test_what_is_missing_comes_with_its_remedy(tmp_path, monkeypatch, lcdvt_here):
    monkeypatch.setattr(diagnosis, "_version", lambda package: None)
    monkeypatch.setattr(shutil, "which", lambda program: None)
    answer = lcdvt_here("doctor", "--data", tmp_path)
    assert answer.returncode == 1
    assert "numpy, pandas" in answer.stderr and "missing: pip install" in answer.stderr
    for text in ("pip install 'lcdvt[dask]'", "apt-get install chromium", "extract with engine feets"):
        assert text in answer.stdout


def test_places_that_cannot_be_written_are_problems(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    (tmp_path / "file").touch()
    monkeypatch.setenv("LCDVT_CACHE", str(tmp_path / "file" / "below"))
    kernels_folder.cache_clear()
    said = " ".join(doctor(tmp_path).problems)
    kernels_folder.cache_clear()
    assert "cannot be written: give data=FOLDER" in said and "set LCDVT_CACHE to a folder" in said


def test_packages_that_are_compiled_at_each_start_are_a_problem(tmp_path, monkeypatch):
    (tmp_path / "large.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(diagnosis, "LARGEST_PACKAGE", "large")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (said,) = doctor(tmp_path).problems
    assert "Python compiles large again at each start" in said and "compileall" in said
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert doctor(tmp_path).problems == ()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    py_compile.compile(str(tmp_path / "large.py"))
    assert doctor(tmp_path).problems == ()


def test_kernels_are_counted_where_they_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("LCDVT_CACHE", str(tmp_path))
    kernels_folder.cache_clear()
    (kernels_folder() / "deep").mkdir(parents=True)
    (kernels_folder() / "deep" / "kernel.nbi").touch()
    found = doctor(tmp_path).kernels
    assert found == {"folder": str(kernels_folder()), "compiled": 1, "writable": True}
    assert kernels_folder().parent == tmp_path
    kernels_folder.cache_clear()


def test_the_version_is_printed(lcdvt_here):
    answer = lcdvt_here("--version")
    assert (answer.returncode, answer.stdout.strip()) == (0, f"lcdvt {__version__}")


PROGRAM = str(Path(sys.executable).parent / "lcdvt")


def complete(words: str, folder: Path) -> list[str]:
    """Return what bash would offer for the last word."""
    variables = {"_LCDVT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    answer = subprocess.run(
        [PROGRAM], env=os.environ | variables, cwd=folder, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_completion_of_the_shell_that_asks_is_shown():
    # the second command keeps bash alive: the shell is told from the parents of the process
    answer = subprocess.run(
        ["bash", "-c", f"'{PROGRAM}' --show-completion; exit $?"], capture_output=True, text=True, check=True
    )
    assert "complete_bash" in answer.stdout
    subprocess.run(["bash", "-n"], input=answer.stdout, text=True, check=True)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script_too(shell):
    variables = os.environ | {"_LCDVT_COMPLETE": f"source_{shell}"}
    answer = subprocess.run([PROGRAM], env=variables, capture_output=True, text=True, check=True)
    assert f"complete_{shell}" in answer.stdout


def test_the_shell_completes_verbs_options_surveys_and_runs(data, tmp_path):
    assert {"transfer", "train"} <= set(complete("lcdvt tr", tmp_path))
    assert "--source-labels" in complete("lcdvt transfer --sou", tmp_path)
    assert complete(f"lcdvt transfer --data {data} --source o", tmp_path) == ["old"]
    (data / "runs" / "mine").mkdir(parents=True)
    (data / "runs" / "mine" / "config.toml").touch()
    assert complete(f"lcdvt runs show --data {data} m", tmp_path) == ["mine"]
