"""Every command of the README and of the pages that begin with commands runs, in order, in a folder of its own."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.warm_commands import WarmCommand

ROOT = Path(__file__).parents[2]
MAKE_DEMO = ROOT / "docs" / "make_demo.py"
BEGIN, END = re.findall(r'^BEGIN, END = "(.*)", "(.*)"$', MAKE_DEMO.read_text(encoding="utf-8"), re.MULTILINE)[0]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
DEMO = (ROOT / "docs" / "demo.md").read_text(encoding="utf-8")
START = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
# Pages that begin with the same commands share what they made.
TYPED = "README and start"
STORIES = {TYPED: (README, START), "guide": (GUIDE,)}


VERBS = (
    *("simulate", "ingest", "surveys", "features", "extract", "transfer", "ensemble", "train", "predict", "report"),
    *("runs", "runs compare", "runs show", "doctor", "verify", "export", "suggest", "doubt"),
)


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands_of(text: str) -> list[str]:
    return [line for block in blocks(text, "sh") for line in block.splitlines() if line.strip()]


def environment() -> dict[str, str]:
    return os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def in_a_shell(command: str, folder: Path, variables: dict[str, str]) -> tuple[str, int]:
    """Run a command as a reader does who types it."""
    answer = subprocess.run(command, shell=True, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    return answer.stdout + answer.stderr, answer.returncode


def in_a_fork(command: str, folder: Path, variables: dict[str, str]) -> tuple[str, int]:
    """Run a command of ours in a process that has its imports behind it: two dozen of them would take a minute."""
    program, *arguments = shlex.split(command)
    assert program == "lcdvt", command
    running = WarmCommand(arguments, variables, folder, mix=True)
    return running.communicate()[0], running.wait()


def test_the_guide_shows_every_verb():
    commands = commands_of(GUIDE)
    verbs = {" ".join(command.split()[1:3]) if "runs" in command else command.split()[1] for command in commands}
    assert {*VERBS} <= verbs, "docs/guide.md leaves out a verb"


@pytest.mark.slow
@pytest.mark.timeout(1800)  # a whole page of commands, beside other tests
@pytest.mark.parametrize("name", STORIES)
def test_every_command_and_every_line_of_python_runs_in_order(name, tmp_path):
    # The one file that the guide takes for granted: a star of the reader's own survey.
    (tmp_path / "mine").mkdir()
    rows = "".join(f"{2453000 + day * 1.3},{15 + day % 7 / 10},0.02\n" for day in range(30))
    (tmp_path / "mine" / "star7.csv").write_text("HJD,mag,magerr\n" + rows)
    variables = {key: value for key, value in environment().items() if key != "LCDVT_DATA"} | {"MPLBACKEND": "agg"}
    pages = STORIES[name]
    commands, lines = commands_of(pages[0]), [block for page in pages for block in blocks(page, "python")]
    assert commands and len(lines) >= len(pages)
    assert all(commands_of(page) == commands for page in pages), "let each page tell a story of its own here"
    for command in commands:
        say = in_a_shell if name == TYPED else in_a_fork
        said, code = say(command, tmp_path, variables)
        assert code == 0, f"{command}\n{said}"
    for block in lines:
        answer = subprocess.run(
            [sys.executable, "-c", block], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stderr


@pytest.mark.slow
def test_the_demo_tells_its_story_and_its_page_shows_it(tmp_path):
    page, picture = tmp_path / "demo.md", tmp_path / "map.png"
    page.write_text(DEMO, encoding="utf-8")
    places = ["--folder", tmp_path / "demo", "--page", page, "--picture", picture]
    variables = environment() | {"DEMO_OBJECTS": "60", "DEMO_DRAWS": "1"}
    answer = subprocess.run(
        [sys.executable, MAKE_DEMO, *places], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "eros → macho (simulated)" in answer.stdout
    assert "eros → hits (simulated)" in answer.stdout
    assert "simulated, seed 1: share of stars whose period is right" in answer.stdout
    assert (tmp_path / "demo" / "report.html").is_file()
    assert (tmp_path / "demo" / "stars.parquet").is_file()
    assert picture.stat().st_size > 0
    before, after = DEMO.split(BEGIN)[0], DEMO.split(END)[1]
    written = page.read_text(encoding="utf-8")
    assert written.startswith(before)
    assert written.endswith(after)
    same_commands = demo_commands(written) == [
        command.replace("--objects 300", "--objects 60").replace("--repeats 3", "--repeats 1")
        for command in demo_commands(DEMO)
    ]
    assert same_commands, "docs/demo.md shows other commands than the demo runs: python docs/make_demo.py"


def demo_commands(text: str) -> list[str]:
    shown = text.split(BEGIN)[1].split(END)[0]
    return [line for line in shown.splitlines() if line.startswith("$ ")]


def test_the_page_shows_a_whole_demo_that_says_it_is_simulated():
    verbs = [command.split()[2] for command in demo_commands(DEMO)]
    assert verbs == [*["simulate", "ingest"] * 3, "transfer", "transfer", "predict", "runs", "report"]
    shown = DEMO.split(BEGIN)[1].split(END)[0]
    assert "eros → macho (simulated), labels 5%, 3 draws, 5 members" in shown
    assert "eros → hits (simulated), labels 5%, 3 draws, 5 members" in shown


def test_the_make_targets_the_readme_names_exist():
    makefile = (ROOT / "Makefile").read_text()
    named = re.findall(r"\bmake ([a-z-]+)", README)
    assert {"demo", "test", "docs"} <= set(named)
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_links_of_the_readme_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        if not link.startswith("http"):
            assert (ROOT / link).exists(), link
