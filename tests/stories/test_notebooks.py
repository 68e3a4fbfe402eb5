"""The notebooks run from top to bottom, show pictures, and are kept without outputs."""

import os
import re
import sys
from pathlib import Path

import nbformat
import pytest
from helpers.built_site import executed_notebook

import lcdvt

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PICTURES = {"01": 4, "02": 1, "03": 1, "04": 4}
SECONDS_PER_CELL = 500


def ids(path: Path) -> str:
    return path.stem


def test_the_four_notebooks_are_there():
    assert [path.name[:2] for path in NOTEBOOKS] == list(PICTURES)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_outputs_are_stripped(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
    assert "widgets" not in notebook.metadata


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_only_public_names_are_used(path):
    code = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code")
    assert "import lcdvt\n" in code
    assert not re.search(r"^\s*(from lcdvt|import lcdvt\.|import lcdvt as|!)", code, re.MULTILINE)
    assert set(re.findall(r"\blcdvt\.(\w+)", code)) <= set(lcdvt.__all__)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_the_text_says_that_all_is_simulated_and_its_links_lead_somewhere(path):
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")
    assert "simulated" in text
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (path.parent / link).exists(), link


def executed(path: Path, folder: Path) -> nbformat.NotebookNode:
    """Return the notebook with its outputs: those of `make docs` if nothing was changed since, else it runs here."""
    built = executed_notebook(path.name)
    if built is not None:
        return nbformat.read(built, as_version=4)
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=SECONDS_PER_CELL, kernel_name="python3").execute(cwd=str(folder))
    return notebook


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_the_notebook_runs_and_shows_its_pictures(path, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("LCDVT_DATA", raising=False)
    notebook = executed(path, tmp_path)
    sources = [cell.source for cell in nbformat.read(path, as_version=4).cells]
    assert [cell.source for cell in notebook.cells] == sources
    assert all(cell.outputs for cell in notebook.cells if cell.cell_type == "code" and ".plot" in cell.source)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) >= PICTURES[path.name[:2]]
    warned = [output.text for output in outputs if output.get("name") == "stderr" and "Warning" in output.text]
    assert not warned, warned
