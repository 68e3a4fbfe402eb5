"""What importing lcdvt does to the process that does it: nothing; and what type checkers see of it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lcdvt

ROOT = Path(__file__).parents[1]
STATE = """
import json, os, signal, sys, warnings

def state():
    mask = os.umask(0)
    os.umask(mask)
    streams = [(stream.errors, stream.encoding, id(stream)) for stream in (sys.stdout, sys.stderr)]
    # torch sets up its compiler, sympy and astropy their warnings when they are first used: that is theirs
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TORCH")}
    filters = [str(each) for each in warnings.filters if "sympy" not in str(each) and "astropy" not in str(each)]
    return environment, filters, mask, streams, str(signal.getsignal(signal.SIGINT))
"""
NOTEBOOK_LINES = """
import lcdvt

run = lcdvt.open_run("eros-macho")
reveal_type(run.table())
reveal_type(run.confusion())
reveal_type(run.plot_latent())
reveal_type(run.plot_reliability())
reveal_type(run.predictions())
reveal_type(run.predict("macho/"))
reveal_type(run.suggest(20))
reveal_type(run.doubt(20))
reveal_type(run.report("report.html"))
reveal_type(run.config())
reveal_type(lcdvt.transfer("eros", "macho", "1%", members=2, preset=run.config()))
reveal_type(lcdvt.ensemble("eros", "macho", "1%", seed=3, jobs=1))
reveal_type(lcdvt.train("macho"))
reveal_type(lcdvt.tune("eros").best)
reveal_type(lcdvt.ingest("macho/").new_objects)
survey = lcdvt.open_survey("macho")
reveal_type(survey.objects())
reveal_type(survey.features())
star = survey.light_curve("1.3441.15")
reveal_type(star)
reveal_type(star.epochs)
reveal_type(star.plot())
reveal_type(star.fold().plot())
reveal_type(star.fold().phase)
reveal_type(star.to_timeseries())
reveal_type(lcdvt.surveys())
reveal_type(lcdvt.features())
reveal_type(lcdvt.runs())
reveal_type(lcdvt.compare("a", "b"))
reveal_type(lcdvt.doctor())
reveal_type(lcdvt.verify())
reveal_type(lcdvt.extract("macho"))
reveal_type(lcdvt.extract(star.epochs))
reveal_type(lcdvt.predict("eros-macho", "macho").stars())
reveal_type(lcdvt.suggest("eros-macho").stars)
reveal_type(lcdvt.doubt("macho", source="eros").stars)
reveal_type(lcdvt.report("eros-macho").path)
reveal_type(lcdvt.export("macho", "macho-hats").folder)
reveal_type(lcdvt.simulate("hits", "raw", objects=3))
reveal_type(lcdvt.new_survey("mine", "star.csv").survey)
reveal_type(lcdvt.find_survey("macho"))
reveal_type(lcdvt.experiment("moons").target_f1)
"""


# Only the lines are judged, `make lint` does the package. astropy has types in its source, but no mark that says so. No
# verb returns anything of the libraries that are skipped (it would be an `Any`), and they take most of the time.
MYPY_SETTINGS = """
[mypy]
strict = True
[mypy-lcdvt.*]
ignore_errors = True
[mypy-astropy.*]
follow_untyped_imports = True
ignore_errors = True
[mypy-dask.*,distributed.*,llvmlite.*,numba.*,safetensors.*,scipy.*,starlette.*,torch.*,uvicorn.*]
follow_imports = skip
"""


@pytest.mark.parametrize(
    "what", ["import lcdvt", "import lcdvt.cli.main", "import lcdvt; lcdvt.transfer; lcdvt.ingest"]
)
def test_an_import_leaves_the_process_as_it_was(what: str) -> None:
    # the libraries are imported before, because what they do is theirs
    libraries = (
        "import numpy, pandas, pyarrow, scipy.special, sklearn.ensemble, torch, numba, rich, typer, astropy.time"
    )
    script = f"{STATE}\n{libraries}\nbefore = state()\n{what}\nafter = state()\n"
    script += "print(json.dumps([[a, b] for a, b in zip(before, after) if a != b]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_training_leaves_the_process_as_it_was(two_surveys: Path, tmp_path: Path) -> None:
    call = (
        f"lcdvt.train('new', data={str(two_surveys)!r}, name='as-it-was', members=1, repeats=2, steps=5, jobs=1, "
        "rows=['svm-target'], force=True)"
    )
    script = f"{STATE}\nimport lcdvt, lcdvt.protocol.train, lcdvt.baselines.rows, lcdvt.protocol.draw\n"
    script += f"before = state()\n{call}\nafter = state()\n"
    script += "print(json.dumps([[a, b] for a, b in zip(before, after) if a != b]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_every_public_name_is_there_and_listed() -> None:
    for name in lcdvt.__all__:
        assert getattr(lcdvt, name) is not None
    assert set(dir(lcdvt)) == set(lcdvt.__all__)


def test_every_verb_of_the_command_line_is_a_function_of_the_same_name() -> None:
    from typer.main import get_command

    from lcdvt.cli.main import app

    verbs = set(get_command(app).commands)  # type: ignore[attr-defined]
    assert verbs - set(lcdvt.__all__) == set()
    assert all(callable(getattr(lcdvt, verb)) for verb in verbs)


def test_features_is_a_room_and_a_verb() -> None:
    table = lcdvt.features()
    assert {"Eta_e", "Period"} <= set(table.index)
    assert lcdvt.features("Eta_e")["meaning"].tolist() == [table.loc["Eta_e", "meaning"]]
    from lcdvt.features import extract

    assert callable(extract)


@pytest.mark.slow
def test_lines_of_a_notebook_are_typed(tmp_path: Path) -> None:
    """mypy sees the files as the wheel lays them (test_packaging): the editable finder is none of its business."""
    installed = tmp_path / "installed"
    for folder, package in (("lcdvt", "lcdvt"), ("cli", "lcdvt/cli"), ("catalogs", "lcdvt/catalogs")):
        shutil.copytree(ROOT / folder, installed / package, ignore=shutil.ignore_patterns("__pycache__"))
    lines, settings = tmp_path / "lines.py", tmp_path / "mypy.ini"
    lines.write_text(NOTEBOOK_LINES, encoding="utf-8")
    settings.write_text(MYPY_SETTINGS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(settings), str(lines)],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    revealed = [line.partition("Revealed type is ")[2] for line in done.stdout.splitlines() if "Revealed type" in line]
    assert "error:" not in done.stdout, done.stdout
    assert len(revealed) == NOTEBOOK_LINES.count("reveal_type("), done.stdout
    # an array may have any shape; everything else is known
    assert [found for found in revealed if "Any" in found.replace("ndarray[tuple[Any, ...]", "")] == [], done.stdout
