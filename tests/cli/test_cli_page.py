"""docs/cli.md is what --help says, wherever it is made; help needs nothing heavy; results can be had as JSON."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from lcdvt.cli.main import app

DOCS = Path(__file__).parents[2] / "docs"
# What answers with numbers or findings that a script may want.
VERBS_WITH_RESULT = [
    "train", "transfer", "ensemble", "predict", "suggest", "doubt", "tune", "verify", "doctor", "runs",
    "runs show", "runs compare", "experiment moons", "experiment digits", "experiment stars",
]  # fmt: skip


@pytest.mark.parametrize("columns", ["37", "200"])
def test_the_page_is_current_whatever_the_terminal_and_help_imports_nothing_heavy(columns):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import make_cli; sys.stdout.write(make_cli.page())\n"
        "heavy = ('torch', 'numba', 'pandas', 'pyarrow', 'sklearn', 'astropy', 'matplotlib', 'scipy')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    variables = os.environ | {"COLUMNS": columns, "PYTHONIOENCODING": "utf-8", "FORCE_COLOR": "1"}
    command = [sys.executable, "-c", code, str(DOCS)]
    answer = subprocess.run(command, env=variables, capture_output=True, encoding="utf-8", check=True)
    assert answer.stdout == (DOCS / "cli.md").read_text(encoding="utf-8"), "run `python docs/make_cli.py`"
    assert answer.stderr.strip() == "[]"


@pytest.mark.parametrize("words", VERBS_WITH_RESULT)
def test_every_verb_with_a_result_writes_json_to_a_file(words):
    command = typer.main.get_command(app)
    for word in words.split():
        command = command.commands[word]
    (option,) = [each for each in command.params if "--json" in each.opts]
    assert not option.is_flag


def test_every_verb_and_option_is_explained():
    def walk(command, path):
        assert command.help, path
        for option in command.params:
            assert getattr(option, "help", None), (path, option.name)
        for name, verb in getattr(command, "commands", {}).items():
            walk(verb, (*path, name))

    walk(typer.main.get_command(app), ("lcdvt",))
